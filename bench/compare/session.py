# session.py - measures with one number of threads
#
# SPDX-License-Identifier: BSD-3-Clause
"""One process, one number of threads: the pools of all contestants are sized once, at their start.

Reads a job as JSON from standard input and writes one JSON object a line: first the versions, then
each shape's record. Run by compare.py with the thread counts of BLAS and OpenMP in the environment.
"""

import contextlib
import json
import os
import sys
from functools import partial

import gradient_reference
import reference
import rounds
from contestants import NotServed, NumPy, PyTorch, Sdpa
from inputs import Inputs
from shapes import ALL_SHAPES

HEAT_ROUNDS, HEAT_S = 5, 1.0


def contestants(library, threads, peers, backward):
    makers = {"numpy": NumPy, "torch": partial(PyTorch, backward=backward)}
    if "onnxruntime" in peers:
        from contestant_ort import OnnxRuntime  # noqa: PLC0415 - only where asked for

        makers["onnxruntime"] = OnnxRuntime
    return Sdpa(library, threads), [makers[name](threads) for name in peers]


def fastest(ways):
    """One way of several, by a short heat of interleaved rounds."""
    if len(ways) == 1:
        return ways[0]
    calls = {way.how: way.call for way in ways}
    samples = rounds.interleave(calls, HEAT_S, ways[0].how, HEAT_ROUNDS)
    return min(ways, key=lambda way: min(samples[way.how]))


def enter(peer, inputs, expected, allowed):
    """The peer's entry in a shape's record, and the way to time, None if there is none."""
    try:
        ways = peer.ways(inputs)
    except NotServed as reason:
        return {"not_served": str(reason)}, None
    found = {way.how: reference.difference(way.read(way.call()), expected, allowed) for way in ways}
    right = [way for way in ways if found[way.how][1]]
    if not right:
        return {"how": ways[0].how, "max_difference": found[ways[0].how][0], "agrees": False}, None
    way = fastest(right)
    entry = {"how": way.how, "max_difference": found[way.how][0], "agrees": True}
    wrong = {how: apart for how, (apart, agrees) in found.items() if not agrees}
    if wrong:
        entry["left_out"] = wrong
    return entry, way


def summed_sizes(inputs, sdpa):
    """weight |v| summed for each element of the output, by the library; None where nobody asks."""
    if inputs.shape.dtype != "bf16":
        return None
    way = sdpa.ways(inputs.with_absolute_values())[0]
    return way.read(way.call()).copy()


def measure(shape, sdpa, peers, seconds):
    inputs = Inputs(shape)
    way = sdpa.ways(inputs)[0]
    expected = way.read(way.call()).copy()
    engine = "blas" if "engine blas" in way.how else "tiled"
    record = {"problem": shape.problem, "group": shape.group, "flops": inputs.flops}
    judge = gradient_reference if shape.backward else reference
    record["reference"] = judge.verify(inputs, expected, engine)
    entries, calls = {sdpa.name: {"how": way.how}}, {sdpa.name: way.call}
    allowed = reference.within(inputs, expected, summed_sizes(inputs, sdpa))
    for peer in peers:
        entries[peer.name], peers_way = enter(peer, inputs, expected, allowed)
        if peers_way:
            calls[peer.name] = peers_way.call
    samples = rounds.interleave(calls, seconds, sdpa.name)
    base = samples[sdpa.name]
    for name, values in samples.items():
        entries[name] |= rounds.summary(values, base)
        entries[name]["gflops"] = 1e-9 * inputs.flops / entries[name]["median_s"]
    # Calls in plenty and other problems' data in between must not have changed a bit.
    record["reference"]["repeats"] = bool((way.read(way.call()) == expected).all())
    record["results"] = entries
    return record


def main():
    job = json.load(sys.stdin)
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # What the peers print must not end up between the lines.
    with contextlib.redirect_stdout(sys.stderr):
        chosen = [shape for shape in ALL_SHAPES if shape.problem in job["problems"]]
        backward = any(shape.backward for shape in chosen)
        sdpa, peers = contestants(job["library"], job["threads"], job["peers"], backward)
        versions = {}
        for one in (sdpa, *peers):
            versions |= one.versions()
        print(json.dumps(versions), file=lines, flush=True)
        for shape in chosen:
            record = measure(shape, sdpa, peers, job["seconds"])
            record["threads"] = job["threads"]
            print(json.dumps(record), file=lines, flush=True)


if __name__ == "__main__":
    main()
