/* tiled_run_tpl.h - a problem cut into items, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h.
 */

/* Points the item at some rows of a kv head of a batch entry. */
static void X(start_item)(const struct tiled_run *run, const struct sdpai_tiled_scratch *scratch,
                          const struct tiled_index *at, struct X(item) * item) {
  const struct sdpai_problem *p = &run->plan->problem;
  const struct sdpai_args *a = run->args;
  *item = (struct X(item)){.plan = run->plan,
                           .args = a,
                           .scratch = scratch,
                           .kernels = &run->plan->kernels->FIELD,
                           .matrix = &run->plan->kernels->matrix,
                           .batch = at->batch,
                           .kv_head = at->kv_head,
                           .first = at->item * run->plan->tiled.item_rows,
                           .query_len = sdpai_query_length(p, a, at->batch),
                           .key_len = sdpai_key_length(p, a, at->batch)};
  item->rows = sdpai_min(run->plan->tiled.item_rows, p->group * p->query_len - item->first);
  item->keys = (struct sdpai_interval){0, item->key_len};
  item->key = sdpai_at(p->types.key, a->key, at->batch * p->key.batch + at->kv_head * p->key.head);
  if (!(p->features & SDPA_NO_OUTPUT) && p->value_dim > 0)
    item->value = sdpai_at(p->types.value, a->value,
                           at->batch * p->value.batch + at->kv_head * p->value.head);
  if (sdpai_drops(p)) sdpai_dropout_start(p, a, &item->dropout);
  item->scale = 1;
  if (!run->plan->tiled.ruled)
    item->scale = (T)(run->plan->tiled.by_rows ? p->scale : fabs(p->scale));
}

/* One split of the item's keys into `part`. */
static void X(run_split)(struct X(item) * item, int64_t split, const struct sdpai_part *part) {
  const int64_t length = item->plan->tiled.split_keys, begin = split * length;
  item->keys.begin = sdpai_min(begin, item->key_len);
  item->keys.end = sdpai_min(sdpai_saturating_add(begin, length), item->key_len);
  if (item->plan->tiled.by_rows) {
    X(run_by_rows)(item, part);
  } else {
    X(run_in_lanes)(item, part);
  }
}

/* All keys of the item, and its end. */
static void X(run_item)(const struct tiled_run *run, const struct sdpai_tiled_scratch *scratch,
                        const struct tiled_index *at) {
  const struct sdpai_tiled_plan *t = &run->plan->tiled;
  const int64_t dim = run->plan->problem.value_dim;
  struct X(item) item;
  X(start_item)(run, scratch, at, &item);
  if (t->splits == 1 && t->by_rows) {
    X(run_by_rows)(&item, &scratch->part);
    X(finish_part)(&item, &scratch->part);
  } else if (t->splits == 1) {
    X(run_in_lanes)(&item, NULL);
  } else {
    X(clear_part)(&scratch->total, item.rows, dim);
    for (int64_t i = 0; i < t->splits && i * t->split_keys < sdpai_max(item.key_len, 1); i++) {
      X(run_split)(&item, i, &scratch->part);
      X(join_part)(&scratch->total, &scratch->part, item.rows, dim);
    }
    X(finish_part)(&item, &scratch->total);
  }
}

/* The same with the splits apart: first each on its own, then their join. */
static void X(run_split_item)(const struct tiled_run *run,
                              const struct sdpai_tiled_scratch *scratch,
                              const struct tiled_index *at) {
  struct X(item) item;
  X(start_item)(run, scratch, at, &item);
  if (at->split * run->plan->tiled.split_keys >= sdpai_max(item.key_len, 1)) return;
  const struct sdpai_part part = part_at(run, at->number * run->plan->tiled.splits + at->split);
  X(run_split)(&item, at->split, &part);
}

static void X(join_split_item)(const struct tiled_run *run,
                               const struct sdpai_tiled_scratch *scratch,
                               const struct tiled_index *at) {
  const struct sdpai_tiled_plan *t = &run->plan->tiled;
  const int64_t dim = run->plan->problem.value_dim;
  struct X(item) item;
  X(start_item)(run, scratch, at, &item);
  X(clear_part)(&scratch->total, item.rows, dim);
  for (int64_t i = 0; i < t->splits && i * t->split_keys < sdpai_max(item.key_len, 1); i++) {
    const struct sdpai_part part = part_at(run, at->number * t->splits + i);
    X(join_part)(&scratch->total, &part, item.rows, dim);
  }
  X(finish_part)(&item, &scratch->total);
}
