/* tiled_backward_panel_tpl.h - the backward pass's panels of queries and tiles of keys, once for
 * both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h. A number that is not finite must reach what its row and key attend,
 * and nothing else; but products over a whole panel or tile multiply everything with everything,
 * and 0 * NaN is NaN. So rows of Q, dO, K and V that hold one, and rows whose log-sum-exp or delta
 * is one, are zeros with weight 0 to those products, and their pairs are added one by one
 * (tiled_backward_pair_tpl.h).
 */

/* What sdpa_backward() was called with, and the phase it is in. */
struct X(backward) {
  const struct sdpa_plan *plan;
  const struct sdpai_args *args;
  const struct sdpai_grads *grads;
  struct sdpai_tiled_backward_shared shared;
  char *slots, *parts;
  int64_t chunk; /* of the phase, where groups are items */
};

/* What becomes of the tiles. */
enum X(backward_use) { X(USE_DELTA), X(USE_GRADIENTS), X(USE_BIAS) };

struct X(backward_panel) {
  struct X(panel) lanes; /* query: turned by the scale's sign */
  T *grad_output;        /* in lanes */
  T *query_rows, *grad_output_rows;
  T *lse, *shift, *delta; /* shift: lse of whole lanes, else +inf */
  uint8_t *state;         /* LANE_... */
  int64_t tainted;        /* how many lanes */
};

/* A chunk of a kv head's rows, with some of its keys. */
struct X(backward_item) {
  struct X(item) item;
  const struct X(backward) * run;
  const struct sdpai_tiled_backward_scratch *scratch;
  struct sdpai_tiled_backward_part part; /* where the rows' sums go */
  enum X(backward_use) use;
  int64_t count;
  struct X(backward_panel) panels[SDPAI_CHUNK_PANELS];
};

/* K and V of a tile: as they are, and with zeros for the rows that `tainted` marks. */
struct X(backward_tile) {
  struct X(tile) given;
  struct X(rows) key, value;
  const uint8_t *tainted; /* NULL: none */
};

static void X(start_backward_item)(const struct X(backward) * run,
                                   const struct sdpai_tiled_scratch *scratch,
                                   const struct sdpai_tiled_backward_scratch *backward,
                                   const struct tiled_index *at, enum X(backward_use) use,
                                   struct X(backward_item) * bi) {
  const struct tiled_run forward = {.plan = run->plan, .args = run->args};
  X(start_item)(&forward, scratch, at, &bi->item);
  bi->run = run;
  bi->scratch = backward;
  bi->part = backward->part;
  bi->use = use;
  bi->count = 0;
}

/* Where a row's number is in an array of struct sdpai_tiled_backward_shared. */
static T *X(row_at)(const struct X(backward_item) * bi, void *rows, int64_t head, int64_t row) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  return (T *)rows + (bi->item.batch * p->query_heads + head) * p->query_len + row;
}

/* Whether the masks leave the row a key. */
static int X(has_keys)(const struct X(backward_item) * bi, const struct X(head) * head,
                       struct sdpai_interval own, int64_t row) {
  if (!(bi->item.plan->problem.features & SDPAI_SINGLE_KEY_FEATURES)) return own.begin < own.end;
  for (int64_t j = own.begin; j < own.end; j += SDPAI_TILE_KEYS) {
    const struct sdpai_interval part = {j, sdpai_min(own.end, j + SDPAI_TILE_KEYS)};
    sdpai_mask_allowed(&head->view, row, part, head->rows.allowed);
    if (memchr(head->rows.allowed, 1, (size_t)(part.end - part.begin))) return 1;
  }
  return 0;
}

/* Whether the row, with log-sum-exp `lse`, has no key that is allowed and has a score that is not
 * -inf: semantics rule 10. Nothing else of a row without a key is looked at. What scores were shows
 * in the log-sum-exp, unless that is the sink's logit. */
