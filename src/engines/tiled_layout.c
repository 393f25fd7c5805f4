/* tiled_layout.c - how the `tiled` engine cuts a problem: keys, panels, items, the matrix unit
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/tiled_layout.h"

#include "engines/tiled_scratch.h"
#include "problem/mask.h"
#include "runtime/checked_math.h"
#include "runtime/parallel.h"

enum {
  USUAL_PANELS = 4,         /* panels that share a block of keys in L2 */
  PACKED_PANELS = 8,        /* at least, where it must be packed */
  MATRIX_VECTORS = 2,       /* of a panel for the matrix unit: two by two tiles */
  PANEL_BYTES = 32 << 10,   /* of a panel's queries: two thirds of L1 */
  SUPER_BYTES = 512 << 10,  /* of K and V in such a block: half of a 1 MiB L2 */
  MATRIX_BYTES = 768 << 10, /* of their parts: CPUs with a matrix unit have 2 MiB */
  SPLIT_KEYS = 2048,        /* keys of a split */
  SPLIT_ROWS = 64,          /* up to this query_len keys are split: longer ones have items enough */
  ITEMS_A_THREAD = 8,       /* so many that the last ones to end leave few threads idle */
  SERIAL_FLOPS = 2000000    /* about 10 us: what waking a thread costs several times over */
};

/* Keys are cut by query_len and key_len alone: the cut decides a row's bits. */
static void cut_keys(const struct sdpai_problem *p, struct sdpai_tiled_plan *t) {
  t->splits = 1;
  t->split_keys = INT64_MAX;
  if (p->query_len <= SPLIT_ROWS && p->key_len > SPLIT_KEYS) {
    t->split_keys = SPLIT_KEYS;
    t->splits = (p->key_len - 1) / SPLIT_KEYS + 1;
  }
  int64_t key_bytes = sdpai_saturating_add(p->key_dim, p->value_dim);
  key_bytes = sdpai_max(1, sdpai_saturating_mul(key_bytes, (int64_t)p->element));
  t->super_keys = sdpai_max(1, SUPER_BYTES / key_bytes / SDPAI_TILE_KEYS) * SDPAI_TILE_KEYS;
}

/* How K and V are read. A tile of V of which some row excludes a key is looked at as floats if it
 * holds one that is not finite. */
static void choose_packing(const struct sdpai_problem *p, struct sdpai_tiled_plan *t) {
  const int output = !(p->features & SDPA_NO_OUTPUT);
  const int key_strided = p->key.col != 1 && p->key_dim > 1;
  const int value_strided = p->value.col != 1 && p->value_dim > 1;
  const int key_narrow = p->types.key != p->types.compute;
  const int value_narrow = output && p->types.value != p->types.compute;
  t->narrow_key = t->by_rows && key_narrow && !key_strided;
  t->narrow_value = t->by_rows && value_narrow && !value_strided;
  t->packs_key = key_strided || (key_narrow && !t->narrow_key);
  t->packs_value = value_strided ||
                   (value_narrow && (!t->narrow_value || (p->features & SDPAI_MASK_FEATURES) != 0));
}

/* Panels of at most `vectors` vectors of queries, and items of so many of them that each thread has
 * several: up to `usual`, but at least `least`. */
static void cut_panels(const struct sdpa_plan *plan, int32_t threads, int64_t vectors,
                       int64_t usual, int64_t least, struct sdpai_tiled_plan *t) {
  const struct sdpai_problem *p = &plan->problem;
  const int64_t lanes = sdpai_plan_lanes(plan);
  const int64_t rows = sdpai_saturating_mul(p->group, p->query_len);
  const int64_t heads = sdpai_saturating_mul(p->batch, p->kv_heads);
  const int64_t vector_bytes =
      sdpai_max(1, sdpai_saturating_mul(p->key_dim, lanes * (int64_t)p->element));
  vectors = sdpai_max(1, sdpai_min(vectors, PANEL_BYTES / vector_bytes));
  t->width = sdpai_min(vectors, (rows - 1) / lanes + 1) * lanes;
  const int64_t panels = (rows - 1) / t->width + 1;
  const int64_t share = sdpai_saturating_mul(panels, heads) / ((int64_t)ITEMS_A_THREAD * threads);
  t->panels = t->splits > 1 ? 1 : sdpai_min(panels, sdpai_max(least, sdpai_min(usual, share)));
  t->item_rows = t->panels * t->width;
  t->items = (panels - 1) / t->panels + 1;
}

