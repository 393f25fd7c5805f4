# accuracy_judge.py - the inputs of sdpa-bench --accuracy, exact results, and errors in its units
#
# SPDX-License-Identifier: BSD-3-Clause
"""Written from docs/numerics.md and docs/problem-strings.md, not from the C: two judges that agree.

Exact means in NumPy's longdouble, of 64 bits on x86-64.
"""

import re
from dataclasses import dataclass

import numpy as np
from shapes import Shape

PROBLEM = re.compile(r"(f64|f32|bf16|f16):q(\d+):k(\d+):d(\d+):scale=([0-9.]+):lse")
ROUNDOFF = {"f64": 2.0**-53, "f32": 2.0**-24, "bf16": 2.0**-24, "f16": 2.0**-24}
SMALLEST = {"f64": 2.0**-1022, "f32": 2.0**-126, "bf16": 2.0**-126, "f16": 2.0**-126}
FRACTION_BITS = {"bf16": 7, "f16": 10}
LEAST_EXPONENT = {"bf16": -126, "f16": -14}


def shape_of(problem):
    """One head of one type, as in the set; None for another problem."""
    match = PROBLEM.fullmatch(problem)
    if not match:
        return None
    dtype, rows, keys, dim, scale = match.groups()
    return Shape("accuracy", int(rows), int(keys), int(dim), dtype=dtype, scale=float(scale))


def stored_as(dtype, numbers):
    """The nearest numbers that the type has, of two the even one, as float64. They are normal."""
    if dtype == "f64":
        return numbers
    if dtype != "bf16":
        return numbers.astype({"f32": np.float32, "f16": np.float16}[dtype]).astype(np.float64)
    # In one step: by way of float32 a few would be rounded twice.
    bits = numbers.view(np.uint64)
    bits = bits + ((1 << 44) - 1 + (bits >> 45 & 1))
    return (bits >> 45 << 45).view(np.float64)


def tensor(place, rows, cols):
    """Tensor number `place` of a problem with seed 0, as tests/support/problem_fill.c draws it."""
    rng = np.random.default_rng(place)
    rng.integers(4)  # the share of a mask, which every tensor draws
    return rng.normal(size=(rows, cols))


class AccuracyInputs:
    """query, key and value of a problem as float64 arrays [row][col] of numbers of its type."""

    def __init__(self, shape):
        self.shape = shape
        sizes = (shape.query_len, shape.key_len, shape.key_len)
        self.query, self.key, self.value = (
            stored_as(shape.dtype, tensor(place, rows, shape.dim))
            for place, rows in enumerate(sizes)
        )


@dataclass
class Exact:
    """Rows that are compared; of each output element its value and S, of each row its A."""

    rows: list
    output: np.ndarray
    summed: np.ndarray
    largest: np.ndarray
    score_size: float


def exact(inputs, count):
    """Of `count` rows, evenly spread, the first and the last among them."""
    wide, shape = np.longdouble, inputs.shape
    rows = [i * (shape.query_len - 1) // (count - 1) for i in range(count)]
    query, key, value = (a.astype(wide) for a in (inputs.query[rows], inputs.key, inputs.value))
    scale = wide(shape.scale)
    scores = query @ key.T * scale
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    sizes = np.where(
        weights >= SMALLEST[shape.dtype], np.abs(query) @ np.abs(key).T * scale, wide(0)
    )
    size = float(scores.std())
    return Exact(rows, weights @ value, weights @ np.abs(value), sizes.max(axis=1), size)


def half_step(dtype, sizes):
    """Half the distance of neighbours in a 16-bit type."""
    least = np.ldexp(np.longdouble(1), LEAST_EXPONENT[dtype])
    exponents = np.floor(np.log2(np.maximum(sizes, least)))
    return np.exp2(exponents - FRACTION_BITS[dtype] - 1)


def figures(inputs, truth, output, chain):
    """largest, mean and bound_c of an output [row][col], as sdpa-bench --accuracy defines them."""
    shape = inputs.shape
    stored = output[truth.rows].astype(np.longdouble)
    error = np.abs(stored - truth.output)
    computed = error
    if shape.dtype in FRACTION_BITS:
        step = half_step(shape.dtype, np.maximum(np.abs(stored), np.abs(truth.output)))
        computed = np.maximum(error - step, 0)
    unit = ROUNDOFF[shape.dtype] * (chain + truth.largest)[:, None] * truth.summed
    relative = np.nan_to_num(error / truth.summed, nan=np.inf)
    return {
        "largest": float(relative.max()),
        "mean": float(relative.mean()),
        "bound_c": float(np.nan_to_num(computed / unit, nan=np.inf).max()),
    }
