/* tiled_backward_run_tpl.h - the phases of the backward pass, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h. First delta of every row; then the chunks: a kv head's one after the other on one
 * thread, or, where heads are few, a chunk of every head at a time with its groups of keys as items; then
 * dbias; last the sums over rows.
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

/* Sums of p dP over all keys of the chunk's rows into part.slope. */
static void X(sum_delta)(const struct X(backward_item) * bi) {
  X(clear_backward_part)(bi);
  for (int64_t j = 0; j < bi->item.key_len; j += SDPAI_TILE_KEYS) X(run_backward_keys)
  (bi, (struct sdpai_interval){j, j + SDPAI_TILE_KEYS});
}

/* dO_i . O_i, which is sum_j p_ij dP_ij. */
static T X(output_dot)(const struct X(backward_item) * bi, int64_t head, int64_t row) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const struct sdpai_grads *g = bi->run->grads;
  const int64_t b = bi->item.batch, dim = p->value_dim;
  const T *o = X(at)(g->output, b * p->output.batch + head * p->output.head + row * p->output.row);
  const T *dout = X(at)(g->grad_output, b * p->grad_output.batch + head * p->grad_output.head +
                                            row * p->grad_output.row);
  T *copy = bi->scratch->pair_output, *other = bi->scratch->value_sums, dot = 0;
  if (dim == 0) return 0;
  X(gather)(dim, o, p->output.col, copy);
  X(gather)(dim, dout, p->grad_output.col, other);
  bi->item.kernels->product_nt(1, 1, dim, copy, dim, other, dim, &dot, 1);
  return dot;
}

/* dO_i . O_i of the chunk's rows, to their deltas. Returns whether all are finite. */
static int X(dot_outputs)(const struct X(backward_item) * bi) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  int finite = 1;
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, bi->item.kv_head, bi->item.first, bi->item.rows, &s)) {
    T *delta = X(row_at)(bi, bi->run->shared.delta, s.head, s.row);
    for (int64_t r = 0; r < sdpai_live_rows(&s, bi->item.query_len); r++) {
      delta[r] = X(output_dot)(bi, s.head, s.row + r);
      finite &= isfinite(delta[r]) != 0;
    }
  }
  return finite;
}

/* Turns the rows' sums of p dP, or those in bi->part where `summed` or where they are not finite, into
 * deltas. */
static void X(finish_deltas)(const struct X(backward_item) * bi, int summed) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const struct sdpai_grads *g = bi->run->grads;
  const T *sums = bi->part.slope;
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, bi->item.kv_head, bi->item.first, bi->item.rows, &s)) {
    T *delta = X(row_at)(bi, bi->run->shared.delta, s.head, s.row);
    const T *dlse = X(at)(g->grad_lse, bi->item.batch * p->lse.batch + s.head * p->lse.head);
    for (int64_t r = 0; r < sdpai_live_rows(&s, bi->item.query_len); r++) {
      if (summed || !isfinite(delta[r])) delta[r] = sums[s.lane + r];
      if (dlse) delta[r] -= dlse[(s.row + r) * p->lse.row];
    }
  }
}

/* Delta of a chunk's rows: sum_j p_ij dP_ij - dlse_i. An output that was rounded to 16 bits is not near
 * enough to the sum, and of one that is not finite the sum may be NaN. */
static void X(delta_work)(void *arg, int64_t number, int64_t slot_number) {
  const struct X(backward) *run = arg;
  const struct sdpai_tiled_plan *t = &run->plan->tiled;
  const int rounded = run->plan->problem.types.output != run->plan->problem.types.compute;
  struct X(backward_slot) slot;
  X(carve_backward)(run, slot_number, &slot);
  X(start_chunk)(run, number / t->items, number % t->items, X(USE_DELTA), &slot);
  if (rounded || !X(dot_outputs)(&slot.item)) {
    X(start_backward_panels)(&slot.item);
    X(sum_delta)(&slot.item);
  }
  X(finish_deltas)(&slot.item, rounded);
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
  X(sum_rows)(p, run.shared.row_sinks, grads->grad_sinks);
  X(sum_rows)(p, run.shared.row_slopes, grads->grad_slopes);
  return failed;
}
