# sdpa_abi.py - the C ABI of libsdpa for Python's ctypes
#
# SPDX-License-Identifier: BSD-3-Clause
"""The part of include/sdpa/sdpa.h that a comparison calls, and nothing but the standard library.

The structs are those of the header field by field. Data go in as addresses, so that whatever owns
the memory can be measured without a copy; the caller keeps it alive.
"""

import ctypes
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)

OK = 0
F64, F32, BF16, F16 = 1, 2, 3, 4
LAYOUT_BHSD = 1
ALIGN_TOP_LEFT = 1
CAUSAL, SCALE, MASK, BIAS, LSE = 1 << 0, 1 << 2, 1 << 3, 1 << 4, 1 << 17

TENSORS = ("query", "key", "value", "output", "mask", "bias")


class Strides(ctypes.Structure):
    _fields_ = [(name, c_int64) for name in ("batch", "head", "row", "col")]


class Problem(ctypes.Structure):
    _fields_ = [
        *(
            (name, c_uint32)
            for name in ("size", "features", "query_type", "key_type", "value_type")
        ),
        *((name, c_uint32) for name in ("output_type", "bias_type", "alignment", "score_stage")),
        ("reserved0", c_uint32),
        *((name, c_int64) for name in ("batch", "query_heads", "kv_heads")),
        *((name, c_int64) for name in ("query_len", "key_len", "key_dim", "value_dim")),
        *((name, c_double) for name in ("scale", "softcap")),
        *((name, c_int64) for name in ("window_left", "window_right", "offset")),
        *((name, Strides) for name in (*TENSORS, "weights", "scores", "lse")),
        ("dropout", c_double),
        *((f"grad_{name}", Strides) for name in ("query", "key", "value", "output", "bias")),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in ("size", "engine", "isa", "precision")),
        ("threads", c_int32),
        ("reserved0", c_uint32),
        *(
            (name, c_void_p)
            for name in ("parallel_for", "parallel_ctx", "alloc", "release", "alloc_ctx")
        ),
    ]


class Args(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in ("size", "reserved0")),
        *((name, c_void_p) for name in TENSORS),
        *(
            (name, c_void_p)
            for name in ("alibi_slopes", "sinks", "key_lens", "query_lens", "offsets")
        ),
        *((name, c_void_p) for name in ("weights", "scores", "lse")),
        *((f"dropout_{name}", c_uint64) for name in ("seed", "offset")),
        *((f"dropout_{name}", c_int64) for name in ("batch", "head", "query", "key")),
    ]


class Grads(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in ("size", "reserved0")),
        *((name, c_void_p) for name in ("output", "lse", "grad_output", "grad_lse")),
        *((f"grad_{name}", c_void_p) for name in ("query", "key", "value", "bias")),
        *((f"grad_{name}", c_void_p) for name in ("sinks", "alibi_slopes")),
    ]


class SdpaError(Exception):
    """A call returned another status than SDPA_OK; the text is the library's own sentence."""


