/* tiled_rows_tpl.h - few query rows: dimensions in lanes, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h, whose rows of scores these are. All rows of a kv head go through a
 * tile of keys together, so that K and V are read once: decoding with grouped heads is bound by
 * that.
 */

/* The item's queries as contiguous rows; rows from the query length on are zeros, unread. */
static void X(pack_rows)(const struct X(item) * item) {
  const struct sdpai_problem *p = &item->plan->problem;
  T *to = item->scratch->query;
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, item->first, item->rows, &s)) {
    const void *query = sdpai_at(p->types.query, item->args->query,
                                 item->batch * p->query.batch + s.head * p->query.head);
    const int64_t live = sdpai_live_rows(&s, item->query_len);
    for (int64_t r = 0; r < s.rows; r++) {
      T *row = X(out_at)(to, (s.lane + r) * p->key_dim);
      if (r < live) {
        X(load_row)
        (item->plan->kernels, p->types.query, p->key_dim,
         sdpai_at(p->types.query, query, (s.row + r) * p->query.row), p->query.col, row);
      } else {
        X(fill)(p->key_dim, 0, row, 1);
      }
    }
  }
}

/* One row's products x with the keys of a tile become unnormalised weights, 0 where the row attends
 * nothing. Updates m and l; returns the factor of what the output held before. */
static T X(softmax_tile_row)(const struct X(item) * item, const struct X(head) * head, int64_t row,
                             struct sdpai_interval tile, T *x, T *m, T *l) {
  const struct sdpai_problem *p = &item->plan->problem;
  struct sdpai_interval own = sdpai_mask_interval(&head->view, row);
  own.begin = sdpai_max(own.begin, tile.begin);
  own.end = sdpai_min(own.end, tile.end);
  if (own.end <= own.begin) own.begin = own.end = tile.begin;
  T scale;
  const T largest = X(score_row)(head, row, tile, tile, own, x, &scale);
  T *own_x = x + (own.begin - tile.begin);
  const int64_t n = own.end - own.begin;
  if (head->weights) X(scatter)
  (n, own_x, head->weights + row * p->weights.row + own.begin * p->weights.col, p->weights.col);
  const T now = largest > *m ? largest : *m;
  const T shift = now == -(T)INFINITY ? 0 : now;
  const T sum = head->kernels->row_exp(n, own_x, scale, shift, own_x);
  const T alpha = *m == -(T)INFINITY ? 0 : EXP(*m - shift);
  *l = *l * alpha + sum;
  *m = now;
  X(drop_row)(head, row, own.begin, n, own_x);
  X(fill)(own.begin - tile.begin, 0, x, 1);
  X(fill)(tile.end - own.end, 0, own_x + n, 1);
  return alpha;
}

/* Adds the products with the non-finite elements of V, for the rows that attend them. */
static void X(add_nonfinite_rows)(const struct X(item) * item, const struct X(head) * head,
                                  int64_t row, struct sdpai_interval tile, struct X(rows) value,
                                  const T *weights, T *output) {
  const int64_t dim = item->plan->problem.value_dim;
  struct sdpai_interval own = sdpai_mask_interval(&head->view, row);
  own.begin = sdpai_max(own.begin, tile.begin);
  own.end = sdpai_min(own.end, tile.end);
  sdpai_mask_allowed(&head->view, row, own, head->rows.allowed);
  for (int64_t j = own.begin; j < own.end; j++) {
    if (!item->scratch->nonfinite[j - tile.begin] || !head->rows.allowed[j - own.begin]) continue;
    const T *v = value.data + (j - tile.begin) * value.ld;
    for (int64_t d = 0; d < dim; d++)
      if (!isfinite(v[d])) output[d] += weights[j - tile.begin] * v[d];
  }
}

