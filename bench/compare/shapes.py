# shapes.py - the problems that are compared
#
# SPDX-License-Identifier: BSD-3-Clause
"""The problems, each with the string by which sdpa-bench runs it too (docs/problem-strings.md).

Nothing here needs a package: the command line lists the shapes before anything is installed.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    """One problem. A mask or bias is one [query_len][key_len] matrix for all batches and heads."""

    group: str
    query_len: int
    key_len: int
    dim: int
    query_heads: int = 1
    kv_heads: int = 1
    batch: int = 1
    dtype: str = "f32"
    causal: bool = False
    mask: bool = False
    bias: bool = False
    scale: float | None = None
    quick: bool = False
    backward: bool = False

    @property
    def problem(self):
        words = [self.dtype]
        if self.batch != 1:
            words.append(f"b{self.batch}")
        if self.kv_heads != self.query_heads:
            words.append(f"h{self.query_heads}/{self.kv_heads}")
        else:
            words.append(f"h{self.query_heads}")
        words += [f"q{self.query_len}", f"k{self.key_len}", f"d{self.dim}"]
        if self.causal:
            words.append("causal-tl")
        if self.mask:
            words += ["mask", "mask@sd"]
        if self.bias:
            words += ["bias", "bias@sd"]
        if self.scale is not None:
            words.append(f"scale={self.scale:g}")
        if self.backward:
            words.append("bwd")
        return ":".join(words)

    @property
    def group_size(self):
        return self.query_heads // self.kv_heads

    @property
    def rule_pairs(self):
        """Pairs of query and key of one head that the rules allow; a mask may exclude more."""
        if not self.causal:
            return self.query_len * self.key_len
        return sum(min(row + 1, self.key_len) for row in range(self.query_len))


def _heads(n, dim, **more):
    return Shape("8 heads", n, n, dim, query_heads=8, kv_heads=8, **more)


SHAPES = (
    *(
        Shape("lesson", n, n, 64, dtype=dtype, quick=n == 512)
        for dtype in ("f64", "f32")
        for n in (3, 512, 4096)
    ),
    *(_heads(n, 64, quick=n == 512) for n in (128, 256, 512, 1024, 2048, 4096)),
    *(_heads(n, 64, causal=True, quick=n == 512) for n in (512, 1024, 4096)),
    *(_heads(n, 128) for n in (512, 1024, 4096)),
    *(_heads(n, 128, causal=True) for n in (512, 1024, 4096)),
    Shape("mask", 1024, 1024, 64, query_heads=8, kv_heads=8, mask=True, quick=True),
    Shape("bias", 1024, 1024, 64, query_heads=8, kv_heads=8, bias=True, quick=True),
    Shape("grouped heads", 1024, 1024, 128, query_heads=32, kv_heads=8),
    Shape("grouped heads", 1024, 1024, 128, query_heads=32, kv_heads=8, causal=True, quick=True),
    Shape("decoding", 1, 1024, 128, query_heads=32, kv_heads=8, quick=True),
    Shape("decoding", 1, 16384, 128, query_heads=32, kv_heads=8),
    Shape("batch", 128, 128, 64, query_heads=12, kv_heads=12, batch=8, quick=True),
    Shape("d = 80", 1024, 1024, 80, query_heads=8, kv_heads=8, quick=True),
)


BF16_SHAPES = tuple(replace(shape, dtype="bf16") for shape in SHAPES if shape.dtype == "f32")

# What is trained: not a cache that is decoded, and not three rows, where a call's own cost is all.
BACKWARD_SHAPES = tuple(
    replace(shape, backward=True)
    for shape in SHAPES
    if shape.dtype == "f32" and not shape.bias and shape.query_len > 3
)

ALL_SHAPES = (*SHAPES, *BF16_SHAPES, *BACKWARD_SHAPES)


def selected(quick=False, problems=(), bf16=False, backward=False):
    """The shapes to run: all, the quick ones, or those whose problem strings are given."""
    offered = BACKWARD_SHAPES if backward else BF16_SHAPES if bf16 else SHAPES
    if problems:
        return [shape for shape in offered if shape.problem in problems]
    return [shape for shape in offered if shape.quick or not quick]
