/* engine_tiled.c - the `tiled` engine: streaming softmax over tiles of keys, O(n) memory
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A kv head's query rows are cut into items, which run in any order on any threads; every output
 * row is written by one item, over its keys in order. Many queries lie in lanes
 * (tiled_lanes_tpl.h), few lie by rows (tiled_rows_tpl.h).
 */
#include <math.h>
#include <string.h>

#include "engines/dropout.h"
#include "engines/engine.h"
#include "engines/narrow_row.h"
#include "engines/softmax_row.h"
#include "engines/tiled_backward.h"
#include "engines/tiled_describe.h"
#include "engines/tiled_scratch.h"
#include "engines/tiled_segment.h"
#include "problem/dtype.h"
#include "problem/mask.h"
#include "runtime/checked_math.h"
#include "runtime/parallel.h"

enum {
  USUAL_PANELS = 4,  /* panels that share a block of keys in L2 */
  PACKED_PANELS = 8, /* at least, where it must be packed */
  MATRIX_PANELS =
      16,          /* at least, where it is packed for the matrix unit, if every thread has some */
  MAX_PANELS = 32, /* and at most there */
  MATRIX_VECTORS = 2,       /* of such a panel: two by two tiles */
  PANEL_BYTES = 32 << 10,   /* of a panel's queries: two thirds of L1 */
  SUPER_BYTES = 512 << 10,  /* of K and V in such a block: half of a 1 MiB L2 */
  MATRIX_BYTES = 768 << 10, /* of their parts: CPUs with a matrix unit have 2 MiB */
  SPLIT_KEYS = 2048,        /* keys of a split */
  SPLIT_ROWS = 64,          /* up to this query_len keys are split: longer ones have items enough */
  ITEMS_A_THREAD = 8,       /* so many that the last ones to end leave few threads idle */
  SERIAL_FLOPS = 2000000,   /* about 10 us: what waking a thread costs several times over */
  SMALL_ROWS = 16, /* rows that tiled_small_tpl.h takes: more than run by rows on any ISA */
  SCORE_SEGMENT = SDPAI_TILE_KEYS
};

/* One execution. */
struct tiled_run {
  const struct sdpa_plan *plan;
  const struct sdpai_args *args;
  char *slots, *parts; /* one after the other */
  int64_t slot_bytes, part_bytes;
  int64_t splits; /* those that some batch entry has keys in */
  int joining;    /* second phase of split items: parts to results */
};

/* Which item. */
struct tiled_index {
  int64_t batch, kv_head, item, split;
  int64_t number; /* among all items of the problem, without splits */
};

static struct sdpai_part part_at(const struct tiled_run *run, int64_t number) {
  struct sdpai_arena arena = {.base = run->parts + number * run->part_bytes};
  struct sdpai_part part;
  sdpai_tiled_carve_part(run->plan, &arena, &part);
  return part;
}

#define T          float
#define X(name)    name##_f32
#define FIELD      f32
#define HAS_MATRIX 1
#define HAS_NARROW 1
#define EXP        expf
#define LOG        logf
#define SMALLEST   0x1p-149f
#include "engines/head_tpl.h"
#include "engines/tiled_item_tpl.h"
#include "engines/tiled_parts_tpl.h"
#include "engines/tiled_rows_tpl.h"
#include "engines/tiled_panel_tpl.h"
#include "engines/tiled_tile_tpl.h"
#include "engines/tiled_matrix_tpl.h"
#include "engines/tiled_lanes_tpl.h"
#include "engines/tiled_run_tpl.h"
#include "engines/tiled_small_tpl.h"
#include "engines/tiled_backward_panel_tpl.h"
#include "engines/tiled_backward_pair_tpl.h"
#include "engines/tiled_backward_tile_tpl.h"
#include "engines/tiled_backward_sums_tpl.h"
#include "engines/tiled_backward_bias_tpl.h"
#include "engines/tiled_backward_run_tpl.h"
#undef T
#undef X
#undef FIELD
#undef HAS_MATRIX
#undef HAS_NARROW
#undef EXP
#undef LOG
#undef SMALLEST

#define T          double
#define X(name)    name##_f64
#define FIELD      f64
#define HAS_MATRIX 0
#define HAS_NARROW 0
#define EXP        exp
#define LOG        log
#define SMALLEST   0x1p-1074
#include "engines/head_tpl.h"
#include "engines/tiled_item_tpl.h"
#include "engines/tiled_parts_tpl.h"
#include "engines/tiled_rows_tpl.h"
#include "engines/tiled_panel_tpl.h"
#include "engines/tiled_tile_tpl.h"
#include "engines/tiled_lanes_tpl.h"
#include "engines/tiled_run_tpl.h"
#include "engines/tiled_small_tpl.h"
#include "engines/tiled_backward_panel_tpl.h"
#include "engines/tiled_backward_pair_tpl.h"
#include "engines/tiled_backward_tile_tpl.h"
#include "engines/tiled_backward_sums_tpl.h"
#include "engines/tiled_backward_bias_tpl.h"
#include "engines/tiled_backward_run_tpl.h"

