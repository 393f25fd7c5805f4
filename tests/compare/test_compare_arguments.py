# test_compare_arguments.py - what bench/compare/run takes and refuses before it installs anything
#
# SPDX-License-Identifier: BSD-3-Clause
import subprocess
import sys
import tempfile
import unittest

from compare_support import SOURCE

import command_line
import shapes

PROGRAM = SOURCE / "bench" / "compare" / "run"


def run(*words):
    command = [sys.executable, "-B", str(PROGRAM), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


class Refuses(unittest.TestCase):
    def check(self, *words, says):
        done = run(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        usage, sentence = done.stderr.splitlines()
        self.assertTrue(usage.startswith("usage: bench/compare/run"), usage)
        self.assertIn(says, sentence)

    def test_problems_of_the_other_type(self):
        narrow, wide = "bf16:h8:q512:k512:d64", "f32:h8:q512:k512:d64"
        self.check("--problem", narrow, says=narrow)
        self.check("--bf16", "--problem", wide, says=wide)
        self.check("--backward", "--problem", wide, says=wide)
        self.check("--problem", f"{wide}:bwd", says=f"{wide}:bwd")

    def test_two_kinds(self):
        self.check("--bf16", "--backward", says="--backward")

    def test_unknown(self):
        self.check("--frobnicate", says="--frobnicate")
        self.check("--thread", "1", says="--thread")

    def test_operand(self):
        self.check("512", says="512")

    def test_threads(self):
        for text in ("0", "-1", "257", "two", "", "1,1", "1,,2"):
            self.check(f"--threads={text}", says="--threads")

    def test_seconds(self):
        for text in ("0", "-1", "nan", "inf", "long"):
            self.check(f"--seconds={text}", says="--seconds")

    def test_peers(self):
        for text in ("scipy", "numpy,numpy", ""):
            self.check(f"--peers={text}", says="--peers")

    def test_problem(self):
        self.check("--problem", "f32:q1:k1:d1", says="f32:q1:k1:d1")


class Takes(unittest.TestCase):
    def test_help(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("usage: bench/compare/run"))

    def test_list(self):
        done = run("--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        listed = done.stdout.split()
        self.assertEqual(listed, [shape.problem for shape in shapes.SHAPES])
        self.assertEqual(len(set(listed)), len(listed))
        quick = run("--list", "--quick").stdout.split()
        self.assertTrue(0 < len(quick) < len(listed))
        self.assertLessEqual(set(quick), set(listed))

    def test_bf16(self):
        listed = run("--list", "--bf16").stdout.split()
        wide = [shape.problem for shape in shapes.SHAPES if shape.dtype == "f32"]
        self.assertEqual(listed, ["b" + problem.replace("f32", "f16", 1) for problem in wide])
        quick = run("--list", "--bf16", "--quick", "--problem", listed[-1]).stdout.split()
        self.assertEqual(quick, [listed[-1]])
        self.assertEqual(command_line.parse(["--list"]).json.name, "compare.json")
        self.assertEqual(command_line.parse(["--list", "--bf16"]).json.name, "compare-bf16.json")

    def test_backward(self):
        listed = run("--list", "--backward").stdout.split()
        self.assertEqual(listed, [shape.problem for shape in shapes.BACKWARD_SHAPES])
        self.assertIn("f32:h8:q512:k512:d64:causal-tl:bwd", listed)
        self.assertIn("f32:h8:q1024:k1024:d64:mask:mask@sd:bwd", listed)
        self.assertTrue(all(problem.endswith(":bwd") for problem in listed))
        forward = [problem.removesuffix(":bwd") for problem in listed]
        self.assertLessEqual(set(forward), set(run("--list").stdout.split()))
        self.assertEqual(
            command_line.parse(["--list", "--backward"]).json.name, "compare-backward.json"
        )

    def test_defaults(self):
        arguments = command_line.parse(["--list"])
        self.assertEqual(arguments.threads, [1, 2])
        self.assertEqual(arguments.peers, ["numpy", "torch", "onnxruntime"])
        self.assertEqual(
            (arguments.seconds, command_line.parse(["--list", "--quick"]).seconds), (8.0, 1.0)
        )

    def test_absent_library(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("--library", folder)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no libsdpa.so in", done.stderr)
        self.assertIn("cmake --build", done.stderr)


if __name__ == "__main__":
    unittest.main()
