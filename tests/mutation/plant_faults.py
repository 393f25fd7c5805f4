#!/usr/bin/env python3
# plant_faults.py - do the tests catch anything? Faults planted in a copy of src/, one at a time
#
# SPDX-License-Identifier: BSD-3-Clause
"""Plants each fault of faults.txt, builds the quick tests and runs them until one fails.

Works in a copy of the tree, never in the tree itself; the copy, its build and the results stay in
the build folder, so that a run that was interrupted goes on where it stopped. Standard library
only. Exit status: 0 if every fault was caught; 1 if one was missed or does not compile; 2 for bad
arguments, or a table or tests that are not fit to start with."""

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import fault_table
import quick_tests

TREE = Path(__file__).resolve().parents[2]
COPIED = ("CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", ".ci", "cmake", "include")
COPIED += ("src", "tests", "docs", "bench")
CONFIGURE = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1")
CONFIGURE += ("-DCMAKE_CXX_FLAGS_DEBUG=-O1", "-DSDPA_BUILD_BENCH=OFF", "-DSDPA_BUILD_DOCS=OFF")
CAUGHT, MISSED, BROKEN, EQUAL = "caught", "missed", "does-not-compile", "equivalent"


class Unfit(Exception):
    """The table, the tests or the machine do not allow a run; the sentence is for the user."""


def copy_tree(copy):
    """Makes `copy` the tree's, touching only files that differ. Returns a digest of all of it."""
    digest = hashlib.sha256()
    wanted = set()
    for top in COPIED:
        path = TREE / top
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        for file in files:
            name = file.relative_to(TREE)
            if "mutation" in name.parts and name.name != "CMakeLists.txt":
                continue  # the table may change between runs
            text = file.read_bytes()
            if name == Path("cmake/SdpaIsa.cmake"):  # optimising kernels is most of a build's time
                if b"-O3" not in text:
                    raise Unfit(f"{name} sets no -O3: the copy would take long to build")
                text = text.replace(b"-O3", b"-O1")
            wanted.add(name)
            digest.update(str(name).encode() + b"\0" + hashlib.sha256(text).digest())
            to = copy / name
            if not to.exists() or to.read_bytes() != text:
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(text)
                shutil.copymode(file, to)
    for file in [p for p in copy.rglob("*") if p.is_file()]:
        if file.relative_to(copy) not in wanted:
            file.unlink()
    return digest.hexdigest()