/* Where heads share a mask or bias, they take turns, so that each part of it is read from memory once; else
 * one head after the other, so that its keys and values are. */
static int items_outermost(const struct sdpai_problem *p) {
  return ((p->features & SDPA_MASK) && p->mask.head == 0) ||
         ((p->features & SDPA_BIAS) && p->bias.head == 0);
}

/* Of a causal problem's items the last rows have the most to do, so they come first. */
static struct tiled_index index_of(const struct sdpa_plan *plan, int64_t number, int64_t splits) {
  const struct sdpai_problem *p = &plan->problem;
  const int64_t items = plan->tiled.items, heads = p->batch * p->kv_heads;
  const int outermost = items_outermost(p);
  struct tiled_index at;
  at.split = number % splits;
  number /= splits;
  at.item = items - 1 - (outermost ? number / heads : number % items);
  const int64_t head = outermost ? number % heads : number / items;
  at.batch = head / p->kv_heads;
  at.kv_head = head % p->kv_heads;
  at.number = head * items + at.item;
  return at;
}

/* The matrix unit's state is the thread's own: set up for one item and left as before. */
static const struct sdpai_matrix_kernels *unit_of(const struct tiled_run *run) {
  const int used = run->plan->tiled.matrix.scores.left > 0 && !run->joining;
  return used ? &run->plan->kernels->matrix : NULL;
}

static void run_one(void *arg, int64_t number, int64_t slot) {
  const struct tiled_run *run = arg;
  const struct sdpai_tiled_plan *t = &run->plan->tiled;
  struct sdpai_arena arena = {.base = run->slots + slot * run->slot_bytes};
  struct sdpai_tiled_scratch scratch;
  sdpai_tiled_carve_slot(run->plan, &arena, &scratch);
  const int apart = t->split_items && !run->joining;
  const struct tiled_index at = index_of(run->plan, number, apart ? run->splits : 1);
  const int f32 = run->plan->problem.types.compute == SDPA_F32;
  const struct sdpai_matrix_kernels *unit = unit_of(run);
  if (unit) unit->configure();
  if (!t->split_items) {
    f32 ? run_item_f32(run, &scratch, &at) : run_item_f64(run, &scratch, &at);
  } else if (!run->joining) {
    f32 ? run_split_item_f32(run, &scratch, &at) : run_split_item_f64(run, &scratch, &at);
  } else {
    f32 ? join_split_item_f32(run, &scratch, &at) : join_split_item_f64(run, &scratch, &at);
  }
  if (unit) unit->release();
}

/* Non-zero if the caller's parallel_for broke its contract. */
static int run_items(struct tiled_run *run, int64_t items) {
  const struct sdpai_options *options = &run->plan->options;
  const struct sdpai_parallel parallel = {.threads = run->plan->tiled.slots,
                                          .parallel_for = options->parallel_for,
                                          .ctx = options->parallel_ctx};
  if (run->plan->tiled.slots > 1) return sdpai_parallel_run(&parallel, items, run_one, run);
  for (int64_t i = 0; i < items; i++)
    run_one(run, i, 0); /* in the environment that the api layer set */
  return 0;
}

static sdpa_status tiled_run(const struct sdpa_plan *plan, const struct sdpai_args *args,
                             void *workspace) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_tiled_plan *t = &plan->tiled;
  if (p->query_len == 0 || p->batch == 0 || p->query_heads == 0) return SDPA_OK;
  if (t->small) {
    if (p->types.compute == SDPA_F32) {
      run_small_f32(plan, args, workspace);
    } else {
      run_small_f64(plan, args, workspace);
    }
    return SDPA_OK;
  }
  struct tiled_run run = {.plan = plan, .args = args, .slots = workspace};
  run.slot_bytes = t->slot_bytes;
  run.part_bytes = t->part_bytes;
  run.parts = run.slots + t->slots * t->slot_bytes;
  const int64_t items = p->batch * p->kv_heads * t->items;
  int64_t longest = 1;
  for (int64_t b = 0; t->split_items && b < p->batch; b++)
    longest = sdpai_max(longest, sdpai_key_length(p, args, b));
  run.splits = (longest - 1) / t->split_keys + 1;
  int failed = run_items(&run, t->split_items ? items * run.splits : items);
  if (!failed && t->split_items) {
    run.joining = 1;
    failed = run_items(&run, items);
  }
  return failed ? SDPA_ERROR_CALLBACK : SDPA_OK;
}

