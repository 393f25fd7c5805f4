# test_compare_documents.py - tables, documents and pictures out of a record
#
# SPDX-License-Identifier: BSD-3-Clause
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

from compare_support import SOURCE, accuracy_record, record, result

import accuracy_text
import markdown_text
import plot_data
import table_text


def program(path, *words):
    command = [sys.executable, "-B", str(SOURCE / path), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


class Terminal(unittest.TestCase):
    def test_row(self):
        line = table_text.row(record()["results"][0], ["numpy", "torch"])
        self.assertEqual(
            line.split(), ["1", "2", "ms", "150.0", "2.50~", "1.50", "f32:h8:q512:k512:d64"]
        )

    def test_wrong(self):
        result = record()["results"][0]
        self.assertTrue(table_text.is_right(result))
        for fault in ("right", "repeats"):
            other = copy.deepcopy(result)
            other["reference"][fault] = False
            self.assertFalse(table_text.is_right(other))
            self.assertIn("libsdpa WRONG", table_text.row(other, []))
        result["results"]["torch"] = {"how": "fused", "agrees": False}
        self.assertFalse(table_text.is_right(result))
        self.assertIn(" WRONG ", table_text.row(result, ["torch"]))

    def test_closing(self):
        results = record()["results"]
        results[0]["results"]["torch"]["ratio"] = 0.9
        text = table_text.closing(results, {"torch": "PyTorch"})
        self.assertIn("1 thread, PyTorch: libsdpa ahead on 1 of 2, least 0.90 on f32:h8:q512", text)
        self.assertIn(
            "2 threads, PyTorch: libsdpa ahead on 1 of 1, least 1.50 on f32:h8:q512", text
        )


    def test_closing_names_who_serves_nothing(self):
        text = table_text.closing(bf16_record()["results"], {"numpy": "NumPy", "torch": "PyTorch"})
        self.assertIn("NumPy has no part in this: none of it", text)
        self.assertNotIn("PyTorch has no part", text)


def bf16_record():
    """As bench/compare/run --bf16 writes it: PyTorch alone serves the type."""
    one = record()
    served = one["results"][0]["results"]["torch"]
    refused = {"not_served": "none of it"}
    one["results"] = [
        result("bf16:h8:q512:k512:d64", threads, numpy=refused, torch=served, onnxruntime=refused)
        for threads in (1, 2)
    ]
    return one


class Documents(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = Path(scratch.name)
        (self.tree / "docs" / "pictures").mkdir(parents=True)
        self.readme, self.manual = self.tree / "README.md", self.tree / "docs" / "benchmarks.md"
        for path in (self.readme, self.manual):
            path.write_text(
                "before\n<!-- compare -->\nold\n<!-- /compare -->\nafter\n", encoding="utf-8"
            )
        self.numerics = self.tree / "docs" / "numerics.md"
        self.numerics.write_text("<!-- accuracy -->\nold\n<!-- /accuracy -->\n", encoding="utf-8")

    def publish(self, content):
        path = self.tree / "record.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return program("bench/compare/publish", "--record", path, "--tree", self.tree)

    def test_publish(self):
        (self.tree / "docs" / "pictures" / "memory.svg").write_text("<svg/>", encoding="utf-8")
        for _ in range(2):  # The second time changes nothing.
            self.assertEqual(self.publish(record()).returncode, 0)
            manual, readme = (p.read_text(encoding="utf-8") for p in (self.manual, self.readme))
            for text in (manual, readme):
                self.assertTrue(text.startswith("before\n<!-- compare -->\n\n"))
                self.assertTrue(text.endswith("\n\n<!-- /compare -->\nafter\n"))
                self.assertNotIn("old", text)
                self.assertIn("2030-01-02, `bench/compare/run --quick` on Some CPU", text)
                self.assertIn(
                    "| 8 heads, n = 512, d = 64 | 2 ms | 150.0 | 2.50 ×~ | 1.50 × | 1.50 × |", text
                )
                self.assertIn("memory.svg", text)
                self.assertNotIn("threads.svg", text)
            self.assertIn(
                "| 1 head, n = 3, d = 64, f64 | 2 ms | 150.0 | 1.50 × | 1.50 × | – |", manual
            )
            self.assertNotIn("n = 3,", readme)

    def test_publish_bf16(self):
        block = "<!-- compare-bf16 -->\nold\n<!-- /compare-bf16 -->\n"
        with self.manual.open("a", encoding="utf-8") as manual:
            manual.write(block)
        self.assertEqual(self.publish(bf16_record()).returncode, 0)
        text = self.manual.read_text(encoding="utf-8")
        before, after = text.split("<!-- compare-bf16 -->\n")
        self.assertEqual(before, "before\n<!-- compare -->\nold\n<!-- /compare -->\nafter\n")
        self.assertIn("| 1 thread | libsdpa | GFLOP/s | PyTorch |", after)
        self.assertIn("| 8 heads, n = 512, d = 64, bf16 | 2 ms | 150.0 | 1.50 × |", after)
        self.assertIn("ONNX Runtime has no part in this: none of it.", after)
        self.assertNotIn("old", after)
        self.assertIn("old", self.readme.read_text(encoding="utf-8"))

    def test_publish_backward(self):
        block = "<!-- compare-backward -->\nold\n<!-- /compare-backward -->\n"
        with self.manual.open("a", encoding="utf-8") as manual:
            manual.write(block)
        content = bf16_record()
        for one in content["results"]:
            one["problem"] = "f32:h8:q512:k512:d64:causal-tl:bwd"
        self.assertEqual(self.publish(content).returncode, 0)
        text = self.manual.read_text(encoding="utf-8")
        before, after = text.split("<!-- compare-backward -->\n")
        self.assertIn("old", before)
        self.assertIn("| 8 heads, n = 512, d = 64, causal | 2 ms | 150.0 | 1.50 × |", after)
        self.assertNotIn("old", after)
        self.assertIn("old", self.readme.read_text(encoding="utf-8"))

    def test_wrong_record(self):
        wrong = record()
        wrong["results"][1]["results"]["numpy"]["agrees"] = False
        done = self.publish(wrong)
        self.assertEqual(done.returncode, 1)
        self.assertIn("wrong result", done.stderr)
        self.assertIn("old", self.readme.read_text(encoding="utf-8"))

    def test_accuracy(self):
        self.assertEqual(self.publish(accuracy_record()).returncode, 0)
        text = self.numerics.read_text(encoding="utf-8")
        self.assertNotIn("old", text)
        for row in (
            "| f32 | blas, avx512 | full | 3.0e-7 | 1.0e-8 | 3.0e-6 | 1.0e-8 | 3.0e-5 | 1.0e-8 "
            "| 0.50 | 1.0e-6 | 1.50 |",
            # Two precisions and two ISAs with the same figures, the largest over the keys
            "| f32 | tiled, avx2, avx512 | full, fma | 2.0e-7 | 1.0e-8 | 2.0e-6 | 1.0e-8 | 7.0e-5 "
            "| 1.0e-8 | 0.50 | 1.0e-6 | 1.50 |",
            "| f32 | tiled, amx (emulated) | reduced | 9.0e-6 | 1.0e-8 | 9.0e-5 | 1.0e-8 | 9.0e-4 "
            "| 1.0e-8 | 0.50 | 1.0e-6 | 1.50 |",
            "| f32 | NumPy | – | 4.0e-7 | 1.0e-8 | 4.0e-6 | 1.0e-8 | 4.0e-5 | 1.0e-8 | 0.50 | – | – |",
            "| 64 | 2.0e-7 | 4.0e-7 | 5.0e-7 | 2.0e-6 | 4.0e-6 | 5.0e-6 | 2.0e-5 | 4.0e-5 | 5.0e-5 |",
            "| 1024 | – | – | – | – | – | – | 7.0e-5 | – | – |",
        ):
            self.assertIn(row + "\n", text)
        self.assertNotIn("f64", text)
        self.assertIn("old", self.manual.read_text(encoding="utf-8"))

    def test_accuracy_rows_of_other_precisions_stay(self):
        rows = [["tiled, avx2", "full, fma", ("1",)], ["tiled, avx512", "full, fma", ("1",)]]
        other = ["tiled, amx", "full", ("1",)]
        self.assertEqual(
            accuracy_text.merged([*rows, other]),
            [["tiled, avx2, avx512", "full, fma", ("1",)], other],
        )

    def test_accuracy_beyond_the_bound(self):
        wrong = accuracy_record()
        wrong["lines"][1]["within_bound"] = False
        self.assertEqual(self.publish(wrong).returncode, 1)
        self.assertEqual(self.publish(accuracy_record() | {"lines": []}).returncode, 1)
        self.assertIn("old", self.numerics.read_text(encoding="utf-8"))

    def test_no_block(self):
        self.readme.write_text("no mark\n", encoding="utf-8")
        self.assertEqual(self.publish(record()).returncode, 1)
        self.assertIn("old", self.manual.read_text(encoding="utf-8"))

    def test_tree_has_the_blocks(self):
        for path in ("README.md", "docs/benchmarks.md"):
            text = (SOURCE / path).read_text(encoding="utf-8")
            self.assertEqual(
                (text.count("<!-- compare -->\n"), text.count("<!-- /compare -->\n")), (1, 1), path
            )
        manual = (SOURCE / "docs/benchmarks.md").read_text(encoding="utf-8")
        for kind in ("bf16", "backward"):
            for mark in (f"<!-- compare-{kind} -->\n", f"<!-- /compare-{kind} -->\n"):
                self.assertEqual(manual.count(mark), 1)
        numerics = (SOURCE / "docs/numerics.md").read_text(encoding="utf-8")
        for mark in ("<!-- accuracy -->\n", "<!-- /accuracy -->\n"):
            self.assertEqual(numerics.count(mark), 1)

    def test_readme_problems_exist(self):
        for problem in markdown_text.README_PROBLEMS:
            self.assertNotIn("`", markdown_text.title(problem), problem)


def bench_line(n, engine, peak, **more):
    line = {"problem": f"f32:h1:q{n}:k{n}:d64", "engine": engine, "threads": 1, "bytes": 1024 * n}
    return line | {"peak_rss_bytes": peak, "start_rss_bytes": 1000000, "median_s": 1.0} | more


MEMORY = [
    bench_line(2048, "blas", 5000000),
    bench_line(1024, "blas", None),
    *(bench_line(n, "tiled", 3000000) for n in (1024, 2048)),
]
THREADS = [
    bench_line(512, "tiled", 0),
    bench_line(512, "tiled", 0, threads=2, median_s=0.5),
    bench_line(4096, "tiled", 0),
]


class Pictures(unittest.TestCase):
    def test_columns(self):
        rows = plot_data.gflops(record(), 1).splitlines()
        self.assertEqual(rows, ['n libsdpa "ONNX Runtime" PyTorch NumPy', "512 150.0 1.5 1.5 1.5"])
        self.assertEqual(plot_data.ceiling(record(), 1), 200.0)
        self.assertEqual(plot_data.ceiling(record(), 2), 0)
        rows = plot_data.errors(accuracy_record()).splitlines()
        self.assertEqual(rows[0].split('"')[1::2], ["engine tiled", "engine blas"] * 3)
        self.assertEqual(rows[1].split()[:5], ["64", "2e-07", "3e-07", "4e-07", "5e-07"])
        self.assertEqual([f"{float(x):.0e}" for x in rows[1].split()[9:11]], ["2e-05", "3e-05"])
        self.assertEqual(rows[2].split()[:3], ["1024", "-", "-"])
        rows = plot_data.memory(MEMORY).splitlines()
        self.assertEqual(rows[0], "n tiled blas data scores")
        self.assertEqual(rows[1].split()[:3], ["1024", "2.0", "-"])
        rows = plot_data.threads(THREADS).splitlines()
        self.assertEqual(rows[1], '"1 head\\nn = 512\\nd = 64" 1.0 0.5')
        self.assertEqual(rows[2], '"1 head\\nn = 4096\\nd = 64" 1.0 -')

    def test_missing_records(self):
        with tempfile.TemporaryDirectory() as folder:
            done = program(
                "bench/plot/draw",
                "--compare",
                f"{folder}/none.json",
                "--accuracy",
                f"{folder}/none.json",
                "--data",
                folder,
                "--out",
                folder,
            )
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 4)

    @unittest.skipUnless(os.environ.get("SDPA_COMPARE_GNUPLOT") == "1", "no gnuplot")
    def test_draw(self):
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            (scratch / "compare.json").write_text(json.dumps(record()), encoding="utf-8")
            for name, lines in (("memory", MEMORY), ("threads", THREADS)):
                text = "".join(json.dumps(line) + "\n" for line in lines)
                (scratch / f"{name}.jsonl").write_text(text, encoding="utf-8")
            (scratch / "accuracy.json").write_text(json.dumps(accuracy_record()), encoding="utf-8")
            words = ("--compare", scratch / "compare.json", "--data", scratch, "--out", scratch)
            words += ("--accuracy", scratch / "accuracy.json")
            done = program("bench/plot/draw", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for name, word in (
                ("gflops_1_thread", "ONNX Runtime"),
                ("gflops_2_threads", "2 threads"),
                ("memory", "engine tiled"),
                ("threads", "0.50"),
                ("accuracy", "scores of size 100"),
            ):
                picture = ElementTree.parse(scratch / f"{name}.svg").getroot()
                self.assertIn(word, "\n".join(picture.itertext()), name)


if __name__ == "__main__":
    unittest.main()
