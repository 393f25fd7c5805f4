# test_compare_gradients.py - the exact gradients of bench/compare, and who is right about them
#
# SPDX-License-Identifier: BSD-3-Clause
import sys
import unittest
from dataclasses import replace

import compare_support  # noqa: F401 - sets the path

try:
    import numpy as np
except ImportError:
    print("skipped: what is tested works on NumPy's arrays")
    sys.exit(77)

import gradient_reference
import inputs
import reference
import shapes

SMALL = shapes.Shape("test", 5, 7, 3, query_heads=4, kv_heads=2, batch=2, backward=True)


def loss(given, query, key, value):
    """The output times its gradient, summed, in double: its gradients are what is asked for."""
    group, total = given.shape.group_size, 0.0
    for batch in range(given.shape.batch):
        for head in range(given.shape.query_heads):
            scores = query[batch, head] @ key[batch, head // group].T / np.sqrt(given.shape.dim)
            if given.allowed is not None:
                scores = np.where(given.allowed, scores, -np.inf)
            weights = np.exp(scores)
            weights /= weights.sum(axis=1, keepdims=True)
            output = weights @ value[batch, head // group]
            total += (output * given.grad_output[batch, head]).sum()
    return total


def by_differences(given, step=1e-5):
    """The gradients of query, key and value, joined."""
    tensors = [a.astype(float) for a in (given.query, given.key, given.value)]
    found = []
    for tensor in tensors:
        gradient = np.empty(tensor.shape)
        for place in np.ndindex(tensor.shape):
            kept = tensor[place]
            tensor[place] = kept + step
            above = loss(given, *tensors)
            tensor[place] = kept - step
            gradient[place] = (above - loss(given, *tensors)) / (2 * step)
            tensor[place] = kept
        found.append(gradient)
    return inputs.joined(found)


class Exact(unittest.TestCase):
    def check(self, shape):
        given = inputs.Inputs(shape)
        expected = inputs.parted(by_differences(given), given.gradient_shapes)
        group = shape.group_size
        for batch in range(shape.batch):
            for kv_head in range(shape.kv_heads):
                heads = slice(kv_head * group, (kv_head + 1) * group)
                exact, bound = gradient_reference._group(given, batch, kv_head, 7)  # noqa: SLF001
                wanted = (
                    expected[0][batch, heads],
                    expected[1][batch, kv_head],
                    expected[2][batch, kv_head],
                )
                for one, other, allowed in zip(exact, wanted, bound, strict=True):
                    self.assertLess(np.abs(one - other).max(), 1e-8)
                    self.assertLess(allowed.max(), 1e-3)
                    self.assertTrue((allowed[one != 0] > 0).all())

    def test_plain(self):
        self.check(SMALL)

    def test_rules(self):
        self.check(replace(SMALL, causal=True))
        self.check(replace(SMALL, mask=True))

    def test_rows_at_once(self):
        given = inputs.Inputs(replace(SMALL, causal=True))
        whole, _ = gradient_reference._group(given, 1, 1, 7)  # noqa: SLF001
        kept = gradient_reference.ROWS_AT_ONCE
        self.addCleanup(setattr, gradient_reference, "ROWS_AT_ONCE", kept)
        gradient_reference.ROWS_AT_ONCE = 2
        parts, _ = gradient_reference._group(given, 1, 1, 7)  # noqa: SLF001
        for one, other in zip(whole, parts, strict=True):
            self.assertLess(np.abs(one - other).max(), 1e-14)


class Judgement(unittest.TestCase):
    def setUp(self):
        self.given = inputs.Inputs(SMALL)
        self.found = by_differences(self.given).astype(np.float32)

    def verdict(self):
        return gradient_reference.verify(self.given, self.found, "tiled")

    def test_right(self):
        verdict = self.verdict()
        self.assertTrue(verdict["right"], verdict)
        self.assertGreater(verdict["max_error"], 0)
        # Of the first and the last head of K and V: two query heads each, then keys twice.
        self.assertEqual(verdict["rows"], 2 * (2 * 5 + 7 + 7))

    def test_wrong(self):
        for place in (0, -1, self.given.query.size, self.given.query.size + self.given.key.size):
            kept = self.found[place]
            for wrong in (kept + 0.01, np.nan, -np.inf):
                self.found[place] = wrong
                self.assertFalse(self.verdict()["right"], (place, wrong))
            self.found[place] = kept

    def test_an_exact_0(self):
        given = inputs.Inputs(replace(SMALL, mask=True))
        given.mask[:, 2] = False
        found = inputs.parted(by_differences(given).astype(np.float32), given.gradient_shapes)
        self.assertTrue((found[2][:, :, 2] == 0).all())
        for wrong in (0, 1e-30):
            found[2][0, 0, 2, 1] = wrong
            verdict = gradient_reference.verify(given, inputs.joined(found), "tiled")
            self.assertEqual(verdict["right"], wrong == 0)

    def test_peers(self):
        large = self.found.copy()
        large[1] = 50
        allowed = reference.within(self.given, large, None)
        near, far = large.copy(), large.copy()
        near[1] += 4e-4
        self.assertTrue(reference.difference(near, large, allowed)[1])
        far[2] += 4e-4
        self.assertFalse(reference.difference(far, large, allowed)[1])


class Numbers(unittest.TestCase):
    def test_the_others_stay_the_same(self):
        forward = inputs.Inputs(replace(SMALL, backward=False, mask=True))
        backward = inputs.Inputs(replace(SMALL, mask=True))
        for name in ("query", "key", "value", "mask"):
            self.assertTrue((getattr(forward, name) == getattr(backward, name)).all())
        self.assertIsNone(forward.grad_output)
        self.assertEqual(2 * backward.flops, 5 * forward.flops)

    def test_parted(self):
        given = inputs.Inputs(SMALL)
        tensors = (given.query, given.key, given.value)
        parts = inputs.parted(inputs.joined(tensors), given.gradient_shapes)
        for one, other in zip(parts, tensors, strict=True):
            self.assertTrue((one == other).all())


if __name__ == "__main__":
    unittest.main()
