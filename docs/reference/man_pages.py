"""man_pages.py - the manual pages of section 3, from the public header

    man_pages.py include/sdpa/sdpa.h docs/man/names.txt FOLDER

SPDX-License-Identifier: BSD-3-Clause

Writes sdpa.3, the overview; a page for each entry of the header that declares functions or types,
under the name that names.txt knows, with symbolic links from its other names; and
sdpa_constants.3. What a page says comes from the header alone. In the comment of a function

    Returns ...                   a sentence, goes to RETURN VALUES
    Statuses: those of ...; SDPA_ERROR_X (when); SDPA_ERROR_Y.
                                  goes to ERRORS; without `when`, what the enum of statuses says
    Since 0.2.                    at the end, goes to HISTORY
    Threads: ...                  a sentence, is what THREADS says; else that any number may call
    verbatim text with a call     goes to EXAMPLES of every page whose function it calls
    As other().                   alone, makes the function part of the other one's page
"""

import argparse
import re
import sys
from pathlib import Path

from header_text import HeaderError, blocks, read_header
from mdoc import Inline, argument, block_lines, escaped, literal, tag_list

STATUS = r"SDPA_ERROR_\w+(?: \((?:[^()]|\([^()]*\))*\))?"
STATUSES = re.compile(rf"(?:(?<=[.:] )|^)(?:Statuses: (those of [^.;]*)(?:; )?)?"
                      rf"((?:{STATUS}(?:; )?)*)\.(?: |$)")


class Page:
    """What one page is made of."""

    def __init__(self, entry):
        self.entry = entry
        self.declarations = list(entry.declarations)
        self.text, self.since = _since(entry.comment)

    def names(self):
        return [declaration.name for declaration in self.declarations if declaration.name]


def _since(comment):
    match = re.search(r"\s*Since\s+(\d+\.\d+)\.$", comment)
    return (comment[:match.start()], match.group(1)) if match else (comment, "0.1")


def collect_pages(header):
    """The pages of functions and types, in the header's order; enums alone are the constants."""
    pages, constants, by_name = [], [], {}
    for entry in header.entries:
        if {declaration.kind for declaration in entry.declarations} <= {"enum", "macro"}:
            constants.append(entry)
            continue
        text, since = _since(entry.comment)
        if match := re.match(r"As (\w+)\(\)\.$", text):
            page = by_name[match.group(1)]
            page.declarations += entry.declarations
            page.later = getattr(page, "later", []) + [(d.name, since) for d in entry.declarations
                                                       if since != page.since]
        else:
            page = Page(entry)
            pages.append(page)
        by_name.update((name, page) for name in page.names())
    return pages, constants


def read_names(path):
    names = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, phrase = line.split(maxsplit=1)
            names[name] = phrase
    return names


