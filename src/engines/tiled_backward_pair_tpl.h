/* tiled_backward_pair_tpl.h - the backward pass of single pairs of a query and a key, once for both
 * types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h, and EXP. Pairs in which something is not finite, see
 * tiled_backward_panel_tpl.h: semantics rule 23 as it is written.
 */

struct X(backward_pair) {
  const struct X(backward_panel) * panel;
  int64_t at, lane; /* at: of the panel's lane 0 in the item's part */
  int64_t key;      /* in the tile */
  const T *q, *k, *v, *dout;
  T z, bias, distance, slope;
  int has_bias;
};

static T X(dot)(int64_t n, const T *x, const T *y) {
  T sum = 0;
  for (int64_t t = 0; t < n; t++) sum += x[t] * y[t];
  return sum;
}

/* to += factor x */
static void X(add_row)(int64_t n, T factor, const T *x, T *to, int64_t stride) {
  for (int64_t t = 0; t < n; t++) to[t * stride] += factor * x[t];
}

static void X(add_pair)(const struct X(backward_item) * bi, const struct X(backward_pair) * pair,
                        int64_t late) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const struct sdpai_grads *grads = bi->run->grads;
  const struct X(sdpai_kernels) *kernels = bi->item.kernels;
  const int64_t dk = p->key_dim, dv = p->value_dim, i = pair->lane, at = pair->at + i;
  const int64_t width = pair->panel->lanes.width, row = late + pair->key;
  const T x = X(dot)(dk, pair->q, pair->k), dp = X(dot)(dv, pair->dout, pair->v);
  const struct X(sdpai_score) rule = {.scale = (T)p->scale,
                                      .softcap = (T)p->softcap,
                                      .slope = pair->slope,
                                      .distance = pair->distance,
                                      .bias = pair->has_bias ? &pair->bias : NULL};
  T s = x, one = 1;
  kernels->row_scores(1, &s, &rule);
  const T w = EXP(s - pair->panel->lse[i]), kept = pair->z * w;
  if (bi->use == X(USE_DELTA)) {
    ((T *)bi->part.row_sums)[at] += kept * dp;
    return;
  }
  const T ds = w * (pair->z * dp - pair->panel->delta[i]);
  if (bi->use == X(USE_BIAS)) {
    ((T *)bi->scratch->bias_sums)[row * bi->item.plan->tiled.width + i] += ds;
    return;
  }
  if (grads->grad_slopes) ((T *)bi->part.row_sums)[at] += ds * (T)fabs((double)pair->distance);
  if (p->softcap != 0) kernels->row_softcap_backward(1, &x, (T)p->scale, (T)p->softcap, &one);
  const T du = ds * one;
  if (grads->grad_value)
    X(add_row)(dv, kept, pair->dout, (T *)bi->scratch->value_sums + row * dv, 1);
  if (grads->grad_key) X(add_row)(dk, du, pair->q, (T *)bi->scratch->key_sums + row * dk, 1);
  if (grads->grad_query)
    X(add_row)(dk, du, pair->k, (T *)bi->part.query + pair->at * dk + i, width);
}

/* Points the pair at a row's own Q and dO. */
static void X(load_pair_row)(const struct X(backward_item) * bi, const struct X(panel) * panel,
                             struct X(backward_pair) * pair) {
  const struct X(item) *item = &bi->item;
  const struct sdpai_problem *p = &item->plan->problem;
  const int64_t flat = panel->first + pair->lane, b = item->batch;
  const int64_t head = item->kv_head * p->group + flat / p->query_len, row = flat % p->query_len;
  X(load_row)
  (item->plan->kernels, p->types.query, p->key_dim,
   sdpai_at(p->types.query, item->args->query,
            b * p->query.batch + head * p->query.head + row * p->query.row),
   p->query.col, bi->scratch->pair_query);
  X(load_row)
  (item->plan->kernels, p->types.output, p->value_dim,
   sdpai_at(p->types.output, bi->run->grads->grad_output,
            b * p->grad_output.batch + head * p->grad_output.head + row * p->grad_output.row),
   p->grad_output.col, bi->scratch->pair_output);
  pair->q = bi->scratch->pair_query;
  pair->dout = bi->scratch->pair_output;
}

/* Adds the pairs of the tile in which the lane or the key is tainted, and which are allowed. */
static void X(add_tainted_pairs)(const struct X(backward_item) * bi, int64_t index,
                                 const struct X(backward_tile) * tile,
                                 const struct X(sdpai_tile_rules) * rules) {
  const struct X(backward_panel) *bp = &bi->panels[index];
  if (!tile->tainted && bp->tainted == 0) return;
  const struct X(panel) *panel = &bp->lanes;
  const int64_t width = panel->width, n = tile->given.keys.end - tile->given.keys.begin;
  const uint32_t *kept = bi->item.scratch->kept_words;
  for (int64_t i = 0; i < panel->rows; i++) {
    if (bp->state[i] == LANE_DEAD || (!tile->tainted && bp->state[i] == LANE_WHOLE)) continue;
    struct X(backward_pair)
        pair = {.panel = bp, .at = index * bi->item.plan->tiled.width, .lane = i, .z = 1};
    if (rules->slope) pair.slope = rules->slope[i];
    for (int64_t j = 0; j < n; j++) {
      if (bp->state[i] == LANE_WHOLE && !tile->tainted[j]) continue;
      if (rules->words && !(rules->words[j / 32 * width + i] >> (j % 32) & 1)) continue;
      pair.has_bias = rules->bias != NULL;
      if (rules->bias) pair.bias = rules->bias[j * width + i];
      if (rules->bias && pair.bias == -(T)INFINITY) continue;
      if (!pair.q) X(load_pair_row)(bi, panel, &pair);
      pair.key = j;
      pair.k = X(at)(tile->given.key.data, j * tile->given.key.ld);
      pair.v = X(at)(tile->given.value.data, j * tile->given.value.ld);
      if (rules->distance) pair.distance = rules->distance[i] - (T)j;
      if (kept) pair.z = kept[j / 32 * width + i] >> (j % 32) & 1 ? (T)bi->item.dropout.factor : 0;
      X(add_pair)(bi, &pair, tile->given.at);
    }
  }
}
