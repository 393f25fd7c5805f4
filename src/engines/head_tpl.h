/* head_tpl.h - one query head and its rows: from products to scores, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: T the compute type, X(name) the name with the type's suffix, FIELD the member of
 * struct sdpai_kernels, HAS_NARROW 1 if tensors of 16 bits are computed in T, else 0. What both
 * engines do with a row of scores that lies along its keys, and how they get at the caller's
 * tensors: one of the compute type may be used as it lies, any other is read by load_row() and
 * written by store_row().
 */

/* Pointers are at row 0, key 0 of the head; void where the tensor's type is the problem's choice.
 * NULL: not asked for, or without elements. */
struct X(head) {
  const struct sdpa_plan *plan;
  const struct X(sdpai_kernels) * kernels;
  struct sdpai_mask_view view;
  const void *query, *bias;
  const T *sink;
  T slope;
  void *output;
  T *weights, *scores, *lse;
  struct sdpai_row_scratch rows;
  struct sdpai_dropout dropout; /* unset unless sdpai_drops() */
  struct sdpai_dropout_state draws;
  T kept; /* what a kept weight is multiplied with, 1 without dropout */
};

/* sdpai_at() in T. */
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

/* n numbers of a tensor of `type`, `stride` apart, to contiguous T. */
static void X(load_row)(const struct sdpai_kernels *kernels, uint32_t type, int64_t n,
                        const void *from, int64_t stride, T *to) {
#if HAS_NARROW
  if (type != SDPA_F32) {
    sdpai_narrow_load(kernels, type, n, from, stride, to);
    return;
  }
#else
  (void)kernels, (void)type;
#endif
  X(gather)(n, from, stride, to);
}

/* The way back, rounded once. */
static void X(store_row)(const struct sdpai_kernels *kernels, uint32_t type, int64_t n,
                         const T *from, void *to, int64_t stride) {
#if HAS_NARROW
  if (type != SDPA_F32) {
    sdpai_narrow_store(kernels, type, n, from, to, stride);
    return;
  }
#else
  (void)kernels, (void)type;
#endif
  X(scatter)(n, from, to, stride);
}

/* Rows of a tensor of `type` to contiguous rows of T. */
static void X(load_rows)(const struct sdpai_kernels *kernels, uint32_t type, int64_t rows,
                         int64_t cols, const void *from, int64_t row_stride, int64_t col_stride,
                         T *to) {
  if (cols == 0) return; /* `from` may be NULL then */
  if (col_stride == 1 && row_stride == cols) {
    X(load_row)(kernels, type, rows * cols, from, 1, to);
    return;
  }
  for (int64_t i = 0; i < rows; i++) X(load_row)
  (kernels, type, cols, sdpai_at(type, from, i * row_stride), col_stride, to + i * cols);
}

static void X(fill)(int64_t n, T value, T *to, int64_t stride) {
  for (int64_t t = 0; t < n; t++) to[t * stride] = value;
}

/* Points `head` at one query head of one batch entry. */
static void X(select_head)(struct X(head) * head, const struct sdpa_plan *plan,
                           const struct sdpai_args *a, const struct sdpai_row_scratch *rows,
                           int64_t b, int64_t h) {
  const struct sdpai_problem *p = &plan->problem;
  head->plan = plan;
  head->kernels = &plan->kernels->FIELD;
  head->rows = *rows;
  sdpai_mask_view(p, a, b, h, &head->view);
  head->query = sdpai_at(p->types.query, a->query, b * p->query.batch + h * p->query.head);
  head->bias = sdpai_at(p->types.bias, a->bias, b * p->bias.batch + h * p->bias.head);
  head->output = sdpai_out_at(p->types.output, a->output, b * p->output.batch + h * p->output.head);
  head->weights = X(out_at)(a->weights, b * p->weights.batch + h * p->weights.head);
  head->scores = X(out_at)(a->scores, b * p->scores.batch + h * p->scores.head);
  head->lse = X(out_at)(a->lse, b * p->lse.batch + h * p->lse.head);
  head->sink = X(at)(a->sinks, h);
  head->slope = a->alibi_slopes ? ((const T *)a->alibi_slopes)[h] : 0;
  head->kept = 1;
  if (sdpai_drops(p)) {
    sdpai_dropout_start(p, a, &head->dropout);
    head->draws = sdpai_dropout_head(&head->dropout, b, h);
    head->kept = (T)head->dropout.factor;
  }
}

/* x[t] becomes 0 where the row drops key first + t. */
static void X(drop_row)(const struct X(head) * head, int64_t row, int64_t first, int64_t n, T *x) {
  uint32_t words[SDPAI_DROP_KEYS / 32];
  if (!sdpai_drops(&head->plan->problem)) return;
  const struct sdpai_dropout_state draws = sdpai_dropout_row(&head->dropout, &head->draws, row);
  for (int64_t t = 0; t < n; t += SDPAI_DROP_KEYS) {
    const int64_t part = sdpai_min(n - t, SDPAI_DROP_KEYS);
    sdpai_dropout_words(head->plan->kernels, &head->dropout, &draws, first + t, part, 1, words);
    head->kernels->row_keep(part, x + t, words);
  }
}

