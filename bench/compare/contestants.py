# contestants.py - libsdpa, NumPy and PyTorch, ready to be called
#
# SPDX-License-Identifier: BSD-3-Clause
"""A contestant turns inputs into ways: each a call without arguments, and how to read its result.

`ways(inputs)` raises NotServed, with a reason, where a shape is beyond it. Everything that a user
would do once, outside the loop, is done there and not timed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sdpa_abi
from inputs import joined


class NotServed(Exception):
    """The contestant has no operator for this problem."""


@dataclass(frozen=True)
class Way:
    how: str
    call: Callable[[], Any]
    read: Callable[[Any], np.ndarray]
    """What a call returned -> the output, [batch][head][row][col]; of the backward pass the
    gradients, as inputs.joined() puts them."""


class Sdpa:
    """A ready plan with its workspace, engine auto: what a program that repeats a problem uses."""

    name, title = "sdpa", "libsdpa"

    def __init__(self, path, threads):
        self._library = sdpa_abi.Library(path)
        self._threads = threads

    def versions(self):
        return {"libsdpa": self._library.version(), "build": self._library.build_info()}

    def ways(self, inputs):
        tensors = {name: inputs.stored(getattr(inputs, name)) for name in ("query", "key", "value")}
        if inputs.mask is not None:
            tensors["mask"] = inputs.mask.view(np.uint8)
        if inputs.bias is not None:
            tensors["bias"] = inputs.stored(inputs.bias)
        if inputs.shape.backward:
            return [self._backward(inputs, tensors)]
        tensors["output"] = _full_of_nan(tensors["query"])
        plan = self._library.plan(inputs.shape, self._threads, _addresses(tensors))

        def read(status, owners=(plan, tensors)):
            self._library.raise_for(status)
            return inputs.numbers(owners[1]["output"])

        return [Way(plan.describe(), plan.call, read)]

    def _backward(self, inputs, tensors):
        """What the forward pass leaves for it is computed here, once."""
        results = {"output": _full_of_nan(inputs.query), "lse": _full_of_nan(inputs.query[..., 0])}
        forward = self._library.plan(
            inputs.shape, self._threads, _addresses(tensors) | _addresses(results)
        )
        self._library.raise_for(forward.call())
        inputs_of = ("query", "key", "value")
        gradients = {f"grad_{name}": _full_of_nan(tensors[name]) for name in inputs_of}
        given = results | {"grad_output": inputs.grad_output}
        plan = self._library.plan(
            inputs.shape, self._threads, _addresses(tensors), _addresses(given | gradients)
        )

        def read(status, owners=(plan, tensors, given)):
            del owners
            self._library.raise_for(status)
            return joined(gradients.values())

        return Way(plan.describe(), plan.call, read)


def _addresses(tensors):
    return {name: array.ctypes.data for name, array in tensors.items()}


def _full_of_nan(like):
    """A tensor for results, with NaN in every type's bits where nothing is written."""
    array = np.empty(like.shape, like.dtype)
    array.view(np.uint8).fill(0xFF)
    return array


def lesson_attention(query, key, value, added=None, scale=None):
    """The lesson's function, for any leading dimensions, with a matrix to add to its scores, or
    another scale than 1 / sqrt(d_k).

    The lesson divides by np.sqrt(d_k), a float64: NumPy 2 would go on in float64 for float32 data.
    """
    scores = query @ key.swapaxes(-1, -2)
    if scale is None:
        scores = scores / query.dtype.type(np.sqrt(key.shape[-1]))
    else:
        scores *= query.dtype.type(scale)
    if added is not None:
        scores += added
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ value, weights


