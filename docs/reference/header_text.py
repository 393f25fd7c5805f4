"""header_text.py - the public header as data: its declarations, and its comments as blocks of text

SPDX-License-Identifier: BSD-3-Clause

The manual pages and the HTML reference are made from include/sdpa/sdpa.h, whose comments are plain
text. They keep to these conventions, and what does not is an error here:

  /* ---- NAME ---- */        begins a section.
  a comment                   and the declarations after it, up to an empty line, are one entry. A
                              comment alone right below a section's name is about the whole section.
  HEADING. Text               in capitals at the start of a paragraph, or alone on a line, begins a
                              chapter of the introduction, which is the first comment of the file.
  - text                      an item; its further lines are indented by 2.
  2 spaces, term, 2 or more spaces, text
                              an entry of a list of terms; its further lines are indented by more.
  4 spaces or more            verbatim: code, formulas, pictures.
"""

import re
from dataclasses import dataclass, field

VERBATIM_COLUMNS = 71  # what a page of 80 columns has room for


class HeaderError(Exception):
    """The header does not keep to the conventions."""


@dataclass
class Block:
    """kind: "heading" or "text", whose content is a string; "items", a list of strings; "terms", a
    list of (term, text); "verbatim", a list of lines."""

    kind: str
    content: object


@dataclass
class Member:
    """One declaration of a struct or enumerator. A note is a comment on a line of its own: it has
    no code, and is about the members after it."""

    code: str
    text: str


@dataclass
class Declaration:
    """kind: "function", "callback", "struct", "enum", "opaque", "alias" or "macro"."""

    kind: str
    name: str  # of an enum: ""
    code: str
    returns: str = ""
    parameters: list = field(default_factory=list)
    members: list = field(default_factory=list)


@dataclass
class Entry:
    section: str
    comment: str
    declarations: list


@dataclass
class Header:
    introduction: list  # of Blocks
    sections: dict  # name -> text of the comment about the section, perhaps ""
    entries: list


def comment_text(comment):
    """What stands in a C comment, without its frame."""
    body = re.sub(r"\s*\*/\s*$", "", re.sub(r"^\s*/\*", "", comment))
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in body.split("\n")]
    lines[0] = lines[0].strip()
    return "\n".join(lines).strip("\n")


def _heading(paragraph):
    match = re.match(r"([A-Z][A-Z0-9 .-]*[A-Z])(?:$|\.\s+)", paragraph)
    return (match.group(1), paragraph[match.end():]) if match else (None, paragraph)


def _kind(line):
    if line.startswith("    "):
        return "verbatim"
    if line.startswith("  "):
        return "terms"
    return "items" if line.startswith("- ") else "text"


def _take(lines, at):
    """The block that begins at lines[at], and where the next one does."""
    kind = _kind(lines[at])
    end = at + 1
    while end < len(lines):
        line = lines[end]
        if kind == "verbatim" and not line:
            following = next((rest for rest in lines[end:] if rest), "")
            if _kind(following) != "verbatim":
                break
        elif not line or (kind in ("text", "verbatim") and _kind(line) != kind):
            break
        elif kind == "terms" and not line.startswith("  "):
            break
        elif kind == "items" and not line.startswith(("- ", "  ")):
            break
        end += 1
    return kind, lines[at:end], end


def _items(lines):
    text = " ".join(line.strip() if line.startswith(" ") else line for line in lines)
    return re.split(r"(?:^| )- ", text)[1:]


def _terms(lines):
    terms = []
    for line in lines:
        if line.startswith("    "):
            terms[-1][1] += " " + line.strip()
            continue
        match = re.match(r"  (\S.*?) {2,}(\S.*)$", line)
        if not match:
            raise HeaderError(f"neither a term with its text nor a further line of one: {line}")
        terms.append([match.group(1), match.group(2)])
    return [tuple(term) for term in terms]


