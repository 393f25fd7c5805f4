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
#include "engines/tiled_layout.h"
#include "engines/tiled_scratch.h"
#include "engines/tiled_segment.h"
#include "problem/dtype.h"
#include "problem/mask.h"
#include "runtime/checked_math.h"
#include "runtime/parallel.h"

enum {
  SMALL_ROWS = 16,   /* rows that tiled_small_tpl.h takes: more than run by rows on any ISA */
  ROWS_AHEAD = 8192, /* bytes of K and of V asked for before the products ask themselves */
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

/* Asks for `rows` rows from `row` on of a head, `dim` elements each, into L2. Inline, since gcc
 * leaves out calls of functions that do nothing but ask. */
SDPAI_INLINE void ask_rows(uint32_t type, const void *tensor, const sdpa_strides *s, int64_t batch,
                           int64_t head, int64_t row, int64_t rows, int64_t dim) {
  const int64_t element = sdpai_element(type), line = 64;
  if (!tensor || rows <= 0 || dim == 0 || s->col != 1) return;
  const char *at =
      (const char *)tensor + (batch * s->batch + head * s->head + row * s->row) * element;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < dim * element; i += line)
      SDPAI_PREFETCH_L2(at + r * s->row * element + i);
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

/* Where heads share a mask or bias, they take turns, so that each part of it is read from memory
 * once; else one head after the other, so that its keys and values are. */
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

/* Asks for what an item in lanes begins with, and for where its first rows end up. Each is a short
 * stream, and where heads are small the arithmetic would wait for the start of each most of the
 * time that memory takes: 32 x 12 heads of 128 rows and keys take 0.9 of the time (f32, d = 64). */
SDPAI_INLINE void ask_item(const struct tiled_run *run, const struct tiled_index *at) {
  const struct sdpai_problem *p = &run->plan->problem;
  const struct sdpai_args *a = run->args;
  const int64_t first = at->item * run->plan->tiled.item_rows, row = first % p->query_len;
  const int64_t head = at->kv_head * p->group + first / p->query_len;
  const int64_t most = sdpai_min(run->plan->tiled.item_rows, SDPAI_TILE_KEYS);
  const int64_t rows = sdpai_min(most, p->query_len - row);
  const int64_t keys = sdpai_min(SDPAI_TILE_KEYS, sdpai_key_length(p, a, at->batch));
  ask_rows(p->types.key, a->key, &p->key, at->batch, at->kv_head, 0, keys, p->key_dim);
  ask_rows(p->types.query, a->query, &p->query, at->batch, head, row, rows, p->key_dim);
  ask_rows(p->types.value, a->value, &p->value, at->batch, at->kv_head, 0, keys, p->value_dim);
  ask_rows(p->types.output, a->output, &p->output, at->batch, head, row, rows, p->value_dim);
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
  if (!t->by_rows && !apart && !run->joining) ask_item(run, &at);
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

const struct sdpai_engine sdpai_engine_tiled = {
    .id = SDPA_ENGINE_TILED,
    .name = "tiled",
    .applicable = tiled_applicable,
    .second_choice = tiled_second_choice,
    .layout = sdpai_tiled_layout,
    .run = tiled_run,
    .backward_layout = sdpai_tiled_backward_layout,
    .backward_run = tiled_backward_run,
    .describe = sdpai_tiled_describe,
};
