/* tiled_backward_run_tpl.h - the phases of the backward pass, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h. First delta of every row; then the chunks: a kv head's one after the
 * other on one thread, or, where heads are few, a chunk of every head at a time with its groups of
 * keys as items; then dbias; last the sums over rows.
 */

/* A slot's scratch, and the item in it. */
struct X(backward_slot) {
  struct sdpai_tiled_scratch scratch;
  struct sdpai_tiled_backward_scratch backward;
  struct X(backward_item) item;
};

static void X(carve_backward)(const struct X(backward) * run, int64_t slot,
                              struct X(backward_slot) * to) {
  struct sdpai_arena arena = {.base = run->slots + slot * run->plan->tiled.slot_bytes};
  sdpai_tiled_backward_carve_slot(run->plan, &arena, &to->scratch, &to->backward);
}

static struct sdpai_tiled_backward_part X(backward_part)(const struct X(backward) * run,
                                                         int64_t number) {
  struct sdpai_arena arena = {.base = run->parts + number * run->plan->tiled.part_bytes};
  struct sdpai_tiled_backward_part part;
  sdpai_tiled_backward_carve_part(run->plan, &arena, &part);
  return part;
}

/* Points at a chunk of a kv head. */
static void X(start_chunk)(const struct X(backward) * run, int64_t head, int64_t chunk,
                           enum X(backward_use) use, struct X(backward_slot) * slot) {
  const struct tiled_index at = {.batch = head / run->plan->problem.kv_heads,
                                 .kv_head = head % run->plan->problem.kv_heads,
                                 .item = chunk};
  X(start_backward_item)(run, &slot->scratch, &slot->backward, &at, use, &slot->item);
}

/* dO_i . O_i, which is sum_j p_ij dP_ij (Dao, FlashAttention-2, 2023), with dropout too. */
static T X(output_dot)(const struct X(backward_item) * bi, int64_t head, int64_t row) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const struct sdpai_grads *g = bi->run->grads;
  const int64_t b = bi->item.batch, dim = p->value_dim;
  const int64_t at = b * p->output.batch + head * p->output.head + row * p->output.row;
  const int64_t grad_at =
      b * p->grad_output.batch + head * p->grad_output.head + row * p->grad_output.row;
  T *o = bi->scratch->pair_output, *grad = bi->scratch->value_sums, dot = 0;
  if (dim == 0) return 0;
  X(gather)(dim, X(at)(g->output, at), p->output.col, o);
  X(gather)(dim, X(at)(g->grad_output, grad_at), p->grad_output.col, grad);
  bi->item.kernels->product_nt(1, 1, dim, o, dim, grad, dim, &dot, 1);
  return dot;
}

/* Delta of a row from sum_j p_ij dP_ij, and what the row adds to dsinks. */
static void X(start_row)(const struct X(backward_item) * bi, int64_t head, int64_t row, T sum) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const struct sdpai_grads *g = bi->run->grads;
  const int64_t at = bi->item.batch * p->lse.batch + head * p->lse.head + row * p->lse.row;
  const T lse = *X(at)(g->lse, at);
  const T delta = g->grad_lse ? sum - *X(at)(g->grad_lse, at) : sum;
  *X(row_at)(bi, bi->run->shared.delta, head, row) = delta;
  if (!g->grad_sinks) return;
  const T sink = ((const T *)bi->item.args->sinks)[head];
  const int none = sink == -(T)INFINITY || X(is_empty_row)(bi, head, row, lse);
  *X(row_at)(bi, bi->run->shared.row_sinks, head, row) = none ? 0 : -EXP(sink - lse) * delta;
}

/* Sums of p dP over all keys of the chunk's rows into bi->part. */
static const T *X(sum_products)(struct X(backward_item) * bi) {
  X(start_backward_panels)(bi);
  X(clear_backward_part)(bi);
  for (int64_t j = 0; j < bi->item.key_len; j += SDPAI_TILE_KEYS) X(run_backward_keys)
  (bi, (struct sdpai_interval){j, j + SDPAI_TILE_KEYS});
  return bi->part.row_sums;
}

