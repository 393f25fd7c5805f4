/* blas_rows_tpl.h - from a row of products to a row of weights in the `blas` engine, once for both
 * types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h, which comes first.
 */

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
  const struct sdpai_interval span = {0, p->key_len};
  const T max = X(score_row)(head, row, span, keys, own, x, &scale);
  T *own_x = x + (own.begin - keys.begin);
  const int64_t n = own.end - own.begin;
  enum sdpai_row state =
      X(sdpai_softmax_row)(head->plan->kernels, n, own_x, scale, max, head->sink, &factor,
                           head->lse ? head->lse + row * p->lse.row : NULL);
  if (state == SDPAI_ROW_FINE) {
    X(drop_row)(head, row, own.begin, n, own_x);
    factor *= head->kept;
  }
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
