# gradient_reference.py - who is right about gradients
#
# SPDX-License-Identifier: BSD-3-Clause
"""libsdpa's gradients against NumPy in double, whole heads of them.

P are the weights, M = dO Vᵀ, D the rows' sums of P M, dS = P (M - D); then dQ = scale dS K,
dK = scale dSᵀ Q and dV = Pᵀ dO. A gradient of K or V has a term for each row of each query head of
its group, so few elements cost as much as all, and whole heads are compared: the first and the last
of K and V, with the query heads that read them.
"""

import numpy as np
from inputs import parted

ROWS_AT_ONCE = 512


def _products(query, key, value, grad_output, allowed, chain):
    """Gradients of some rows of one head, and what each may be off by: [dQ, dK, dV] twice.

    The bound is 4 roundoff R of the terms' magnitudes: R, the relative error of a weight and of all
    that is multiplied with it, is the longest chain of additions, the largest sum of magnitudes in
    a score, and |lse|.
    """
    scale = 1 / np.sqrt(query.shape[-1])
    scores = query @ key.T * scale
    sizes = np.abs(query) @ np.abs(key).T * scale
    if allowed is not None:
        scores[~allowed] = -np.inf
        sizes[~allowed] = 0
    highest = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - highest)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    roundoff = np.finfo(np.float32).eps / 2
    error = 4 * roundoff * (
        chain + sizes.max(axis=1, keepdims=True) + np.abs(highest + np.log(total))
    )
    by_weight = grad_output @ value.T
    by_score = weights * (by_weight - (weights * by_weight).sum(axis=1, keepdims=True))
    size = np.abs(grad_output) @ np.abs(value).T
    size = error * weights * (size + (weights * size).sum(axis=1, keepdims=True))
    exact = [by_score @ key * scale, by_score.T @ query * scale, weights.T @ grad_output]
    bound = [
        size @ np.abs(key) * scale,
        size.T @ np.abs(query) * scale,
        (error * weights).T @ np.abs(grad_output),
    ]
    return exact, bound


def _group(inputs, batch, kv_head, chain):
    """Of one head of K and V, and all query heads that read it: (exact, bound), as _products()."""
    shape = inputs.shape
    heads = slice(kv_head * shape.group_size, (kv_head + 1) * shape.group_size)
    query, grad_output = (
        tensor[batch, heads].astype(float) for tensor in (inputs.query, inputs.grad_output)
    )
    key, value = (tensor[batch, kv_head].astype(float) for tensor in (inputs.key, inputs.value))
    exact = [np.zeros_like(query), np.zeros_like(key), np.zeros_like(value)]
    bound = [np.zeros_like(array) for array in exact]
    for head in range(shape.group_size):
        for first in range(0, shape.query_len, ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            allowed = None if inputs.allowed is None else inputs.allowed[rows]
            parts = _products(
                query[head, rows], key, value, grad_output[head, rows], allowed, chain
            )
            for whole, part in zip((exact, bound), parts, strict=True):
                whole[0][head, rows] = part[0]
                whole[1] += part[1]
                whole[2] += part[2]
    return exact, bound


def verify(inputs, gradients, engine):
    """As reference.verify(), of whole heads; "rows" counts rows of all three gradients."""
    shape = inputs.shape
    found = parted(gradients, inputs.gradient_shapes)
    # A tile of 128 starts from zero in engine tiled, and of its sums there are as many as tiles.
    length = max(shape.key_len, shape.query_len * shape.group_size)
    chain = max(length if engine == "blas" else 128 + length / 128, shape.dim)
    places = sorted({(0, 0), (shape.batch - 1, shape.kv_heads - 1)})
    rows, worst, of_bound = 0, 0.0, 0.0
    for batch, kv_head in places:
        heads = slice(kv_head * shape.group_size, (kv_head + 1) * shape.group_size)
        own = [found[0][batch, heads], found[1][batch, kv_head], found[2][batch, kv_head]]
        exact, bound = _group(inputs, batch, kv_head, chain)
        for one, right, allowed in zip(own, exact, bound, strict=True):
            error = np.abs(one - right)
            rows += error.size // shape.dim
            # NaN is farther off than any number; an exact 0 may be met exactly.
            worst = max(worst, float(np.nan_to_num(error, nan=np.inf).max()))
            share = np.where(error == 0, 0, np.inf)
            np.divide(error, allowed, out=share, where=allowed > 0)
            of_bound = max(of_bound, float(np.nan_to_num(share, nan=np.inf).max()))
    return {"rows": rows, "max_error": worst, "of_bound": of_bound, "right": of_bound <= 1}