/* x = Q K^T of a tile. */
static void X(multiply_keys)(const struct X(item) * item, struct sdpai_interval tile, T *x) {
  const struct sdpai_problem *p = &item->plan->problem;
  const struct sdpai_tiled_plan *t = &item->plan->tiled;
  const int64_t n = tile.end - tile.begin;
  if (p->key_dim == 0) {
    for (int64_t r = 0; r < item->rows; r++) X(fill)(n, 0, x + r * t->super_keys, 1);
    return;
  }
#if HAS_NARROW
  if (t->narrow_key) {
    sdpai_narrow_product_nt(item->plan->kernels, p->types.key, item->rows, n, p->key_dim,
                            item->scratch->query, p->key_dim,
                            sdpai_at(p->types.key, item->key, tile.begin * p->key.row), p->key.row,
                            x, t->super_keys);
    return;
  }
#endif
  const struct X(rows) key = X(key_rows)(item, tile);
  item->kernels->product_nt(item->rows, n, p->key_dim, item->scratch->query, p->key_dim, key.data,
                            key.ld, x, t->super_keys);
}

/* sums = weights V of a tile whose V is in 16 bits. 0, and nothing done: it is not, or holds a
 * non-finite element where some row may exclude a key. */
static int X(multiply_narrow_values)(const struct X(item) * item, struct sdpai_interval tile,
                                     const T *weights, T *sums) {
#if HAS_NARROW
  const struct sdpai_problem *p = &item->plan->problem;
  const struct sdpai_tiled_plan *t = &item->plan->tiled;
  const struct sdpai_kernels *kernels = item->plan->kernels;
  const uint32_t type = p->types.value;
  const int64_t n = tile.end - tile.begin, dim = p->value_dim;
  const void *value = sdpai_at(type, item->value, tile.begin * p->value.row);
  if (!t->narrow_value) return 0;
  if ((p->features & SDPAI_MASK_FEATURES) &&
      !sdpai_narrow_rows_finite(kernels, type, n, dim, value, p->value.row))
    return 0;
  sdpai_narrow_product_nn(kernels, type, item->rows, dim, n, weights, t->super_keys, value,
                          p->value.row, sums, dim);
  return 1;
#else
  (void)item, (void)tile, (void)weights, (void)sums;
  return 0;
#endif
}

/* sums = weights V of a tile. */
static void X(multiply_values)(const struct X(item) * item, struct sdpai_interval tile,
                               const T *weights, T *sums) {
  const struct sdpai_problem *p = &item->plan->problem;
  const int64_t dim = p->value_dim, n = tile.end - tile.begin;
  if (X(multiply_narrow_values)(item, tile, weights, sums)) return;
  int nonfinite = 0;
  uint8_t known = X(UNKNOWN);
  const struct X(rows) value = X(value_rows)(item, tile);
  struct X(rows) finite = value;
  if (p->features & SDPAI_MASK_FEATURES)
    finite = X(finite_values)(item, n, value, &known, &nonfinite);
  item->kernels->product_nn(item->rows, dim, n, weights, item->plan->tiled.super_keys, finite.data,
                            finite.ld, sums, dim);
  struct sdpai_segment s = {0};
  while (nonfinite && sdpai_next_segment(p, item->kv_head, item->first, item->rows, &s)) {
    struct X(head) head;
    X(item_head)(item, s.head, &head);
    for (int64_t r = 0; r < sdpai_live_rows(&s, item->query_len); r++) X(add_nonfinite_rows)
    (item, &head, s.row + r, tile, value, weights + (s.lane + r) * item->plan->tiled.super_keys,
     sums + (s.lane + r) * dim);
  }
}

/* o = o * alpha + weights V of a tile; o is not read if it is the first. */
static void X(add_values)(const struct X(item) * item, struct sdpai_interval tile, const T *weights,
                          const T *alpha, int first, T *o) {
  const int64_t dim = item->plan->problem.value_dim;
  T *sums = first ? o : item->scratch->output;
  X(multiply_values)(item, tile, weights, sums);
  for (int64_t r = 0; !first && r < item->rows; r++)
    for (int64_t d = 0; d < dim; d++)
      o[r * dim + d] = o[r * dim + d] * alpha[r] + sums[r * dim + d];
}

