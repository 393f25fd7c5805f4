/* tiled_scratch.c - the working memory of the `tiled` engine
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/tiled_scratch.h"

#include "problem/mask.h"

void *sdpai_take(struct sdpai_arena *arena, int needed, int64_t a, int64_t b, int64_t c,
                 size_t element) {
  int64_t count = 0;
  if (needed && (!sdpai_checked_mul(a, b, &count) || !sdpai_checked_mul(count, c, &count)))
    arena->overflow = 1;
  return sdpai_arena_take(arena, count, element);
}

void sdpai_tiled_carve_part(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                            struct sdpai_part *part) {
  const int64_t rows = plan->tiled.item_rows;
  const size_t element = plan->problem.element;
  part->m = sdpai_take(arena, 1, rows, 1, 1, element);
  part->l = sdpai_take(arena, 1, rows, 1, 1, element);
  part->o = sdpai_take(arena, 1, rows, plan->problem.value_dim, 1, element);
}

static void carve_lanes(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                        struct sdpai_tiled_scratch *s) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_tiled_plan *t = &plan->tiled;
  const size_t element = p->element;
  const int lanes = !t->by_rows, masked = (p->features & SDPAI_MASK_FEATURES) != 0;
  s->query = sdpai_take(arena, lanes, t->panels, p->key_dim, t->width, element);
  s->output = sdpai_take(arena, lanes, t->panels, p->value_dim, t->width, element);
  s->m = sdpai_take(arena, lanes, t->panels, t->width, 1, element);
  s->l = sdpai_take(arena, lanes, t->panels, t->width, 1, element);
  s->max = sdpai_take(arena, lanes, t->width, 1, 1, element);
  s->alpha = sdpai_take(arena, 1, lanes ? t->width : t->item_rows, 1, 1, element);
  s->factor = sdpai_take(arena, lanes, t->width, 1, 1, element);
  s->slope = sdpai_take(arena, lanes && (p->features & SDPA_ALIBI), t->width, 1, 1, element);
  s->distance = sdpai_take(arena, lanes && (p->features & SDPA_ALIBI), t->width, 1, 1, element);
  s->begin = sdpai_take(arena, lanes, t->panels, t->width, 1, sizeof *s->begin);
  s->end = sdpai_take(arena, lanes, t->panels, t->width, 1, sizeof *s->end);
  s->words = sdpai_take(arena, lanes && masked, SDPAI_TILE_WORDS, t->width, 1, sizeof *s->words);
  const int drops = lanes && sdpai_drops(p);
  s->kept_words = sdpai_take(arena, drops, SDPAI_TILE_WORDS, t->width, 1, sizeof *s->kept_words);
  s->draws = sdpai_take(arena, drops, t->panels, t->width, 1, sizeof *s->draws);
  s->bias =
      sdpai_take(arena, lanes && (p->features & SDPA_BIAS), SDPAI_TILE_KEYS, t->width, 1, element);
  const int64_t lanes_a_vector = sdpai_plan_lanes(plan);
  s->bias_rows = sdpai_take(arena, lanes && (p->features & SDPA_BIAS), SDPAI_TILE_KEYS,
                            lanes_a_vector, 1, element);
  s->query_rows = sdpai_take(arena, lanes && p->types.query != p->types.compute, lanes_a_vector,
                             p->key_dim, 1, element);
  s->output_rows = sdpai_take(arena, lanes && p->types.output != p->types.compute, lanes_a_vector,
                              p->value_dim, 1, element);
}

static void carve_matrix(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                         struct sdpai_tiled_matrix_scratch *s) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_tiled_plan *t = &plan->tiled;
  const struct sdpai_parts scores = t->matrix.scores, output = t->matrix.output;
  const size_t tile = SDPAI_TILE_ELEMENTS * sizeof(uint16_t);
  const int used = scores.left > 0;
  const int64_t depth = sdpai_tiles(p->key_dim, SDPAI_TILE_DEPTH);
  const int64_t rows = sdpai_tiles(p->value_dim, SDPAI_TILE_ROWS);
  const int64_t cols = t->width / SDPAI_TILE_ROWS;
  s->query = sdpai_take(arena, used, t->panels, cols, depth, scores.right * tile);
  s->key = sdpai_take(arena, used, t->super_keys / SDPAI_TILE_ROWS, depth, 1, scores.left * tile);
  s->value = sdpai_take(arena, used, t->super_keys / SDPAI_TILE_DEPTH, rows, 1, output.left * tile);
  s->weights =
      sdpai_take(arena, used, SDPAI_TILE_KEYS / SDPAI_TILE_DEPTH, cols, 1, output.right * tile);
  s->unfit_lanes = sdpai_take(arena, used, t->panels, t->width, 1, 1);
  s->unfit_keys = sdpai_take(arena, used, t->super_keys, 1, 1, 1);
  s->unfit_key =
      sdpai_take(arena, used, t->super_keys / SDPAI_TILE_KEYS, 1, 1, sizeof *s->unfit_key);
  s->unfit_value =
      sdpai_take(arena, used, t->super_keys / SDPAI_TILE_KEYS, 1, 1, sizeof *s->unfit_value);
  s->fitting = sdpai_take(arena, used, SDPAI_TILE_KEYS, t->width, 1, sizeof *s->fitting);
  s->unfit_rows = sdpai_take(arena, used, SDPAI_TILE_KEYS, p->value_dim, 1, sizeof *s->unfit_rows);
}

void sdpai_tiled_carve_slot(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                            struct sdpai_tiled_scratch *s) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_tiled_plan *t = &plan->tiled;
  const size_t element = p->element;
  const int guarded = (p->features & SDPAI_MASK_FEATURES) && !(p->features & SDPA_NO_OUTPUT);
  const int64_t keys = t->by_rows ? t->super_keys : SDPAI_TILE_KEYS;
  carve_lanes(plan, arena, s);
  carve_matrix(plan, arena, &s->matrix);
  s->scores = sdpai_take(arena, 1, keys, t->by_rows ? t->item_rows : t->width, 1, element);
  const int64_t block = t->matrix.scores.left > 0 ? SDPAI_TILE_KEYS : t->super_keys;
  s->key = sdpai_take(arena, t->packs_key, block, p->key_dim, 1, element);
  s->value = sdpai_take(arena, t->packs_value, block, p->value_dim, 1, element);
  s->finite_value = sdpai_take(arena, guarded, keys, p->value_dim, 1, element);
  s->finite = sdpai_take(arena, guarded && !t->by_rows, t->super_keys / SDPAI_TILE_KEYS, 1, 1, 1);
  s->nonfinite = sdpai_take(arena, guarded, keys, 1, 1, 1);
  sdpai_row_scratch_carve(p, keys, arena, &s->rows);
  s->row = sdpai_take(arena, (p->features & SDPA_WEIGHTS) != 0, SDPAI_TILE_KEYS, 1, 1, element);
  if (t->by_rows) s->query = sdpai_take(arena, 1, t->item_rows, p->key_dim, 1, element);
  if (t->by_rows || t->splits > 1) sdpai_tiled_carve_part(plan, arena, &s->part);
  if (t->splits > 1) sdpai_tiled_carve_part(plan, arena, &s->total);
  if (t->by_rows) s->output = sdpai_take(arena, 1, t->item_rows, p->value_dim, 1, element);
}
