#!/usr/bin/env python3
"""attention_ctypes.py - attention on NumPy arrays, through ctypes

SPDX-License-Identifier: BSD-3-Clause

    python3 attention_ctypes.py [libsdpa.so.0]

NumPy arrays know their strides, in bytes; the library takes strides, in elements. So any view works
as it is: transposed, sliced, broadcast, reversed. Nothing is copied.

Exits with 1 when a result differs from the plain loop by more than 1e-6, and with 77, which ctest
counts as skipped, where there is no NumPy.
"""

import ctypes
import math
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: this python3 has no NumPy")
    sys.exit(77)

F64, F32 = 1, 2
CAUSAL, MASK = 1 << 0, 1 << 3
ALIGN_BOTTOM_RIGHT = 2


class Strides(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("batch", "head", "row", "col")]


class Problem(ctypes.Structure):
    """sdpa_problem of version 0.1, field by field."""

    _fields_ = (
        [
            (name, ctypes.c_uint32)
            for name in (
                "size features query_type key_type value_type output_type bias_type "
                "alignment score_stage reserved0"
            ).split()
        ]
        + [
            (name, ctypes.c_int64)
            for name in "batch query_heads kv_heads query_len key_len key_dim value_dim".split()
        ]
        + [("scale", ctypes.c_double), ("softcap", ctypes.c_double)]
        + [(name, ctypes.c_int64) for name in "window_left window_right offset".split()]
        + [
            (name, Strides)
            for name in "query key value output mask bias weights scores lse".split()
        ]
    )


class Args(ctypes.Structure):
    """sdpa_args of version 0.1."""

    _fields_ = [("size", ctypes.c_uint32), ("reserved0", ctypes.c_uint32)] + [
        (name, ctypes.c_void_p)
        for name in (
            "query key value output mask bias alibi_slopes sinks key_lens query_lens offsets "
            "weights scores lse"
        ).split()
    ]


def load(path):
    library = ctypes.CDLL(path)
    library.sdpa_attention.restype = ctypes.c_int32
    library.sdpa_attention.argtypes = [
        ctypes.POINTER(Problem),
        ctypes.c_void_p,
        ctypes.POINTER(Args),
    ]
    library.sdpa_problem_check.restype = ctypes.c_int32
    library.sdpa_problem_check.argtypes = [
        ctypes.POINTER(Problem),
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    library.sdpa_version_string.restype = ctypes.c_char_p
    return library


def strides(array):
    """Of a [batch, head, row, col] array, in elements."""
    for bytes_apart in array.strides:
        if bytes_apart % array.itemsize:
            raise ValueError("the array's strides are no multiples of its element")
    return Strides(*(bytes_apart // array.itemsize for bytes_apart in array.strides))


def attention(library, query, key, value, mask=None, causal=False):
    """softmax(Q K^T / sqrt(d)) V of [batch, head, row, col] arrays, of float32 or float64 all."""
    output = np.empty(query.shape[:3] + value.shape[3:], query.dtype)
    p = Problem(size=ctypes.sizeof(Problem))
    p.query_type = {np.dtype(np.float64): F64, np.dtype(np.float32): F32}[query.dtype]
    if key.dtype != query.dtype or value.dtype != query.dtype:
        raise TypeError("query, key and value differ in type")
    p.batch, p.query_heads, p.query_len, p.key_dim = query.shape
    p.kv_heads, p.key_len, p.value_dim = key.shape[1], key.shape[2], value.shape[3]
    if key.shape != (p.batch, p.kv_heads, p.key_len, p.key_dim):
        raise ValueError("key does not fit query")
    if value.shape != (p.batch, p.kv_heads, p.key_len, p.value_dim):
        raise ValueError("value does not fit key")
    p.query, p.key = strides(query), strides(key)
    p.value, p.output = strides(value), strides(output)
    a = Args(size=ctypes.sizeof(Args))
    a.query, a.key = query.ctypes.data, key.ctypes.data
    a.value, a.output = value.ctypes.data, output.ctypes.data
    if causal:
        p.features |= CAUSAL
        p.alignment = ALIGN_BOTTOM_RIGHT
    if mask is not None:
        # A broadcast view has strides of 0; the library reads it as it is.
        mask = np.broadcast_to(mask.view(np.uint8), query.shape[:3] + key.shape[2:3])
        p.features |= MASK
        p.mask, a.mask = strides(mask), mask.ctypes.data
    if library.sdpa_attention(ctypes.byref(p), None, ctypes.byref(a)) != 0:
        sentence = ctypes.create_string_buffer(256)
        library.sdpa_problem_check(ctypes.byref(p), None, sentence, len(sentence))
        raise ValueError(sentence.value.decode() or "wrong arguments")
    return output


def plain(query, key, value, mask=None, causal=False):
    """The same by a loop over the rows."""
    batch, heads, rows, dim = query.shape
    keys, group = key.shape[2], heads // key.shape[1]
    output = np.zeros(query.shape[:3] + value.shape[3:])
    for b, h, i in np.ndindex(batch, heads, rows):
        scores = key[b, h // group].astype(float) @ query[b, h, i].astype(float)
        weights = np.exp(scores / math.sqrt(dim))
        if mask is not None:
            weights = weights * np.broadcast_to(mask, (batch, heads, rows, keys))[b, h, i]
        if causal:
            weights[i + keys - rows + 1 :] = 0
        output[b, h, i] = weights @ value[b, h // group].astype(float) / weights.sum()
    return output


def main():
    library = load(sys.argv[1] if len(sys.argv) > 1 else "libsdpa.so.0")
    print("Python: libsdpa", library.sdpa_version_string().decode(), "NumPy", np.__version__)
    rng = np.random.default_rng(42)
    worst = 0.0

    def show(name, *arrays, **options):
        nonlocal worst
        difference = np.abs(attention(library, *arrays, **options) - plain(*arrays, **options))
        # max() of NumPy keeps a NaN, and the comparison below fails on it
        error = float(difference.max())
        worst = error if not error <= worst else worst
        print(f"{name:50} {error:.1e}")

    tokens = rng.uniform(-1, 1, (2, 12, 4, 8))  # [batch, token, head, dim]
    query = tokens.transpose(0, 2, 1, 3)
    show("a transposed view, [batch, token, head, dim]", query, query, query)
    show("grouped heads: every second head of a view", query, query[:, ::2], query[:, ::2])
    show("rows backwards", query, query[:, :, ::-1], query[:, :, ::-1])
    packed = rng.uniform(-1, 1, (2, 12, 3, 4, 8)).astype(np.float32)
    q, k, v = (packed[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    show("slices of packed QKV, float32, causal", q, k, v, causal=True)
    mask = rng.uniform(size=(2, 1, 1, 12)) < 0.7
    mask[..., 0] = True
    show("a mask [batch, 1, 1, key] for all heads and rows", q, k, v, mask=mask)
    shared = np.broadcast_to(rng.uniform(-1, 1, (1, 1, 12, 8)), (2, 4, 12, 8))
    show("one K and V broadcast to all batches and heads", query, shared, shared)

    print(f"largest difference from the plain loop: {worst:.1e}")
    return 0 if worst <= 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
