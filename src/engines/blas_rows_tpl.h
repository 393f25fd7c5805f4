/* blas_rows_tpl.h - from a row of products to a row of weights in the `blas` engine, once for both
 * types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: T the type, X(name) the name with the type's suffix, FIELD the member of struct
 * sdpai_kernels.
 */

/* One query head with its shared keys and values; pointers are at row 0, key 0 of the head. */
struct X(head) {
  const struct sdpa_plan *plan;
  const struct sdpai_args *args;
  const struct sdpai_blas_scratch *scratch;
  const struct X(sdpai_kernels) * kernels;
  int64_t batch, kv_head;
  struct sdpai_mask_view view;
  const T *query, *key, *value; /* key and value perhaps packed */
  const T *value_data;          /* the caller's V */
  int64_t key_row, value_row;
  struct sdpai_blas_layout value_layout;
  int value_nonfinite; /* `value` is a copy with zeros, scratch->nonfinite tells where */
  const T *bias, *sink;
  T slope;
  T *output, *weights, *scores, *lse;
};

/* pointer + elements, NULL staying NULL: tensors without elements may be NULL. */
static const T *X(at)(const void *pointer, int64_t elements) {
  return pointer ? (const T *)pointer + elements : NULL;
}

static T *X(out_at)(void *pointer, int64_t elements) {
  return pointer ? (T *)pointer + elements : NULL;
}

static void X(gather)(int64_t n, const T *from, int64_t stride, T *to) {
  if (stride == 1) {
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
  } else {
    for (int64_t t = 0; t < n; t++) to[t] = from[t * stride];
  }
}

static void X(scatter)(int64_t n, const T *from, T *to, int64_t stride) {
  if (stride == 1) {
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
  } else {
    for (int64_t t = 0; t < n; t++) to[t * stride] = from[t];
  }
}

static void X(fill)(int64_t n, T value, T *to, int64_t stride) {
  for (int64_t t = 0; t < n; t++) to[t * stride] = value;
}

/* Stages 1 and 2 hold a score at every position within the lengths, allowed or not (semantics rule
 * 9). */
static int X(wants_all_scores)(const struct sdpai_problem *p) {
  return (p->features & SDPA_SCORES) && p->score_stage != SDPA_STAGE_BIASED;
}

/* Writes one row of the caller's raw scores: x at `keys`, -inf elsewhere. */
static void X(store_scores)(const struct X(head) * head, int64_t row, struct sdpai_interval keys,
                            const T *x) {
  const struct sdpai_problem *p = &head->plan->problem;
  const int64_t col = p->scores.col;
  T *to = head->scores + row * p->scores.row;
  X(fill)(keys.begin, -(T)INFINITY, to, col);
  X(scatter)(keys.end - keys.begin, x, to + keys.begin * col, col);
  X(fill)(p->key_len - keys.end, -(T)INFINITY, to + keys.end * col, col);
}

/* Applies `rule`, whose bias and mask start at key 0, to the scores x of the keys `own`. Returns
 * the largest. */
static T X(apply_rule)(const struct X(head) * head, int64_t row, struct sdpai_interval own,
                       const struct X(sdpai_score) * rule, T *x) {
  const int64_t p = sdpai_saturating_add(row, head->view.offset);
  T max = -(T)INFINITY;
  for (int64_t j = own.begin; j < own.end; j += SCORE_SEGMENT) {
    struct X(sdpai_score) part = *rule;
    if (rule->slope != 0) part.distance = (T)sdpai_saturating_add(p, -j);
    if (rule->bias) part.bias += j;
    if (rule->mask) part.mask += j;
    T largest = head->kernels->row_scores(sdpai_min(own.end - j, SCORE_SEGMENT),
                                          x + (j - own.begin), &part);
    if (!(largest <= max)) max = largest;
  }
  return max;
}

/* Contiguous bias and mask of the row, addressed from key 0, for the keys `own`. */
static void X(row_bias_and_mask)(const struct X(head) * head, int64_t row,
                                 struct sdpai_interval own, struct X(sdpai_score) * rule) {
  const struct sdpai_problem *p = &head->plan->problem;
  if (head->bias) {
    const T *bias = head->bias + row * p->bias.row;
    T *copy = head->scratch->bias;
    if (copy)
      X(gather)(own.end - own.begin, bias + own.begin * p->bias.col, p->bias.col, copy + own.begin);
    rule->bias = copy ? copy : bias;
  }
  if (head->view.mask) {
    const uint8_t *mask = head->view.mask + row * p->mask.row;
    uint8_t *copy = head->scratch->mask;
    for (int64_t j = own.begin; copy && j < own.end; j++) copy[j] = mask[j * p->mask.col];
    rule->mask = copy ? copy : mask;
  }
}

