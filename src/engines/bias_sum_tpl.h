/* bias_sum_tpl.h - the gradient of a bias from rows of ds, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h, which comes first; bias_sum.h says where the sums are.
 */

/* The caller's gradient, in which `sum` (NULL: no two rows share an element) adds up. */
struct X(bias_sum) {
  const struct sdpa_plan *plan;
  void *grad;
  T *sum;
  sdpa_strides strides; /* of sum, 0 where the bias repeats */
};

/* `copy`: what sdpai_bias_sum_carve() laid out. */
static void X(bias_sum_start)(const struct sdpa_plan *plan, void *grad, void *copy,
                              struct X(bias_sum) * to) {
  const struct sdpai_problem *p = &plan->problem;
  const struct sdpai_bias_shape shape = sdpai_bias_shape(p);
  *to = (struct X(bias_sum)){.plan = plan, .grad = grad};
  if (!grad || !sdpai_bias_sums(p)) return;
  to->sum = copy ? copy : grad;
  to->strides = p->grad_bias;
  if (copy)
    to->strides = (sdpa_strides){shape.batch > 1 ? shape.heads * shape.rows * shape.cols : 0,
                                 shape.heads > 1 ? shape.rows * shape.cols : 0,
                                 shape.rows > 1 ? shape.cols : 0, shape.cols > 1};
  for (int64_t b = 0; b < shape.batch; b++)
    for (int64_t h = 0; h < shape.heads; h++)
      for (int64_t i = 0; i < shape.rows; i++) X(fill)
  (shape.cols, 0, to->sum + b * to->strides.batch + h * to->strides.head + i * to->strides.row,
   to->strides.col);
}

/* Sum of a row, in the order of the keys. */
static T X(bias_row_sum)(int64_t n, const T *ds) {
  double sum = 0;
  for (int64_t t = 0; t < n; t++) sum += (double)ds[t];
  return (T)sum;
}

/* Adds ds of the keys `own` of a row; of the others it is 0. Each row comes once, those without an
 * allowed key too. */
static void X(bias_sum_add)(const struct X(bias_sum) * to, int64_t b, int64_t h, int64_t row,
                            struct sdpai_interval own, const T *ds) {
  const struct sdpai_problem *p = &to->plan->problem;
  const int64_t n = own.end - own.begin;
  if (!to->grad) return;
  const int one = p->bias.col == 0;
  const T total = one ? X(bias_row_sum)(n, ds) : 0;
  if (to->sum) {
    T *sum = to->sum + b * to->strides.batch + h * to->strides.head + row * to->strides.row;
    if (one) *sum += total;
    for (int64_t t = 0; !one && t < n; t++) sum[(own.begin + t) * to->strides.col] += ds[t];
    return;
  }
  const uint32_t type = p->types.bias;
  const int64_t col = p->grad_bias.col;
  void *grad = sdpai_out_at(
      type, to->grad, b * p->grad_bias.batch + h * p->grad_bias.head + row * p->grad_bias.row);
  if (one) {
    X(store_row)(to->plan->kernels, type, 1, &total, grad, 1);
    return;
  }
  sdpai_clear_row(type, own.begin, grad, col);
  X(store_row)(to->plan->kernels, type, n, ds, sdpai_out_at(type, grad, own.begin * col), col);
  sdpai_clear_row(type, p->key_len - own.end, sdpai_out_at(type, grad, own.end * col), col);
}

/* Rounds the copy into the caller's tensor. */
static void X(bias_sum_finish)(const struct X(bias_sum) * to) {
  const struct sdpai_problem *p = &to->plan->problem;
  const struct sdpai_bias_shape shape = sdpai_bias_shape(p);
  const uint32_t type = p->types.bias;
  if (!to->sum || type == p->types.compute) return;
  for (int64_t b = 0; b < shape.batch; b++)
    for (int64_t h = 0; h < shape.heads; h++)
      for (int64_t i = 0; i < shape.rows; i++) X(store_row)
  (to->plan->kernels, type, shape.cols,
   to->sum + b * to->strides.batch + h * to->strides.head + i * to->strides.row,
   sdpai_out_at(type, to->grad,
                b * p->grad_bias.batch + h * p->grad_bias.head + i * p->grad_bias.row),
   p->grad_bias.col);
}
