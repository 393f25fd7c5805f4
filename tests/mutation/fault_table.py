# fault_table.py - the faults of faults.txt, and where they go
#
# SPDX-License-Identifier: BSD-3-Clause
"""A fault replaces one line of a file of src/. Lines are compared as code: without indentation,
comments and the backslash of a macro. One that is not there exactly once is an error, so that the
table cannot fall behind the sources."""

import hashlib
import re
from pathlib import Path

TABLE = Path(__file__).with_name("faults.txt")


class BadTable(Exception):
    """A sentence about the table, with its line."""


def code_of(line):
    """The line's code alone."""
    line = re.sub(r"/\*.*?\*/", "", line)
    line = re.sub(r"/\*.*", "", line)
    return re.sub(r"\s*\\?\s*$", "", line).strip()


class Fault:
    """One line for another."""

    def __init__(self, file, name, where):
        self.file, self.name, self.where = file, name, where
        self.old = self.new = None
        self.after = ""  # the line is the first such one after this, which is there once
        self.equivalent = ""  # why no test can tell

    def key(self):
        """Changes with the fault."""
        text = "\n".join((self.file, self.old, self.new, self.after))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def fail(self, sentence):
        raise BadTable(f"faults.txt:{self.where}: {self.name}: {sentence}")

    def line_number(self, lines):
        codes = [code_of(line) for line in lines]
        first = 0
        if self.after:
            if codes.count(self.after) != 1:
                self.fail(f"{codes.count(self.after)} lines of {self.file} are: {self.after}")
            first = codes.index(self.after) + 1
        found = [n for n in range(first, len(codes)) if codes[n] == self.old]
        if not found or (len(found) > 1 and not self.after):
            self.fail(f"{len(found)} lines of {self.file} are: {self.old}")
        return found[0]

    def planted(self, text):
        """`text`, the file's, with the fault."""
        lines = text.split("\n")
        number = self.line_number(lines)
        line = lines[number]
        indent = line[: len(line) - len(line.lstrip())]
        lines[number] = indent + self.new + (" \\" if line.endswith("\\") else "")
        return "\n".join(lines)


def parse(text):
    """The faults in the order of the table."""
    faults, file, fault = [], None, None
    for where, line in enumerate(text.splitlines(), 1):
        word, _, rest = line.partition(" ")
        if not line.strip() or word == "#":
            continue
        if word == "file":
            file, fault = rest, None
        elif word == "fault" and file:
            fault = Fault(file, rest, where)
            faults.append(fault)
        elif word == "-" and fault and fault.old is None:
            fault.old = rest
        elif word == "+" and fault and fault.new is None:
            fault.new = rest
        elif word == "after" and fault:
            fault.after = rest
        elif word == "equivalent" and fault:
            fault.equivalent = rest
        else:
            raise BadTable(f"faults.txt:{where}: not a line of the table: {line}")
    return faults


def read(tree):
    """The table, every line of which is found in the sources of `tree`."""
    faults = parse(TABLE.read_text())
    names = set()
    for fault in faults:
        if fault.name in names or len(fault.name.split()) != 1:
            fault.fail("expected a name of one word that no other fault has")
        names.add(fault.name)
        if not fault.old or fault.new is None or fault.old == fault.new:
            fault.fail("expected a line to replace (-) and another one (+)")
        path = tree / "src" / fault.file
        if not path.is_file():
            fault.fail(f"there is no src/{fault.file}")
        fault.planted(path.read_text())
    return faults
