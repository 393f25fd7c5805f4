/* engine_blas.c - the `blas` engine: row blocks of scores by gemm, softmax rows by kernels, gemm
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs on the calling thread alone; whatever is parallel is the BLAS's own. Scores are held for
 * plan->block_rows rows, in the caller's weights if they are asked for and lie by rows.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "engines/blas_backward.h"
#include "engines/blas_scratch.h"
#include "engines/dropout.h"
#include "engines/engine.h"
#include "engines/narrow_row.h"
#include "engines/softmax_row.h"
#include "problem/dtype.h"
#include "problem/mask.h"
#include "runtime/checked_math.h"

/* ALiBi's distances are formed in T from a key nearby. At most this many keys lie between, so that
 * also in f32 (24 bits) |p - j| keeps its relative accuracy, however long the row. */
enum { SCORE_SEGMENT = 1 << 22 };

/* A gemm of 3 x 64 x 3 numbers takes 30 to 240 ns in OpenBLAS 0.3.21, depending on the core it
 * chose, nearly all of it locking and packing. Up to this product of the sizes the library's own
 * kernel is faster. */
enum { TINY_SIDE = 512, TINY_PRODUCT = 2048 };

/* Elements of a row of V that are looked at a time where it is not contiguous T. */
enum { VALUE_PART = 128 };

#define T          float
#define X(name)    name##_f32
#define FIELD      f32
#define HAS_NARROW 1
#include "engines/head_tpl.h"
#include "engines/blas_rows_tpl.h"
#include "engines/blas_head_tpl.h"
#undef T
#undef X
#undef FIELD
#undef HAS_NARROW

#define T          double
#define X(name)    name##_f64
#define FIELD      f64
#define HAS_NARROW 0
#include "engines/head_tpl.h"
#include "engines/blas_rows_tpl.h"
#include "engines/blas_head_tpl.h"

static const char *blas_obstacle(void) {
  return sdpai_blas_counts_in_int() ? NULL : "the BLAS of this process has 64-bit integers";
}

static sdpa_status blas_applicable(const struct sdpa_plan *plan, struct sdpai_report *report) {
  const struct sdpai_problem *p = &plan->problem;
  const struct {
    const char *field;
    int64_t size;
  } sizes[] = {{"key_len", p->key_len}, {"key_dim", p->key_dim}, {"value_dim", p->value_dim}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i].size > SDPAI_BLAS_MAX)
      return sdpai_fail(report, SDPA_ERROR_UNSUPPORTED,
                        "%s is %lld; expected at most %d on engine blas, whose CBLAS counts in int",
                        sizes[i].field, (long long)sizes[i].size, SDPAI_BLAS_MAX);
  return SDPA_OK;
}

static const char *blas_second_choice(const struct sdpa_plan *plan) {
  (void)plan;
  return NULL;
}

static sdpa_status blas_layout(struct sdpa_plan *plan, struct sdpai_report *report) {
  const struct sdpai_problem *p = &plan->problem;
  plan->block_rows = sdpai_blas_block_rows(p);
  sdpai_blas_plan_layouts(plan);
  struct sdpai_arena arena = {0};
  struct sdpai_blas_scratch scratch;
  sdpai_blas_carve(plan, &arena, &scratch);
  if (arena.overflow)
    return sdpai_fail(
        report, SDPA_ERROR_OVERFLOW,
        "key_len is %lld, key_dim %lld, value_dim %lld: the workspace of engine blas does not fit "
        "in ptrdiff_t; expected smaller sizes",
        (long long)p->key_len, (long long)p->key_dim, (long long)p->value_dim);
  plan->workspace = (size_t)arena.used;
  return SDPA_OK;
}

static sdpa_status blas_run(const struct sdpa_plan *plan, const struct sdpai_args *args,
                            void *workspace) {
  struct sdpai_arena arena = {.base = workspace};
  struct sdpai_blas_scratch scratch;
  sdpai_blas_carve(plan, &arena, &scratch);
  int cancel;
  /* A BLAS may wait for its threads. One that was left in the middle is of no use to anybody. */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  if (plan->problem.types.compute == SDPA_F32) {
    run_problem_f32(plan, args, &scratch);
  } else {
    run_problem_f64(plan, args, &scratch);
  }
  pthread_setcancelstate(cancel, &cancel);
  return SDPA_OK;
}

static void describe_copy(const struct sdpa_plan *plan, const char *name, uint32_t type, char *text,
                          size_t bytes, size_t *length) {
  sdpai_append(text, bytes, length, ", %s %s", name,
               type != plan->problem.types.compute ? "converted" : "packed");
}

static void blas_describe(const struct sdpa_plan *plan, char *text, size_t bytes, size_t *length) {
  const struct sdpai_blas_plan *b = &plan->blas;
  if (plan->backward) {
    sdpai_append(text, bytes, length,
                 "weights and their gradients of %lld query rows at a time; Q, K, V and "
                 "dO by way of scratch; one thread of this library beside the BLAS's own",
                 (long long)plan->block_rows);
    return;
  }
  sdpai_append(text, bytes, length, "scores of %lld query rows at a time%s",
               (long long)plan->block_rows, b->takes_weights ? ", in the caller's weights" : "");
  if (!b->takes_query) describe_copy(plan, "Q", plan->problem.types.query, text, bytes, length);
  if (!b->takes_key) describe_copy(plan, "K", plan->problem.types.key, text, bytes, length);
  const int has_output = !(plan->problem.features & SDPA_NO_OUTPUT);
  if (has_output && !b->takes_value)
    describe_copy(plan, "V", plan->problem.types.value, text, bytes, length);
  if (!b->takes_output) sdpai_append(text, bytes, length, ", output by way of scratch");
  sdpai_append(text, bytes, length, "; one thread of this library beside the BLAS's own");
}

const struct sdpai_engine sdpai_engine_blas = {
    .id = SDPA_ENGINE_BLAS,
    .name = "blas",
    .obstacle = blas_obstacle,
    .applicable = blas_applicable,
    .second_choice = blas_second_choice,
    .layout = blas_layout,
    .run = blas_run,
    .backward_layout = sdpai_blas_backward_layout,
    .backward_run = sdpai_blas_backward_run,
    .describe = blas_describe,
};
