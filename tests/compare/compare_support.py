# compare_support.py - what the tests of bench/compare and bench/plot share
#
# SPDX-License-Identifier: BSD-3-Clause
"""Puts both folders on the path. Skips, with ctest's 77, where Python is older than they demand."""

import os
import sys
from pathlib import Path

if sys.version_info < (3, 10):
    print("skipped: bench/compare needs Python 3.10 or newer")
    sys.exit(77)

SOURCE = Path(os.environ["SDPA_COMPARE_SOURCE"])
sys.path[:0] = [str(SOURCE / "bench" / "compare"), str(SOURCE / "bench" / "plot")]


def entry(median_s, ratio, **more):
    """A contestant's part of a result."""
    return {
        "how": "some way",
        "median_s": median_s,
        "ratio": ratio,
        "gflops": 1.5,
        "stable": True,
    } | more


def result(problem, threads, **peers):
    """A result in which libsdpa is right and took 2 ms."""
    right = {"right": True, "repeats": True}
    own = {"how": "engine tiled", "median_s": 0.002, "ratio": 1.0, "gflops": 150.0, "stable": True}
    return {
        "problem": problem,
        "threads": threads,
        "reference": right,
        "results": {"sdpa": own} | peers,
    }


def record():
    """A record as bench/compare/run writes it, with two shapes and two thread counts."""

    def served():
        return entry(0.003, 1.5, agrees=True)

    def unstable():
        return entry(0.005, 2.5, agrees=True, stable=False)

    refused = {"not_served": "no operator"}
    results = [
        result(
            "f32:h8:q512:k512:d64", threads, numpy=unstable(), torch=served(), onnxruntime=served()
        )
        for threads in (1, 2)
    ]
    results.append(
        result("f64:h1:q3:k3:d64", 1, numpy=served(), torch=served(), onnxruntime=refused)
    )
    return {
        "date": "2030-01-02",
        "command": "bench/compare/run --quick",
        "machine": {
            "cpu": "Some CPU",
            "architecture": "x86_64",
            "cpus": 2,
            "memory_bytes": 8 << 30,
            "kernel": "Linux 6.1",
        },
        "load_average": [0.25, 0.5],
        "ceilings": [
            {
                "threads": 1,
                "f32_fma_gflops": 200.0,
                "f64_fma_gflops": 100.0,
                "read_bytes_per_s": 2e10,
            }
        ],
        "versions": {"libsdpa": "9.8.7", "numpy": "2.0", "torch": "2.13.0", "onnxruntime": "1.0"},
        "results": results,
    }


def accuracy_record():
    """A record as bench/compare/accuracy writes it: f32, one number of keys, and a second in a
    line. Errors are ten and a hundred times larger for the larger scores."""
    figures = {"mean": 1e-8, "bound_c": 0.5}
    judged = figures | {"lse_largest": 1e-6, "lse_c": 1.5, "within_bound": True, "chain": 128}

    def line(engine, isa, precision, scale, keys, largest, **more):
        problem = f"f32:q64:k{keys}:d64:scale={scale}:lse"
        if precision != "full":
            problem += f":precision={precision}"
        names = {"engine": engine, "isa": isa, "precision": precision}
        return {"problem": problem, "largest": largest} | names | judged | more

    lines, peers = [], []
    for scale, factor in (("0.125", 1), ("1.25", 10), ("12.5", 100)):
        lines.append(line("blas", "avx512", "full", scale, 64, 3e-7 * factor))
        for isa in ("avx2", "avx512"):
            for precision in ("full", "fma"):
                lines.append(line("tiled", isa, precision, scale, 64, 2e-7 * factor))
        lines.append(line("tiled", "amx", "reduced", scale, 64, 9e-6 * factor, emulated=True))
        problem = lines[-5]["problem"]
        for peer, largest in (("NumPy", 4e-7), ("PyTorch", 5e-7)):
            peers.append({"problem": problem, "peer": peer, "largest": largest * factor} | figures)
    for isa in ("avx2", "avx512"):
        for precision in ("full", "fma"):
            lines.append(line("tiled", isa, precision, "12.5", 1024, 7e-5))
    common = {name: record()[name] for name in ("date", "machine", "versions")}
    common["command"] = "bench/compare/accuracy"
    return common | {"lines": lines, "peers": peers}
