# test_compare_inputs.py - numbers in bf16, and who is right about them
#
# SPDX-License-Identifier: BSD-3-Clause
import sys
import unittest

import compare_support  # noqa: F401 - sets the path

try:
    import numpy as np
except ImportError:
    print("skipped: what is tested works on NumPy's arrays")
    sys.exit(77)

import inputs
import reference
import shapes


class Bf16(unittest.TestCase):
    def test_every_number_survives(self):
        bits = np.arange(1 << 16, dtype=np.uint16)
        bits = bits[(bits & 0x7F80) != 0x7F80]
        self.assertTrue((inputs.bf16_bits(inputs.bf16_numbers(bits)) == bits).all())

    def test_rounding(self):
        cases = {
            1.0: 0x3F80,
            3.140625: 0x4049,
            1 + 2**-8: 0x3F80,  # a tie, to even
            1 + 3 * 2**-8: 0x3F82,
            1 + 2**-8 + 2**-20: 0x3F81,
            -(1 + 3 * 2**-8): 0xBF82,
            2.0**-133: 0x0001,
        }
        found = inputs.bf16_bits(np.array(list(cases), np.float32))
        self.assertEqual(found.tolist(), list(cases.values()))


def attention(given):
    """The formula in double on one head."""
    query, key, value = (a[0, 0].astype(float) for a in (given.query, given.key, given.value))
    weights = np.exp(query @ key.T / np.sqrt(given.shape.dim))
    return (weights / weights.sum(axis=1, keepdims=True) @ value)[None, None]


class Judgement(unittest.TestCase):
    def setUp(self):
        self.given = inputs.Inputs(shapes.Shape("test", 5, 40, 8, dtype="bf16"))
        exact = attention(self.given).astype(np.float32)
        self.output = inputs.bf16_numbers(inputs.bf16_bits(exact))

    def verify(self, output):
        return reference.verify(self.given, output, "tiled")

    def test_the_inputs_are_bf16(self):
        for tensor in (self.given.query, self.given.key, self.given.value):
            again = self.given.numbers(self.given.stored(tensor))
            self.assertTrue((again == tensor).all())

    def test_a_rounded_output_is_right(self):
        verdict = self.verify(self.output)
        self.assertTrue(verdict["right"], verdict)
        self.assertGreater(verdict["of_bound"], 0.5)  # half a step is most of the bound

    def test_another_rounding_is_wrong(self):
        bits = inputs.bf16_bits(self.output)
        bits[0, 0, 4, 7] += 1
        self.assertFalse(self.verify(inputs.bf16_numbers(bits))["right"])

    def test_peers(self):
        sizes = attention(self.given.with_absolute_values())
        allowed = reference.within(self.given, self.output, sizes)
        near, far = self.output.copy(), self.output.copy()
        near[0, 0, 1, 2] += 0.9 * allowed[0, 0, 1, 2]
        far[0, 0, 1, 2] += 1.1 * allowed[0, 0, 1, 2]
        self.assertEqual(reference.difference(self.output, self.output, allowed), (0.0, True))
        self.assertTrue(reference.difference(near, self.output, allowed)[1])
        self.assertFalse(reference.difference(far, self.output, allowed)[1])
        far[0, 0, 1, 2] = np.nan
        self.assertEqual(reference.difference(far, self.output, allowed), (float("inf"), False))
        self.assertFalse(reference.difference(far[..., 1:], self.output, allowed)[1])


if __name__ == "__main__":
    unittest.main()
