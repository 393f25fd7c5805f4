# inputs.py - the numbers that every contestant gets
#
# SPDX-License-Identifier: BSD-3-Clause
"""Seeded tensors of a shape. Query, key, value and bias are standard normal; a mask attends with
probability 1/2, and to key 0 always, so that no row is without a key: there peers differ by design.

NumPy has no bf16: such tensors are f32 arrays of numbers that bf16 has, and what a contestant gets
of them are their bits.
"""

import copy
from functools import cached_property

import numpy as np

DTYPES = {"f64": np.float64, "f32": np.float32, "bf16": np.float32}


def bf16_bits(numbers):
    """The nearest bf16 of finite f32 numbers, of two the even one, as uint16."""
    bits = numbers.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def bf16_numbers(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Inputs:
    """Contiguous [batch][head][row][col]; mask and bias are [row][col], None where there is none.

    For the backward pass there is a gradient of the output, standard normal as well.
    """

    def __init__(self, shape, seed=42):
        rng = np.random.default_rng(seed)
        dtype = DTYPES[shape.dtype]

        def normal(*size):
            numbers = rng.standard_normal(size, dtype=dtype)
            return bf16_numbers(bf16_bits(numbers)) if shape.dtype == "bf16" else numbers

        rows, keys = shape.query_len, shape.key_len
        self.shape = shape
        self.query = normal(shape.batch, shape.query_heads, rows, shape.dim)
        self.key = normal(shape.batch, shape.kv_heads, keys, shape.dim)
        self.value = normal(shape.batch, shape.kv_heads, keys, shape.dim)
        self.mask = self.bias = None
        if shape.mask:
            self.mask = rng.random((rows, keys)) < 0.5
            self.mask[:, 0] = True
        if shape.bias:
            self.bias = normal(rows, keys)
        self.grad_output = None
        if shape.backward:
            self.grad_output = normal(shape.batch, shape.query_heads, rows, shape.dim)

    def with_absolute_values(self):
        """The same with V's absolute values."""
        other = copy.copy(self)
        other.value = np.abs(self.value)
        return other

    def stored(self, numbers):
        """A tensor of these numbers as memory holds it in the shape's type."""
        return bf16_bits(numbers) if self.shape.dtype == "bf16" else numbers

    def numbers(self, stored):
        """The way back."""
        return bf16_numbers(stored) if self.shape.dtype == "bf16" else stored

    @cached_property
    def allowed(self):
        """Which keys a row may see, [row][col]; None: all."""
        shape = self.shape
        allowed = self.mask
        if shape.causal:
            triangle = np.tri(shape.query_len, shape.key_len, dtype=bool)
            allowed = triangle if allowed is None else allowed & triangle
        return allowed

    @cached_property
    def added(self):
        """Mask, causal rule and bias as one matrix to add to the scores; None: nothing to add."""
        if self.allowed is None:
            return self.bias
        bias = np.zeros(self.allowed.shape, self.query.dtype) if self.bias is None else self.bias
        return np.where(self.allowed, bias, np.asarray(-np.inf, self.query.dtype))

    @property
    def flops(self):
        """As sdpa-bench counts: the products, two forward and five backward, of allowed pairs
        alone."""
        shape = self.shape
        pairs = shape.rule_pairs if self.mask is None else int(np.count_nonzero(self.allowed))
        products = 5 if shape.backward else 2
        return 2 * products * shape.dim * pairs * shape.batch * shape.query_heads

    @property
    def gradient_shapes(self):
        """Those of the gradients of query, key and value, in which order contestants give them."""
        return self.query.shape, self.key.shape, self.value.shape


def rows_of_heads(array):
    """[batch][head][row][col] as contiguous [batch][row][head * col], as some want it."""
    batch, heads, rows, cols = array.shape
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(batch, rows, heads * cols)


def heads_of_rows(array, heads):
    """The way back, as a view."""
    batch, rows, width = array.shape
    return array.reshape(batch, rows, heads, width // heads).transpose(0, 2, 1, 3)


def joined(gradients):
    """Gradients of several tensors as one row of numbers, so that all are compared at once."""
    return np.concatenate([np.asarray(gradient).ravel() for gradient in gradients])


def parted(numbers, tensor_shapes):
    """The way back, as views."""
    ends = np.cumsum([int(np.prod(shape)) for shape in tensor_shapes])
    parts = np.split(numbers, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, tensor_shapes, strict=True)]
