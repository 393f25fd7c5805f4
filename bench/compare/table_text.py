# table_text.py - ratios for a terminal
#
# SPDX-License-Identifier: BSD-3-Clause
"""Standard library only."""

NOTE = """ratio: time of the peer against libsdpa's, the median over interleaved rounds; above 1:
libsdpa is faster. ~ not known within 2 %. - the peer has no operator for the shape. WRONG: the
results differ."""


def seconds_text(seconds):
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} us"


def ratio_text(entry):
    if "not_served" in entry:
        return "-"
    if not entry["agrees"]:
        return "WRONG"
    return f"{entry['ratio']:.2f}{'' if entry['stable'] else '~'}"


def is_right(record):
    """Whether the library's result is right, and repeats, and nobody's differs from it."""
    agreed = all(entry.get("agrees", True) for entry in record["results"].values())
    return agreed and record["reference"]["right"] and record["reference"]["repeats"]


def head(peers):
    return (
        f"{'thr':>3}  {'libsdpa':>9} {'GFLOP/s':>8}  "
        + "".join(f"{p:>13}" for p in peers)
        + "  problem"
    )


def row(record, peers):
    own = record["results"]["sdpa"]
    cells = "".join(f"{ratio_text(record['results'][peer]):>13}" for peer in peers)
    fault = (
        "" if record["reference"]["right"] and record["reference"]["repeats"] else "  libsdpa WRONG"
    )
    return (
        f"{record['threads']:>3}  {seconds_text(own['median_s']):>9} {own['gflops']:>8.1f}  "
        f"{cells}  {record['problem']}{fault}"
    )


def closing(records, peers):
    """One line a peer and thread count: how often libsdpa is ahead, and the smallest ratio. And a
    line for each peer that serves no shape, with its reason."""
    lines = []
    for threads in sorted({record["threads"] for record in records}):
        for peer, title in peers.items():
            ratios = [
                (record["results"][peer]["ratio"], record["problem"])
                for record in records
                if record["threads"] == threads and "ratio" in record["results"][peer]
            ]
            if ratios:
                ahead = sum(ratio > 1 for ratio, _ in ratios)
                least, problem = min(ratios)
                plural = "s" if threads > 1 else ""
                lines.append(
                    f"{threads} thread{plural}, {title}: libsdpa ahead on {ahead} of "
                    f"{len(ratios)}, least {least:.2f} on {problem}"
                )
    for peer, title in peers.items():
        entries = [record["results"][peer] for record in records]
        if all("not_served" in entry for entry in entries):
            lines.append(f"{title} has no part in this: {entries[0]['not_served']}")
    return "\n".join(lines)
