/* tiled_backward_sums_tpl.h - the backward pass's sums over keys and over queries, and where they
 * go, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h.
 */

/* Where the rows of dK or dV of a kv head go. */
struct X(sums) {
  uint32_t type;
  void *to;  /* at key 0; NULL: not wanted */
  T *totals; /* [key_len][dim] of the chunks so far; NULL: there is one chunk, or `to` holds them */
  int64_t dim, row, col;
  T *sums; /* [SDPAI_TILE_KEYS][dim] of the tile and chunk */
};

static struct X(sums) X(key_destination)(const struct X(backward_item) * bi, int64_t owner) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const int64_t head = bi->item.batch * p->grad_key.batch + bi->item.kv_head * p->grad_key.head;
  return (struct X(sums)){
      .type = p->types.key,
      .to = p->key_dim > 0 ? sdpai_out_at(p->types.key, bi->run->grads->grad_key, head) : NULL,
      .totals = X(out_at)(bi->run->shared.key_totals, owner * p->key_len * p->key_dim),
      .dim = p->key_dim,
      .row = p->grad_key.row,
      .col = p->grad_key.col,
      .sums = bi->scratch->key_sums};
}

static struct X(sums) X(value_destination)(const struct X(backward_item) * bi, int64_t owner) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const int64_t head = bi->item.batch * p->grad_value.batch + bi->item.kv_head * p->grad_value.head;
  return (struct X(sums)){
      .type = p->types.value,
      .to =
          p->value_dim > 0 ? sdpai_out_at(p->types.value, bi->run->grads->grad_value, head) : NULL,
      .totals = X(out_at)(bi->run->shared.value_totals, owner * p->key_len * p->value_dim),
      .dim = p->value_dim,
      .row = p->grad_value.row,
      .col = p->grad_value.col,
      .sums = bi->scratch->value_sums};
}

/* The sums of one key to its row. */
static void X(store_sums)(const struct sdpai_kernels *kernels, const struct X(sums) * s,
                          int64_t key, const T *sums, int first, int last) {
  void *to = sdpai_out_at(s->type, s->to, key * s->row);
  if (!s->totals && s->type != (sizeof(T) == 8 ? SDPA_F64 : SDPA_F32)) {
    X(store_row)(kernels, s->type, s->dim, sums, to, s->col);
    return;
  }
  T *total = s->totals ? s->totals + key * s->dim : to;
  const int64_t stride = s->totals ? 1 : s->col;
  if (first) {
    X(scatter)(s->dim, sums, total, stride);
  } else {
    X(add_row)(s->dim, 1, sums, total, stride);
  }
  if (s->totals && last) X(store_row)(kernels, s->type, s->dim, total, to, s->col);
}

/* The tile's sums, times `factor`, to the rows of its keys; keys from L_k on are 0. `touched`: some
 * row attends the tile. */
static void X(flush_sums)(const struct X(backward_item) * bi, const struct X(sums) * s,
                          struct sdpai_interval keys, T factor, int64_t chunk, int touched) {
  const struct sdpai_kernels *kernels = bi->item.plan->kernels;
  const int first = chunk == 0, last = chunk + 1 == bi->item.plan->tiled.items;
  if (!s->to || (!touched && !first && !last)) return;
  const int64_t live = sdpai_max(0, sdpai_min(keys.end, bi->item.key_len) - keys.begin);
  if (touched) bi->item.kernels->row_scale(live * s->dim, s->sums, factor);
  for (int64_t j = 0; j < live; j++)
    X(store_sums)(kernels, s, keys.begin + j, s->sums + j * s->dim, first, last);
  for (int64_t j = live; first && j < keys.end - keys.begin; j++)
    sdpai_clear_row(s->type, s->dim, sdpai_out_at(s->type, s->to, (keys.begin + j) * s->row),
                    s->col);
}