/* The live rows of a chunk. dO . O serves where O is as it was computed: from one that was rounded
 * to 16 bits sum_j ds_ij would not be 0, and what is left over would pull every step of a training
 * in one direction, that of the mean key; there the sum is formed anew. */
static void X(delta_work)(void *arg, int64_t number, int64_t slot_number) {
  const struct X(backward) *run = arg;
  const struct sdpai_problem *p = &run->plan->problem;
  const struct sdpai_tiled_plan *t = &run->plan->tiled;
  struct X(backward_slot) slot;
  X(carve_backward)(run, slot_number, &slot);
  X(start_chunk)(run, number / t->items, number % t->items, X(USE_DELTA), &slot);
  struct X(backward_item) *bi = &slot.item;
  const T *sums = p->types.output != p->types.compute ? X(sum_products)(bi) : NULL;
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, bi->item.kv_head, bi->item.first, bi->item.rows, &s)) {
    const int64_t live = sdpai_live_rows(&s, bi->item.query_len);
    for (int64_t r = 0; r < live; r++) X(start_row)
    (bi, s.head, s.row + r, sums ? sums[s.lane + r] : X(output_dot)(bi, s.head, s.row + r));
    if (!run->grads->grad_sinks) continue;
    T *row_sinks = X(row_at)(bi, run->shared.row_sinks, s.head, s.row);
    X(fill)(s.rows - live, 0, row_sinks + live, 1);
  }
}

/* All chunks of a kv head. */
static void X(head_work)(void *arg, int64_t head, int64_t slot_number) {
  const struct X(backward) *run = arg;
  const struct sdpai_tiled_plan *t = &run->plan->tiled;
  struct X(backward_slot) slot;
  X(carve_backward)(run, slot_number, &slot);
  const struct sdpai_tiled_backward_part total = slot.backward.total, part = slot.backward.part;
  for (int64_t chunk = 0; chunk < t->items; chunk++) {
    X(start_chunk)(run, head, chunk, X(USE_GRADIENTS), &slot);
    X(start_backward_panels)(&slot.item);
    for (int64_t g = 0; g < t->splits; g++) {
      slot.item.part = g == 0 ? total : part;
      X(run_backward_group)(&slot.item, chunk, g, slot_number);
      for (int64_t i = 0; g > 0 && i < slot.item.count; i++)
        X(join_backward_part)(&slot.item, i, &total, &part);
    }
    for (int64_t i = 0; i < slot.item.count; i++) X(finish_backward_panel)(&slot.item, i, &total);
  }
}

/* One group of run->chunk of a kv head. */
static void X(group_work)(void *arg, int64_t number, int64_t slot_number) {
  const struct X(backward) *run = arg;
  const int64_t groups = run->plan->tiled.splits, head = number / groups;
  struct X(backward_slot) slot;
  X(carve_backward)(run, slot_number, &slot);
  X(start_chunk)(run, head, run->chunk, X(USE_GRADIENTS), &slot);
  X(start_backward_panels)(&slot.item);
  slot.item.part = X(backward_part)(run, number);
  X(run_backward_group)(&slot.item, run->chunk, number % groups, head);
}

