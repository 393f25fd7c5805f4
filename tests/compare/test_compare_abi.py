# test_compare_abi.py - the ABI as bench/compare describes it to ctypes, and its problem strings
#
# SPDX-License-Identifier: BSD-3-Clause
import ctypes
import json
import os
import subprocess
import unittest
from dataclasses import replace

import compare_support  # noqa: F401 - sets the path

import sdpa_abi
import shapes

LIBRARY = sdpa_abi.Library(os.environ["SDPA_COMPARE_LIBRARY"])
BENCH = os.environ["SDPA_COMPARE_BENCH"]


class PlanInfo(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("size", "engine", "isa", "precision")),
        *((name, ctypes.c_int32) for name in ("threads", "key_splits")),
        *((name, ctypes.c_int64) for name in ("flops", "bytes")),
    ]


def floats(*values):
    return (ctypes.c_float * len(values))(*values)


def addresses_of(arrays):
    return {name: ctypes.addressof(array) for name, array in arrays.items()}


def run(shape, threads=1, **arrays):
    """The status of one call on ctypes arrays, and the plan's description."""
    plan = LIBRARY.plan(shape, threads, addresses_of(arrays))
    return plan.call(), plan.describe()


SMALL = shapes.Shape("test", 2, 3, 2)
KEYS = floats(1, 0, 0, 1, 1, 1)


class Calls(unittest.TestCase):
    def check(self, shape, value, expected, **more):
        output = floats(*[float("nan")] * shape.query_len * shape.dim)
        tensors = {"query": floats(1, 0, 0, 1), "key": KEYS, "value": value, "output": output}
        status, text = run(shape, **tensors, **more)
        self.assertEqual(status, sdpa_abi.OK)
        self.assertIn("engine", text)
        for got, wanted in zip(output, expected, strict=True):
            self.assertAlmostEqual(got, wanted, delta=1e-6 * abs(wanted))

    # Scores are 1/sqrt(2) or 0; e = exp(1/sqrt(2)) = 2.0281149816...
    e = 2.0281149816474726

    def test_plain(self):
        total = 2 * self.e + 1
        first = (1 * self.e + 2 + 3 * self.e) / total
        second = (1 + 2 * self.e + 3 * self.e) / total
        self.check(SMALL, floats(1, 10, 2, 20, 3, 30), [first, 10 * first, second, 10 * second])

    def test_causal(self):
        second = (1 + 2 * self.e) / (1 + self.e)
        expected = [1, 10, second, 10 * second]
        self.check(replace(SMALL, causal=True), floats(1, 10, 2, 20, 3, 30), expected)

    def test_mask(self):
        mask = (ctypes.c_uint8 * 6)(0, 1, 0, 1, 0, 0)
        self.check(
            replace(SMALL, mask=True), floats(1, 10, 2, 20, 3, 30), [2, 20, 1, 10], mask=mask
        )

    def test_bias(self):
        no = float("-inf")
        bias = floats(no, no, 0.5, no, -3, no)
        self.check(
            replace(SMALL, bias=True), floats(1, 10, 2, 20, 3, 30), [3, 30, 2, 20], bias=bias
        )

    def test_bf16(self):
        def halves(*numbers):
            return (ctypes.c_uint16 * len(numbers))(*numbers)

        shape = shapes.Shape("test", 1, 2, 2, dtype="bf16", bias=True)
        zero, minus_infinity = 0, 0xFF80
        output = halves(0, 0)
        status, text = run(
            shape,
            query=halves(zero, zero),
            key=halves(zero, zero, zero, zero),
            value=halves(0x3F81, 0x4040, 0x3F82, 0x4080),  # 1 + 2^-7, 3 and 1 + 2^-6, 4
            bias=halves(zero, zero),
            output=output,
        )
        self.assertEqual(status, sdpa_abi.OK)
        self.assertIn("bf16", text)
        self.assertEqual(list(output), [0x3F82, 0x4060])  # a tie, to even; 3.5
        status, _ = run(
            shape,
            query=halves(zero, zero),
            key=halves(zero, zero, zero, zero),
            value=halves(0x3F81, 0x4040, 0x3F82, 0x4080),
            bias=halves(zero, minus_infinity),
            output=output,
        )
        self.assertEqual((status, list(output)), (sdpa_abi.OK, [0x3F81, 0x4040]))

    def test_sentence(self):
        with self.assertRaisesRegex(sdpa_abi.SdpaError, "kv_heads"):
            LIBRARY.plan(replace(SMALL, query_heads=3, kv_heads=2), 1, {})
        with self.assertRaisesRegex(sdpa_abi.SdpaError, "threads"):
            LIBRARY.plan(SMALL, -1, {})

    def test_missing_tensor_is_a_status(self):
        status, _ = run(SMALL, query=floats(1, 0, 0, 1))
        self.assertNotEqual(status, sdpa_abi.OK)
        with self.assertRaises(sdpa_abi.SdpaError):
            LIBRARY.raise_for(status)

    def test_version(self):
        self.assertRegex(LIBRARY.version(), r"^\d+\.\d+\.\d+$")
        self.assertIn(LIBRARY.version(), LIBRARY.build_info())


