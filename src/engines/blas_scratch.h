/* blas_scratch.h - the working memory of the `blas` engine
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every part but `allowed` and `factors` exists only where the problem needs it, else it is NULL.
 * rows = plan->block_rows.
 */
#ifndef SDPAI_BLAS_SCRATCH_H
#define SDPAI_BLAS_SCRATCH_H

#include "blas/blas.h"
#include "engines/plan.h"
#include "engines/row_scratch.h"
#include "runtime/arena.h"

struct sdpai_blas_scratch {
  /* [rows, score_row] scores, then weights of a block; absent where they are held in the caller's
   * weights */
  void *scores;
  /* Copies of what CBLAS cannot take as it lies: [rows, key_dim], [key_len, key_dim] */
  void *query, *key;
  /* [key_len, value_dim]: likewise, and V without its non-finite elements (see
   * guards_value below) */
  void *value;
  uint8_t *nonfinite; /* [key_len] keys whose value row has such an element */
  void *output;       /* [rows, value_dim] where the output's strides or type are not CBLAS's */
  struct sdpai_row_scratch rows; /* for key_len keys */
  void *factors;                 /* [rows] what each row of the output is multiplied with */
};

/* Fills plan->blas from the problem's strides.
 *
 * guards_value: a matrix product cannot leave a key out, for 0 * NaN is NaN. Where a key may be
 * excluded for one row of a block and not for another, V is looked at, and if it holds a non-finite
 * element, a copy with zeros in their places goes into the product and the elements are added for
 * the rows that attend them. */
void sdpai_blas_plan_layouts(struct sdpa_plan *plan);

/* Query rows whose scores are held at once: enough for the gemm to reach its speed (a block's
 * scores are written and read twice, K and V are packed by the BLAS once a block), and no more than
 * 16 MiB of scores. */
int64_t sdpai_blas_block_rows(const struct sdpai_problem *p);

/* Elements from one row of scores to the next: whole cache lines, where the BLAS can count them. */
int64_t sdpai_blas_score_row(const struct sdpai_problem *p);

/* rows * cols where the part is needed, 0 where not; arena->overflow if they do not fit. */
int64_t sdpai_blas_elements(struct sdpai_arena *arena, int needed, int64_t rows, int64_t cols);

/* Lays the parts out in the arena: for counting or for use. */
void sdpai_blas_carve(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                      struct sdpai_blas_scratch *scratch);

#endif
