"""mdoc.py - text of the header in mdoc(7), the language of manual pages

SPDX-License-Identifier: BSD-3-Clause
"""

import re

CLOSING = ".,:;)]?!"  # what mdoc, as an argument of its own, sets close to the one before it
COLUMNS = 78


def escaped(text, literal=False):
    """Without characters that roff takes for something else. Between letters '-' is a hyphen,
    elsewhere and in literal text a minus sign."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"-" if literal else r"(?<![A-Za-z])-|-(?![A-Za-z])", r"\\-", text)
    for plain, escape in (("^", r"\(ha"), ("~", r"\(ti"), ("`", r"\(ga")):
        text = text.replace(plain, escape)
    return text.replace("'", r"\(aq") if literal else text


def argument(text):
    """One argument of a macro."""
    text = escaped(text, literal=True).replace('"', r"\(dq")
    return f'"{text}"' if re.search(r"\s", text) else text


def safe_line(line):
    """A line of text, not taken for a request."""
    return r"\&" + line if line.startswith((".", "'")) else line


class Inline:
    """Running text with the names in it marked up. own: the functions of the page itself; chapters:
    headings of the overview; overview: whether this is that page."""

    def __init__(self, pages, own, chapters, overview):
        self.pages, self.own, self.overview = pages, own, overview
        heads = "|".join(re.escape(chapter) for chapter in sorted(chapters, key=len, reverse=True))
        self.pattern = re.compile(
            r"`(?P<code>[^`]+)`|(?P<call>\b[a-z]\w+\(\))|(?P<constant>\bSDPA_\w+(?:\.\.\.)?)"
            rf"|(?P<type>\bsdpa_[a-z0-9_]+\b)|(?P<chapter>\b(?:{heads})\b)")

    def _macro(self, match):
        text = match.group(0)
        if match.lastgroup == "code":
            return "Fa " + argument(text[1:-1])
        if match.lastgroup == "constant":
            return "Dv " + argument(text)
        if match.lastgroup == "chapter":
            return "Sx " + text if self.overview else "Em " + argument(text) + " in Xr sdpa 3"
        name = text.removesuffix("()")
        if name in self.own:
            return ("Fn " if text.endswith("()") else "Vt ") + name
        if name in self.pages:
            return f"Xr {name} 3"
        if not name.startswith("sdpa_"):
            return f"Fn {name}"
        raise ValueError(f"{name} has no page")

    def lines(self, text):
        """The text as lines of mdoc, a sentence on a line of its own."""
        found, at = [], 0
        for match in self.pattern.finditer(text):
            if match.start() < at:
                continue
            before = text[at:match.start()]
            prefix = re.search(r"\S*$", before).group(0)
            found += _text_lines(before[:len(before) - len(prefix)])
            suffix = re.match(r"\S*", text[match.end():]).group(0)
            at = match.end() + len(suffix)
            found.append(self._line(match, prefix, suffix))
        return found + _text_lines(text[at:])

    def _line(self, match, prefix, suffix):
        macro = self._macro(match)
        if self.pattern.search(suffix):
            raise ValueError(f"two names without a blank between them: {match.group(0)}{suffix}")
        line = f".Pf {argument(prefix)} {macro}" if prefix else f".{macro}"
        if " in Xr " in line:  # a chapter of another page
            line = line.replace(" in Xr ", "\nin\n.Xr ")
        closing = re.match(rf"[{re.escape(CLOSING)}]*$", suffix)
        if suffix and closing:
            line += " " + " ".join(suffix)
        elif suffix:
            line += " Ns " + argument(suffix)
        return line


def _text_lines(text):
    lines = []
    ends = r"(?<=[^\s][.:;?!])\s+(?=[A-Z(*])|(?<=[a-z0-9)][.?!])\s+"
    for sentence in re.split(ends, text.strip()):
        line = ""
        for word in map(escaped, sentence.split()):
            if line and len(line) + 1 + len(word) > COLUMNS:
                lines.append(line)
                line = ""
            line += (" " if line else "") + word
        if line:
            lines.append(line)
    # A line that ends in a point alone, which is a product's, is not the end of a sentence.
    return [safe_line(line) + (r"\&" if line.endswith(" .") else "") for line in lines]


def _listing(kind, width, items):
    """items: pairs of the lines of a head (of none for a bullet) and the lines of a body."""
    lines = [f".Bl -{kind}" + (f" -width {argument(width)}" if width else "")]
    for head, body in items:
        lines += [".It" + (" " + head if head else "")] + body
    return lines + [".El"]


def tag_list(items, width="Ds", compact=False):
    """A list of (argument line of the head, lines of the body), bodies beside heads up to width."""
    lines = _listing("tag", width, items)
    return [lines[0] + " -compact"] + lines[1:] if compact else lines


def literal(lines, offset="2n"):
    """Verbatim lines."""
    shown = [safe_line(escaped(line, literal=True)) for line in lines]
    return [f".Bd -literal -offset {offset}"] + shown + [".Ed"]


def block_lines(blocks, inline):
    """Blocks of a comment, headings aside, as mdoc. Paragraphs are set apart by .Pp where no macro
    does so already."""
    lines = []
    for block in blocks:
        if block.kind == "text":
            if lines and not lines[-1].startswith((".Ss", ".Sh")):
                lines.append(".Pp")
            lines += inline.lines(block.content)
        elif block.kind == "heading":
            lines.append(".Ss " + escaped(block.content))
        elif block.kind == "items":
            lines += _listing("bullet", "", [("", inline.lines(item)) for item in block.content])
        elif block.kind == "terms":
            width = max((term for term, _ in block.content), key=len)
            lines += tag_list([(_head(term), inline.lines(text)) for term, text in block.content],
                              width if len(width) <= 32 else "Ds")
        else:
            lines += literal(block.content)
    return lines


def _head(term):
    """The head of a list's item: a constant or a few words."""
    return ("Dv " + term) if re.match(r"SDPA_\w+$", term) else "No " + escaped(term)
