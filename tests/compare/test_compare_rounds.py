# test_compare_rounds.py - turns, ratios and when a median is known
#
# SPDX-License-Identifier: BSD-3-Clause
import time
import unittest

import compare_support  # noqa: F401 - sets the path

import rounds


class Stable(unittest.TestCase):
    def test_too_few(self):
        self.assertFalse(rounds.is_stable([1.0] * 7))
        self.assertTrue(rounds.is_stable([1.0] * 8))

    def test_outliers_do_not_matter(self):
        self.assertTrue(rounds.is_stable([1.0] * 40 + [9.0] * 5 + [0.1] * 5))

    def test_spread(self):
        # Half of them 10 % off on either side: the interval reaches both.
        self.assertFalse(rounds.is_stable([0.9] * 20 + [1.0] + [1.1] * 20))
        self.assertFalse(rounds.is_stable([1.0] * 20 + [1.05] * 20))

    def test_ranks_of_the_interval(self):
        # Of 25 values: (25 - 1.96 * 5) / 2 = 7.6, so from the 7th smallest to the 7th largest.
        for outside in (0.5, 2.0):
            self.assertTrue(rounds.is_stable([1.0] * 19 + [outside] * 6))
            self.assertFalse(rounds.is_stable([1.0] * 18 + [outside] * 7))


class Interleave(unittest.TestCase):
    def setUp(self):
        self.order = []

    def call(self, name, seconds):
        def work():
            self.order.append(name)
            time.sleep(seconds)

        return work

    def test_turns_rotate(self):
        # Long enough that a sample is one call.
        calls = {name: self.call(name, 2 * rounds.SAMPLE_S) for name in "abc"}
        samples = rounds.interleave(calls, 60, "a", rounds_max=4)
        self.assertEqual(
            {name: len(values) for name, values in samples.items()}, dict.fromkeys("abc", 4)
        )
        self.assertEqual("".join(self.order[-12:]), "abcbcacababc")

    def test_time_limit(self):
        calls = {name: self.call(name, 2 * rounds.SAMPLE_S) for name in "ab"}
        samples = rounds.interleave(calls, 1e-6, "a")
        self.assertEqual(len(samples["a"]), rounds.ROUNDS_MIN)

    def test_short_calls_are_repeated(self):
        times = rounds.calls_per_sample(self.call("a", rounds.SAMPLE_S / 10))
        self.assertTrue(2 <= times <= 10, times)
        self.assertEqual(rounds.calls_per_sample(self.call("b", 2 * rounds.SAMPLE_S)), 1)

    def test_summary(self):
        # The ratio is the median of the rounds' ratios, not the ratio of medians.
        base = [1.0, 2.0, 4.0]
        told = rounds.summary([3.0, 2.0, 6.0], base)
        self.assertEqual((told["median_s"], told["min_s"], told["rounds"]), (3.0, 2.0, 3))
        self.assertEqual(told["ratio"], 1.5)
        self.assertEqual(rounds.summary(base, base)["ratio"], 1.0)


if __name__ == "__main__":
    unittest.main()