/* The matrix unit for both products, if there is one and it saves time. That decides a row's bits,
 * so it goes by the rows of one query head: not by threads, batch or heads. */
static void choose_matrix(const struct sdpa_plan *plan, int32_t threads,
                          struct sdpai_tiled_plan *t) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_matrix_parts parts = sdpai_matrix_parts(p, &plan->options);
  const int64_t width = MATRIX_VECTORS * plan->kernels->f32.lanes;
  if (!plan->kernels->matrix.products || parts.scores.left == 0) return;
  const int64_t rows = t->splits > 1 ? sdpai_min(p->query_len, width) : p->query_len;
  if (!sdpai_matrix_pays(p, &parts, rows)) return;
  t->matrix = parts;
  /* Items twice as large as those that would just pay, whatever that leaves to other threads. */
  int64_t least = 1;
  while (least < SDPAI_TILED_PANELS / 2 && !sdpai_matrix_pays(p, &parts, least * width)) least *= 2;
  cut_panels(plan, threads, MATRIX_VECTORS, SDPAI_TILED_PANELS, 2 * least, t);
  const int64_t columns =
      sdpai_saturating_add(sdpai_saturating_mul(parts.scores.left, p->key_dim),
                           sdpai_saturating_mul(parts.output.left, p->value_dim));
  const int64_t keys =
      sdpai_max(1, MATRIX_BYTES / (int64_t)sizeof(uint16_t) / columns / SDPAI_TILE_KEYS);
  t->super_keys =
      sdpai_min(keys, sdpai_max(1, sdpai_tiles(p->key_len, SDPAI_TILE_KEYS))) * SDPAI_TILE_KEYS;
}

static void cut_rows(const struct sdpa_plan *plan, int32_t threads, struct sdpai_tiled_plan *t) {
  const struct sdpai_problem *p = &plan->problem;
  const int64_t lanes = sdpai_plan_lanes(plan);
  t->by_rows = p->query_len <= sdpai_max(1, lanes * 3 / 4);
  choose_packing(p, t);
  if (t->by_rows) {
    t->item_rows = sdpai_max(1, sdpai_saturating_mul(p->group, p->query_len));
    t->items = 1;
    t->super_keys = sdpai_min(SDPAI_ROWS_KEYS, sdpai_max(p->key_len, 1));
    return;
  }
  choose_matrix(plan, threads, t);
  if (t->matrix.scores.left > 0) return;
  /* Packing a block of keys costs as much as 20 rows' work on it: it takes many rows to share that.
   */
  cut_panels(plan, threads, SDPAI_TILE_VECTORS, USUAL_PANELS,
             t->packs_key || t->packs_value ? PACKED_PANELS : 1, t);
}

static sdpa_status measure(struct sdpa_plan *plan, struct sdpai_report *report) {
  struct sdpai_tiled_plan *t = &plan->tiled;
  struct sdpai_arena slot = {0}, part = {0};
  struct sdpai_tiled_scratch scratch;
  struct sdpai_part parts;
  sdpai_tiled_carve_slot(plan, &slot, &scratch);
  sdpai_tiled_carve_part(plan, &part, &parts);
  const int64_t heads = plan->problem.batch * plan->problem.kv_heads;
  int64_t total, bytes = 0;
  if (t->split_items && (!sdpai_checked_mul(heads * t->items, t->splits, &bytes) ||
                         !sdpai_checked_mul(bytes, part.used, &bytes)))
    slot.overflow = 1;
  if (slot.overflow || part.overflow || !sdpai_checked_mul(slot.used, t->slots, &total) ||
      !sdpai_checked_add(total, bytes, &total) || total > PTRDIFF_MAX)
    return sdpai_fail(
        report, SDPA_ERROR_OVERFLOW,
        "key_dim is %lld, value_dim %lld: the workspace of engine tiled does not fit in ptrdiff_t; "
        "expected smaller sizes",
        (long long)plan->problem.key_dim, (long long)plan->problem.value_dim);
  t->slot_bytes = slot.used;
  t->part_bytes = part.used;
  plan->workspace = (size_t)total;
  return SDPA_OK;
}

