/* tiled_item_tpl.h - an item of the `tiled` engine: its keys and values, its rows' ends, once for
 * both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h, which comes first.
 */

/* Some query rows of one kv head over some of its keys. */
struct X(item) {
  const struct sdpa_plan *plan;
  const struct sdpai_args *args;
  const struct sdpai_tiled_scratch *scratch;
  const struct X(sdpai_kernels) * kernels;
  const struct sdpai_matrix_kernels *matrix;
  int64_t batch, kv_head;
  int64_t first, rows;          /* in the numbering of tiled_segment.h */
  int64_t query_len, key_len;   /* L_q, L_k */
  struct sdpai_interval keys;   /* within 0 .. L_k */
  const void *key, *value;      /* of the head, at key 0, in the caller's types */
  struct sdpai_dropout dropout; /* unset unless sdpai_drops() */
  T scale; /* what the softmax still multiplies scores with; not negative in lanes */
};

/* Rows of K or V from key `begin` on, column stride 1. */
struct X(rows) {
  const T *data;
  int64_t ld;
};

static void X(item_head)(const struct X(item) * item, int64_t query_head, struct X(head) * head) {
  X(select_head)(head, item->plan, item->args, &item->scratch->rows, item->batch, query_head);
}

/* Keys and values of a block that CBLAS-like kernels can read: in place, or packed into scratch. */
static struct X(rows) X(key_rows)(const struct X(item) * item, struct sdpai_interval keys) {
  const struct sdpai_problem *p = &item->plan->problem;
  const void *from = sdpai_at(p->types.key, item->key, keys.begin * p->key.row);
  if (!item->plan->tiled.packs_key) return (struct X(rows)){from, p->key.row};
  X(load_rows)
  (item->plan->kernels, p->types.key, keys.end - keys.begin, p->key_dim, from, p->key.row,
   p->key.col, item->scratch->key);
  return (struct X(rows)){item->scratch->key, p->key_dim};
}

static struct X(rows) X(value_rows)(const struct X(item) * item, struct sdpai_interval keys) {
  const struct sdpai_problem *p = &item->plan->problem;
  if (!item->value) return (struct X(rows)){NULL, 0};
  const void *from = sdpai_at(p->types.value, item->value, keys.begin * p->value.row);
  if (!item->plan->tiled.packs_value) return (struct X(rows)){from, p->value.row};
  X(load_rows)
  (item->plan->kernels, p->types.value, keys.end - keys.begin, p->value_dim, from, p->value.row,
   p->value.col, item->scratch->value);
  return (struct X(rows)){item->scratch->value, p->value_dim};
}

/* Rows that a kernel may count from. Those without columns, which may be NULL, begin somewhere in
 * scratch: nothing of them is read. */
static const T *X(rows_begin)(const struct X(item) * item, struct X(rows) rows) {
  return rows.data ? rows.data : item->scratch->scores;
}

/* `rows` rows on. */
static struct X(rows) X(rows_on)(struct X(rows) rows, int64_t count) {
  return (struct X(rows)){X(at)(rows.data, count * rows.ld), rows.ld};
}

/* What is known of a tile of V. */
enum X(finite) { X(UNKNOWN), X(ALL_FINITE), X(SOME_NOT_FINITE) };

/* A tile of V in which some row excludes a key: if it holds a non-finite element, a copy with zeros
 * in the places of such (0 * NaN is NaN, so a product cannot leave a key out), and
 * scratch->nonfinite tells its rows. *known is an enum finite of these rows or more, for the next
 * panel. */
static struct X(rows) X(finite_values)(const struct X(item) * item, int64_t keys,
                                       struct X(rows) value, uint8_t *known, int *nonfinite) {
  const int64_t dim = item->plan->problem.value_dim;
  const struct sdpai_tiled_scratch *s = item->scratch;
  *nonfinite =
      *known != X(ALL_FINITE) && !item->kernels->rows_finite(keys, dim, value.data, value.ld);
  if (!*nonfinite) return value;
  *known = X(SOME_NOT_FINITE);
  for (int64_t j = 0; j < keys; j++)
    s->nonfinite[j] = !item->kernels->row_finite(dim, value.data + j * value.ld);
  T *copy = s->finite_value;
  for (int64_t j = 0; j < keys; j++)
    for (int64_t d = 0; d < dim; d++) {
      const T v = value.data[j * value.ld + d];
      copy[j * dim + d] = isfinite(v) ? v : 0;
    }
  return (struct X(rows)){copy, dim};
}

/* The end of a row over all of its keys: from its maximum and sum to the factor of its output and
 * its log-sum-exp. A factor of 0 stands for a row without a key to attend; one that underflows is
 * held above it. */
static T X(finish_state)(T m, T l, const T *sink, T *lse) {
  if (l == 0) {
    if (lse) *lse = sink ? *sink : -(T)INFINITY;
    return 0;
  }
  T factor = 1 / l, shift = m, sum = l;
  if (sink && *sink != -(T)INFINITY) {
    shift = *sink > m ? *sink : m;
    sum = l * EXP(m - shift) + EXP(*sink - shift);
    factor = EXP(m - shift) / sum;
    if (factor == 0) factor = SMALLEST;
  }
  if (lse) *lse = isnan(sum) ? (T)NAN : shift + LOG(sum);
  return factor;
}

/* Turns the scores that a row of the caller's weights holds at the keys 0 .. L_k into its weights:
 * exp(scale * x - m) * factor where they are allowed and not dropped, 0 elsewhere. A factor that
 * was held above 0 is nearer to 0. */
static void X(finish_weights)(const struct X(item) * item, const struct X(head) * head, int64_t row,
                              T m, T factor) {
  const struct sdpai_problem *p = &item->plan->problem;
  const int64_t col = p->weights.col;
  T *weights = head->weights + row * p->weights.row, *x = item->scratch->row;
  struct sdpai_interval own = sdpai_mask_interval(&head->view, row);
  if (factor == 0) own.end = own.begin;
  X(fill)(own.begin, 0, weights, col);
  X(fill)(p->key_len - own.end, 0, weights + own.end * col, col);
  for (int64_t j = own.begin; j < own.end; j += SDPAI_TILE_KEYS) {
    const struct sdpai_interval part = {j, sdpai_min(own.end, j + SDPAI_TILE_KEYS)};
    const int64_t n = part.end - part.begin;
    X(gather)(n, weights + j * col, col, x);
    if (isnan(factor)) {
      X(set_nan)(head, row, part, x);
    } else {
      head->kernels->row_exp(n, x, item->scale, m, x);
      X(drop_row)(head, row, j, n, x);
      head->kernels->row_scale(n, x, factor == SMALLEST ? 0 : factor * head->kept);
    }
    X(scatter)(n, x, weights + j * col, col);
  }
}

/* What a row leaves beside its output: log-sum-exp, weights, and -inf in the scores' padding.
 * Returns the output's factor. */
static T X(finish_row_tiled)(const struct X(item) * item, const struct X(head) * head, int64_t row,
                             T m, T l) {
  const struct sdpai_problem *p = &item->plan->problem;
  T *lse = head->lse ? head->lse + row * p->lse.row : NULL;
  const int live = row < item->query_len;
  const T factor = X(finish_state)(m, live ? l : 0, head->sink, lse);
  if (head->weights) X(finish_weights)(item, head, row, m, factor);
  if (head->scores) {
    const int64_t from = live ? item->key_len : 0, col = p->scores.col;
    X(fill)(p->key_len - from, -(T)INFINITY, head->scores + row * p->scores.row + from * col, col);
  }
  return factor * head->kept;
}
