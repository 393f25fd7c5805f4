/* onnx_problem.h - the sdpa_problem that says what an ONNX Attention case asks for
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef ONNX_PROBLEM_H
#define ONNX_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include <sdpa/sdpa.h>

#include "onnx_case.h"

/* Sizes, strides, types and features of the case, for K and V as they are after past ++ new, and
 * for the mask as it is after padding (key_len columns). Returns 0, or -1 with a sentence in
 * `error` when the case's tensors do not fit together. */
int onnx_problem_set(sdpa_problem *problem, const struct onnx_case *one, char *error,
                     size_t error_bytes);

/* 1 if K and V are past ++ new, contiguous in (batch, heads, sequence, head size), instead of the
 * inputs themselves. */
int onnx_problem_joins(const struct onnx_case *one);

/* Strides of Q, K, V or Y: rank 4 is (batch, heads, sequence, size), rank 3 (batch, sequence, heads
 * * size). */
sdpa_strides onnx_tensor_strides(const struct npy_array *tensor, int64_t heads);

#endif
