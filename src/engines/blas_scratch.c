/* blas_scratch.c - the working memory of the `blas` engine
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/blas_scratch.h"

#include "problem/mask.h"

/* CBLAS takes matrices of the compute type only. */
static int takes(const struct sdpai_problem *p, uint32_t type, int64_t rows, int64_t cols,
                 const sdpa_strides *strides, struct sdpai_blas_layout *layout) {
  return sdpai_blas_layout(rows, cols, strides->row, strides->col, layout) &&
         type == p->types.compute;
}

void sdpai_blas_plan_layouts(struct sdpa_plan *plan) {
  const struct sdpai_problem *p = &plan->problem;
  struct sdpai_blas_plan *b = &plan->blas;
  struct sdpai_blas_layout layout;
  b->takes_query =
      (uint8_t)takes(p, p->types.query, p->query_len, p->key_dim, &p->query, &b->query);
  b->takes_key = (uint8_t)takes(p, p->types.key, p->key_len, p->key_dim, &p->key, &b->key);
  b->takes_value =
      (uint8_t)takes(p, p->types.value, p->key_len, p->value_dim, &p->value, &b->value);
  b->guards_value = (p->features & SDPAI_MASK_FEATURES) && !(p->features & SDPA_NO_OUTPUT);
  /* The copy without non-finite elements lies by rows. For them to change no other bit, the product
   * must be the same call with and without them. */
  if (b->guards_value && b->value.transposed) b->takes_value = 0;
  if (!b->takes_query) b->query = (struct sdpai_blas_layout){0, sdpai_max(p->key_dim, 1)};
  if (!b->takes_key) b->key = (struct sdpai_blas_layout){0, sdpai_max(p->key_dim, 1)};
  if (!b->takes_value) b->value = (struct sdpai_blas_layout){0, sdpai_max(p->value_dim, 1)};
  /* Products are written by rows only. */
  b->takes_output = takes(p, p->types.output, p->query_len, p->value_dim, &p->output, &layout) &&
                    !layout.transposed;
  b->takes_weights = (p->features & SDPA_WEIGHTS) &&
                     takes(p, p->types.compute, p->query_len, p->key_len, &p->weights, &layout) &&
                     !layout.transposed;
  b->score_row = sdpai_blas_score_row(p);
}

enum { BLOCK_ROWS = 256, MIN_BLOCK_ROWS = 16, BLOCK_BYTES = 16 << 20 };

int64_t sdpai_blas_block_rows(const struct sdpai_problem *p) {
  const int64_t row_bytes = sdpai_max(p->key_len, 1) * (int64_t)p->element;
  const int64_t rows = sdpai_max(BLOCK_BYTES / row_bytes, MIN_BLOCK_ROWS);
  return sdpai_min(sdpai_min(rows, BLOCK_ROWS), sdpai_max(p->query_len, 1));
}

/* A vector at the end of one row never waits for stores to the next one then. */
int64_t sdpai_blas_score_row(const struct sdpai_problem *p) {
  const int64_t line = SDPAI_ARENA_ALIGNMENT / (int64_t)p->element;
  const int64_t row = (p->key_len - 1 + line) / line * line;
  return row > SDPAI_BLAS_MAX ? p->key_len : row;
}

int64_t sdpai_blas_elements(struct sdpai_arena *arena, int needed, int64_t rows, int64_t cols) {
  int64_t count = 0;
  if (needed && !sdpai_checked_mul(rows, cols, &count)) arena->overflow = 1;
  return count;
}

void sdpai_blas_carve(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                      struct sdpai_blas_scratch *scratch) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_blas_plan *b = &plan->blas;
  const int has_output = !(p->features & SDPA_NO_OUTPUT);
  const int64_t rows = plan->block_rows;
  const size_t element = p->element;
  scratch->scores = sdpai_arena_take(
      arena, sdpai_blas_elements(arena, !b->takes_weights, rows, b->score_row), element);
  scratch->query = sdpai_arena_take(
      arena, sdpai_blas_elements(arena, !b->takes_query, rows, p->key_dim), element);
  scratch->key = sdpai_arena_take(
      arena, sdpai_blas_elements(arena, !b->takes_key, p->key_len, p->key_dim), element);
  scratch->value = sdpai_arena_take(
      arena,
      sdpai_blas_elements(arena, has_output && (!b->takes_value || b->guards_value), p->key_len,
                          p->value_dim),
      element);
  scratch->output = sdpai_arena_take(
      arena, sdpai_blas_elements(arena, has_output && !b->takes_output, rows, p->value_dim),
      element);
  scratch->nonfinite = sdpai_arena_take(arena, b->guards_value ? p->key_len : 0, 1);
  sdpai_row_scratch_carve(p, p->key_len, arena, &scratch->rows);
  scratch->factors = sdpai_arena_take(arena, rows, element);
}