/* One tile of keys through the chunk's panels. Returns whether some row attends it. */
static int X(run_backward_keys)(const struct X(backward_item) * bi, struct sdpai_interval keys) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  keys.end = sdpai_min(keys.end, bi->item.key_len);
  int attended = 0, touched = 0;
  for (int64_t i = 0; i < bi->count; i++)
    attended |=
        bi->panels[i].lanes.any.begin < keys.end && bi->panels[i].lanes.any.end > keys.begin;
  if (bi->use == X(USE_GRADIENTS)) {
    if (p->key_dim > 0)
      memset(bi->scratch->key_sums, 0, (size_t)(SDPAI_TILE_KEYS * p->key_dim) * sizeof(T));
    if (p->value_dim > 0)
      memset(bi->scratch->value_sums, 0, (size_t)(SDPAI_TILE_KEYS * p->value_dim) * sizeof(T));
  }
  if (!attended) return 0;
  struct X(backward_tile) tile;
  X(start_backward_tile)(bi, keys, &tile);
  for (int64_t i = 0; i < bi->count; i++) touched |= X(run_backward_tile)(bi, i, &tile);
  return touched;
}

static void X(clear_backward_part)(const struct X(backward_item) * bi) {
  const struct sdpai_tiled_plan *t = &bi->item.plan->tiled;
  const int64_t rows = t->panels * t->width, dim = bi->item.plan->problem.key_dim;
  if (dim > 0) memset(bi->part.query, 0, (size_t)(rows * dim) * sizeof(T));
  X(fill)(rows, 0, bi->part.row_sums, 1);
}

/* A group's tiles, in the order of their keys, through the chunk into bi->part. */
static void X(run_backward_group)(const struct X(backward_item) * bi, int64_t chunk, int64_t group,
                                  int64_t owner) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const int64_t groups = bi->item.plan->tiled.splits;
  const struct X(sums) key = X(key_destination)(bi, owner), value = X(value_destination)(bi, owner);
  X(clear_backward_part)(bi);
  for (int64_t j = group * SDPAI_TILE_KEYS; j < p->key_len; j += groups * SDPAI_TILE_KEYS) {
    const struct sdpai_interval keys = {j, sdpai_min(p->key_len, j + SDPAI_TILE_KEYS)};
    const int touched = X(run_backward_keys)(bi, keys);
    X(flush_sums)(bi, &key, keys, (T)p->scale, chunk, touched);
    X(flush_sums)(bi, &value, keys, 1, chunk, touched);
  }
}

/* total += part, for one panel. */
static void X(join_backward_part)(const struct X(backward_item) * bi, int64_t index,
                                  const struct sdpai_tiled_backward_part *total,
                                  const struct sdpai_tiled_backward_part *part) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const int64_t width = bi->item.plan->tiled.width, at = index * width, dim = p->key_dim;
  X(add_row)(width, 1, (const T *)part->row_sums + at, (T *)total->row_sums + at, 1);
  if (dim > 0)
    X(add_row)(width * dim, 1, (const T *)part->query + at * dim, (T *)total->query + at * dim, 1);
}

/* The sums of a panel's rows over all keys to dQ, and to what the rows add to dslopes. */
static void X(finish_backward_panel)(const struct X(backward_item) * bi, int64_t index,
                                     const struct sdpai_tiled_backward_part *total) {
  const struct X(item) *item = &bi->item;
  const struct sdpai_problem *p = &item->plan->problem;
  const struct sdpai_grads *grads = bi->run->grads;
  const int64_t at = index * item->plan->tiled.width, dim = p->key_dim,
                lanes = item->kernels->lanes;
  const int64_t rows = sdpai_min(item->plan->tiled.width, item->rows - at);
  const int64_t width = (rows + lanes - 1) / lanes * lanes;
  T *dq = X(out_at)(total->query, at * dim);
  if (dim > 0) item->kernels->row_scale(width * dim, dq, (T)p->scale);
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, item->first + at, rows, &s)) {
    if (grads->grad_query && dim > 0) X(unpack_rows)
    (item, s.rows, dim, dq + s.lane, width, (T *)bi->scratch->ones + s.lane, p->types.query,
     sdpai_out_at(p->types.query, grads->grad_query,
                  item->batch * p->grad_query.batch + s.head * p->grad_query.head +
                      s.row * p->grad_query.row),
     &p->grad_query);
    for (int64_t r = 0; grads->grad_slopes && r < s.rows; r++)
      *X(row_at)(bi, bi->run->shared.row_slopes, s.head, s.row + r) =
          -((const T *)total->row_sums)[at + s.lane + r];
  }
}