class Plan:
    """A plan with its workspace, bound to the data of one call. Keep it while `call` is used.

    With `gradients`, addresses by their names in sdpa_grads, it is one of the backward pass.
    """

    def __init__(self, library, problem, options, addresses, gradients=None):
        self._library = library
        self._plan = c_void_p()
        library.check_problem(problem, options)
        create, run = library.c.sdpa_plan_create, library.c.sdpa_execute
        if gradients is not None:
            create, run = library.c.sdpa_plan_create_backward, library.c.sdpa_backward
        library.raise_for(create(byref(problem), byref(options), byref(self._plan)))
        size, alignment = c_size_t(), c_size_t()
        library.raise_for(library.c.sdpa_plan_workspace(self._plan, byref(size), byref(alignment)))
        self._block = ctypes.create_string_buffer(size.value + alignment.value)
        start = -(-ctypes.addressof(self._block) // alignment.value) * alignment.value
        self._args = Args(size=ctypes.sizeof(Args), **addresses)
        data = [byref(self._args)]
        if gradients is not None:
            self._grads = Grads(size=ctypes.sizeof(Grads), **gradients)
            data.append(byref(self._grads))
        # Converted once: what is left of a call is one foreign function with ready arguments.
        ready = (self._plan, *data, c_void_p(start), c_size_t(size.value))
        self.call = lambda: run(*ready)

    def describe(self):
        text = ctypes.create_string_buffer(1024)
        self._library.c.sdpa_plan_describe(self._plan, text, len(text))
        return text.value.decode()

    def __del__(self):
        self._library.c.sdpa_plan_destroy(self._plan)


class Library:
    """A loaded libsdpa. OSError: `path` is not a library; AttributeError: it lacks a function."""

    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        for name, result, arguments in (
            ("sdpa_problem_init", c_int32, (POINTER(Problem), c_size_t)),
            ("sdpa_problem_layout", c_int32, (POINTER(Problem), c_uint32)),
            (
                "sdpa_problem_broadcast",
                c_int32,
                (POINTER(Problem), c_int32, POINTER(c_int64), POINTER(Strides)),
            ),
            ("sdpa_options_init", c_int32, (POINTER(Options), c_size_t)),
            (
                "sdpa_problem_check",
                c_int32,
                (POINTER(Problem), POINTER(Options), c_char_p, c_size_t),
            ),
            ("sdpa_plan_create", c_int32, (POINTER(Problem), POINTER(Options), POINTER(c_void_p))),
            (
                "sdpa_plan_create_backward",
                c_int32,
                (POINTER(Problem), POINTER(Options), POINTER(c_void_p)),
            ),
            ("sdpa_plan_destroy", None, (c_void_p,)),
            ("sdpa_plan_workspace", c_int32, (c_void_p, POINTER(c_size_t), POINTER(c_size_t))),
            ("sdpa_plan_describe", c_size_t, (c_void_p, c_char_p, c_size_t)),
            ("sdpa_execute", c_int32, (c_void_p, POINTER(Args), c_void_p, c_size_t)),
            (
                "sdpa_backward",
                c_int32,
                (c_void_p, POINTER(Args), POINTER(Grads), c_void_p, c_size_t),
            ),
            ("sdpa_status_string", c_char_p, (c_int32,)),
            ("sdpa_version_string", c_char_p, ()),
            ("sdpa_build_info", c_size_t, (c_char_p, c_size_t)),
        ):
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments

    def version(self):
        return self.c.sdpa_version_string().decode()

    def build_info(self):
        text = ctypes.create_string_buffer(4096)
        self.c.sdpa_build_info(text, len(text))
        return text.value.decode()

    def raise_for(self, status):
        if status != OK:
            raise SdpaError(self.c.sdpa_status_string(status).decode())

    def check_problem(self, problem, options):
        text = ctypes.create_string_buffer(512)
        if self.c.sdpa_problem_check(byref(problem), byref(options), text, len(text)) != OK:
            raise SdpaError(text.value.decode())

    def problem(self, shape):
        """`shape` with contiguous [batch][head][row][col] tensors; mask and bias are [row][col]."""
        problem = Problem()
        self.raise_for(self.c.sdpa_problem_init(byref(problem), ctypes.sizeof(problem)))
        problem.query_type = {"f64": F64, "f32": F32, "bf16": BF16, "f16": F16}[shape.dtype]
        problem.batch = shape.batch
        problem.query_heads, problem.kv_heads = shape.query_heads, shape.kv_heads
        problem.query_len, problem.key_len = shape.query_len, shape.key_len
        problem.key_dim = problem.value_dim = shape.dim
        if shape.scale is not None:
            problem.features |= SCALE
            problem.scale = shape.scale
        if shape.backward:
            problem.features |= LSE
        if shape.causal:
            problem.features |= CAUSAL
            problem.alignment = ALIGN_TOP_LEFT
        self.raise_for(self.c.sdpa_problem_layout(byref(problem), LAYOUT_BHSD))
        plane = (c_int64 * 2)(shape.query_len, shape.key_len)
        for wanted, feature, strides in (
            (shape.mask, MASK, problem.mask),
            (shape.bias, BIAS, problem.bias),
        ):
            if wanted:
                problem.features |= feature
                self.raise_for(
                    self.c.sdpa_problem_broadcast(byref(problem), 2, plane, byref(strides))
                )
        return problem

    def options(self, threads):
        options = Options()
        self.raise_for(self.c.sdpa_options_init(byref(options), ctypes.sizeof(options)))
        options.threads = threads
        return options

    def plan(self, shape, threads, addresses, gradients=None):
        """`addresses`: of each tensor that `shape` has, by its name in sdpa_args; a shape of the
        backward pass has the log-sum-exp. `gradients`: as Plan has them."""
        return Plan(self, self.problem(shape), self.options(threads), addresses, gradients)