def blocks(text, headings=False):
    """A comment's text as Blocks."""
    lines = text.split("\n")
    found = []
    at = 0
    while at < len(lines):
        if not lines[at]:
            at += 1
            continue
        kind, taken, at = _take(lines, at)
        if kind == "text":
            paragraph = " ".join(taken)
            title, paragraph = _heading(paragraph) if headings else (None, paragraph)
            if title:
                found.append(Block("heading", title))
            if paragraph:
                found.append(Block("text", paragraph))
        elif kind == "items":
            found.append(Block("items", _items(taken)))
        elif kind == "terms":
            found.append(Block("terms", _terms(taken)))
        else:
            verbatim = [line[4:] for line in taken]
            for line in verbatim:
                if len(line) > VERBATIM_COLUMNS:
                    raise HeaderError(f"more than {VERBATIM_COLUMNS} columns verbatim: {line}")
            found.append(Block("verbatim", verbatim))
    return found


_COMMENT = re.compile(r"/\*.*?\*/", re.S)


def _squeezed(code):
    return re.sub(r"\s+", " ", code).strip()


def _members(body, separator):
    """The members of a struct (";") or enum (","), each with its comment."""
    members = []
    for match in re.finditer(rf"([^{separator}/]*{separator}?)\s*(/\*.*?\*/)?", body, re.S):
        code = _squeezed(match.group(1)).rstrip(separator)
        text = comment_text(match.group(2)) if match.group(2) else ""
        if code or text:
            members.append(Member(code, _squeezed(text)))
    return members


def _declaration(code):
    """One declaration, comments and all."""
    bare = _squeezed(_COMMENT.sub(" ", code))
    if match := re.match(r"SDPA_API (.*?)(\w+)\((.*)\);$", bare):
        parameters = [] if match.group(3) == "void" else match.group(3).split(", ")
        return Declaration("function", match.group(2), bare[len("SDPA_API "):],
                           match.group(1).strip(), parameters)
    if match := re.match(r"typedef (.*?)\(\*(\w+)\)\((.*)\);$", bare):
        return Declaration("callback", match.group(2), bare, match.group(1).strip(),
                           match.group(3).split(", "))
    if match := re.match(r"typedef struct (\w+) \{.*\} \1;$", bare):
        body = code[code.index("{") + 1:code.rindex("}")]
        return Declaration("struct", match.group(1), bare, members=_members(body, ";"))
    if re.match(r"enum \{.*\};$", bare):
        body = code[code.index("{") + 1:code.rindex("}")]
        return Declaration("enum", "", bare, members=_members(body, ","))
    if match := re.match(r"typedef struct (\w+) \1;$", bare):
        return Declaration("opaque", match.group(1), bare)
    if match := re.match(r"typedef \w+ (\w+);$", bare):
        return Declaration("alias", match.group(1), bare)
    if match := re.match(r"#define (\w+) ", bare):
        return Declaration("macro", match.group(1), bare)
    raise HeaderError(f"a declaration of no known form: {bare}")


def _declarations(code):
    """Declarations without an empty line between them; one ends with a line that ends in ';' at
    depth 0, or is a line that begins with '#'."""
    found, pending, depth = [], "", 0
    for line in code.split("\n"):
        pending += line + "\n"
        bare = re.sub(r"/\*.*?(\*/|$)", "", line)
        depth += bare.count("{") - bare.count("}")
        if depth == 0 and (bare.rstrip().endswith(";") or bare.startswith("#define")):
            found.append(_declaration(pending))
            pending = ""
    if pending.strip():
        raise HeaderError(f"not a whole declaration: {pending}")
    return found


def read_header(path):
    """The header as data."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    opening = _COMMENT.match(text).group(0)
    # Without its first lines, which are every file's, and the name of its last chapter's end.
    introduction = comment_text(opening).split("\n", 4)[4]
    header = Header(blocks(introduction, headings=True), {"": ""}, [])
    section = ""
    rest = text[len(opening):text.index("#ifdef __cplusplus\n}")]
    for match in re.finditer(r"^/\*.*?\*/\n(?:[^\n]+\n)*", rest, re.M | re.S):
        chunk = match.group(0)
        comment = _COMMENT.match(chunk).group(0)
        if banner := re.match(r"/\* ---- (.*?) -+ \*/$", comment):
            section = banner.group(1)
            header.sections[section] = ""
            continue
        code = chunk[len(comment):].strip("\n")
        if code:
            header.entries.append(Entry(section, comment_text(comment), _declarations(code)))
        elif header.sections[section] or any(entry.section == section for entry in header.entries):
            raise HeaderError(f"a comment about nothing: {comment}")
        else:
            header.sections[section] = comment_text(comment)
    return header