static int X(is_empty_row)(const struct X(backward_item) * bi, int64_t query_head, int64_t row,
                           T lse) {
  const struct X(item) *item = &bi->item;
  const int64_t dim = item->plan->problem.key_dim;
  struct X(head) head;
  X(item_head)(item, query_head, &head);
  const struct sdpai_interval own = sdpai_mask_interval(&head.view, row);
  if (!X(has_keys)(bi, &head, own, row) || lse == -(T)INFINITY) return 1;
  if (!head.sink || !(lse == *head.sink || (isnan(lse) && isnan(*head.sink)))) return 0;
  T *q = bi->scratch->pair_query, *x = bi->scratch->gradients, scale;
  X(load_row)
  (item->plan->kernels, item->plan->problem.types.query, dim,
   sdpai_at(item->plan->problem.types.query, head.query, row * item->plan->problem.query.row),
   item->plan->problem.query.col, q);
  for (int64_t j = own.begin; j < own.end; j += SDPAI_TILE_KEYS) {
    const struct sdpai_interval part = {j, sdpai_min(own.end, j + SDPAI_TILE_KEYS)};
    const int64_t n = part.end - part.begin;
    if (dim > 0) {
      const struct X(rows) key = X(key_rows)(item, part);
      item->kernels->product_nt(1, n, dim, q, dim, key.data, key.ld, x, n);
    } else {
      X(fill)(n, 0, x, 1);
    }
    X(score_row)(&head, row, part, part, part, x, &scale);
    for (int64_t t = 0; t < n; t++)
      if (scale * x[t] != -(T)INFINITY) return 0;
  }
  return 1;
}

/* One live row into the panel's lane `lane`. */
static void X(load_backward_row)(const struct X(backward_item) * bi, struct X(backward_panel) * bp,
                                 int64_t lane, int64_t head, int64_t row) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const struct sdpai_grads *g = bi->run->grads;
  const struct X(sdpai_kernels) *kernels = bi->item.kernels;
  const int64_t b = bi->item.batch, dk = p->key_dim, dv = p->value_dim;
  const T lse = *X(at)(g->lse, b * p->lse.batch + head * p->lse.head + row * p->lse.row);
  if (X(is_empty_row)(bi, head, row, lse)) return;
  T *q = X(out_at)(bp->query_rows, lane * dk), *dout = X(out_at)(bp->grad_output_rows, lane * dv);
  X(load_row)
  (bi->item.plan->kernels, p->types.query, dk,
   sdpai_at(p->types.query, bi->item.args->query,
            b * p->query.batch + head * p->query.head + row * p->query.row),
   p->query.col, q);
  X(load_row)
  (bi->item.plan->kernels, p->types.output, dv,
   sdpai_at(p->types.output, g->grad_output,
            b * p->grad_output.batch + head * p->grad_output.head + row * p->grad_output.row),
   p->grad_output.col, dout);
  T delta = 0;
  if (bi->use != X(USE_DELTA)) delta = *X(row_at)(bi, bi->run->shared.delta, head, row);
  bp->lse[lane] = lse;
  bp->delta[lane] = delta;
  if (isfinite(lse) && isfinite(delta) && kernels->row_finite(dk, q) &&
      kernels->row_finite(dv, dout)) {
    bp->state[lane] = LANE_WHOLE;
    bp->shift[lane] = lse;
    return;
  }
  bp->state[lane] = LANE_TAINTED;
  bp->tainted++;
  X(fill)(dk, 0, q, 1);
  X(fill)(dv, 0, dout, 1);
}

/* Loads the panel's rows and puts them into lanes. */
static void X(start_backward_panel)(const struct X(backward_item) * bi,
                                    struct X(backward_panel) * bp) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const int64_t width = bp->lanes.width, dk = p->key_dim, dv = p->value_dim;
  X(start_lanes)(&bi->item, &bp->lanes);
  if (dk > 0) memset(bp->query_rows, 0, (size_t)(width * dk) * sizeof(T));
  if (dv > 0) memset(bp->grad_output_rows, 0, (size_t)(width * dv) * sizeof(T));
  memset(bp->state, LANE_DEAD, (size_t)width);
  X(fill)(width, (T)INFINITY, bp->shift, 1);
  X(fill)(width, 0, bp->delta, 1);
  bp->tainted = 0;
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, bi->item.kv_head, bp->lanes.first, bp->lanes.rows, &s)) {
    const int64_t live = sdpai_live_rows(&s, bi->item.query_len);
    for (int64_t r = 0; r < live; r++) X(load_backward_row)(bi, bp, s.lane + r, s.head, s.row + r);
  }
  const T sign = p->scale < 0 ? -1 : 1;
  if (dk > 0)
    bi->item.kernels->tile_pack(width, dk, bp->query_rows, dk, 1, sign, width, bp->lanes.query);
  if (dv > 0)
    bi->item.kernels->tile_pack(width, dv, bp->grad_output_rows, dv, 1, 1, width, bp->grad_output);
}

