# test_compare_accuracy.py - the judge of bench/compare/accuracy, and that sdpa-bench's says the same
#
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys
import unittest

import compare_support  # noqa: F401 - sets the path

try:
    import numpy as np
except ImportError:
    print("skipped: what is tested works on NumPy's arrays")
    sys.exit(77)

import accuracy_judge
import accuracy_session
from sdpa_abi import Library


def bench_line(problem):
    words = ("--accuracy", "--json", "--threads", "1", "--engine", "tiled", "--problem", problem)
    done = subprocess.run(
        [os.environ["SDPA_COMPARE_BENCH"], *words], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


class Numbers(unittest.TestCase):
    def test_bf16_is_rounded_once(self):
        # By way of float32 the first would become a tie and then 1.
        cases = {1 + 2**-8 + 2**-40: 1 + 2**-7, 1 + 2**-8: 1.0, -(1 + 3 * 2**-8): -(1 + 2**-6)}
        found = accuracy_judge.stored_as("bf16", np.array(list(cases)))
        self.assertEqual(found.tolist(), list(cases.values()))

    def test_memory_and_back(self):
        for dtype in ("f64", "f32", "bf16", "f16"):
            shape = accuracy_judge.shape_of(f"{dtype}:q4:k9:d8:scale=0.5:lse")
            numbers = accuracy_judge.AccuracyInputs(shape).key
            stored = accuracy_session.in_memory(shape, numbers)
            self.assertTrue((accuracy_session.from_memory(shape, stored) == numbers).all(), dtype)

    def test_half_step(self):
        sizes = np.array([1.0, 1.99, 2.0, 2.0**-30], np.longdouble)
        found = accuracy_judge.half_step("f16", sizes).astype(float).tolist()
        self.assertEqual(found, [2.0**-11, 2.0**-11, 2.0**-10, 2.0**-25])

    def test_figures(self):
        """Two keys of weight 1/2 and values 3 and -1: output 1, S 2."""
        inputs = accuracy_judge.AccuracyInputs(
            accuracy_judge.shape_of("f32:q2:k2:d1:scale=0:lse")
        )
        inputs.value = np.array([[3.0], [-1.0]])
        truth = accuracy_judge.exact(inputs, 2)
        output = np.array([[1 + 2.0**-20], [1.0]])
        found = accuracy_judge.figures(inputs, truth, output, 16)
        self.assertEqual(found["largest"], 2.0**-21)
        self.assertEqual(found["mean"], 2.0**-22)
        self.assertAlmostEqual(found["bound_c"], 2.0**-20 / (2.0**-24 * 16 * 2))
        output[1] = np.nan
        self.assertEqual(accuracy_judge.figures(inputs, truth, output, 16)["largest"], np.inf)


class Judges(unittest.TestCase):
    """The same errors of the same run: same data, same exact results, same definitions."""

    def setUp(self):
        self.library = Library(os.environ["SDPA_COMPARE_LIBRARY"])

    def test_agree(self):
        for dtype in ("f64", "f32", "bf16", "f16"):
            problem = f"{dtype}:q50:k300:d24:scale=0.75:lse"
            inputs = accuracy_judge.AccuracyInputs(accuracy_judge.shape_of(problem))
            line = bench_line(problem)
            truth = accuracy_judge.exact(inputs, line["rows"])
            output = accuracy_session.by_library(self.library, inputs)
            own = accuracy_judge.figures(inputs, truth, output, line["chain"])
            self.assertTrue(accuracy_session.agree(inputs, line, own), (line, own))
            self.assertAlmostEqual(truth.score_size, line["score_size"], 5)
            self.assertLessEqual(abs(own["bound_c"] - line["bound_c"]), 0.05 * line["bound_c"])
            # Of other data they are others.
            inputs.value = -inputs.value[::-1]
            output = accuracy_session.by_library(self.library, inputs)
            truth = accuracy_judge.exact(inputs, line["rows"])
            other = accuracy_judge.figures(inputs, truth, output, line["chain"])
            self.assertFalse(accuracy_session.agree(inputs, line, other), dtype)

    def test_numpy(self):
        inputs = accuracy_judge.AccuracyInputs(
            accuracy_judge.shape_of("f32:q20:k100:d16:scale=0.25:lse")
        )
        truth = accuracy_judge.exact(inputs, 16)
        found = accuracy_judge.figures(inputs, truth, accuracy_session.by_numpy(inputs), 128)
        self.assertTrue(1e-8 < found["largest"] < 1e-6, found)
        self.assertLess(found["bound_c"], 4)


if __name__ == "__main__":
    unittest.main()
