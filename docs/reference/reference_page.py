"""reference_page.py - a page of docs/ as Doxygen wants it: a filter

    reference_page.py SOURCE_TREE PAGE.md

SPDX-License-Identifier: BSD-3-Clause

The pages are written for a reader of the source tree: their links are relative paths and headings'
names. Here each heading gets a label, and a link to a page or heading goes to it, one to an example
to the example's page, one to the header to its manual; a link to another file of the tree becomes
plain text, since the reference does not hold the file.
"""

import argparse
import re
from pathlib import Path

FENCE = re.compile(r"^(```|~~~)")
LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s]+)\)")


def page_label(path):
    """A label of the page at a path relative to the source tree."""
    return "page_" + re.sub(r"\W+", "_", str(path.with_suffix("")).lower())


def slug(title):
    """GitHub's name of a heading."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower().replace("`", "")).replace(" ", "-")


def _target(top, page, link):
    """What a link's path says to Doxygen; None: a file that is not in the reference."""
    path, _, heading = link.partition("#")
    file = ((top / page).parent / path).resolve().relative_to(top) if path else page
    if file.suffix == ".md":
        label = page_label(file) + ("_" + slug(heading).replace("-", "_") if heading else "")
        return f"@ref {label}"
    if str(file) == "include/sdpa/sdpa.h":
        return "@ref manual"
    if file.parent == Path("docs/examples"):
        return file.name.replace(".", "_8") + "-example.html"  # Doxygen's name for it
    return None


def _links(top, page, line):
    def link(match):
        image, text, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match.group(0)
        if image:
            return f"![{text}]({Path(target).name})"
        target = _target(top, page, target)
        if target is None:
            return text
        if target.startswith("@ref"):
            return f'{target} "{text}"'
        return f'<a href="{target}">{text}</a>'
    return LINK.sub(link, line)


def page_lines(top, page):
    """The lines of one page."""
    fenced = False
    label = page_label(page)
    for line in (top / page).read_text(encoding="utf-8").splitlines():
        if FENCE.match(line):
            fenced = not fenced
            # Only what Doxygen can colour keeps its language.
            yield line if line[3:] in ("", "c") else line[:3]
        elif fenced or line.startswith("    "):
            yield line
        elif match := re.match(r"(#+) (.*)$", line):
            marks, title = match.groups()
            if page.name == "README.md" and page.parent == Path():
                yield line  # labels of the first page would all stand in the tree
                continue
            own = label if marks == "#" else label + "_" + slug(title).replace("-", "_")
            yield f"{line} {{#{own}}}"
        elif re.match(r"<!-- /?\w+ -->$", line):
            yield ""
        else:
            # Doxygen has no bold code.
            yield _links(top, page, re.sub(r"\*\*(`[^`]+`)\*\*", r"<b>\1</b>", line))


def main():
    parser = argparse.ArgumentParser(description="Prints a page of docs/ for Doxygen.")
    parser.add_argument("source", type=Path, help="the source tree")
    parser.add_argument("page", type=Path, help="a page in it")
    arguments = parser.parse_args()
    source, page = arguments.source.resolve(), arguments.page.resolve()
    if not page.is_relative_to(source):
        parser.error(f"{page} is not in {source}")
    try:
        print("\n".join(page_lines(source, page.relative_to(source))))
    except OSError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
