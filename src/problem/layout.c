/* layout.c - strides of contiguous tensors, and of a mask or bias that broadcasts
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "problem/problem.h"

#include <string.h>

#include "runtime/checked_math.h"

/* A view of full size of *problem, after checking what layouts depend on. */
static sdpa_status read_sizes(const sdpa_problem *problem, sdpa_problem *copy,
                              const sdpa_problem **full) {
  if (!problem) return SDPA_ERROR_NULL;
  const void *view = problem;
  sdpa_status status = sdpai_struct_read("sdpa_problem", problem, problem->size,
                                         SDPAI_PROBLEM_BASELINE, sizeof *copy, copy, &view, NULL);
  if (status != SDPA_OK) return status;
  *full = view;
  const int64_t sizes[] = {(*full)->batch,     (*full)->query_heads, (*full)->kv_heads,
                           (*full)->query_len, (*full)->key_len,     (*full)->key_dim,
                           (*full)->value_dim};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i] < 0) return SDPA_ERROR_SHAPE;
  return SDPA_OK;
}

/* Strides of a contiguous tensor with `heads` heads of `rows` rows of `cols` elements. A size that
 * does not fit is held at INT64_MAX: whether that matters is judged where the tensor is known to be
 * used. */
static sdpa_strides contiguous(uint32_t layout, int64_t heads, int64_t rows, int64_t cols) {
  sdpa_strides s = {0, 0, 0, 1};
  if (layout == SDPA_LAYOUT_BSHD) {
    s.head = cols;
    s.row = sdpai_saturating_mul(heads, cols);
    s.batch = sdpai_saturating_mul(rows, s.row);
  } else {
    s.row = cols;
    s.head = sdpai_saturating_mul(rows, cols);
    s.batch = sdpai_saturating_mul(heads, s.head);
  }
  return s;
}

static int fits(const sdpa_strides *s, int64_t batch) {
  int64_t elements;
  return sdpai_checked_mul(s->batch, batch, &elements) && s->batch != INT64_MAX &&
         s->row != INT64_MAX && s->head != INT64_MAX;
}

/* Sets strides that came after 0.1, if the caller's struct has them. */
static void set_within(sdpa_problem *problem, size_t at, sdpa_strides strides) {
  if (at + sizeof strides <= problem->size) memcpy((char *)problem + at, &strides, sizeof strides);
}

sdpa_status sdpai_problem_layout(sdpa_problem *problem, uint32_t layout) {
  sdpa_problem copy;
  const sdpa_problem *p;
  sdpa_status status = read_sizes(problem, &copy, &p);
  if (status != SDPA_OK) return status;
  if (layout != SDPA_LAYOUT_BHSD && layout != SDPA_LAYOUT_BSHD) return SDPA_ERROR_VALUE;

  const sdpa_strides query = contiguous(layout, p->query_heads, p->query_len, p->key_dim);
  const sdpa_strides key = contiguous(layout, p->kv_heads, p->key_len, p->key_dim);
  const sdpa_strides value = contiguous(layout, p->kv_heads, p->key_len, p->value_dim);
  const sdpa_strides output = contiguous(layout, p->query_heads, p->query_len, p->value_dim);
  const sdpa_strides square =
      contiguous(SDPA_LAYOUT_BHSD, p->query_heads, p->query_len, p->key_len);
  sdpa_strides lse = contiguous(SDPA_LAYOUT_BHSD, p->query_heads, p->query_len, 1);
  lse.col = 0;

  const uint32_t square_features = SDPA_MASK | SDPA_BIAS | SDPA_WEIGHTS | SDPA_SCORES;
  if (!fits(&query, p->batch) || !fits(&key, p->batch) || !fits(&value, p->batch) ||
      !fits(&output, p->batch) || !fits(&lse, p->batch) ||
      ((p->features & square_features) && !fits(&square, p->batch)))
    return SDPA_ERROR_OVERFLOW;

  problem->query = query;
  problem->key = key;
  problem->value = value;
  problem->output = output;
  problem->mask = problem->bias = problem->weights = problem->scores = square;
  problem->lse = lse;
  set_within(problem, offsetof(sdpa_problem, grad_query), query);
  set_within(problem, offsetof(sdpa_problem, grad_key), key);
  set_within(problem, offsetof(sdpa_problem, grad_value), value);
  set_within(problem, offsetof(sdpa_problem, grad_output), output);
  set_within(problem, offsetof(sdpa_problem, grad_bias), square);
  return SDPA_OK;
}

sdpa_status sdpai_problem_broadcast(const sdpa_problem *problem, int32_t rank, const int64_t *shape,
                                    sdpa_strides *strides) {
  sdpa_problem copy;
  const sdpa_problem *p;
  sdpa_status status = read_sizes(problem, &copy, &p);
  if (status != SDPA_OK) return status;
  if (!strides || (rank > 0 && !shape)) return SDPA_ERROR_NULL;
  if (rank < 0 || rank > 4) return SDPA_ERROR_SHAPE;

  const int64_t target[4] = {p->batch, p->query_heads, p->query_len, p->key_len};
  int64_t stride[4] = {0, 0, 0, 0};
  int64_t next = 1;
  for (int32_t i = 3; i >= 4 - rank; i--) {
    int64_t size = shape[i - (4 - rank)];
    if (size != 1 && size != target[i]) return SDPA_ERROR_SHAPE;
    if (size == 1) continue;
    stride[i] = next;
    if (!sdpai_checked_mul(next, size, &next)) return SDPA_ERROR_OVERFLOW;
  }
  strides->batch = stride[0];
  strides->head = stride[1];
  strides->row = stride[2];
  strides->col = stride[3];
  return SDPA_OK;
}
