# test_fault_table.py - how faults are read and planted, and which tests they meet first
#
# SPDX-License-Identifier: BSD-3-Clause
import unittest
from types import SimpleNamespace

import fault_table
import quick_tests

SOURCE = """int f(int a) {
  if (a > 0) return 1; /* a reason */
  a++;
  return a; }
#define G(a) \\
  a++;       /* its comment */ \\
  h(a)
int k; /* begins here
and ends here */
"""


def one(text):
    (fault,) = fault_table.parse("file x.c\nfault name\n" + text)
    return fault


class Planting(unittest.TestCase):
    def planted(self, text):
        changed = one(text).planted(SOURCE).split("\n")
        return [
            (n, new)
            for n, (new, old) in enumerate(zip(changed, SOURCE.split("\n")))
            if new != old
        ]

    def test_without_the_comment(self):
        self.assertEqual(
            self.planted("- if (a > 0) return 1;\n+ if (a < 0) return 1;"),
            [(1, "  if (a < 0) return 1;")],
        )
        self.assertEqual(self.planted("- int k;\n+ long k;"), [(7, "long k;")])

    def test_gone(self):
        self.assertEqual(self.planted("- return a; }\n+ }"), [(3, "  }")])
        self.assertEqual(self.planted("- h(a)\n+"), [(6, "  ")])

    def test_first_one_after(self):
        self.assertEqual(self.planted("after #define G(a)\n- a++;\n+ a--;"), [(5, "  a--; \\")])

    def test_refused(self):
        for text in (
            "- a++;\n+ a--;",  # twice
            "- a += 1;\n+ a--;",  # nowhere
            "- a > 0\n+ a < 0",  # part of a line
            "after a++;\n- h(a)\n+",  # after what is there twice
            "after h(a)\n- a++;\n+",  # not after it
        ):
            with self.assertRaises(fault_table.BadTable, msg=text):
                one(text).planted(SOURCE)

    def test_not_a_table(self):
        for text in ("fault early\n", "file x.c\n- a\n", "file x.c\nfault n\nfrom a\n"):
            with self.assertRaises(fault_table.BadTable, msg=text):
                fault_table.parse(text)

    def test_key_follows_the_fault(self):
        keys = {one(f"- a\n+ {new}").key() for new in "bcd"}
        self.assertEqual(len(keys), 3)


class Order(unittest.TestCase):
    def test_own_tests_come_first(self):
        tests = {}
        for name in ("test_arena", "test_merge", "test_merged_parts", "test_kernel_rows"):
            tests[name] = SimpleNamespace(name=name, usual=9.0 if name == "test_arena" else 1.0)
        for words in quick_tests._words("first"):
            for name in words[1:]:
                tests.setdefault(name, SimpleNamespace(name=name, usual=2.0))
        order = [test.name for test in quick_tests.order_for("engines/merge_tpl.h", tests)]
        self.assertEqual(order[:2], ["test_merge", "test_merged_parts"])
        self.assertEqual(order[-1], "test_arena")
        self.assertEqual(len(order), len(set(order)))
        self.assertNotIn("test_kernel_rows", order)  # left out but for the kernels
        order = [test.name for test in quick_tests.order_for("kernels/tpl/row_map_tpl.h", tests)]
        self.assertIn("test_kernel_rows", order[:3])


if __name__ == "__main__":
    unittest.main()
