# quick_tests.py - the tests that a planted fault has to get past
#
# SPDX-License-Identifier: BSD-3-Clause
"""Every test that ctest knows under LABELS and no others, but for those that quick_tests.txt leaves
out, with few random problems. The order is by the fault's file: most are caught by the first."""

import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

LIST = Path(__file__).with_name("quick_tests.txt")
LABELS = {"unit", "kernels", "tiles", "api", "property", "threads", "reports"}
EXTRA_LABELS = {"tsan"}  # what is in a folder of LABELS may have these besides
ENVIRONMENT = {
    "SDPA_PROPERTY_COUNT": "150",
    "SDPA_EXP_STRIDE": "9973",
    "OPENBLAS_NUM_THREADS": "1",
}
LEAST_SECONDS, TIMES_USUAL = 30, 10  # a test that takes longer hangs
MEMORY = 12 << 30  # what a wrong size may take before it fails


class BadList(Exception):
    """A sentence about quick_tests.txt."""


def _limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Test:
    """A ctest."""

    def __init__(self, known, out):
        properties = {p["name"]: p["value"] for p in known.get("properties", [])}
        self.name = known["name"]
        self.command = known.get("command", [])
        self.labels = set(properties.get("LABELS", []))
        self.folder = properties.get("WORKING_DIRECTORY", str(out))
        self.environment = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
        self.target = os.path.relpath(self.command[0], out) if self.command else ".."
        self.usual = 0.0  # seconds, without a fault

    def run(self, measure=False):
        """Whether it passes, in time."""
        limit = None if measure else max(LEAST_SECONDS, TIMES_USUAL * self.usual)
        environment = {**os.environ, **self.environment, **ENVIRONMENT}
        start = time.monotonic()
        process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_limit,
        )
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = "late"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # it may have left children
            except ProcessLookupError:
                pass
            process.wait()
        if measure:
            self.usual = time.monotonic() - start
        return status in (0, 77)


def _words(keyword):
    for line in LIST.read_text().splitlines():
        words = line.split()
        if words and words[0] == keyword:
            yield words[1:]


def _all(out):
    show = ["ctest", "--show-only=json-v1"]
    done = subprocess.run(show, cwd=out, capture_output=True, text=True, check=True)
    tests = [Test(known, out) for known in json.loads(done.stdout)["tests"]]
    own = [test for test in tests if test.target[:2] != ".."]  # not cmake's scripts
    return {t.name: t for t in own if t.labels & LABELS and t.labels <= LABELS | EXTRA_LABELS}


def read(out):
    """The tests by name. Those that are left out are there for their own files alone."""
    tests = _all(out)
    left_out = {word for words in _words("without") for word in words}
    early = {word for words in _words("first") for word in words[1:]}
    strange = sorted((left_out | early) - set(tests))
    if strange:
        raise BadList(f"quick_tests.txt names tests that there are not: {' '.join(strange)}")
    return {name: test for name, test in tests.items() if name not in left_out or name in early}


def order_for(file, tests):
    """Quick tests for a fault in src/`file`: first those of its own, of the longest prefix."""
    left_out = {word for words in _words("without") for word in words}
    rows = [words for words in _words("first") if file.startswith(words[0])]
    early = max(rows, key=lambda words: len(words[0]))[1:] if rows else []
    rest = [name for name in tests if name not in early and name not in left_out]
    rest.sort(key=lambda name: tests[name].usual)
    return [tests[name] for name in [*early, *rest]]