/* The item's panel number `index`, whose lanes start `at` rows after the item. */
static void X(backward_panel_at)(const struct X(backward_item) * bi, int64_t index,
                                 struct X(backward_panel) * bp) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const struct sdpai_tiled_backward_scratch *s = bi->scratch;
  const int64_t width = bi->item.plan->tiled.width, lanes = bi->item.kernels->lanes;
  const int64_t at = index * width;
  *bp = (struct X(backward_panel)){
      .lanes = {.first = bi->item.first + at,
                .rows = sdpai_min(width, bi->item.rows - at),
                .query = X(out_at)(s->query, at * p->key_dim),
                .m = (T *)s->shift + at,
                .l = (T *)s->delta + at,
                .draws = bi->item.scratch->draws ? bi->item.scratch->draws + at : NULL,
                .begin = bi->item.scratch->begin + at,
                .end = bi->item.scratch->end + at},
      .grad_output = X(out_at)(s->grad_output, at * p->value_dim),
      .query_rows = X(out_at)(s->query_rows, at * p->key_dim),
      .grad_output_rows = X(out_at)(s->grad_output_rows, at * p->value_dim),
      .lse = (T *)s->lse + at,
      .shift = (T *)s->shift + at,
      .delta = (T *)s->delta + at,
      .state = s->state + at};
  bp->lanes.width = (bp->lanes.rows + lanes - 1) / lanes * lanes;
}

/* All panels of the item; bi->part is empty afterwards. */
static void X(start_backward_panels)(struct X(backward_item) * bi) {
  const int64_t width = bi->item.plan->tiled.width;
  X(fill)(width, 1, bi->scratch->ones, 1);
  bi->count = bi->item.rows > 0 ? (bi->item.rows - 1) / width + 1 : 0;
  for (int64_t i = 0; i < bi->count; i++) {
    X(backward_panel_at)(bi, i, &bi->panels[i]);
    X(start_backward_panel)(bi, &bi->panels[i]);
  }
}

/* A copy of a tile's rows with zeros for those that are tainted. */
static struct X(rows) X(untainted_rows)(int64_t keys, int64_t dim, struct X(rows) rows,
                                        const uint8_t *tainted, T *copy) {
  for (int64_t j = 0; j < keys && dim > 0; j++) {
    if (tainted[j]) {
      memset(copy + j * dim, 0, (size_t)dim * sizeof(T));
    } else {
      memcpy(copy + j * dim, rows.data + j * rows.ld, (size_t)dim * sizeof(T));
    }
  }
  return (struct X(rows)){copy, dim};
}

static void X(start_backward_tile)(const struct X(backward_item) * bi, struct sdpai_interval keys,
                                   struct X(backward_tile) * tile) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const struct X(sdpai_kernels) *kernels = bi->item.kernels;
  const int64_t n = keys.end - keys.begin, dk = p->key_dim, dv = p->value_dim;
  struct X(rows) key = {NULL, 0};
  if (dk > 0) key = X(key_rows)(&bi->item, keys);
  const struct X(rows) value = X(value_rows)(&bi->item, keys);
  *tile = (struct X(backward_tile)){
      .given = {.keys = keys, .key = key, .value = value}, .key = key, .value = value};
  if ((dk == 0 || kernels->rows_finite(n, dk, key.data, key.ld)) &&
      (!value.data || kernels->rows_finite(n, dv, value.data, value.ld)))
    return;
  uint8_t *tainted = bi->scratch->tainted;
  for (int64_t j = 0; j < n; j++)
    tainted[j] = !((dk == 0 || kernels->row_finite(dk, key.data + j * key.ld)) &&
                   (!value.data || kernels->row_finite(dv, value.data + j * value.ld)));
  tile->tainted = tainted;
  if (dk > 0) tile->key = X(untainted_rows)(n, dk, key, tainted, bi->scratch->finite_key);
  if (value.data) tile->value = X(untainted_rows)(n, dv, value, tainted, bi->scratch->finite_value);
}

/* The tile without the keys that no lane attends, as trim_tile. */
static struct X(backward_tile)
    X(trim_backward_tile)(const struct X(panel) * panel, int slopes, struct X(backward_tile) tile) {
  tile.given = X(trim_tile)(panel, slopes, tile.given);
  const int64_t late = tile.given.at;
  tile.key = X(rows_on)(tile.key, late);
  tile.value = X(rows_on)(tile.value, late);
  if (tile.tainted) tile.tainted += late;
  return tile;
}
