# accuracy_text.py - a record of errors for a terminal, and as Markdown
#
# SPDX-License-Identifier: BSD-3-Clause
"""Standard library only. A record is what bench/compare/accuracy writes."""

import re

TYPES = {
    "f64": "f64",
    "f32": "f32",
    "bf16": "bf16",
    "f16": "f16",
    "q=bf16,o=f32": "bf16, output f32",
    "q=f16,o=f32": "f16, output f32",
    "q=f32,kv=bf16,o=f32": "f32, K and V bf16",
}
SIZES = (1, 10, 100)
FEW_ROWS = 16
PROBLEM = re.compile(r"(.+?):(?:b\d+:)?q(\d+):k(\d+):d(\d+):scale=([0-9.]+)")


def parsed(problem):
    """Types, query rows, keys and size of the scores of a problem of the set."""
    types, rows, keys, dim, scale = PROBLEM.match(problem).groups()
    return types, int(rows), int(keys), round(float(scale) * int(dim) ** 0.5)


def number(value):
    return "–" if value is None else f"{value:.1e}".replace("e-0", "e-")


def terminal(record):
    """The columns of sdpa-bench --accuracy, for the library's best ISA and the peers."""
    rows = [f"{'largest':>9}  {'mean':>9}  {'c':>8}  {'by':<24}  problem"]
    for line in (*record["lines"], *record["peers"]):
        who = line.get("peer") or f"{line['engine']} {line['isa']} {line['precision']}"
        who += " emulated" if line.get("emulated") else ""
        rows.append(
            f"{line['largest']:9.2e}  {line['mean']:9.2e}  {line['bound_c']:8.4f}  {who:<24}  "
            f"{line['problem'].replace(':precision=' + line.get('precision', ''), '')}"
        )
    return "\n".join(rows)


def cells(lines):
    """One row of the large table: for each size of scores the largest error and the mean over all
    numbers of keys; the largest c; the same of the log-sum-exp."""
    row = []
    for size in SIZES:
        of_size = [line for line in lines if parsed(line["problem"])[3] == size]
        row.append(number(max(line["largest"] for line in of_size)))
        row.append(number(sum(line["mean"] for line in of_size) / len(of_size)))
    row.append(f"{max(line['bound_c'] for line in lines):.2f}")
    lse = [line for line in lines if line.get("lse_largest") is not None]
    row.append(number(max(line["lse_largest"] for line in lse)) if lse else "–")
    row.append(f"{max(line['lse_c'] for line in lse):.2f}" if lse else "–")
    return tuple(row)


def ways(record):
    """(types, few rows, who) -> precision -> lines, in the order of the record."""
    found = {}
    for line in (*record["lines"], *record["peers"]):
        types, rows, _, _ = parsed(line["problem"])
        who = line.get("peer") or f"{line['engine']}, {line['isa']}"
        who += " (emulated)" if line.get("emulated") else ""
        precisions = found.setdefault((types, rows < FEW_ROWS, who), {})
        precisions.setdefault(line.get("precision", ""), []).append(line)
    return found


def merged(rows):
    """Rows of neighbouring ISAs with equal precisions and cells become one."""
    result = []
    for who, precision, figures in rows:
        last = result[-1] if result else None
        both_tiled = last and last[0].split(",")[0] == who.split(",")[0] == "tiled"
        if both_tiled and last[1:] == [precision, figures]:
            last[0] += who.removeprefix("tiled")
        else:
            result.append([who, precision, figures])
    return result


def table_of(record, types, few):
    lines = []
    for (of_types, of_few, who), precisions in ways(record).items():
        if (of_types, of_few) == (types, few):
            same = {}
            for precision, found in precisions.items():
                same.setdefault(cells(found), []).append(precision)
            lines += [(who, ", ".join(names), figures) for figures, names in same.items()]
    name = TYPES[types] + (", 2 rows" if few else "")
    return [
        f"| {name} | {who} | {precision or '–'} | {' | '.join(figures)} |"
        for who, precision, figures in merged(lines)
    ]


HEAD = (
    "| types | by | precision | size 1: largest | mean | size 10: largest | mean "
    "| size 100: largest | mean | c | log-sum-exp | c |\n"
    "| --- | --- | --- |" + " ---: |" * 9
)


def against_keys(record, types):
    """The largest error for each number of keys: the library, then the peers."""
    columns = ["libsdpa", *dict.fromkeys(line["peer"] for line in record["peers"])]
    found = {}
    for line in (*record["lines"], *record["peers"]):
        of_types, rows, keys, size = parsed(line["problem"])
        if of_types != types or rows < FEW_ROWS or line.get("emulated"):
            continue
        if "peer" in line or (line["engine"] == "tiled" and line["precision"] == "full"):
            found[keys, size, line.get("peer", "libsdpa")] = line["largest"]
    if not found:
        return ""
    heads = [f"size {size}: {who}" for size in SIZES for who in columns]
    rows = [f"| {types}, n = | {' | '.join(heads)} |", "| ---: |" + " ---: |" * len(heads)]
    for keys in sorted({key[0] for key in found}):
        values = (number(found.get((keys, size, who))) for size in SIZES for who in columns)
        rows.append(f"| {keys} | {' | '.join(values)} |")
    return "\n".join(rows)


def markdown(record):
    """What docs/numerics.md shows."""
    machine, versions = record["machine"], record["versions"]
    rows = [HEAD]
    for types in TYPES:
        for few in (False, True):
            rows += table_of(record, types, few)
    return "\n\n".join(
        [
            f"{record['date']}, `{record['command']}` on {machine['cpu']}, "
            f"{machine['architecture']}, {machine['kernel']}; libsdpa {versions['libsdpa']}, "
            f"NumPy {versions['numpy']}, PyTorch {versions['torch']}.",
            "\n".join(rows),
            *filter(None, (against_keys(record, types) for types in ("f64", "f32", "bf16", "f16"))),
        ]
    )
