# accuracy_session.py - measures and keeps the record
#
# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the peers' environment; bench/compare/accuracy starts it. One thread throughout."""

import json
import os
import subprocess
import sys

import accuracy_command
import accuracy_text
import compare
import machine
import numpy as np
from accuracy_judge import AccuracyInputs, exact, figures, shape_of
from contestants import lesson_attention
from sdpa_abi import Library

# How far the figures of the two judges may be apart: each is off by its own error in long double.
AGREE_WITHIN = {"f64": 0.05, "f32": 1e-3, "bf16": 1e-3, "f16": 1e-3}
TORCH_TYPES = {"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16"}
STORED_TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16}


def bench_lines(program):
    """What a program of --accuracy says: its lines, and whether all was right."""
    command = [program, "--accuracy", "--json", "--threads", "1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode == 0


def measured_lines(arguments):
    """Of the machine; of a matrix unit that it lacks, by emulation, what the unit computes."""
    lines, right = bench_lines(arguments.bench)
    if arguments.emulated and not any(line.get("isa") == "amx" for line in lines):
        found, also = bench_lines(arguments.emulated)
        lines += [line | {"emulated": True} for line in found if line.get("parts")]
        right = right and also
    return lines, right


def in_memory(shape, numbers):
    """Numbers of the type as it lies in memory; a bf16 as the upper half of its float32."""
    if shape.dtype == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(STORED_TYPES[shape.dtype])


def from_memory(shape, stored):
    if shape.dtype == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64)


def by_library(library, inputs):
    shape = inputs.shape
    tensors = {n: in_memory(shape, getattr(inputs, n)) for n in ("query", "key", "value")}
    tensors["output"] = np.empty_like(tensors["query"])
    tensors["output"].view(np.uint8).fill(0xFF)  # NaN in every type
    plan = library.plan(shape, 1, {name: array.ctypes.data for name, array in tensors.items()})
    library.raise_for(plan.call())
    return from_memory(shape, tensors["output"])


def by_numpy(inputs):
    """The lesson's function with a scale. None where NumPy has no arithmetic of the type."""
    shape = inputs.shape
    if shape.dtype not in ("f64", "f32"):
        return None
    dtype = STORED_TYPES[shape.dtype]
    query, key, value = (a.astype(dtype) for a in (inputs.query, inputs.key, inputs.value))
    return lesson_attention(query, key, value, scale=shape.scale)[0].astype(np.float64)


def by_torch(inputs):
    import torch  # noqa: PLC0415 - takes seconds, and the tests do without it

    dtype = getattr(torch, TORCH_TYPES[inputs.shape.dtype])
    tensors = [
        torch.from_numpy(a).to(dtype)[None, None] for a in (inputs.query, inputs.key, inputs.value)
    ]
    with torch.inference_mode():
        output = torch.nn.functional.scaled_dot_product_attention(
            *tensors, scale=inputs.shape.scale
        )
    return output[0, 0].to(torch.float64).numpy()


PEERS = {"NumPy": by_numpy, "PyTorch": by_torch}


def best_line(lines, problem):
    """The line of engine tiled with the machine's best ISA, which is what a plan takes."""
    found = [
        line
        for line in lines
        if line["problem"] == problem and line["engine"] == "tiled" and "emulated" not in line
    ]
    return found[-1]


def agree(inputs, line, own):
    """Whether the two judges say the same of the same run."""
    within = AGREE_WITHIN[inputs.shape.dtype]
    return all(abs(own[name] - line[name]) <= within * line[name] for name in ("largest", "mean"))


def compare_problem(library, lines, problem):
    """The peers' figures for a problem, and whether the judges agree on the library's."""
    inputs, line = AccuracyInputs(shape_of(problem)), best_line(lines, problem)
    truth = exact(inputs, line["rows"])
    own = figures(inputs, truth, by_library(library, inputs), line["chain"])
    found = []
    for name, run in PEERS.items():
        output = run(inputs)
        if output is not None:
            found.append(
                {"problem": problem, "peer": name}
                | figures(inputs, truth, output, line["chain"])
            )
    same_data = abs(truth.score_size - line["score_size"]) <= 1e-5 * line["score_size"]
    return found, same_data and agree(inputs, line, own)


def main():
    arguments = accuracy_command.parse(sys.argv[1:])
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    library = Library(arguments.library)
    record = {"date": machine.today(), "machine": machine.describe()}
    record["command"] = " ".join(["bench/compare/accuracy", *sys.argv[1:]])
    record["versions"] = {
        "libsdpa": library.version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
    }
    lines, right = measured_lines(arguments)
    if not right:
        print("bench/compare/accuracy: sdpa-bench found a wrong result", file=sys.stderr)
        return 1
    record["lines"], record["peers"], apart = lines, [], []
    for problem in dict.fromkeys(line["problem"] for line in lines):
        if shape_of(problem):
            found, same = compare_problem(library, lines, problem)
            record["peers"] += found
            apart += [] if same else [problem]
    print(accuracy_text.terminal(record))
    for problem in apart:
        print(f"bench/compare/accuracy: {problem}: the judges differ", file=sys.stderr)
    if apart:
        return 1
    compare.write(record, arguments.json)
    print(f"\nwritten: {os.path.relpath(arguments.json)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
