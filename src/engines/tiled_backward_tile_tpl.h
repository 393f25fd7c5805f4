/* tiled_backward_tile_tpl.h - one tile of keys by one panel of queries in the backward pass, once
 * for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h. The one way of a tile: S^T = K Q^T, rules, weights from the
 * log-sum-exp, dP^T = V dO^T, ds; then dV += P dO and dK += dS Q with dimensions in lanes, dQ^T +=
 * K dS^T with queries in lanes (Dao, FlashAttention-2, 2023, with keys in the outer loop).
 */

/* s[j][i] = rows_j . lanes_i over `dim` dimensions, as fma_products. */
static void X(backward_products)(const struct X(item) * item, int64_t width, int64_t keys,
                                 int64_t dim, const T *lanes, struct X(rows) rows,
                                 const uint32_t *words, T *s) {
  const struct X(sdpai_kernels) *k = item->kernels;
  const T *data = X(rows_begin)(item, rows);
  T *max = item->scratch->max;
  switch (width / k->lanes) {
  case 1:
    k->tile_products_1(keys, dim, lanes, data, rows.ld, words, s, max);
    break;
  case 2:
    k->tile_products_2(keys, dim, lanes, data, rows.ld, words, s, max);
    break;
  default:
    k->tile_products_3(keys, dim, lanes, data, rows.ld, words, s, max);
  }
}

/* dQ^T += K dS^T. */
static void X(add_query_lanes)(const struct X(backward_item) * bi, int64_t width, int64_t keys,
                               struct X(rows) key, T *query) {
  const struct X(sdpai_kernels) *k = bi->item.kernels;
  const int64_t dim = bi->item.plan->problem.key_dim;
  const T *g = bi->scratch->gradients, *ones = bi->scratch->ones;
  switch (width / k->lanes) {
  case 1:
    k->tile_values_1(keys, dim, g, key.data, key.ld, query, ones);
    break;
  case 2:
    k->tile_values_2(keys, dim, g, key.data, key.ld, query, ones);
    break;
  default:
    k->tile_values_3(keys, dim, g, key.data, key.ld, query, ones);
  }
}

/* Scores of the tile become its weights. `rules` are filled in for the pairs. */
static void X(backward_weights)(const struct X(backward_item) * bi,
                                const struct X(backward_panel) * bp,
                                const struct X(backward_tile) * tile,
                                struct X(sdpai_tile_rules) * rules) {
  const struct X(item) *item = &bi->item;
  const struct sdpai_problem *p = &item->plan->problem;
  const struct sdpai_interval keys = tile->given.keys;
  const int64_t n = keys.end - keys.begin, width = bp->lanes.width;
  const int ruled = item->plan->tiled.ruled;
  T *s = item->scratch->scores;
  /* Rules come before masks: softcap makes a number of -inf. */
  X(backward_products)
  (item, width, n, p->key_dim, bp->lanes.query, tile->key, ruled ? NULL : rules->words, s);
  if (p->softcap != 0) memcpy(bi->scratch->products, s, (size_t)(n * width) * sizeof(T));
  rules->scale = (T)fabs(p->scale);
  rules->softcap = (T)p->softcap;
  if (ruled) {
    X(fill_rules)(item, &bp->lanes, keys, rules);
    item->kernels->tile_rules(n, width, s, rules, item->scratch->max);
  }
  item->kernels->tile_weights(n, width, ruled ? 1 : rules->scale, s, bp->shift);
  for (int64_t j = 0; tile->tainted && j < n; j++)
    if (tile->tainted[j]) memset(s + j * width, 0, (size_t)width * sizeof(T));
}

/* ds of the tile, in scratch->gradients, to what is wanted of it. */
static void X(add_gradients)(const struct X(backward_item) * bi,
                             const struct X(backward_panel) * bp,
                             const struct X(backward_tile) * tile, int64_t at) {
  const struct X(item) *item = &bi->item;
  const struct sdpai_problem *p = &item->plan->problem;
  const struct sdpai_grads *grads = bi->run->grads;
  const struct X(sdpai_kernels) *k = item->kernels;
  const int64_t n = tile->given.keys.end - tile->given.keys.begin, width = bp->lanes.width;
  const int64_t rows = bp->lanes.rows, dk = p->key_dim, dv = p->value_dim, late = tile->given.at;
  const T *w = item->scratch->scores;
  T *g = bi->scratch->gradients;
  if (grads->grad_value && dv > 0)
    k->tile_sums(n, rows, dv, w, width, bp->grad_output_rows, dv,
                 (T *)bi->scratch->value_sums + late * dv, dv);
  if (grads->grad_slopes)
    k->tile_slopes(n, width, g, item->scratch->distance, (T *)bi->part.row_sums + at);
  if (p->softcap != 0)
    k->row_softcap_backward(n * width, bi->scratch->products, (T)fabs(p->scale), (T)p->softcap, g);
  if (grads->grad_key && dk > 0)
    k->tile_sums(n, rows, dk, g, width, bp->query_rows, dk, (T *)bi->scratch->key_sums + late * dk,
                 dk);
  if (grads->grad_query && dk > 0)
    X(add_query_lanes)(bi, width, n, tile->key, (T *)bi->part.query + at * dk);
}

/* Returns whether some lane attends the tile. */
static int X(run_backward_tile)(const struct X(backward_item) * bi, int64_t index,
                                const struct X(backward_tile) * whole) {
  const struct X(item) *item = &bi->item;
  const struct sdpai_problem *p = &item->plan->problem;
  const struct X(backward_panel) *bp = &bi->panels[index];
  const int64_t at = index * item->plan->tiled.width, width = bp->lanes.width;
  if (bp->lanes.any.begin >= whole->given.keys.end) return 0;
  const struct X(backward_tile) tile =
      X(trim_backward_tile)(&bp->lanes, item->args->alibi_slopes != NULL, *whole);
  const struct sdpai_interval keys = tile.given.keys;
  const int64_t n = keys.end - keys.begin;
  if (n <= 0) return 0;
  const enum X(tile_class) class = X(classify_tile)(item, &bp->lanes, keys);
  if (class == X(TILE_SKIP)) return 0;
  struct X(sdpai_tile_rules) rules = {0};
  if (class != X(TILE_FULL)) rules.words = item->scratch->words;
  X(backward_weights)(bi, bp, &tile, &rules);
  T *w = item->scratch->scores, *g = bi->scratch->gradients;
  X(backward_products)(item, width, n, p->value_dim, bp->grad_output, tile.value, NULL, g);
  const uint32_t *kept = bp->lanes.draws ? X(keep_lanes)(item, &bp->lanes, keys) : NULL;
  const T factor = kept ? (T)item->dropout.factor : 1;
  if (bi->use == X(USE_DELTA)) {
    item->kernels->tile_dot(n, width, w, g, kept, factor, (T *)bi->part.row_sums + at);
  } else {
    item->kernels->tile_gradient(n, width, w, g, bp->delta, kept, factor);
  }
  if (bi->use == X(USE_GRADIENTS)) X(add_gradients)(bi, bp, &tile, at);
  T *sums = bi->scratch->bias_sums;
  for (int64_t t = 0; bi->use == X(USE_BIAS) && t < n; t++) {
    T *to = sums + (tile.given.at + t) * item->plan->tiled.width;
    for (int64_t i = 0; i < width; i++) to[i] += g[t * width + i];
  }
  X(add_tainted_pairs)(bi, index, &tile, &rules);
  return 1;
}