/* Nothing but the two products and a softmax, on rows of the compute type that lie side by side, in
 * one tile, on this thread. */
static int is_small(const struct sdpai_problem *p, int64_t lanes, int64_t work) {
  return p->query_len <= sdpai_max(1, lanes * 3 / 4) && p->key_len > 0 &&
         p->key_len <= SDPAI_TILE_KEYS && (p->features & ~(uint32_t)SDPA_SCALE) == 0 &&
         p->softcap == 0 && p->key_dim > 0 && p->value_dim > 0 && p->query.col == 1 &&
         p->key.col == 1 && p->value.col == 1 && p->output.col == 1 &&
         p->types.query == p->types.compute && p->types.key == p->types.compute &&
         p->types.value == p->types.compute && p->types.output == p->types.compute &&
         work < SERIAL_FLOPS / 2;
}

sdpa_status sdpai_tiled_count(const struct sdpai_problem *p, struct sdpai_report *report,
                              int64_t *heads, int64_t *rows) {
  int64_t head_rows;
  if (sdpai_checked_mul(p->batch, p->kv_heads, heads) &&
      sdpai_checked_mul(p->group, p->query_len, &head_rows) &&
      sdpai_checked_mul(*heads, head_rows, rows))
    return SDPA_OK;
  return sdpai_fail(
      report, SDPA_ERROR_OVERFLOW,
      "batch is %lld, query_heads %lld, query_len %lld; expected rows that an int64 can count",
      (long long)p->batch, (long long)p->query_heads, (long long)p->query_len);
}

sdpa_status sdpai_tiled_layout(struct sdpa_plan *plan, struct sdpai_report *report) {
  const struct sdpai_problem *p = &plan->problem;
  struct sdpai_tiled_plan *t = &plan->tiled;
  *t = (struct sdpai_tiled_plan){
      .width = 1, .panels = 1, .item_rows = 1, .items = 1, .splits = 1, .slots = 1};
  int64_t all = 0, heads = 0;
  const sdpa_status status = sdpai_tiled_count(p, report, &heads, &all);
  if (status != SDPA_OK) return status;
  if (all == 0) {
    plan->workspace = 0;
    return SDPA_OK;
  }
  const int64_t work =
      sdpai_saturating_mul(sdpai_plan_pairs(p), sdpai_saturating_add(p->key_dim, p->value_dim));
  const int64_t lanes = sdpai_plan_lanes(plan);
  if (is_small(p, lanes, work)) {
    t->small = t->by_rows = 1;
    t->item_rows = p->query_len;
    plan->workspace = (size_t)(p->query_len * SDPAI_TILE_KEYS) * p->element;
    return SDPA_OK;
  }
  struct sdpai_parallel parallel = {.threads = work < SERIAL_FLOPS / 2 ? 1 : plan->options.threads,
                                    .parallel_for = plan->options.parallel_for};
  const int32_t threads = sdpai_parallel_threads(&parallel, INT64_MAX);
  cut_keys(p, t);
  cut_rows(plan, threads, t);
  /* In lanes masks come before the scale: -inf * 0 would be NaN. */
  const int ruled = t->by_rows ? sdpai_scores_ruled(p)
                               : p->scale == 0 || p->softcap != 0 ||
                                     (p->features & (SDPA_ALIBI | SDPA_BIAS | SDPA_SCORES)) != 0;
  t->ruled = ruled != 0;
  const int64_t items = sdpai_saturating_mul(heads, t->items);
  t->split_items = t->splits > 1 && threads > 1 && items < (int64_t)ITEMS_A_THREAD * threads;
  t->slots = sdpai_parallel_threads(
      &parallel, t->split_items ? sdpai_saturating_mul(items, t->splits) : items);
  return measure(plan, report);
}
