/* tiled_backward_plan.c - the backward pass of the `tiled` engine: its cuts and its working memory
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/row_scratch.h"
#include "engines/tiled_backward.h"
#include "engines/tiled_layout.h"
#include "problem/mask.h"
#include "runtime/parallel.h"

enum {
  CHUNK_BYTES = 1 << 20,  /* of a chunk's rows in all their forms: they stay in L2 */
  PANEL_BYTES = 32 << 10, /* of a panel's queries: two thirds of L1 */
  GROUP_TILES = 2,        /* at least, so that it is worth preparing a chunk for them */
  MANY_TILES = 64,        /* from here on there are more groups */
  FEW_GROUPS = 8,
  MANY_GROUPS = 16,
  HEADS_A_THREAD = 4,    /* so many that the last ones to end leave few threads idle */
  SERIAL_FLOPS = 2000000 /* about 10 us: what waking a thread costs several times over */
};

void sdpai_tiled_backward_carve_part(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                                     struct sdpai_tiled_backward_part *part) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_tiled_plan *t = &plan->tiled;
  part->query = sdpai_take(arena, 1, t->panels, p->key_dim, t->width, p->element);
  part->row_sums = sdpai_take(arena, 1, t->panels, t->width, 1, p->element);
}

/* What forward's functions for panels work in. */
static void carve_panels(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                         struct sdpai_tiled_scratch *s) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_tiled_plan *t = &plan->tiled;
  const size_t element = p->element;
  const int masked = (p->features & SDPAI_MASK_FEATURES) != 0;
  const int bias = (p->features & SDPA_BIAS) != 0, slopes = (p->features & SDPA_ALIBI) != 0;
  const int64_t lanes = sdpai_plan_lanes(plan);
  *s = (struct sdpai_tiled_scratch){0};
  s->max = sdpai_take(arena, 1, t->width, 1, 1, element);
  s->slope = sdpai_take(arena, slopes, t->width, 1, 1, element);
  s->distance = sdpai_take(arena, slopes, t->width, 1, 1, element);
  s->begin = sdpai_take(arena, 1, t->panels, t->width, 1, sizeof *s->begin);
  s->end = sdpai_take(arena, 1, t->panels, t->width, 1, sizeof *s->end);
  s->words = sdpai_take(arena, masked, SDPAI_TILE_WORDS, t->width, 1, sizeof *s->words);
  const int drops = sdpai_drops(p);
  s->kept_words = sdpai_take(arena, drops, SDPAI_TILE_WORDS, t->width, 1, sizeof *s->kept_words);
  s->draws = sdpai_take(arena, drops, t->panels, t->width, 1, sizeof *s->draws);
  s->bias = sdpai_take(arena, bias, SDPAI_TILE_KEYS, t->width, 1, element);
  s->bias_rows = sdpai_take(arena, bias, SDPAI_TILE_KEYS, lanes, 1, element);
  s->output_rows =
      sdpai_take(arena, p->types.query != p->types.compute, lanes, p->key_dim, 1, element);
  s->scores = sdpai_take(arena, 1, SDPAI_TILE_KEYS, t->width, 1, element);
  s->key = sdpai_take(arena, t->packs_key, SDPAI_TILE_KEYS, p->key_dim, 1, element);
  s->value = sdpai_take(arena, t->packs_value, SDPAI_TILE_KEYS, p->value_dim, 1, element);
  sdpai_row_scratch_carve(p, SDPAI_TILE_KEYS, arena, &s->rows);
}