/* Asks for the beginnings of the tile's values and of the keys after it, before which the products
 * ask for nothing: so memory works through the softmax, too. */
SDPAI_INLINE void X(ask_ahead)(const struct X(item) * item, struct sdpai_interval tile) {
  const struct sdpai_problem *p = &item->plan->problem;
  const uint32_t key_type = p->types.key, value_type = p->types.value;
  const int64_t values = ROWS_AHEAD / sdpai_element(value_type) / sdpai_max(1, p->value_dim) + 1;
  const int64_t keys = ROWS_AHEAD / sdpai_element(key_type) / sdpai_max(1, p->key_dim) + 1;
  ask_rows(value_type, item->args->value, &p->value, item->batch, item->kv_head, tile.begin,
           sdpai_min(tile.end - tile.begin, values), p->value_dim);
  ask_rows(key_type, item->args->key, &p->key, item->batch, item->kv_head, tile.end,
           sdpai_min(item->key_len - tile.end, keys), p->key_dim);
}

static void X(run_tile_by_rows)(const struct X(item) * item, struct sdpai_interval tile, int first,
                                const struct sdpai_part *part) {
  const struct sdpai_problem *p = &item->plan->problem;
  const int64_t n = tile.end - tile.begin;
  T *x = item->scratch->scores, *m = part->m, *l = part->l, *alpha = item->scratch->alpha;
  X(multiply_keys)(item, tile, x);
  X(ask_ahead)(item, tile);
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, item->first, item->rows, &s)) {
    struct X(head) head;
    X(item_head)(item, s.head, &head);
    const int64_t live = sdpai_live_rows(&s, item->query_len);
    for (int64_t r = 0; r < s.rows; r++) {
      const int64_t at = s.lane + r;
      alpha[at] = 1;
      if (r < live) {
        alpha[at] = X(softmax_tile_row)(item, &head, s.row + r, tile,
                                        x + at * item->plan->tiled.super_keys, m + at, l + at);
      } else {
        X(fill)(n, 0, x + at * item->plan->tiled.super_keys, 1);
      }
    }
  }
  if (item->value) X(add_values)(item, tile, x, alpha, first, part->o);
}

/* Whether some row of the item attends a key of the tile; if scores or weights are stored every
 * tile counts. */
static int X(tile_matters)(const struct X(item) * item, struct sdpai_interval tile) {
  const struct sdpai_problem *p = &item->plan->problem;
  if (item->query_len == 0) return 0;
  if (!(p->features & (SDPA_CAUSAL | SDPA_WINDOW)) || (p->features & (SDPA_SCORES | SDPA_WEIGHTS)))
    return 1;
  struct sdpai_mask_view view;
  sdpai_mask_view(p, item->args, item->batch, item->kv_head * p->group, &view);
  for (int64_t i = 0; i < item->query_len; i++) {
    const struct sdpai_interval own = sdpai_mask_interval(&view, i);
    if (own.begin < tile.end && own.end > tile.begin) return 1;
  }
  return 0;
}

/* All rows of the item over its keys, into `part`. */
static void X(run_by_rows)(const struct X(item) * item, const struct sdpai_part *part) {
  X(clear_sums)(part, item->rows);
  X(pack_rows)(item);
  int first = 1;
  for (int64_t j = item->keys.begin; j < item->keys.end; j += item->plan->tiled.super_keys) {
    const struct sdpai_interval tile = {
        j, sdpai_min(item->keys.end, j + item->plan->tiled.super_keys)};
    if (!X(tile_matters)(item, tile)) continue;
    X(run_tile_by_rows)(item, tile, first, part);
    first = 0;
  }
  if (first) X(clear_part)(part, item->rows, item->plan->problem.value_dim);
}