class Gradients(unittest.TestCase):
    """One query, two keys with scores 0 and d_k = 2: the weights are 1/2."""

    shape = shapes.Shape("test", 1, 2, 2, backward=True)

    def results(self, shape, value, weights, **more):
        """The gradients after a forward and a backward pass, by name."""
        forward = {"query": floats(0, 0), "key": floats(1, 0, 0, 1), "value": value, **more}
        results = {"output": floats(0, 0), "lse": floats(0)}
        status, _ = run(shape, **forward, **results)
        self.assertEqual(status, sdpa_abi.OK)
        mean = [sum(w * v for w, v in zip(weights, value[c::2], strict=True)) for c in (0, 1)]
        self.assertEqual(list(results["output"]), mean)
        grads = {"grad_query": floats(9, 9), "grad_key": floats(9, 9, 9, 9)}
        grads["grad_value"] = floats(9, 9, 9, 9)
        given = results | {"grad_output": floats(1, 10)}
        plan = LIBRARY.plan(shape, 1, addresses_of(forward), addresses_of(given | grads))
        self.assertEqual(plan.call(), sdpa_abi.OK)
        return {name: list(array) for name, array in grads.items()}

    def test_by_hand(self):
        # dP = dO V = 21, 43; dS = (dP - 32) / 2; dQ = dS K / sqrt(2); Q is 0
        found = self.results(self.shape, floats(1, 2, 3, 4), (0.5, 0.5))
        for got, wanted in zip(found["grad_query"], (-5.5, 5.5), strict=True):
            self.assertAlmostEqual(got, wanted / 2**0.5, delta=1e-6)
        self.assertEqual(found["grad_key"], [0, 0, 0, 0])
        self.assertEqual(found["grad_value"], [0.5, 5, 0.5, 5])

    def test_mask(self):
        mask = (ctypes.c_uint8 * 2)(0, 1)
        found = self.results(
            replace(self.shape, mask=True), floats(1, 2, 3, 4), (0, 1), mask=mask
        )
        self.assertEqual(found["grad_query"], [0, 0])
        self.assertEqual(found["grad_value"], [0, 0, 1, 10])

    def test_missing_tensor_is_a_status(self):
        plan = LIBRARY.plan(self.shape, 1, addresses_of({"query": floats(0, 0)}), {})
        self.assertNotEqual(plan.call(), sdpa_abi.OK)


def longer(kind):
    """A struct with a field more."""

    class Longer(kind):
        _fields_ = [("more", ctypes.c_int64)]

    return Longer


class Structs(unittest.TestCase):
    def test_sizes_of_0_1(self):
        # As tests/api/struct_copy.h has them, up to the first field that is newer.
        self.assertEqual(ctypes.sizeof(sdpa_abi.Options), 64)
        self.assertEqual(ctypes.sizeof(PlanInfo), 40)
        self.assertEqual(sdpa_abi.Problem.dropout.offset, 424)
        self.assertEqual(sdpa_abi.Args.dropout_seed.offset, 120)

    def test_sizes_of_0_4(self):
        structs = (sdpa_abi.Problem, sdpa_abi.Args, sdpa_abi.Grads)
        sizes = [ctypes.sizeof(struct) for struct in structs]
        self.assertEqual(sizes, [592, 168, 88])

    def test_they_end_where_the_librarys_end(self):
        # What lies beyond the library's own fields must be 0, what lies within may be anything.
        def status_of(problem=0, args=0, grads=0):
            given = longer(sdpa_abi.Problem)()
            given.size = ctypes.sizeof(given)
            given.query_type = sdpa_abi.F32
            given.grad_bias.col = 7  # of no bias: ignored
            given.more = problem
            plan, nothing = ctypes.c_void_p(), ctypes.c_size_t(0)
            create, run = LIBRARY.c.sdpa_plan_create_backward, LIBRARY.c.sdpa_backward
            status = create(ctypes.byref(given), None, ctypes.byref(plan))
            if status == sdpa_abi.OK:
                data = longer(sdpa_abi.Args)(), longer(sdpa_abi.Grads)()
                for struct, more in zip(data, (args, grads), strict=True):
                    struct.size, struct.more = ctypes.sizeof(struct), more
                status = run(plan, *(ctypes.byref(struct) for struct in data), None, nothing)
            LIBRARY.c.sdpa_plan_destroy(plan)
            return status

        wrong_size = 10
        self.assertEqual(status_of(), sdpa_abi.OK)
        self.assertEqual(status_of(problem=1), wrong_size)
        self.assertEqual(status_of(args=1), wrong_size)
        self.assertEqual(status_of(grads=1), wrong_size)


class Shapes(unittest.TestCase):
    def test_plans_count_the_same_work(self):
        for shape in shapes.ALL_SHAPES:
            plan = LIBRARY.plan(shape, 2, {}, {} if shape.backward else None)
            info = PlanInfo(size=ctypes.sizeof(PlanInfo))
            handle = plan._plan  # noqa: SLF001 - the comparison itself has no use for it
            LIBRARY.raise_for(LIBRARY.c.sdpa_plan_query(handle, ctypes.byref(info)))
            pairs = shape.rule_pairs * shape.batch * shape.query_heads
            products = 5 if shape.backward else 2
            self.assertEqual(info.flops, 2 * products * shape.dim * pairs, shape.problem)

    def test_bench_reads_the_strings(self):
        every = shapes.ALL_SHAPES
        small = [replace(shape, query_len=3, key_len=5, dim=4) for shape in every]
        problems = sorted({shape.problem for shape in small})
        for word in ("mask@sd", "bwd"):
            self.assertTrue(any(word in problem for problem in problems))
        words = [word for problem in problems for word in ("--problem", problem)]
        command = [BENCH, "--json", "--threads", "1", "--seconds", "0.01", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["problem"] for line in lines], problems)
        self.assertTrue(all(line["verified"] for line in lines))


if __name__ == "__main__":
    unittest.main()
