# command_line.py - what bench/compare/run is asked
#
# SPDX-License-Identifier: BSD-3-Clause
"""Arguments and where things lie. Standard library only: it runs before anything is installed."""

import argparse
import os
from pathlib import Path

import shapes

TREE = Path(__file__).resolve().parents[2]
PEERS = {"numpy": "NumPy", "torch": "PyTorch", "onnxruntime": "ONNX Runtime"}

ABOUT = """Measures libsdpa, NumPy, PyTorch and ONNX Runtime on the same inputs with the same number
of threads, their calls interleaved; checks that all results agree; prints ratios and writes them as
JSON. Builds nothing: takes the library of build/release unless told another. Installs the peers
into build/compare-venv with pip, once. Exit status: 0; 1 if a result is wrong, the library or a
peer could not be had; 2 for bad arguments."""


def _thread_counts(text):
    counts = [int(word) for word in text.split(",")]
    if any(not 1 <= count <= 256 for count in counts) or len(set(counts)) < len(counts):
        raise ValueError
    return counts


def _seconds(text):
    seconds = float(text)
    if not 0 < seconds <= 86400:
        raise ValueError
    return seconds


_thread_counts.__name__ = "list of thread counts"
_seconds.__name__ = "number of seconds"


def _parser():
    parser = argparse.ArgumentParser(
        prog="bench/compare/run",
        usage="%(prog)s [option...]",
        description=ABOUT,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--library", type=Path, metavar="PATH", help="libsdpa.so, or the build folder that holds it"
    )
    add(
        "--threads",
        type=_thread_counts,
        default=[1, 2],
        metavar="LIST",
        help="thread counts, each in a process of its own (default 1,2)",
    )
    add("--seconds", type=_seconds, metavar="S", help="time limit a shape (default 8; quick 1)")
    add("--quick", action="store_true", help="some of the shapes, and less time for each")
    add("--peers", metavar="LIST", help=f"of {','.join(PEERS)} (default all)")
    add(
        "--problem",
        action="append",
        default=[],
        metavar="STRING",
        help="this shape only; repeatable",
    )
    add(
        "--json",
        type=Path,
        metavar="FILE",
        help="the record (default build/compare.json; build/compare-KIND.json with --KIND)",
    )
    add("--list", action="store_true", help="print the shapes and exit")
    of_two = parser.add_mutually_exclusive_group().add_argument
    of_two(
        "--bf16",
        action="store_true",
        help="the f32 shapes with all tensors in bf16, which of the peers PyTorch alone has on CPUs",
    )
    of_two(
        "--backward",
        action="store_true",
        help="the backward pass in f32, which of the peers PyTorch alone has",
    )
    return parser


def parse(words):
    """The arguments, complete. Leaves with status 2 and a sentence where they are bad."""
    parser = _parser()
    arguments = parser.parse_args(words)
    arguments.peers = list(PEERS) if arguments.peers is None else arguments.peers.split(",")
    for peer in arguments.peers:
        if peer not in PEERS or arguments.peers.count(peer) > 1:
            parser.error(
                f"--peers: '{peer}' is unknown or given twice; expected some of {','.join(PEERS)}"
            )
    kind = {"bf16": arguments.bf16, "backward": arguments.backward}
    known = {shape.problem for shape in shapes.selected(**kind)}
    for problem in arguments.problem:
        if problem not in known:
            parser.error(f"--problem: '{problem}' is not a shape of this comparison; see --list")
    arguments.shapes = shapes.selected(arguments.quick, arguments.problem, **kind)
    if arguments.seconds is None:
        arguments.seconds = 1.0 if arguments.quick else 8.0
    if arguments.json is None:
        words = ["compare", *(word for word in kind if kind[word])]
        arguments.json = TREE / "build" / f"{'-'.join(words)}.json"
    if not arguments.list:
        try:
            arguments.library = find_library(arguments.library)
        except FileNotFoundError as missing:
            parser.exit(1, f"bench/compare/run: {missing}\n")
    return arguments


def find_library(path):
    """The shared library at `path`, a file or a build folder; by default that of build/release."""
    if path is not None and path.is_file():
        return path.resolve()
    folder = path or TREE / "build" / "release"
    for found in (folder / "src" / "libsdpa.so", folder / "libsdpa.so"):
        if found.is_file():
            return found.resolve()
    raise FileNotFoundError(
        f"no libsdpa.so in {os.path.relpath(folder)}; build it with: "
        "cmake --preset release && cmake --build --preset release"
    )


def find_bench(library):
    """The sdpa-bench of the build that `library` belongs to, None without one."""
    bench = library.parent.parent / "bench" / "sdpa-bench"
    return bench if os.access(bench, os.X_OK) else None