static sdpa_status tiled_backward_run(const struct sdpa_plan *plan, const struct sdpai_args *args,
                                      const struct sdpai_grads *grads, void *workspace) {
  const int failed = plan->problem.types.compute == SDPA_F32
                         ? run_backward_f32(plan, args, grads, workspace)
                         : run_backward_f64(plan, args, grads, workspace);
  return failed ? SDPA_ERROR_CALLBACK : SDPA_OK;
}

static sdpa_status tiled_applicable(const struct sdpa_plan *plan, struct sdpai_report *report) {
  (void)plan, (void)report;
  return SDPA_OK;
}

static const char *tiled_second_choice(const struct sdpa_plan *plan) {
  if (plan->problem.features & (SDPA_WEIGHTS | SDPA_SCORES))
    return "weights or scores are asked for, so the whole matrix is written anyway";
  if (plan->kernels->isa == SDPA_ISA_GENERIC)
    return "it has no SIMD kernels for this CPU or ceiling";
  return NULL;
}

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
 * some of its own: `usual` ones, at least `least`. */
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
  const int64_t all = sdpai_saturating_mul(panels, heads);
  const int64_t share = all / ((int64_t)ITEMS_A_THREAD * threads);
  if (usual == MAX_PANELS) least = sdpai_min(least, (all - 1) / threads + 1);
  t->panels = t->splits > 1 ? 1 : sdpai_min(panels, sdpai_max(least, sdpai_min(usual, share)));
  t->item_rows = t->panels * t->width;
  t->items = (panels - 1) / t->panels + 1;
}

/* The matrix unit for both products, if there is one and it saves time. */
static void choose_matrix(const struct sdpa_plan *plan, int32_t threads,
                          struct sdpai_tiled_plan *t) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_matrix_parts parts = sdpai_matrix_parts(p, &plan->options);
  if (!plan->kernels->matrix.products || parts.scores.left == 0) return;
  cut_panels(plan, threads, MATRIX_VECTORS, MAX_PANELS, MATRIX_PANELS, t);
  if (!sdpai_matrix_pays(p, &parts, t->item_rows)) return;
  t->matrix = parts;
  const int64_t tiles = parts.scores.left * sdpai_tiles(p->key_dim, SDPAI_TILE_DEPTH) * 2 +
                        parts.output.left * sdpai_tiles(p->value_dim, SDPAI_TILE_ROWS);
  const int64_t key_bytes = tiles * SDPAI_TILE_ELEMENTS / SDPAI_TILE_DEPTH * 2;
  const int64_t keys = sdpai_max(1, MATRIX_BYTES / key_bytes / SDPAI_TILE_KEYS);
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

static sdpa_status tiled_layout(struct sdpa_plan *plan, struct sdpai_report *report) {
  const struct sdpai_problem *p = &plan->problem;
  struct sdpai_tiled_plan *t = &plan->tiled;
  *t = (struct sdpai_tiled_plan){.width = 1, .panels = 1, .item_rows = 1, .items = 1, .slots = 1};
  int64_t all, heads;
  if (!sdpai_checked_mul(p->batch, p->kv_heads, &heads) ||
      !sdpai_checked_mul(p->group, p->query_len, &all) || !sdpai_checked_mul(heads, all, &all))
    return sdpai_fail(
        report, SDPA_ERROR_OVERFLOW,
        "batch is %lld, query_heads %lld, query_len %lld; expected rows that an int64 can count",
        (long long)p->batch, (long long)p->query_heads, (long long)p->query_len);
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
  t->ruled = t->by_rows ? sdpai_scores_ruled(p)
                        : p->scale == 0 || p->softcap != 0 ||
                              (p->features & (SDPA_ALIBI | SDPA_BIAS | SDPA_SCORES)) != 0;
  const int64_t items = sdpai_saturating_mul(heads, t->items);
  t->split_items = t->splits > 1 && threads > 1 && items < (int64_t)ITEMS_A_THREAD * threads;
  t->slots = sdpai_parallel_threads(
      &parallel, t->split_items ? sdpai_saturating_mul(items, t->splits) : items);
  return measure(plan, report);
}

const struct sdpai_engine sdpai_engine_tiled = {
    .id = SDPA_ENGINE_TILED,
    .name = "tiled",
    .applicable = tiled_applicable,
    .second_choice = tiled_second_choice,
    .layout = tiled_layout,
    .run = tiled_run,
    .backward_layout = sdpai_tiled_backward_layout,
    .backward_run = tiled_backward_run,
    .describe = sdpai_tiled_describe,
};