class Writer:
    def __init__(self, header, names):
        self.header, self.names = header, names
        self.version = ".".join(d.code.split()[-1] for d in header.entries[0].declarations)
        self.pages, self.constants = collect_pages(header)
        self.main_name = {}
        for page in self.pages:
            main = [name for name in page.names() if name in names]
            if len(main) != 1:
                raise HeaderError(f"names.txt must have one of {page.names()}")
            page.name = main[0]
            self.main_name.update((name, page.name) for name in page.names())
        self.chapters = [b.content for b in header.introduction if b.kind == "heading"]
        self.overview_sections = [name for name, text in header.sections.items()
                                  if text and not self._functions_of(name)]
        self.chapters += self.overview_sections
        unknown = set(names) - set(self.main_name.values()) - {"date", "sdpa", "sdpa_constants"}
        if unknown:
            raise HeaderError(f"names.txt has {unknown}, the header has not")
        self.meaning = {member.code.split()[0]: member.text for page in self.pages
                        for d in page.declarations if d.kind == "enum" for member in d.members}
        self.examples = [block.content for block in self._all_blocks() if _is_example(block)]

    def _functions_of(self, section):
        return [p for p in self.pages if p.entry.section == section
                and any(d.kind == "function" for d in p.declarations)]

    def _all_blocks(self):
        yield from self.header.introduction
        for page in self.pages:
            yield from blocks(page.text)

    def _top(self, page_name, names):
        shown = [f".Nm {name} ," for name in names]
        shown[-1] = shown[-1].removesuffix(" ,")
        return [f".\\\" Made from include/sdpa/sdpa.h of libsdpa {self.version}.",
                ".\\\" SPDX-License-Identifier: BSD-3-Clause", f".Dd {self.names['date']}",
                f".Dt {page_name.upper()} 3", f".Os libsdpa {self.version}",
                ".Sh NAME", *shown, f".Nd {self.names[page_name]}",
                ".Sh LIBRARY", r"Scaled dot-product attention (libsdpa, \-lsdpa)",
                ".Sh SYNOPSIS", ".In sdpa/sdpa.h"]

    def _inline(self, own=(), overview=False):
        return Inline({**self.main_name, "sdpa_constants": ""}, own, self.chapters, overview)

    def _see_also(self, name, text):
        found = {"sdpa"} | {self.main_name[n] for n in re.findall(r"\bsdpa_[a-z0-9_]+", text)
                            if n in self.main_name}
        if re.search(r"\bSDPA_(?!ERROR|OK)[A-Z]", text):
            found.add("sdpa_constants")
        found = sorted(found - {name})
        return [".Sh SEE ALSO"] + [f".Xr {n} 3" + (" ," if n != found[-1] else "") for n in found]

    def page(self, page):
        inline = self._inline(page.names())
        common = self.header.sections[page.entry.section]
        functions = [d for d in page.declarations if d.kind == "function"]
        described, returned, errors, threads = [], [], [], []
        for text in ([common] if functions and common else []) + [page.text]:
            for block in blocks(text):
                if block.kind == "text" and functions:
                    block.content = _take_statuses(block.content, errors)
                    block.content = _take_returns(block.content, returned)
                    block.content = _take_threads(block.content, threads)
                if block.content and not _is_example(block):
                    described.append(block)
        lines = self._top(page.name, page.names())
        for declaration in page.declarations:
            lines += _synopsis(declaration)
        lines += [".Sh DESCRIPTION"] + block_lines(described, inline)
        if not described:
            lines += [_capital(self.names[page.name]) + ":", "see", ".Sx RETURN VALUES ."]
        for declaration in page.declarations:
            lines += _member_lines(declaration, inline)
        if functions:
            lines += self._returns(functions, returned, inline)
            lines += [".Sh THREADS"] + (inline.lines(" ".join(threads)) or [
                "Any number of threads may call this at once, as long as none writes what",
                "another reads or writes; the rules are in", ".Xr sdpa 3 ."])
        lines += self._examples(page)
        if functions and functions[0].returns == "sdpa_status":
            lines += self._errors(errors, inline)
        said = [page.text, *(d.code for d in page.declarations)]
        said += [member.text for d in page.declarations for member in d.members]
        said += [f"{name}_init" for name in page.names()] + ["sdpa_status"] * bool(errors)
        lines += self._see_also(page.name, " ".join(said))
        lines += _history(page)
        return lines

    @staticmethod
    def _returns(functions, returned, inline):
        lines = [".Sh RETURN VALUES"]
        if returned:
            lines += inline.lines(" ".join(returned))
        elif functions[0].returns == "void":
            lines += [f".Fn {functions[0].name}", "returns nothing."]
        else:
            lines += [".Dv SDPA_OK ,", "which is 0, or one of the statuses under",
                      ".Sx ERRORS ;", ".Xr sdpa_status_string 3", "has a text for each."]
        return lines

    def _examples(self, page):
        names = "|".join(page.names())
        lines = []
        for example in self.examples:
            if re.search(rf"\b({names})\b", "\n".join(example)):
                lines += literal(example)
        return [".Sh EXAMPLES"] + lines if lines else []

    def _errors(self, errors, inline):
        lines = [".Sh ERRORS"]
        for text in errors:
            if text.startswith("those of"):
                lines += inline.lines("The statuses are " + text + ".")
        listed = [text for text in errors if not text.startswith("those of")]
        if listed and len(lines) > 1:
            lines.append("Besides:")
        items = []
        for text in listed:
            name, _, when = text.partition(" ")
            items.append(("Dv " + name, inline.lines(when[1:-1] or self.meaning[name])))
        return lines + (tag_list(items) if items else [])

    def overview(self):
        inline = self._inline(["sdpa"], overview=True)
        lines = self._top("sdpa", ["sdpa"]) + [".Sh DESCRIPTION"]
        chapters, environment = [], []
        target = chapters
        for block in self.header.introduction:
            if block.kind == "heading":
                target = environment if block.content in ("ENVIRONMENT", "HISTORY") else chapters
            target.append(block)
        lines += block_lines(chapters[1:], inline)
        for section in self.overview_sections:
            lines += [f".Ss {section}"] + block_lines(blocks(self.header.sections[section]), inline)
        lines += [".Ss FUNCTIONS AND TYPES"] + self._contents()
        last = [line.replace(".Ss", ".Sh", 1) for line in block_lines(environment, inline)]
        history = last.index(".Sh HISTORY")
        names = sorted({page.name for page in self.pages} | {"sdpa_constants"})
        also = [".Xr sdpa\\-bench 1 ,", ".Xr sdpa\\-lesson 1 ,"] + [f".Xr {n} 3 ," for n in names]
        also[-1] = also[-1].removesuffix(" ,")
        return lines + last[:history] + [".Sh SEE ALSO"] + also + last[history:]

    def _contents(self):
        lines = []
        longest = max(self.names, key=len)
        for section in self.header.sections:
            pages = [page for page in self.pages if page.entry.section == section]
            items = [(f"Xr {page.name} 3", [escaped(self.names[page.name])]) for page in pages]
            if section == "CONSTANTS":
                items = [("Xr sdpa_constants 3", [self.names["sdpa_constants"]])]
            if items:
                title = section.split(":")[0].capitalize()
                lines += [".Pp"] if lines else []
                lines += [f"{title}:"] + tag_list(items, f"{longest}(3)", compact=True)
        return lines

    def constants_page(self):
        inline = self._inline()
        lines = self._top("sdpa_constants", ["sdpa_constants"]) + [".Sh DESCRIPTION"]
        for entry in self.constants:
            title = re.match(r"([A-Z][a-z ]+)[,;:.]", " ".join(entry.comment.split()))
            title = title.group(1) if entry.section else "Version"
            text, values = blocks(entry.comment), entry.declarations[0].members
            text[0].content = _capital(re.sub(rf"^{title}[,;:] ", "", text[0].content))
            lines += [f".Ss {title}"] + block_lines(text, inline)
            if not entry.section:
                lines += literal([d.code for d in entry.declarations])
            elif any(member.text for member in values):
                lines += _member_lines(entry.declarations[0], inline)
            else:
                lines += literal([member.code for member in values])
        text = " ".join(entry.comment for entry in self.constants)
        return lines + self._see_also("sdpa_constants", text + " sdpa_problem sdpa_options")

    def files(self):
        """Pages and links: a file's name, and its lines or the name of the page it links to."""
        yield "sdpa.3", self.overview()
        yield "sdpa_constants.3", self.constants_page()
        for page in self.pages:
            yield f"{page.name}.3", self.page(page)
            for name in page.names():
                if name != page.name:
                    yield f"{name}.3", f"{page.name}.3"