class Build:
    """The copy and its build folder."""

    def __init__(self, folder):
        self.copy, self.out = folder / "tree", folder / "out"
        self.digest = copy_tree(self.copy)

    def configure(self):
        command = ["cmake", "-S", str(self.copy), "-B", str(self.out), *CONFIGURE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unfit(f"cmake failed:\n{done.stdout}{done.stderr}")

    def ninja(self, targets):
        """Builds; returns None, or what the compiler said."""
        done = subprocess.run(
            ["ninja", "-j1", *targets], cwd=self.out, capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode else None


class Results:
    """A line a fault, appended as it is known; the last line of a fault counts."""

    def __init__(self, path, again):
        self.path, self.known = path, {}
        if again or not path.exists():
            path.write_text("")
        for line in path.read_text().splitlines():
            verdict, test, seconds, name, key = line.split()
            self.known[name] = (key, verdict, test, float(seconds))

    def verdict(self, fault):
        key, verdict, test, _ = self.known.get(fault.name, ("", None, "", 0))
        return (verdict, test) if key == fault.key() and verdict == CAUGHT else (None, "")

    def add(self, fault, verdict, test, seconds):
        line = f"{verdict} {test or '-'} {seconds:.1f} {fault.name} {fault.key()}"
        with self.path.open("a") as file:
            file.write(line + "\n")
        self.known[fault.name] = (fault.key(), verdict, test, seconds)


def check_clean(build, folder):
    """The tests, after each has passed on the tree as it is; notes how long each takes."""
    stamp = folder / "clean.txt"
    lines = stamp.read_text().splitlines() if stamp.exists() else []
    if lines[:1] != [build.digest]:
        build.configure()
        said = build.ninja([])  # all: ctest tells no command of a program that is not there
        if said:
            raise Unfit(f"the tree does not build:\n{said}")
        lines = [build.digest]
        stamp.write_text(build.digest + "\n")
    tests = quick_tests.read(build.out)
    passed = dict(line.split() for line in lines[1:])
    for name, test in tests.items():
        if name in passed:
            test.usual = float(passed[name])
        elif test.run(measure=True):
            with stamp.open("a") as file:
                file.write(f"{name} {test.usual:.2f}\n")
        else:
            raise Unfit(f"without a fault this test fails: {name}")
    return tests


def try_fault(build, fault, order):
    """Plants one fault. Returns the verdict and the test that caught it."""
    file = build.copy / "src" / fault.file
    clean = file.read_text()
    file.write_text(fault.planted(clean))
    try:
        for number, test in enumerate(order):
            said = build.ninja([test.target])
            if said and number == 0:
                return BROKEN, ""
            if said:
                raise Unfit(f"{fault.name}: {test.name} does not build:\n{said}")
            if not test.run():
                return CAUGHT, test.name
        return MISSED, ""
    finally:
        file.write_text(clean)


def plant(build, faults, tests, results):
    for number, fault in enumerate(faults):
        verdict, test = results.verdict(fault)
        if verdict is None and fault.equivalent:
            verdict, test = EQUAL, ""
        elif verdict is None:
            start = time.monotonic()
            verdict, test = try_fault(build, fault, quick_tests.order_for(fault.file, tests))
            results.add(fault, verdict, test, time.monotonic() - start)
        print(f"{number + 1:4}/{len(faults)}  {verdict:16} {fault.file}: {fault.name}  {test}")
        sys.stdout.flush()
        yield fault, verdict


def summary(outcomes):
    """Prints the counts; returns the exit status."""
    count = {verdict: 0 for verdict in (CAUGHT, MISSED, BROKEN, EQUAL)}
    for _, verdict in outcomes:
        count[verdict] += 1
    print(", ".join(f"{number} {verdict}" for verdict, number in count.items()))
    for fault, verdict in outcomes:
        if verdict in (MISSED, BROKEN):
            print(f"{verdict}: {fault.file}: {fault.name}")
    return 1 if count[MISSED] or count[BROKEN] else 0


def arguments():
    parser = argparse.ArgumentParser(prog="plant_faults.py", allow_abbrev=False)
    add = parser.add_argument
    add("--build", type=Path, metavar="DIR", help="folder for the copy, its build and the results")
    add("--only", metavar="PATTERN", help="faults whose file or name contains this")
    add("--again", action="store_true", help="forget earlier results")
    add("--check", action="store_true", help="only whether each line of the table is found in src/,"
        " and each test of quick_tests.txt in the build folder DIR, if given")
    given = parser.parse_args()
    if not given.check and not given.build:
        parser.error("--build DIR is missing")
    if given.build and not given.check and TREE in (given.build.resolve(), *given.build.resolve().parents):
        if given.build.resolve().relative_to(TREE).parts[:1] != ("build",):
            parser.error("--build: in the tree only a folder below build/ will do")
    return given


def main():
    given = arguments()
    faults = fault_table.read(TREE)
    if given.check:
        print(f"{len(faults)} faults find their lines")
        if given.build:
            print(f"{len(quick_tests.read(given.build))} quick tests")
        return 0
    faults = [f for f in faults if not given.only or given.only in f"{f.file}: {f.name}"]
    folder = given.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(quick_tests.ENVIRONMENT)
    build = Build(folder)
    tests = check_clean(build, folder)
    return summary(list(plant(build, faults, tests, Results(folder / "results.txt", given.again))))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as at the end of a fault: restores
    try:
        sys.exit(main())
    except (Unfit, fault_table.BadTable, quick_tests.BadList) as error:
        print(f"plant_faults.py: {error}", file=sys.stderr)
        sys.exit(2)
