/* blas_backward.c - the backward pass of the `blas` engine: gradients of row blocks by gemm
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For each block of query rows: scores and dP by gemm, the row mathematics of backward_row_tpl.h,
 * then dQ, and its share of dK and dV, by gemm. Nothing of the size of query_len * key_len exists.
 * One kv head after the other, its query heads and their rows in order, so that every sum has one
 * order.
 */
#include "engines/blas_backward.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "engines/bias_sum.h"
#include "engines/blas_scratch.h"
#include "engines/dropout.h"
#include "engines/narrow_row.h"
#include "problem/dtype.h"
#include "problem/mask.h"
#include "runtime/checked_math.h"

/* As in engine_blas.c: ALiBi's distances are formed in T from a key nearby. */
enum { SCORE_SEGMENT = 1 << 22 };

/* A matrix in the compute type, contiguous by rows. A product over it cannot leave a row out, for 0
 * * NaN is NaN: `finite` is `data` or, if that holds a non-finite element, a copy with zeros in
 * their places, and bad[i] tells which rows have one. The same product then gives the same bits,
 * whatever those elements are; what they add is added for the pairs that are allowed. */
struct operand {
  void *data, *copy, *finite;
  uint8_t *bad;
  int any; /* bad rows */
};

struct backward_scratch {
  void *weights, *scores;            /* [block_rows, score_row] p; dP, ds, du */
  struct operand query, grad_output; /* [block_rows, key_dim or value_dim] */
  struct operand key, value;         /* [key_len, key_dim or value_dim] */
  void *output, *grad_query;         /* [value_dim] a row of O; [block_rows, key_dim] */
  void *grad_key, *grad_value;       /* sums of a kv head: as key and value */
  void *flat;                        /* [key_len] */
  uint8_t *live;                     /* [block_rows] the row has a gradient */
  struct sdpai_row_scratch rows;     /* for key_len keys */
  void *bias_sum;                    /* see bias_sum.h */
  double *sink_sums, *slope_sums;    /* [query_heads] */
};

static void carve_operand(struct sdpai_arena *arena, int guarded, int64_t rows, int64_t dim,
                          size_t element, struct operand *x) {
  const int64_t count = sdpai_blas_elements(arena, 1, rows, dim);
  x->data = sdpai_arena_take(arena, count, element);
  x->copy = sdpai_arena_take(arena, guarded ? count : 0, element);
  x->bad = sdpai_arena_take(arena, guarded ? rows : 0, 1);
}

static void carve(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                  struct backward_scratch *s) {
  const struct sdpai_problem *p = &plan->problem;
  const int64_t rows = plan->block_rows, keys = p->key_len;
  const int64_t scores = sdpai_blas_elements(arena, 1, rows, plan->blas.score_row);
  const size_t element = p->element;
  s->weights = sdpai_arena_take(arena, scores, element);
  s->scores = sdpai_arena_take(arena, scores, element);
  carve_operand(arena, 1, rows, p->key_dim, element, &s->query);
  carve_operand(arena, 1, rows, p->value_dim, element, &s->grad_output);
  carve_operand(arena, 1, keys, p->key_dim, element, &s->key);
  carve_operand(arena, 0, keys, p->value_dim, element, &s->value);
  s->output = sdpai_arena_take(arena, p->value_dim, element);
  s->grad_query = sdpai_arena_take(arena, sdpai_blas_elements(arena, 1, rows, p->key_dim), element);
  s->grad_key = sdpai_arena_take(arena, sdpai_blas_elements(arena, 1, keys, p->key_dim), element);
  s->grad_value =
      sdpai_arena_take(arena, sdpai_blas_elements(arena, 1, keys, p->value_dim), element);
  s->flat = sdpai_arena_take(arena, p->softcap != 0 ? keys : 0, element);
  s->live = sdpai_arena_take(arena, rows, 1);
  sdpai_row_scratch_carve(p, keys, arena, &s->rows);
  s->bias_sum = sdpai_bias_sum_carve(p, arena);
  s->sink_sums = sdpai_arena_take(arena, p->query_heads, sizeof *s->sink_sums);
  s->slope_sums = sdpai_arena_take(arena, p->query_heads, sizeof *s->slope_sums);
}

#define T          float
#define X(name)    name##_f32
#define FIELD      f32
#define HAS_NARROW 1
#include "engines/head_tpl.h"
#include "engines/backward_row_tpl.h"
#include "engines/bias_sum_tpl.h"
#include "engines/blas_backward_tpl.h"
#undef T
#undef X
#undef FIELD
#undef HAS_NARROW

#define T          double
#define X(name)    name##_f64
#define FIELD      f64
#define HAS_NARROW 0
#include "engines/head_tpl.h"
#include "engines/backward_row_tpl.h"
#include "engines/bias_sum_tpl.h"
#include "engines/blas_backward_tpl.h"

sdpa_status sdpai_blas_backward_layout(struct sdpa_plan *plan, struct sdpai_report *report) {
  const struct sdpai_problem *p = &plan->problem;
  plan->block_rows = sdpai_blas_block_rows(p);
  plan->blas = (struct sdpai_blas_plan){.score_row = sdpai_blas_score_row(p)};
  struct sdpai_arena arena = {0};
  struct backward_scratch scratch;
  carve(plan, &arena, &scratch);
  if (arena.overflow)
    return sdpai_fail(
        report, SDPA_ERROR_OVERFLOW,
        "key_len is %lld, key_dim %lld, value_dim %lld: the workspace of engine blas does not fit "
        "in ptrdiff_t; expected smaller sizes",
        (long long)p->key_len, (long long)p->key_dim, (long long)p->value_dim);
  plan->workspace = (size_t)arena.used;
  return SDPA_OK;
}

sdpa_status sdpai_blas_backward_run(const struct sdpa_plan *plan, const struct sdpai_args *args,
                                    const struct sdpai_grads *grads, void *workspace) {
  struct sdpai_arena arena = {.base = workspace};
  struct backward_scratch scratch;
  carve(plan, &arena, &scratch);
  int cancel;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* as in the forward pass */
  if (plan->problem.types.compute == SDPA_F32) {
    run_backward_f32(plan, args, grads, &scratch);
  } else {
    run_backward_f64(plan, args, grads, &scratch);
  }
  pthread_setcancelstate(cancel, &cancel);
  return SDPA_OK;
}
