# plot_data.py - records into columns for gnuplot
#
# SPDX-License-Identifier: BSD-3-Clause
"""Each function returns the text of a data file: words in columns, '-' for what is not known."""

import json
import re

CONTESTANTS = {
    "sdpa": "libsdpa",
    "onnxruntime": "ONNX Runtime",
    "torch": "PyTorch",
    "numpy": "NumPy",
}
CURVE = re.compile(r"f32:h8:q(\d+):k\1:d64")


def _table(head, rows):
    lines = [head, *([str(cell) if cell is not None else "-" for cell in row] for row in rows)]
    return "".join(
        " ".join(f'"{cell}"' if " " in cell else cell for cell in line) + "\n" for line in lines
    )


def thread_counts(record):
    return sorted({result["threads"] for result in record["results"]})


def gflops(record, threads):
    """n, then GFLOP/s of each contestant: 8 heads, d = 64, f32, with `threads` threads."""
    rows = []
    for result in record["results"]:
        match = CURVE.fullmatch(result["problem"])
        if match and result["threads"] == threads:
            entries = [result["results"].get(name, {}) for name in CONTESTANTS]
            rows.append([int(match[1]), *(entry.get("gflops") for entry in entries)])
    return _table(["n", *CONTESTANTS.values()], sorted(rows, key=lambda row: row[0]))


def ceiling(record, threads):
    """The FMA peak of f32 with `threads` threads in GFLOP/s, 0 where it was not measured."""
    found = [peak["f32_fma_gflops"] for peak in record["ceilings"] if peak["threads"] == threads]
    return found[0] if found else 0


def lines(path):
    with open(path, encoding="utf-8") as text:
        return [json.loads(line) for line in text]


def memory(results):
    """n, then MB: tiled and blas above the start, inputs and outputs, n x n scores."""
    by_n = {}
    for result in results:
        n = int(re.search(r":q(\d+):", result["problem"])[1])
        row = by_n.setdefault(n, {"data": result["bytes"], "scores": 4 * n * n})
        if result["peak_rss_bytes"] is not None:
            row[result["engine"]] = result["peak_rss_bytes"] - result["start_rss_bytes"]
    columns = ("tiled", "blas", "data", "scores")
    rows = (
        [n, *(1e-6 * row[name] if name in row else None for name in columns)]
        for n, row in sorted(by_n.items())
    )
    return _table(["n", *columns], rows)


def problem_title(problem):
    """A problem string in words, for an axis."""
    match = re.fullmatch(r"f32:h(\d+)(?:/(\d+))?:q(\d+):k(\d+):d(\d+)", problem)
    if not match:
        return problem
    heads, kv_heads, rows, keys, dim = match.groups()
    heads = f"{heads} head{'s' if heads != '1' else ''}" + (f" on {kv_heads}" if kv_heads else "")
    size = f"n = {rows}" if rows == keys else f"{rows} × {keys}"
    return f"{heads}\\n{size}\\nd = {dim}"


def threads(results):
    """Problem, then its time with each number of threads as a share of that with one."""
    counts = sorted({result["threads"] for result in results})
    times = {}
    for result in results:
        times.setdefault(result["problem"], {})[result["threads"]] = result["median_s"]
    rows = (
        [problem_title(problem), *(at[count] / at[1] if count in at else None for count in counts)]
        for problem, at in times.items()
    )
    head = ["problem", *(f"{count} thread{'s' if count > 1 else ''}" for count in counts)]
    return _table(head, rows)


ERROR_CURVES = ("engine tiled", "engine blas", "NumPy", "PyTorch")
ERROR_PROBLEM = re.compile(r"f32:q64:k(\d+):d64:scale=([0-9.]+):lse")


def errors(record):
    """n, then the largest errors of f32 by each curve for scores of size 1, of size 10, of 100."""
    by_n = {}
    for line in (*record["lines"], *record["peers"]):
        match = ERROR_PROBLEM.fullmatch(line["problem"])
        if match and not line.get("emulated"):
            name = line.get("peer") or f"engine {line['engine']}"
            by_n.setdefault(int(match[1]), {})[float(match[2]), name] = line["largest"]
    columns = [(scale, name) for scale in (0.125, 1.25, 12.5) for name in ERROR_CURVES]
    rows = ([n, *(row.get(column) for column in columns)] for n, row in sorted(by_n.items()))
    return _table(["n", *(name for _, name in columns)], rows)