void sdpai_tiled_backward_carve_slot(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                                     struct sdpai_tiled_scratch *scratch,
                                     struct sdpai_tiled_backward_scratch *b) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_tiled_plan *t = &plan->tiled;
  const size_t element = p->element;
  const int64_t keys = SDPAI_TILE_KEYS;
  carve_panels(plan, arena, scratch);
  b->query = sdpai_take(arena, 1, t->panels, p->key_dim, t->width, element);
  b->grad_output = sdpai_take(arena, 1, t->panels, p->value_dim, t->width, element);
  b->query_rows = sdpai_take(arena, 1, t->panels, p->key_dim, t->width, element);
  b->grad_output_rows = sdpai_take(arena, 1, t->panels, p->value_dim, t->width, element);
  b->lse = sdpai_take(arena, 1, t->panels, t->width, 1, element);
  b->shift = sdpai_take(arena, 1, t->panels, t->width, 1, element);
  b->delta = sdpai_take(arena, 1, t->panels, t->width, 1, element);
  b->state = sdpai_take(arena, 1, t->panels, t->width, 1, 1);
  b->gradients = sdpai_take(arena, 1, keys, t->width, 1, element);
  b->products = sdpai_take(arena, p->softcap != 0, keys, t->width, 1, element);
  b->ones = sdpai_take(arena, 1, t->width, 1, 1, element);
  b->key_sums = sdpai_take(arena, 1, keys, p->key_dim, 1, element);
  b->value_sums = sdpai_take(arena, 1, keys, p->value_dim, 1, element);
  b->finite_key = sdpai_take(arena, 1, keys, p->key_dim, 1, element);
  b->finite_value = sdpai_take(arena, 1, keys, p->value_dim, 1, element);
  b->tainted = sdpai_take(arena, 1, keys, 1, 1, 1);
  b->pair_query = sdpai_take(arena, 1, p->key_dim, 1, 1, element);
  b->pair_output = sdpai_take(arena, 1, p->value_dim, 1, 1, element);
  b->bias_sums = sdpai_take(arena, (p->features & SDPA_BIAS) != 0, keys, t->width, 1, element);
  sdpai_tiled_backward_carve_part(plan, arena, &b->part);
  sdpai_tiled_backward_carve_part(plan, arena, &b->total);
}

void sdpai_tiled_backward_carve_shared(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                                       struct sdpai_tiled_backward_shared *shared) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_tiled_plan *t = &plan->tiled;
  const int64_t heads = sdpai_saturating_mul(p->batch, p->query_heads);
  const int chunks = t->items > 1;
  const int64_t owners = t->split_items ? sdpai_saturating_mul(p->batch, p->kv_heads) : t->slots;
  int64_t keys = 0;
  if (!sdpai_checked_mul(owners, p->key_len, &keys)) arena->overflow = 1;
  shared->delta = sdpai_take(arena, 1, heads, p->query_len, 1, p->element);
  shared->row_sinks =
      sdpai_take(arena, (p->features & SDPA_SINKS) != 0, heads, p->query_len, 1, p->element);
  shared->row_slopes =
      sdpai_take(arena, (p->features & SDPA_ALIBI) != 0, heads, p->query_len, 1, p->element);
  shared->key_totals = sdpai_take(arena, chunks && p->types.key != p->types.compute, keys,
                                  p->key_dim, 1, p->element);
  shared->value_totals = sdpai_take(arena, chunks && p->types.value != p->types.compute, keys,
                                    p->value_dim, 1, p->element);
}

/* Panels, chunks and groups. */
static void cut(const struct sdpa_plan *plan, struct sdpai_tiled_plan *t) {
  const struct sdpai_problem *p = &plan->problem;
  const int64_t lanes = sdpai_plan_lanes(plan), element = p->element;
  const int64_t rows = p->group * p->query_len;
  const int64_t dim = sdpai_max(p->key_dim, p->value_dim);
  const int64_t vector_bytes = sdpai_max(1, sdpai_saturating_mul(dim, lanes * element));
  const int64_t vectors = sdpai_max(1, sdpai_min(SDPAI_TILE_VECTORS, PANEL_BYTES / vector_bytes));
  const int64_t needed = sdpai_max(1, sdpai_tiles(rows, lanes));
  t->width = sdpai_min(vectors, needed) * lanes;
  const int64_t panels = sdpai_max(1, sdpai_tiles(rows, t->width));
  /* a row of Q and dO, each twice, and of dQ */
  const int64_t panel_bytes = sdpai_saturating_mul(dim, 5 * t->width * element);
  t->panels = sdpai_max(1, CHUNK_BYTES / sdpai_max(1, panel_bytes));
  t->panels = sdpai_min(panels, sdpai_min(t->panels, SDPAI_CHUNK_PANELS));
  t->item_rows = t->panels * t->width;
  t->items = sdpai_max(1, sdpai_tiles(rows, t->item_rows));
  const int64_t tiles = sdpai_tiles(p->key_len, SDPAI_TILE_KEYS);
  t->splits = tiles >= MANY_TILES ? MANY_GROUPS : sdpai_min(FEW_GROUPS, tiles / GROUP_TILES);
  t->splits = sdpai_max(1, t->splits);
}

