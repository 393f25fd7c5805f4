"""reference_header.py - the public header as Doxygen wants it: a filter

    reference_header.py include/sdpa/sdpa.h

SPDX-License-Identifier: BSD-3-Clause

Prints the header with its plain comments turned into Doxygen's. The introduction becomes a page,
"The manual", a section of the header a topic, and each declaration of an entry has the whole
comment of the entry.
"""

import argparse
import re
import sys

from header_text import HeaderError, blocks, read_header

# What a word may mean, in the order in which it is tried.
WORDS = re.compile(
    r"`(?P<code>[^`]+)`|(?P<call>\b[a-z]\w+\(\))"
    r"|(?P<constant>\bSDPA_[A-Z0-9_]*[A-Z0-9]\b(?!\.\.\.))|(?P<stem>\bSDPA_[A-Z_]+\.\.\.)"
    r"|(?P<type>\bsdpa_[a-z_]+\b(?!_f))|(?P<shape>(?:\[\w+\])+)"
    r"|(?P<formula>[a-z]+[\[(][a-z0-9 ]+[\])](?:\[[a-z]\])*)"
    r"|(?P<pointer>\*\w+)|(?P<special>[<>\\#@%|])")


class Text:
    """Plain text of the header as Doxygen's Markdown."""

    def __init__(self, header):
        self.chapters = {b.content for b in header.introduction if b.kind == "heading"}
        self.chapters |= {name for name, text in header.sections.items() if text}
        names = "|".join(map(re.escape, sorted(self.chapters, key=len, reverse=True)))
        self.chapter = re.compile(rf"\b({names})\b")
        self.known = {d.name for entry in header.entries for d in entry.declarations}
        self.known |= {member.code.split()[0] for entry in header.entries
                       for d in entry.declarations if d.kind == "enum" for member in d.members}

    def _word(self, match):
        text = match.group(0)
        if match.lastgroup == "code":
            return f"`{match.group('code')}`"
        if match.lastgroup in ("shape", "formula", "stem", "pointer"):
            return f"`{text}`"
        if match.lastgroup in ("constant", "type"):
            return "#" + text if text in self.known else f"`{text}`"
        if match.lastgroup == "special":
            return "\\" + text
        return text

    def inline(self, text):
        parts = self.chapter.split(text)
        for at, part in enumerate(parts):
            parts[at] = (f'@ref {anchor(part)} "{part}"' if at % 2 else WORDS.sub(self._word, part))
        return "".join(parts)

    def described(self, comment):
        """A first sentence for lists, then everything."""
        lines = self.markdown(comment)
        first = re.match(r".*?\.(?= |$)", lines[0]) if lines else None
        return [f"@brief {first.group(0)}", "", *lines] if first else lines

    def markdown(self, comment, headings=False):
        lines = []
        for block in blocks(comment) if isinstance(comment, str) else comment:
            if block.kind == "heading" and headings:
                lines.append(f"# {block.content} {{#{anchor(block.content)}}}")
            elif block.kind == "text":
                lines.append(self.inline(block.content))
            elif block.kind == "items":
                lines += ["- " + self.inline(item) for item in block.content]
            elif block.kind == "terms":
                rows = "".join(f"<dt>{self.inline(term)}</dt><dd>{self.inline(text)}</dd>"
                               for term, text in block.content)
                lines.append(f"<dl class=\"terms\">{rows}</dl>")
            else:
                code = any(line.rstrip().endswith(";") for line in block.content)
                start, end = ("@code{.c}", "@endcode") if code else ("@verbatim", "@endverbatim")
                lines += [start, *block.content, end]
            lines.append("")
        return lines


def anchor(title):
    """A label for a chapter or section of the header."""
    return "manual_" + re.sub(r"\W+", "_", title.lower()).strip("_")


def comment(lines, opening="/**"):
    return [opening, *lines, "*/"]


def declaration_lines(declaration, text):
    """A declaration, with the comments of its members."""
    if not declaration.members:
        return [declaration.code.replace("__attribute__", "")]
    lines = ["enum {" if declaration.kind == "enum" else f"typedef struct {declaration.name} {{"]
    note = ""
    for member in declaration.members:
        if not member.code:
            note = ". " + member.text.rstrip(":")
            continue
        said = text.inline(member.text + note)
        if declaration.kind == "enum":
            # Doxygen has no place for the value.
            value = member.code.partition(" = ")[2] + (": " if said else "")
            lines.append(f"  {member.code}, /**< @brief {value}{said} */")
            continue
        head, *more = member.code.split(", ")
        # One declaration a member, so that each has the comment.
        kind = head[:len(head) - len(re.search(r"\*?\w+$", head).group(0))]
        lines += [f"  {kind}{name}; /**< @brief {said} */" for name in [head[len(kind):], *more]]
    return lines + ["};" if declaration.kind == "enum" else f"}} {declaration.name};"]


def reference(header):
    text = Text(header)
    lines = comment(["@page manual The manual", "",
                     "This is the introduction of the header sdpa.h.",
                     "Types and functions have pages of their own.", "",
                     "@tableofcontents{HTML:2}", "",
                     *text.markdown(header.introduction, True)])
    lines += comment(["@file sdpa.h", "@brief The public header; its introduction is @ref manual.",
                      "", "    #include <sdpa/sdpa.h>", ""])
    for section, about in header.sections.items():
        entries = [entry for entry in header.entries if entry.section == section]
        title, _, subtitle = (section or "VERSION OF THE HEADER").capitalize().partition(": ")
        name = anchor(section or "header version")
        brief = [f"{subtitle[0].upper()}{subtitle[1:]}."] if subtitle else []
        lines += comment([f"@defgroup {name} {title}", *brief, "", *text.markdown(about), "@{"])
        for entry in entries:
            for declaration in entry.declarations:
                shown = text.described(entry.comment)
                if declaration.kind == "enum" and entry.declarations[0] is not declaration:
                    shown = [f"The values of #{entry.declarations[0].name}."]
                lines += comment(shown) + declaration_lines(declaration, text) + [""]
        lines += comment(["@}"])
    return lines


def main():
    parser = argparse.ArgumentParser(description="Prints the public header for Doxygen.")
    parser.add_argument("header", help="include/sdpa/sdpa.h")
    arguments = parser.parse_args()
    try:
        print("\n".join(reference(read_header(arguments.header))))
    except OSError as error:
        parser.error(str(error))
    except HeaderError as error:
        sys.exit(f"reference_header.py: {error}")


if __name__ == "__main__":
    main()
