/* backward_row_tpl.h - gradients of a row of scores that lies along its keys, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h, which comes first. With x_j the products q . k_j, s_j the scores, p_j
 * = exp(s_j - lse) the weights, z_j 1 / (1 - dropout) where one is kept and 0 where it is dropped,
 * and g_j = dO . v_j:
 *
 *     delta = dO . O - dlse          (Dao, "FlashAttention-2", 2023, without dlse)
 *     ds_j  = p_j (z_j g_j - delta)  gradient of the score, and of the bias
 *     du_j  = ds_j (1 - tanh^2)      gradient of scale * x_j, which softcap changed
 *
 * A key that the row excludes has ds = 0 whatever else is not finite; one that it allows has what
 * the formulas give. So 0 stands for both an excluded key and an underflowed weight, and where a
 * factor is not finite the masks are asked which of them it is.
 */

/* One row, or the part of it that a tile holds. */
struct X(grad_row) {
  int64_t row;
  struct sdpai_interval own; /* keys of this part, within those that the row attends */
  T lse, delta;
  T *flat; /* [own] scratch: 1 - tanh^2; NULL without softcap */
};

/* dO . O - dlse. */
static T X(grad_delta)(const struct X(sdpai_kernels) * kernels, int64_t dim, const T *grad_output,
                       const T *output, T grad_lse) {
  T dot = 0;
  if (dim > 0) kernels->product_nt(1, 1, dim, grad_output, dim, output, dim, &dot, 1);
  return dot - grad_lse;
}

/* 1 - tanh^2(scale * x / softcap) of the products x, to row->flat. */
static void X(grad_flatness)(const struct X(head) * head, const struct X(grad_row) * row,
                             const T *x) {
  const struct sdpai_problem *p = &head->plan->problem;
  const int64_t n = row->own.end - row->own.begin;
  const struct X(sdpai_score) rule = {.scale = (T)p->scale, .softcap = (T)p->softcap};
  if (n > 0) memcpy(row->flat, x, (size_t)n * sizeof *x);
  head->kernels->row_scores(n, row->flat, &rule);
  for (int64_t t = 0; t < n; t++) {
    const T tanh = row->flat[t] / rule.softcap;
    row->flat[t] = (1 - tanh) * (1 + tanh);
  }
}

/* Whether no score is above -inf, `max` being what score_row returned; it may have lost a NaN. */
static int X(no_scores)(int64_t n, const T *x, T scale, T max) {
  if (max != -(T)INFINITY) return 0;
  for (int64_t t = 0; t < n; t++)
    if (isnan(scale * x[t])) return 0;
  return 1;
}

/* Products x of the keys become weights, exactly 0 where the row excludes the key. Returns 0 if no
 * score is above -inf: then all are 0, and a row of which that holds as a whole has no gradient. */
static int X(grad_weights)(const struct X(head) * head, const struct X(grad_row) * row, T *x) {
  const int64_t n = row->own.end - row->own.begin;
  T scale;
  if (row->flat) X(grad_flatness)(head, row, x);
  const T max = X(score_row)(head, row->row, row->own, row->own, row->own, x, &scale);
  if (row->lse == -(T)INFINITY || X(no_scores)(n, x, scale, max)) {
    X(fill)(n, 0, x, 1);
    return 0;
  }
  if (isnan(row->lse)) {
    X(set_nan)(head, row->row, row->own, x);
  } else {
    head->kernels->row_exp(n, x, scale, row->lse, x);
  }
  return 1;
}

/* x_j becomes z_j x_j: weights after dropout from those before it, or what came back for them. In a
 * row that is not finite 0 x_j is formed, for what is NaN stays NaN. */
static void X(grad_drop)(const struct X(head) * head, const struct X(grad_row) * row, T *x) {
  const int64_t n = row->own.end - row->own.begin;
  uint32_t words[SDPAI_DROP_KEYS / 32];
  if (!sdpai_drops(&head->plan->problem)) return;
  if (isfinite(row->lse) && isfinite(row->delta)) {
    X(drop_row)(head, row->row, row->own.begin, n, x);
    head->kernels->row_scale(n, x, head->kept);
    return;
  }
  const struct sdpai_dropout_state draws =
      sdpai_dropout_row(&head->dropout, &head->draws, row->row);
  for (int64_t t = 0; t < n; t++) {
    const int64_t u = t % SDPAI_DROP_KEYS;
    if (u == 0)
      sdpai_dropout_words(head->plan->kernels, &head->dropout, &draws, row->own.begin + t,
                          sdpai_min(n - t, SDPAI_DROP_KEYS), 1, words);
    x[t] *= words[u / 32] >> (u % 32) & 1 ? head->kept : 0;
  }
}

/* g = dO . v becomes ds, by the weights p before dropout. */
static void X(grad_scores)(const struct X(head) * head, const struct X(grad_row) * row, const T *p,
                           T *g) {
  const int64_t n = row->own.end - row->own.begin;
  X(grad_drop)(head, row, g);
  if (isfinite(row->delta) && isfinite(row->lse)) {
    head->kernels->row_softmax_backward(n, p, g, row->delta, g);
    return;
  }
  uint8_t *allowed = head->rows.allowed;
  sdpai_mask_allowed(&head->view, row->row, row->own, allowed);
  for (int64_t t = 0; t < n; t++) g[t] = allowed[t] ? p[t] * (g[t] - row->delta) : 0;
}

/* ds becomes du; an excluded key's stays 0 whatever its product was. */
static void X(grad_products)(const struct X(grad_row) * row, T *g) {
  const int64_t n = row->own.end - row->own.begin;
  for (int64_t t = 0; row->flat && t < n; t++) g[t] = g[t] == 0 ? 0 : g[t] * row->flat[t];
}

/* Sum over the keys of ds |p - j|, which the slope's gradient loses. */
static double X(grad_slope)(const struct X(head) * head, const struct X(grad_row) * row,
                            const T *ds) {
  const int64_t first =
      sdpai_saturating_add(sdpai_saturating_add(row->row, head->view.offset), -row->own.begin);
  double sum = 0;
  for (int64_t t = 0; t < row->own.end - row->own.begin; t++)
    sum += (double)ds[t] * fabs((double)first - (double)t);
  return sum;
}