/* Bytes of the whole. */
static sdpa_status measure(struct sdpa_plan *plan, struct sdpai_report *report) {
  const struct sdpai_problem *p = &plan->problem;
  struct sdpai_tiled_plan *t = &plan->tiled;
  struct sdpai_arena slot = {0}, part = {0}, shared = {0};
  struct sdpai_tiled_scratch scratch;
  struct sdpai_tiled_backward_scratch backward;
  struct sdpai_tiled_backward_part one;
  struct sdpai_tiled_backward_shared all;
  sdpai_tiled_backward_carve_slot(plan, &slot, &scratch, &backward);
  sdpai_tiled_backward_carve_part(plan, &part, &one);
  sdpai_tiled_backward_carve_shared(plan, &shared, &all);
  const int64_t parts = t->split_items ? p->batch * p->kv_heads * t->splits : 0;
  int64_t slots, bytes, total;
  if (slot.overflow || part.overflow || shared.overflow ||
      !sdpai_checked_mul(slot.used, t->slots, &slots) ||
      !sdpai_checked_mul(part.used, parts, &bytes) || !sdpai_checked_add(slots, bytes, &total) ||
      !sdpai_checked_add(total, shared.used, &total) || total > PTRDIFF_MAX)
    return sdpai_fail(
        report, SDPA_ERROR_OVERFLOW,
        "query_len is %lld, key_len %lld, key_dim %lld, value_dim %lld: the workspace of "
        "engine tiled does not fit in ptrdiff_t; expected smaller sizes",
        (long long)p->query_len, (long long)p->key_len, (long long)p->key_dim,
        (long long)p->value_dim);
  t->slot_bytes = slot.used;
  t->part_bytes = part.used;
  plan->workspace = (size_t)total;
  return SDPA_OK;
}

sdpa_status sdpai_tiled_backward_layout(struct sdpa_plan *plan, struct sdpai_report *report) {
  const struct sdpai_problem *p = &plan->problem;
  struct sdpai_tiled_plan *t = &plan->tiled;
  *t =
      (struct sdpai_tiled_plan){.slots = 1, .super_keys = SDPAI_TILE_KEYS, .split_keys = INT64_MAX};
  int64_t all = 0, heads = 0;
  const sdpa_status status = sdpai_tiled_count(p, report, &heads, &all);
  if (status != SDPA_OK) return status;
  cut(plan, t);
  t->packs_key = (p->key.col != 1 && p->key_dim > 1) || p->types.key != p->types.compute;
  t->packs_value = (p->value.col != 1 && p->value_dim > 1) || p->types.value != p->types.compute;
  t->ruled = p->scale == 0 || p->softcap != 0 || (p->features & (SDPA_ALIBI | SDPA_BIAS)) != 0;
  const int64_t work =
      sdpai_saturating_mul(sdpai_plan_pairs(p), sdpai_saturating_add(p->key_dim, p->value_dim));
  const struct sdpai_parallel parallel = {.threads =
                                              work < SERIAL_FLOPS / 5 ? 1 : plan->options.threads,
                                          .parallel_for = plan->options.parallel_for};
  const int32_t threads = sdpai_parallel_threads(&parallel, INT64_MAX);
  t->split_items = t->splits > 1 && threads > 1 && heads < (int64_t)HEADS_A_THREAD * threads;
  t->slots = sdpai_parallel_threads(&parallel,
                                    sdpai_saturating_mul(heads, sdpai_max(t->splits, t->items)));
  return measure(plan, report);
}
