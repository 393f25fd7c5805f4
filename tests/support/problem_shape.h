/* problem_shape.h - the tensors of a problem by number: name, shape, type, strides
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The public problem has one field a tensor; what handles all of them alike (parser, printer, data,
 * comparison) goes through these functions. All shapes have four dimensions: batch, head, row, col.
 */
#ifndef PROBLEM_SHAPE_H
#define PROBLEM_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include <sdpa/sdpa.h>

enum problem_tensor {
  PROBLEM_QUERY,
  PROBLEM_KEY,
  PROBLEM_VALUE,
  PROBLEM_OUTPUT,
  PROBLEM_MASK,
  PROBLEM_BIAS,
  PROBLEM_WEIGHTS,
  PROBLEM_SCORES,
  PROBLEM_LSE,
  PROBLEM_TENSORS, /* of the forward pass; those of the backward pass alone: */
  PROBLEM_GRAD_OUTPUT = 16,
  PROBLEM_GRAD_LSE,
  PROBLEM_GRAD_QUERY,
  PROBLEM_GRAD_KEY,
  PROBLEM_GRAD_VALUE,
  PROBLEM_GRAD_BIAS,
  PROBLEM_TENSORS_END
};

/* The tensor behind this one, those of the backward pass among them; PROBLEM_TENSORS_END at last. A
 * loop over all: from PROBLEM_QUERY to there. */
enum problem_tensor problem_next_tensor(enum problem_tensor tensor);

/* "query" ... "lse", "grad_output" ..., as in problem strings. */
const char *problem_tensor_name(enum problem_tensor tensor);

/* 1 for the tensors that the forward pass writes. */
int problem_tensor_is_output(enum problem_tensor tensor);

/* 1 for those that the backward pass writes. */
int problem_tensor_is_gradient(enum problem_tensor tensor);

/* 1 if the problem has this tensor (where its gradients are asked for, if it is one of the backward
 * pass); its strides mean nothing otherwise. */
int problem_declares(const sdpa_problem *problem, enum problem_tensor tensor);

/* Shape without broadcasting: a mask is always batch x query_heads x query_len x key_len. Of
 * grad_bias, too: problem_get_strides() has 0 where it is summed. */
void problem_shape(const sdpa_problem *problem, enum problem_tensor tensor, int64_t shape[4]);

/* Number of positions of that shape, INT64_MAX if it does not fit. */
int64_t problem_positions(const sdpa_problem *problem, enum problem_tensor tensor);

/* Strides as they are used: those of grad_lse are lse's, and grad_bias has stride 0 where bias has
 * (rule 25), whatever stands in the problem. problem_set_strides() is not for grad_lse. */
sdpa_strides problem_get_strides(const sdpa_problem *problem, enum problem_tensor tensor);
void problem_set_strides(sdpa_problem *problem, enum problem_tensor tensor, sdpa_strides strides);

/* Element type with the defaults resolved; 0 for the mask, whose elements are bytes. */
uint32_t problem_type(const sdpa_problem *problem, enum problem_tensor tensor);
uint32_t problem_compute_type(const sdpa_problem *problem);
size_t problem_type_bytes(uint32_t type);

/* Strides of a tensor stored in `order`, slowest dimension first, named by the letters b, h, s
 * (row) and d (col): a dimension that is not named gets stride 0. `gap` elements lie between
 * consecutive runs of the fastest named dimension. Strides that do not fit are INT64_MAX. */
sdpa_strides problem_order_strides(const int64_t shape[4], const char *order, int64_t gap);

/* Strides that a tensor has where nothing else is said: `order` for query, key, value, output and
 * their gradients, and bhsd, bhs for the others. */
sdpa_strides problem_default_strides(const sdpa_problem *problem, enum problem_tensor tensor,
                                     const char *order);

/* 1 if the positions of the tensor fill memory without a gap in row-major order of bhsd or bshd. */
int problem_is_contiguous(const sdpa_problem *problem, enum problem_tensor tensor);

#endif