/* Stages 1 and 2 hold a score at every position within the lengths, allowed or not (semantics rule
 * 9). */
static int X(wants_all_scores)(const struct sdpai_problem *p) {
  return (p->features & SDPA_SCORES) && p->score_stage != SDPA_STAGE_BIASED;
}

/* Writes the part `span` of one row of the caller's raw scores: x at `keys` within it, -inf
 * elsewhere. */
static void X(store_scores)(const struct X(head) * head, int64_t row, struct sdpai_interval span,
                            struct sdpai_interval keys, const T *x) {
  const struct sdpai_problem *p = &head->plan->problem;
  const int64_t col = p->scores.col;
  T *to = head->scores + row * p->scores.row;
  X(fill)(keys.begin - span.begin, -(T)INFINITY, to + span.begin * col, col);
  X(scatter)(keys.end - keys.begin, x, to + keys.begin * col, col);
  X(fill)(span.end - keys.end, -(T)INFINITY, to + keys.end * col, col);
}

/* Applies `rule`, whose bias and mask start at the first of the keys `own`, to their scores x.
 * Returns the largest. */
static T X(apply_rule)(const struct X(head) * head, int64_t row, struct sdpai_interval own,
                       const struct X(sdpai_score) * rule, T *x) {
  const int64_t p = sdpai_saturating_add(row, head->view.offset);
  T max = -(T)INFINITY;
  for (int64_t j = own.begin; j < own.end; j += SCORE_SEGMENT) {
    struct X(sdpai_score) part = *rule;
    if (rule->slope != 0) part.distance = (T)sdpai_saturating_add(p, -j);
    if (rule->bias) part.bias += j - own.begin;
    if (rule->mask) part.mask += j - own.begin;
    T largest = head->kernels->row_scores(sdpai_min(own.end - j, SCORE_SEGMENT),
                                          x + (j - own.begin), &part);
    if (!(largest <= max)) max = largest;
  }
  return max;
}

/* Contiguous bias and mask of the row for the keys `own`. */
static void X(row_bias_and_mask)(const struct X(head) * head, int64_t row,
                                 struct sdpai_interval own, struct X(sdpai_score) * rule) {
  const struct sdpai_problem *p = &head->plan->problem;
  const int64_t n = own.end - own.begin;
  if (head->bias) {
    const void *bias =
        sdpai_at(p->types.bias, head->bias, row * p->bias.row + own.begin * p->bias.col);
    if (head->rows.bias)
      X(load_row)(head->plan->kernels, p->types.bias, n, bias, p->bias.col, head->rows.bias);
    rule->bias = head->rows.bias ? head->rows.bias : bias;
  }
  if (head->view.mask) {
    const uint8_t *mask = head->view.mask + row * p->mask.row + own.begin * p->mask.col;
    rule->mask = mask;
    if (head->rows.mask) {
      for (int64_t t = 0; t < n; t++) head->rows.mask[t] = mask[t * p->mask.col];
      rule->mask = head->rows.mask;
    }
  }
}

/* Products x of the keys `keys` become scores rule.scale * x at `own`, within `keys`. Returns their
 * largest and in *scale what row_exp still has to multiply with (1 where sdpai_scores_ruled());
 * stores raw scores of `span`, which holds the keys, on the way. */
static T X(score_row)(const struct X(head) * head, int64_t row, struct sdpai_interval span,
                      struct sdpai_interval keys, struct sdpai_interval own, T *x, T *scale) {
  const struct sdpai_problem *p = &head->plan->problem;
  struct X(sdpai_score) rule = {.scale = (T)p->scale, .softcap = (T)p->softcap};
  if (X(wants_all_scores)(p)) {
    struct X(sdpai_score) stage = {.scale = rule.scale};
    if (p->score_stage == SDPA_STAGE_SOFTCAPPED) stage.softcap = rule.softcap;
    X(apply_rule)(head, row, keys, &stage, x);
    X(store_scores)(head, row, span, keys, x);
    rule.scale = 1;
    if (p->score_stage == SDPA_STAGE_SOFTCAPPED) rule.softcap = 0;
  }
  x += own.begin - keys.begin;
  rule.slope = head->slope;
  X(row_bias_and_mask)(head, row, own, &rule);
  if (!sdpai_scores_ruled(p)) {
    *scale = rule.scale;
    return head->kernels->row_max(own.end - own.begin, x, rule.scale);
  }
  T max = X(apply_rule)(head, row, own, &rule, x);
  if (head->scores && p->score_stage == SDPA_STAGE_BIASED) X(store_scores)(head, row, span, own, x);
  *scale = 1;
  return max;
}

/* A row with NaN in it: NaN where a key is allowed, 0 where not, whatever the scores were. */
static void X(set_nan)(const struct X(head) * head, int64_t row, struct sdpai_interval own, T *x) {
  uint8_t *allowed = head->rows.allowed;
  sdpai_mask_allowed(&head->view, row, own, allowed);
  for (int64_t t = 0; t < own.end - own.begin; t++) x[t] = allowed[t] ? (T)NAN : 0;
}
