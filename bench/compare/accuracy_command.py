# accuracy_command.py - what bench/compare/accuracy is asked
#
# SPDX-License-Identifier: BSD-3-Clause
"""Standard library only: it runs before anything is installed."""

import argparse
import os
from pathlib import Path

import command_line
from command_line import TREE

ABOUT = """Runs sdpa-bench --accuracy, gives NumPy and PyTorch the same inputs, and measures their
errors against exact arithmetic in the same units. Checks that the library called from here has the
errors that sdpa-bench says. Builds nothing: takes the library of build/release unless told another.
Exit status: 0; 1 if a result is wrong, the library or a peer could not be had; 2 for bad
arguments."""


def _parser():
    parser = argparse.ArgumentParser(
        prog="bench/compare/accuracy",
        usage="%(prog)s [option...]",
        description=ABOUT,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--library", type=Path, metavar="PATH", help="libsdpa.so, or the build folder that holds it"
    )
    add(
        "--json",
        type=Path,
        metavar="FILE",
        default=TREE / "build" / "accuracy.json",
        help="the record (default build/accuracy.json)",
    )
    return parser


def parse(words):
    """The arguments, with the programs `bench` and, None where there is none, `emulated`. Leaves
    with a sentence where they are bad."""
    parser = _parser()
    arguments = parser.parse_args(words)
    try:
        arguments.library = command_line.find_library(arguments.library)
    except FileNotFoundError as missing:
        parser.exit(1, f"bench/compare/accuracy: {missing}\n")
    arguments.bench = command_line.find_bench(arguments.library)
    if arguments.bench is None:
        parser.exit(1, "bench/compare/accuracy: no sdpa-bench in the build of this library\n")
    emulated = arguments.library.parent.parent / "tests" / "tiles" / "emulated-accuracy"
    arguments.emulated = emulated if os.access(emulated, os.X_OK) else None
    return arguments
