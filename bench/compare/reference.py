# reference.py - who is right
#
# SPDX-License-Identifier: BSD-3-Clause
"""libsdpa against extended-precision NumPy on a few rows, and every peer against libsdpa on all."""

import numpy as np

# The outputs are averages of standard normal numbers. Peers approximate exp and order their sums as
# they like: PyTorch tests its own fused kernel in f32 to 1e-5 absolute.
AGREE_WITHIN = {"f32": 1e-5, "f64": 1e-13}


def within(inputs, expected, sizes):
    """How far a peer's output or gradients may be from libsdpa's, `expected`.

    Gradients of standard normal numbers are of the size of outputs, but for those of early keys
    under the causal rule, which sum over most rows: there the difference may grow with the element.
    In bf16 that depends on the element: both outputs are rounded to 8 bits, half a step each, and a
    peer's weights may be, too, each by up to 2^-9 of itself, of which twice as much is allowed.
    `sizes` is what each element sums, weight |v|, needed in bf16 alone. PyTorch's own tests allow
    5e-2, which at n = 4096 is more than the outputs are.
    """
    if inputs.shape.backward:
        return AGREE_WITHIN[inputs.shape.dtype] * np.maximum(1, np.abs(expected))
    if inputs.shape.dtype != "bf16":
        return AGREE_WITHIN[inputs.shape.dtype]
    return 2.0**-7 * np.abs(expected) + 2.0**-8 * sizes


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


def difference(output, expected, allowed):
    """The largest distance of two outputs, infinity if either holds NaN, and whether all are within
    `allowed`, a number or one for each element."""
    if output.shape != expected.shape:
        return float("inf"), False
    apart = np.nan_to_num(np.abs(output - expected), nan=np.inf)
    return float(apart.max()), bool((apart <= allowed).all())