/* Products x of the keys `keys` become scores rule.scale * x at `own`, within `keys`. Returns their
 * largest and in *scale what row_exp still has to multiply with; stores raw scores on the way. */
static T X(score_row)(const struct X(head) * head, int64_t row, struct sdpai_interval keys,
                      struct sdpai_interval own, T *x, T *scale) {
  const struct sdpai_problem *p = &head->plan->problem;
  struct X(sdpai_score) rule = {.scale = (T)p->scale, .softcap = (T)p->softcap};
  if (X(wants_all_scores)(p)) {
    struct X(sdpai_score) stage = {.scale = rule.scale};
    if (p->score_stage == SDPA_STAGE_SOFTCAPPED) stage.softcap = rule.softcap;
    X(apply_rule)(head, row, keys, &stage, x);
    X(store_scores)(head, row, keys, x);
    rule.scale = 1;
    if (p->score_stage == SDPA_STAGE_SOFTCAPPED) rule.softcap = 0;
  }
  x += own.begin - keys.begin;
  rule.slope = head->slope;
  X(row_bias_and_mask)(head, row, own, &rule);
  const int64_t n = own.end - own.begin;
  const int stage_biased = head->scores && p->score_stage == SDPA_STAGE_BIASED;
  if (rule.softcap == 0 && rule.slope == 0 && !rule.bias && !rule.mask && !stage_biased) {
    *scale = rule.scale;
    return head->kernels->row_max(n, x, rule.scale);
  }
  T max = X(apply_rule)(head, row, own, &rule, x);
  if (stage_biased) X(store_scores)(head, row, own, x);
  *scale = 1;
  return max;
}

/* A row with NaN in it: NaN where a key is allowed, 0 where not, whatever the scores were. */
static void X(set_nan)(const struct X(head) * head, int64_t row, struct sdpai_interval own, T *x) {
  uint8_t *allowed = head->scratch->allowed;
  sdpai_mask_allowed(&head->view, row, own, allowed);
  for (int64_t t = 0; t < own.end - own.begin; t++) x[t] = allowed[t] ? (T)NAN : 0;
}

/* Writes a finished row to the caller's weights: x at `keys`, 0 elsewhere. */
static void X(store_weights)(const struct X(head) * head, int64_t row, struct sdpai_interval keys,
                             const T *x) {
  const struct sdpai_problem *p = &head->plan->problem;
  const int64_t col = p->weights.col;
  T *to = head->weights + row * p->weights.row;
  X(fill)(keys.begin, 0, to, col);
  if (x != to + keys.begin * col) X(scatter)(keys.end - keys.begin, x, to + keys.begin * col, col);
  X(fill)(p->key_len - keys.end, 0, to + keys.end * col, col);
}

/* What the caller asked for beside the output, of a row that attends nothing. */
static void X(finish_empty_row)(const struct X(head) * head, int64_t row) {
  const struct sdpai_problem *p = &head->plan->problem;
  if (head->scores)
    X(fill)(p->key_len, -(T)INFINITY, head->scores + row * p->scores.row, p->scores.col);
  if (head->weights) X(fill)(p->key_len, 0, head->weights + row * p->weights.row, p->weights.col);
  if (head->lse) head->lse[row * p->lse.row] = head->sink ? *head->sink : -(T)INFINITY;
}

/* Turns the products x[keys] of one row (at least one key) into weights and writes what the caller
 * asked for beside the output. Returns what the row of weights V is to be multiplied with, 0 for a
 * row of zeros. */
static T X(finish_row)(const struct X(head) * head, int64_t row, struct sdpai_interval keys, T *x) {
  const struct sdpai_problem *p = &head->plan->problem;
  struct sdpai_interval own = sdpai_mask_interval(&head->view, row);
  if (own.end == own.begin) own.begin = own.end = keys.begin;
  T scale, factor;
  const T max = X(score_row)(head, row, keys, own, x, &scale);
  T *own_x = x + (own.begin - keys.begin);
  const int64_t n = own.end - own.begin;
  enum sdpai_row state =
      X(sdpai_softmax_row)(head->plan->kernels, n, own_x, scale, max, head->sink, &factor,
                           head->lse ? head->lse + row * p->lse.row : NULL);
  if (state == SDPAI_ROW_NAN) X(set_nan)(head, row, own, own_x);
  X(fill)(own.begin - keys.begin, 0, x, 1);
  X(fill)(keys.end - own.end, 0, own_x + n, 1);
  if (head->weights) {
    if (state == SDPAI_ROW_FINE) {
      head->kernels->row_scale(n, own_x, factor);
      factor = 1;
    }
    X(store_weights)(head, row, keys, x);
  }
  return factor;
}