class NumPy:
    """The lesson's function in NumPy's own BLAS: head by head, or on all heads at once."""

    name, title = "numpy", "NumPy"
    SCORES_AT_ONCE_MAX = 1 << 24

    def __init__(self, threads):
        del threads  # The environment of the process has told the BLAS.

    def versions(self):
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return {"numpy": np.__version__, "numpy's BLAS": f"{blas['name']} {blas['version']}"}

    def ways(self, inputs):
        shape = inputs.shape
        if shape.dtype == "bf16":
            raise NotServed("NumPy has no bf16")
        if shape.backward:
            raise NotServed("NumPy has no derivatives")
        if shape.batch * shape.query_heads == 1:
            one = (inputs.query[0, 0], inputs.key[0, 0], inputs.value[0, 0], inputs.added)
            return [Way("one head", lambda: lesson_attention(*one)[0], lambda out: out[None, None])]
        ways = [self._head_by_head(inputs)]
        if (
            shape.batch * shape.query_heads * shape.query_len * shape.key_len
            <= self.SCORES_AT_ONCE_MAX
        ):
            ways.append(self._all_at_once(inputs))
        return ways

    def _head_by_head(self, inputs):
        shape = inputs.shape
        heads = [
            (place, inputs.query[place], inputs.key[kv], inputs.value[kv])
            for place, kv in (
                ((batch, head), (batch, head // shape.group_size))
                for batch in range(shape.batch)
                for head in range(shape.query_heads)
            )
        ]
        output, added = np.empty_like(inputs.query), inputs.added

        def call():
            for place, query, key, value in heads:
                output[place] = lesson_attention(query, key, value, added)[0]

        return Way("head by head", call, lambda _: output)

    def _all_at_once(self, inputs):
        shape = inputs.shape
        groups = (shape.batch, shape.kv_heads, shape.group_size, shape.query_len, shape.dim)
        query = inputs.query.reshape(groups)
        key, value, added = inputs.key[:, :, None], inputs.value[:, :, None], inputs.added
        return Way(
            "all heads at once",
            lambda: lesson_attention(query, key, value, added)[0],
            lambda out: out.reshape(inputs.query.shape),
        )


class PyTorch:
    """torch.nn.functional.scaled_dot_product_attention, in inference mode, or its backward pass by
    autograd."""

    name, title = "torch", "PyTorch"

    def __init__(self, threads, backward=False):
        import torch  # noqa: PLC0415 - takes seconds, and may not be asked for

        torch.set_num_threads(threads)
        if not backward:
            # For good, since entering it takes longer than a small problem.
            torch.inference_mode().__enter__()
        self._torch = torch

    def versions(self):
        return {"torch": self._torch.__version__}

    def ways(self, inputs):
        torch = self._torch
        tensors = [self._tensor(inputs, a) for a in (inputs.query, inputs.key, inputs.value)]
        mask = None
        if inputs.mask is not None:
            mask = torch.from_numpy(inputs.mask)
        elif inputs.bias is not None:
            mask = self._tensor(inputs, inputs.bias)
        more = {
            "attn_mask": mask,
            "is_causal": inputs.shape.causal,
            "enable_gqa": inputs.shape.group_size > 1,
        }
        attention = torch.nn.functional.scaled_dot_product_attention
        if inputs.shape.backward:
            return [self._backward(inputs, tensors, lambda: attention(*tensors, **more))]
        how = self._backend(tensors, more)
        wide = torch.float64 if inputs.shape.dtype == "f64" else torch.float32
        return [Way(how, lambda: attention(*tensors, **more), lambda out: out.to(wide).numpy())]

    def _backward(self, inputs, tensors, attention):
        """The forward pass runs once and its graph is kept: what is timed is the backward pass."""
        for tensor in tensors:
            tensor.requires_grad_()
        output = attention()
        grad_output = self._tensor(inputs, inputs.grad_output)
        gradients = self._torch.autograd.grad

        def call():
            return gradients(output, tensors, grad_output, retain_graph=True)

        return Way(output.grad_fn.name(), call, lambda found: joined(g.numpy() for g in found))

    def _tensor(self, inputs, numbers):
        torch = self._torch
        if inputs.shape.dtype != "bf16":
            return torch.from_numpy(numbers)
        # NumPy's arrays have no bf16 to take over: the bits go in as integers.
        return torch.from_numpy(inputs.stored(numbers).view(np.int16)).view(torch.bfloat16)

    def _backend(self, tensors, more):
        """What PyTorch chooses for the problem; the choice has no public name."""
        choose = getattr(self._torch, "_fused_sdp_choice", None)
        if choose is None:
            return "unknown"
        backend = self._torch.nn.attention.SDPBackend(choose(*tensors, **more))
        return {"MATH": "unfused", "FLASH_ATTENTION": "fused"}.get(backend.name, backend.name)
