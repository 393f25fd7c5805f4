/* bias_sum.h - where the gradient of a bias is summed up
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A bias that repeats over batch entries, heads or rows has one gradient for all of them. It is
 * summed in the compute type: in the caller's tensor if it has that type, else in a contiguous copy
 * of its shape, which is rounded once at the end. A bias that repeats over nothing but keys needs
 * neither: each row of its gradient is there as a whole and written once.
 */
#ifndef SDPAI_BIAS_SUM_H
#define SDPAI_BIAS_SUM_H

#include "problem/problem.h"
#include "runtime/arena.h"

/* Sizes of the gradient: 1 along each dimension in which the bias repeats. All 0 without a bias. */
struct sdpai_bias_shape {
  int64_t batch, heads, rows, cols;
};

static inline struct sdpai_bias_shape sdpai_bias_shape(const struct sdpai_problem *p) {
  const struct sdpai_bias_shape none = {0, 0, 0, 0};
  if (!(p->features & SDPA_BIAS) || p->batch == 0 || p->query_heads == 0 || p->query_len == 0 ||
      p->key_len == 0)
    return none;
  return (struct sdpai_bias_shape){.batch = p->bias.batch == 0 ? 1 : p->batch,
                                   .heads = p->bias.head == 0 ? 1 : p->query_heads,
                                   .rows = p->bias.row == 0 ? 1 : p->query_len,
                                   .cols = p->bias.col == 0 ? 1 : p->key_len};
}

/* Whether several rows of scores share elements of the gradient. */
static inline int sdpai_bias_sums(const struct sdpai_problem *p) {
  const struct sdpai_bias_shape shape = sdpai_bias_shape(p);
  return shape.cols > 0 &&
         (shape.batch < p->batch || shape.heads < p->query_heads || shape.rows < p->query_len);
}

/* The copy, NULL where none is needed. */
static inline void *sdpai_bias_sum_carve(const struct sdpai_problem *p, struct sdpai_arena *arena) {
  const struct sdpai_bias_shape shape = sdpai_bias_shape(p);
  int64_t count = 0;
  if (!sdpai_bias_sums(p) || p->types.bias == p->types.compute) return NULL;
  if (!sdpai_checked_mul(shape.batch, shape.heads, &count) ||
      !sdpai_checked_mul(count, shape.rows, &count) ||
      !sdpai_checked_mul(count, shape.cols, &count))
    arena->overflow = 1;
  return sdpai_arena_take(arena, count, p->element);
}

#endif
