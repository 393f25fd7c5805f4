# reference.py - who is right
#
# SPDX-License-Identifier: BSD-3-Clause
"""libsdpa against extended-precision NumPy on a few rows, and every peer against libsdpa on all."""

import numpy as np

# The outputs are averages of standard normal numbers. Peers approximate exp and order their sums as
# they like: PyTorch tests its own fused kernel in f32 to 1e-5 absolute, and in bf16, where it rounds
# weights to bf16 besides the output, and without fusion also scores, to 5e-2.
AGREE_WITHIN = {"f32": 1e-5, "f64": 1e-13, "bf16": 5e-2}


def _row(inputs, place, chain):
    """The exact output of one row, and the header's error bound for each of its elements, `chain`
    being the longest chain of additions."""
    batch, head, row = place
    shape = inputs.shape
    kv_head = head // shape.group_size
    wide = np.longdouble
    query = inputs.query[batch, head, row].astype(wide)
    key = inputs.key[batch, kv_head].astype(wide)
    value = inputs.value[batch, kv_head].astype(wide)
    scale = 1 / np.sqrt(wide(shape.dim))
    scores = key @ query * scale
    sizes = np.abs(key) @ np.abs(query) * scale
    if inputs.bias is not None:
        scores += inputs.bias[row]
        sizes += np.abs(inputs.bias[row])
    if inputs.allowed is not None:
        keep = inputs.allowed[row]
        scores, sizes, value = scores[keep], sizes[keep], value[keep]
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    roundoff = np.finfo(inputs.query.dtype).eps / 2
    exact = weights @ value
    bound = 4 * roundoff * (chain + sizes.max()) * (weights @ np.abs(value))
    if shape.dtype == "bf16":
        bound += _half_step(np.abs(exact) + bound)
    return exact, bound


def _half_step(sizes):
    """Half the distance of neighbours in bf16, by which storing rounds at most."""
    return np.exp2(np.floor(np.log2(np.maximum(sizes, np.finfo(np.float32).tiny))) - 8)


def verify(inputs, output, engine):
    """Rows of the first, a middle and the last head: {"rows", "max_error", "of_bound", "right"}.

    The bound is that of include/sdpa/sdpa.h, whose chain of additions is short on engine tiled.
    """
    shape = inputs.shape
    chain = shape.key_len if engine == "blas" else 128 + shape.key_len / 128
    heads = {(0, 0), (shape.batch // 2, shape.query_heads // 2)}
    heads.add((shape.batch - 1, shape.query_heads - 1))
    rows = {0, shape.query_len // 3, shape.query_len - 1}
    places = [(*head, row) for head in sorted(heads) for row in sorted(rows)]
    worst, of_bound = 0.0, 0.0
    for place in places:
        exact, bound = _row(inputs, place, max(chain, shape.dim))
        error = np.abs(output[place] - exact)
        # NaN is farther off than any number.
        worst = max(worst, float(np.nan_to_num(error, nan=np.inf).max()))
        of_bound = max(of_bound, float(np.nan_to_num(error / bound, nan=np.inf).max()))
    return {"rows": len(places), "max_error": worst, "of_bound": of_bound, "right": of_bound <= 1}


def difference(output, expected):
    """The largest distance of two outputs, infinity if either holds NaN."""
    if output.shape != expected.shape:
        return float("inf")
    return float(np.nan_to_num(np.abs(output - expected), nan=np.inf).max())
