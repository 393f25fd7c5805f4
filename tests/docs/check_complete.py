"""check_complete.py - nothing that the header's comments say is lost on its way to the manual pages

    check_complete.py SOURCE_TREE MAN3

SPDX-License-Identifier: BSD-3-Clause

Every clause, which is what stands between two marks of punctuation, must stand in the pages, word
by word. Reads both by itself, without the modules that make the pages.
"""

import re
import sys
from pathlib import Path

MACROS = r"(?:Dv|Xr|Fa|Fn|Vt|Pf|Ns|No|Em|Sx|It|Pq|Li|Pp|Bl|El|Bd|Ed|Ss|Sh|Nm|Fo|Fc|Ft)"


def words(text):
    return " " + " ".join(re.findall(r"[a-z0-9_]+", text.lower())) + " "


def page_words(path):
    """A page's words, without its macros."""
    text = path.read_text(encoding="ascii")
    text = re.sub(r"\nin\n\.Xr sdpa 3", " ", text)  # added where a chapter is named on another page
    text = re.sub(r"(?m)^(\..*Xr \S+) 3", r"\1", text)
    text = re.sub(r"(?m)^\.(?:Bl|Bd) .*$", " ", text)
    text = re.sub(rf'(?m)^\.{MACROS}\b|(?<= )(?:{MACROS})(?= )', " ", text)
    return words(re.sub(r"\\\(ha|\\[-&e]|\\\((?:aq|dq|ti|ga)", " ", text))


def clauses(header):
    """What the header says, from its introduction on; the names of its sections are left out."""
    for comment in re.findall(r"/\*(.*?)\*/", "/*" + header[header.index("INTRODUCTION"):], re.S):
        if comment.startswith((" ---- ", " SDPA_SDPA_H")):
            continue
        text = re.sub(r"\n \*", "\n", comment)
        moved = r"INTRODUCTION|As sdpa_problem_init\(\)\.|Statuses: |Since\s+\d\.\d\."
        text = re.sub(moved, " ", text)
        yield from re.split(r"[.,;:()]+(?:\s+|$)|\s\(|\n\n|\n {2,4}(?=\S)|\n- ", text)


source, man3 = map(Path, sys.argv[1:])
pages = [page_words(page) for page in sorted(man3.glob("*.3")) if not page.is_symlink()]
checked, lost = 0, []
for clause in clauses((source / "include/sdpa/sdpa.h").read_text(encoding="utf-8")):
    if not words(clause).strip():
        continue
    checked += 1
    if not any(words(clause) in page for page in pages):
        lost.append(" ".join(clause.split()))
if checked < 800:
    sys.exit(f"only {checked} clauses were read: the check is broken")
if lost:
    sys.exit("clauses of sdpa.h that the manual pages lack:\n  " + "\n  ".join(lost))
print(f"{checked} clauses")