/* One panel of run->chunk of a kv head, when its groups have ended. */
static void X(join_work)(void *arg, int64_t number, int64_t slot_number) {
  const struct X(backward) *run = arg;
  const struct sdpai_tiled_plan *t = &run->plan->tiled;
  const int64_t head = number / t->panels, index = number % t->panels;
  struct X(backward_slot) slot;
  X(carve_backward)(run, slot_number, &slot);
  struct X(backward_item) *bi = &slot.item;
  X(start_chunk)(run, head, run->chunk, X(USE_GRADIENTS), &slot);
  if (index * t->width >= bi->item.rows) return;
  X(fill)(t->width, 1, slot.backward.ones, 1);
  const struct sdpai_tiled_backward_part total = X(backward_part)(run, head * t->splits);
  for (int64_t g = 1; g < t->splits; g++) {
    const struct sdpai_tiled_backward_part part = X(backward_part)(run, head * t->splits + g);
    X(join_backward_part)(bi, index, &total, &part);
  }
  X(finish_backward_panel)(bi, index, &total);
}

static void X(bias_work)(void *arg, int64_t number, int64_t slot_number) {
  const struct X(backward) *run = arg;
  struct X(backward_slot) slot;
  X(carve_backward)(run, slot_number, &slot);
  slot.item.run = run;
  slot.item.item = (struct X(item)){.plan = run->plan, .scratch = &slot.scratch};
  slot.item.scratch = &slot.backward;
  const struct X(bias_cut) cut = X(cut_bias)(run->plan);
  X(run_bias_item)(&slot.item, &cut, number);
}

/* What the rows of each head add to dsinks or dslopes, in the order of the rows; to may be NULL. */
static void X(sum_rows)(const struct sdpai_problem *p, const T *rows, T *to) {
  for (int64_t h = 0; to && h < p->query_heads; h++) {
    double sum = 0;
    for (int64_t b = 0; b < p->batch; b++)
      for (int64_t i = 0; i < p->query_len; i++)
        sum += (double)rows[(b * p->query_heads + h) * p->query_len + i];
    to[h] = (T)sum;
  }
}

static int X(run_backward_items)(struct X(backward) * run, int64_t items, sdpai_work work) {
  const struct sdpa_plan *plan = run->plan;
  const struct sdpai_parallel parallel = {.threads = plan->tiled.slots,
                                          .parallel_for = plan->options.parallel_for,
                                          .ctx = plan->options.parallel_ctx};
  if (plan->tiled.slots > 1) return sdpai_parallel_run(&parallel, items, work, run);
  for (int64_t i = 0; i < items; i++)
    work(run, i, 0); /* in the environment that the api layer set */
  return 0;
}

/* Non-zero if the caller's parallel_for broke its contract. */
static int X(run_backward)(const struct sdpa_plan *plan, const struct sdpai_args *args,
                           const struct sdpai_grads *grads, char *workspace) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_tiled_plan *t = &plan->tiled;
  const int64_t heads = sdpai_saturating_mul(p->batch, p->kv_heads);
  struct X(backward) run = {.plan = plan, .args = args, .grads = grads, .slots = workspace};
  run.parts = run.slots + t->slots * t->slot_bytes;
  struct sdpai_arena arena = {.base = run.parts};
  if (t->split_items) arena.base += heads * t->splits * t->part_bytes;
  sdpai_tiled_backward_carve_shared(plan, &arena, &run.shared);
  int failed = X(run_backward_items)(&run, heads * t->items, X(delta_work));
  if (!t->split_items && !failed) failed = X(run_backward_items)(&run, heads, X(head_work));
  for (; t->split_items && !failed && run.chunk < t->items; run.chunk++) {
    failed = X(run_backward_items)(&run, heads * t->splits, X(group_work));
    if (!failed) failed = X(run_backward_items)(&run, heads * t->panels, X(join_work));
  }
  if (grads->grad_bias && !failed) {
    const struct X(bias_cut) cut = X(cut_bias)(plan);
    const int64_t items = cut.batches * cut.heads * cut.row_blocks * cut.tiles;
    failed = X(run_backward_items)(&run, items, X(bias_work));
  }
  if (failed) return failed; /* what rows add may not have been written */
  X(sum_rows)(p, run.shared.row_sinks, grads->grad_sinks);
  X(sum_rows)(p, run.shared.row_slopes, grads->grad_slopes);
  return 0;
}