def _capital(text):
    return text[0].upper() + text[1:]


def _is_example(block):
    call = re.compile(r"\bsdpa_\w+\(&?\w")
    return block.kind == "verbatim" and any(call.search(line) for line in block.content)


def _take_statuses(text, errors):
    def take(match):
        if not match.group(1) and not match.group(2):
            return match.group(0)
        errors.extend([match.group(1)] if match.group(1) else [])
        errors.extend(re.findall(STATUS, match.group(2)))
        return ""
    return STATUSES.sub(take, text).strip()


def _take_returns(text, returned):
    def take(match):
        returned.append(match.group(0).strip())
        return ""
    return re.sub(r"(?:^|(?<=\. ))Returns .*?\.(?= |$)", take, text).strip()


def _take_threads(text, threads):
    def take(match):
        threads.append(_capital(match.group(1)))
        return ""
    return re.sub(r"(?:^|(?<=\. ))Threads: (.*?\.)(?= |$)", take, text).strip()


def _synopsis(declaration):
    if declaration.kind == "function":
        parameters = declaration.parameters or ["void"]
        return [f".Ft {argument(declaration.returns)}", f".Fo {declaration.name}",
                *(f".Fa {argument(p)}" for p in parameters), ".Fc"]
    if declaration.kind == "struct":
        body = [f"    {m.code};" if m.code else f"    /* {m.text} */" for m in declaration.members]
        code = [f"typedef struct {declaration.name} {{", *body, f"}} {declaration.name};"]
        return literal(code, "0n")
    if declaration.kind == "enum":
        return []
    if len(declaration.code) < 70:
        return [".Vt " + argument(declaration.code)]
    head, _, rest = declaration.code.partition(")(")
    return literal([head + ")(", "    " + rest], "0n")


def _member_lines(declaration, inline):
    """What the comments of members say; nothing where no member has one."""
    if not any(member.text for member in declaration.members):
        return []
    lines, items = [], []
    for member in declaration.members:
        if not member.code:
            lines += tag_list(items) + [".Pp"] + inline.lines(member.text)
            items = []
            continue
        if declaration.kind == "enum":
            name, _, value = member.code.partition(" = ")
            items.append((f"Dv {name} Pq {argument(value)}", inline.lines(member.text)))
        else:
            items.append(("Vt " + argument(member.code), inline.lines(member.text)))
    return lines + tag_list(items)


def _history(page):
    lines = [".Sh HISTORY"]
    groups = {}
    for name in page.names():
        groups.setdefault(dict(getattr(page, "later", [])).get(name, page.since), []).append(name)
    for since, names in groups.items():
        joined = [f".Nm {name}" + (" ," if name != names[-1] else "") for name in names]
        lines += joined + [f"appeared in libsdpa {since}."]
    return lines


def write_pages(header, names, out):
    files = list(Writer(read_header(header), read_names(names)).files())
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.3"):
        old.unlink()
    for name, content in files:
        if isinstance(content, str):
            (out / name).symlink_to(content)
        else:
            (out / name).write_text("\n".join(content) + "\n", encoding="ascii")


def main():
    parser = argparse.ArgumentParser(description="Writes the manual pages of section 3.")
    parser.add_argument("header", help="include/sdpa/sdpa.h")
    parser.add_argument("names", help="docs/man/names.txt")
    parser.add_argument("folder", type=Path, help="where the pages go; its old pages are removed")
    arguments = parser.parse_args()
    try:
        write_pages(arguments.header, arguments.names, arguments.folder)
    except OSError as error:
        parser.error(str(error))
    except HeaderError as error:
        sys.exit(f"man_pages.py: {error}")


if __name__ == "__main__":
    main()
