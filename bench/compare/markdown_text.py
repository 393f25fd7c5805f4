# markdown_text.py - a record as Markdown
#
# SPDX-License-Identifier: BSD-3-Clause
"""What docs/benchmarks.md and the README show of a record. Standard library only."""

import table_text
from command_line import PEERS
from shapes import ALL_SHAPES

README_PROBLEMS = (
    "f32:h1:q3:k3:d64",
    "f32:h8:q512:k512:d64",
    "f32:h8:q4096:k4096:d64",
    "f32:h8:q4096:k4096:d64:causal-tl",
    "f32:h8:q4096:k4096:d128",
    "f32:h8:q1024:k1024:d64:mask:mask@sd",
    "f32:h32/8:q1024:k1024:d128:causal-tl",
    "f32:h32/8:q1:k16384:d128",
    "f32:b8:h12:q128:k128:d64",
)


def title(problem):
    """The shape in words; the string itself where it is not one of this comparison's."""
    shape = next((shape for shape in ALL_SHAPES if shape.problem == problem), None)
    if shape is None:
        return f"`{problem}`"
    words = [f"batch {shape.batch}"] if shape.batch > 1 else []
    heads = f"{shape.query_heads} head{'s' if shape.query_heads > 1 else ''}"
    words.append(heads + (f" on {shape.kv_heads}" if shape.kv_heads != shape.query_heads else ""))
    if shape.query_len == shape.key_len:
        words.append(f"n = {shape.query_len}")
    else:
        words.append(f"{shape.query_len} query, {shape.key_len} keys")
    words.append(f"d = {shape.dim}")
    words += [word for word in ("causal", "mask", "bias") if getattr(shape, word)]
    return ", ".join([*words, *([shape.dtype] if shape.dtype != "f32" else [])])


def _ratio(entry):
    text = table_text.ratio_text(entry).replace("-", "–")
    return (
        text if text[0] in "W–" else text.replace("~", "") + " ×" + ("~" if text[-1] == "~" else "")
    )


def _seconds(seconds):
    return table_text.seconds_text(seconds).replace("us", "µs")


def _peers(record):
    """The peers that serve any of the shapes, and those that serve none with their reason."""
    present, absent = {}, {}
    for peer, name in PEERS.items():
        entries = [result["results"][peer] for result in record["results"] if peer in result["results"]]
        if any("not_served" not in entry for entry in entries):
            present[peer] = name
        elif entries:
            absent[name] = entries[0]["not_served"]
    return present, absent


def _row(cells):
    return "| " + " | ".join(cells) + " |"


def machine_line(record):
    machine, versions = record["machine"], record["versions"]
    names = {
        "libsdpa": "libsdpa",
        "numpy": "NumPy",
        "torch": "PyTorch",
        "onnxruntime": "ONNX Runtime",
    }
    software = ", ".join(
        f"{name} {versions[key]}" for key, name in names.items() if key in versions
    )
    memory = round(machine["memory_bytes"] / (1 << 30))
    before, after = record["load_average"]
    return (
        f"{record['date']}, `{record['command']}` on {machine['cpu']}, {machine['architecture']}, "
        f"{machine['cpus']} cores, {memory} GiB, {machine['kernel']}; {software}; "
        f"load average before and after {before:.2f}, {after:.2f}."
    )


LEGEND = (
    "Numbers with × are the peer's time divided by libsdpa's, the median over interleaved rounds: "
    "above 1 libsdpa is faster. ~: not known within 2 %. –: the peer has no operator for it. "
    "GFLOP/s count what the mask and the causal rule allow. All are called from Python, whose "
    "call is most of the time at n = 3; `sdpa-bench` times the C function."
)


def table(record, threads, problems=None):
    """One line a shape, for one number of threads; with `problems` these alone."""
    peers, _ = _peers(record)
    plural = "s" if threads > 1 else ""
    head = [f"{threads} thread{plural}", "libsdpa", "GFLOP/s", *peers.values()]
    lines = [_row(head), _row(["---"] + ["---:"] * (len(head) - 1))]
    for result in record["results"]:
        if result["threads"] != threads or (problems and result["problem"] not in problems):
            continue
        own = result["results"]["sdpa"]
        cells = [title(result["problem"]), _seconds(own["median_s"]), f"{own['gflops']:.1f}"]
        lines.append(_row(cells + [_ratio(result["results"][peer]) for peer in peers]))
    return "\n".join(lines)


def _operators(record):
    """Which operator of ONNX Runtime was the fastest where."""
    used = {}
    for result in record["results"]:
        entry = result["results"].get("onnxruntime", {})
        if "how" in entry:
            used.setdefault(entry["how"], set()).add(title(result["problem"]))
    lines = [f"* {how}: {'; '.join(sorted(used[how]))}" for how in sorted(used)]
    return [
        "The operator of ONNX Runtime that was the fastest, in either number of threads:",
        "\n".join(lines),
    ]


def _ceilings(record):
    return [
        f"Ceilings of the run, {peak['threads']} thread{'s' if peak['threads'] > 1 else ''}: "
        f"{peak['f32_fma_gflops']:.0f} GFLOP/s FMA in f32, {peak['f64_fma_gflops']:.0f} in f64, "
        f"{1e-9 * peak['read_bytes_per_s']:.1f} GB/s read."
        for peak in record["ceilings"]
    ]


def _pictures(folder, prefix):
    """Links to the pictures that there are."""
    texts = {
        "gflops_1_thread": "GFLOP/s against n, 1 thread",
        "gflops_2_threads": "the same, 2 threads",
    }
    texts |= {"memory": "memory against n", "threads": "time against threads"}
    return [
        f"![{text}]({prefix}{name}.svg)"
        for name, text in texts.items()
        if (folder / f"{name}.svg").is_file()
    ]


def _counts(record):
    return sorted({result["threads"] for result in record["results"]})


def _tables(record):
    parts = [machine_line(record), LEGEND, *(table(record, count) for count in _counts(record))]
    absent = _peers(record)[1].items()
    return [*parts, *(f"{name} has no part in this: {why}." for name, why in absent)]


def manual(record, pictures):
    """For docs/benchmarks.md: everything."""
    parts = _tables(record)
    if "onnxruntime" in _peers(record)[0]:
        parts += _operators(record)
    return "\n\n".join([*parts, *_ceilings(record), *_pictures(pictures, "pictures/")])


def special_manual(record):
    """For docs/benchmarks.md: a record of bench/compare/run --bf16 or --backward, which the pictures
    are not of."""
    return "\n\n".join([*_tables(record), *_ceilings(record)])


def readme(record, pictures):
    """For the README: some shapes, and the picture of one thread."""
    parts = [table(record, count, README_PROBLEMS) for count in _counts(record)]
    shown = _pictures(pictures, "docs/pictures/")[:1]
    return "\n\n".join([*parts, f"{LEGEND} {machine_line(record)}", *shown])
