/* blas_backward_tpl.h - one kv head after the other through the backward pass of the `blas` engine,
 * once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h. backward_row_tpl.h and bias_sum_tpl.h come first.
 */

/* One query head, and the keys and values it shares with its group. */
struct X(back) {
  struct X(head) head;
  const struct sdpai_args *args;
  const struct sdpai_grads *grads;
  const struct backward_scratch *scratch;
  struct X(bias_sum) bias;
  int64_t batch, query_head;
  int by_scores; /* some gradient that goes through ds is wanted */
};

static void X(load_operand)(const struct sdpai_kernels *kernels, uint32_t type, int64_t rows,
                            int64_t dim, const void *from, int64_t row, int64_t col,
                            struct operand *x) {
  X(load_rows)(kernels, type, rows, dim, from, row, col, x->data);
  x->finite = x->data;
  x->any = x->bad && dim > 0 && !kernels->FIELD.rows_finite(rows, dim, x->data, dim);
  if (!x->any) return;
  x->finite = x->copy;
  const T *data = x->data;
  T *copy = x->copy;
  for (int64_t i = 0; i < rows; i++) {
    x->bad[i] = !kernels->FIELD.row_finite(dim, data + i * dim);
    for (int64_t d = i * dim; d < (i + 1) * dim; d++) copy[d] = isfinite(data[d]) ? data[d] : 0;
  }
}

static void X(load_heads_keys)(const struct X(back) * back, struct operand *key,
                               struct operand *value, int64_t b, int64_t g, int64_t keys) {
  const struct sdpai_problem *p = &back->head.plan->problem;
  const struct sdpai_kernels *kernels = back->head.plan->kernels;
  X(load_operand)
  (kernels, p->types.key, keys, p->key_dim,
   sdpai_at(p->types.key, back->args->key, b * p->key.batch + g * p->key.head), p->key.row,
   p->key.col, key);
  if (!back->by_scores) return;
  X(load_operand)
  (kernels, p->types.value, keys, p->value_dim,
   sdpai_at(p->types.value, back->args->value, b * p->value.batch + g * p->value.head),
   p->value.row, p->value.col, value);
}

/* Q and dO of a block, and the two products over them: weights = Q K^T, scores = dO V^T. */
static void X(load_block)(const struct X(back) * back, int64_t first, int64_t rows,
                          struct sdpai_interval keys, struct operand *query,
                          struct operand *grad_output) {
  const struct sdpai_problem *p = &back->head.plan->problem;
  const struct sdpai_kernels *kernels = back->head.plan->kernels;
  const struct backward_scratch *s = back->scratch;
  const int64_t width = keys.end - keys.begin, ld = back->head.plan->blas.score_row;
  const int64_t dim = sdpai_max(p->key_dim, 1), value_dim = sdpai_max(p->value_dim, 1);
  const int64_t at = back->batch * p->grad_output.batch + back->query_head * p->grad_output.head;
  X(load_operand)
  (kernels, p->types.query, rows, p->key_dim,
   sdpai_at(p->types.query, back->head.query, first * p->query.row), p->query.row, p->query.col,
   query);
  X(load_operand)
  (kernels, p->types.output, rows, p->value_dim,
   sdpai_at(p->types.output, back->grads->grad_output, at + first * p->grad_output.row),
   p->grad_output.row, p->grad_output.col, grad_output);
  X(sdpai_blas_gemm)
  (rows, width, p->key_dim, query->data, (struct sdpai_blas_layout){0, dim},
   X(at)(s->key.data, keys.begin * p->key_dim), (struct sdpai_blas_layout){1, dim}, s->weights, ld,
   0);
  if (back->by_scores) X(sdpai_blas_gemm)
  (rows, width, p->value_dim, grad_output->data, (struct sdpai_blas_layout){0, value_dim},
   X(at)(s->value.data, keys.begin * p->value_dim), (struct sdpai_blas_layout){1, value_dim},
   s->scores, ld, 0);
}

/* delta of a row, whose dO lies in scratch. */
static T X(row_delta)(const struct X(back) * back, int64_t row, int64_t lse_at,
                      const T *grad_output) {
  const struct sdpai_problem *p = &back->head.plan->problem;
  const T *grad_lse = back->grads->grad_lse;
  if (p->value_dim > 0) X(load_row)
  (back->head.plan->kernels, p->types.output, p->value_dim,
   sdpai_at(p->types.output, back->grads->output,
            back->batch * p->output.batch + back->query_head * p->output.head +
                row * p->output.row),
   p->output.col, back->scratch->output);
  return X(grad_delta)(back->head.kernels, p->value_dim, grad_output, back->scratch->output,
                       grad_lse ? grad_lse[lse_at] : 0);
}

/* Products w = q . k and g = dO . v of one row's keys `keys` become its weights after dropout and
 * du, 0 for a row that has no gradient; what is summed over rows is added on the way. */
static void X(back_row)(const struct X(back) * back, int64_t row, struct sdpai_interval keys,
                        const T *grad_output, T *w, T *g, uint8_t *live) {
  const struct sdpai_problem *p = &back->head.plan->problem;
  const struct X(head) *head = &back->head;
  const struct backward_scratch *s = back->scratch;
  const int64_t lse_at =
      back->batch * p->lse.batch + back->query_head * p->lse.head + row * p->lse.row;
  struct X(grad_row) part = {.row = row, .own = sdpai_mask_interval(&head->view, row)};
  if (part.own.end == part.own.begin) part.own.begin = part.own.end = keys.begin;
  part.lse = ((const T *)back->grads->lse)[lse_at];
  part.flat = s->flat;
  const int64_t before = part.own.begin - keys.begin, n = part.own.end - part.own.begin;
  *live = n > 0 && X(grad_weights)(head, &part, w + before);
  if (!*live) part.own.end = part.own.begin;
  X(fill)(before, 0, w, 1);
  X(fill)(keys.end - part.own.end, 0, w + (part.own.end - keys.begin), 1);
  X(fill)(before, 0, g, 1);
  X(fill)(keys.end - part.own.end, 0, g + (part.own.end - keys.begin), 1);
  if (*live) part.delta = X(row_delta)(back, row, lse_at, grad_output);
  if (*live && head->sink && *head->sink != -(T)INFINITY)
    s->sink_sums[back->query_head] -=
        exp((double)*head->sink - (double)part.lse) * (double)part.delta;
  if (*live && back->by_scores) X(grad_scores)(head, &part, w + before, g + before);
  X(bias_sum_add)(&back->bias, back->batch, back->query_head, row, part.own, g + before);
  if (!*live) return;
  if (back->by_scores) {
    s->slope_sums[back->query_head] -= X(grad_slope)(head, &part, g + before);
    X(grad_products)(&part, g + before);
  }
  X(grad_drop)(head, &part, w + before);
}

static void X(add_nonfinite)(int64_t dim, T factor, const T *x, T *sum) {
  for (int64_t d = 0; d < dim; d++)
    if (!isfinite(x[d])) sum[d] += factor * x[d];
}

/* Adds what the products left out: the non-finite elements of K, Q and dO, for the allowed
 * pairs. */
static void X(add_nonfinite_pairs)(const struct X(back) * back, int64_t first, int64_t rows,
                                   struct sdpai_interval keys, const struct operand *query,
                                   const struct operand *grad_output) {
  const struct sdpai_problem *p = &back->head.plan->problem;
  const struct backward_scratch *s = back->scratch;
  const int64_t ld = back->head.plan->blas.score_row, dim = p->key_dim, value_dim = p->value_dim;
  const T *k = s->key.data, *q = query->data, *go = grad_output->data;
  T *dq = s->grad_query, *dk = s->grad_key, *dv = s->grad_value;
  for (int64_t r = 0; r < rows; r++) {
    const int bad_query = query->any && query->bad[r];
    const int bad_output = grad_output->any && grad_output->bad[r];
    if (!s->live[r] || !(s->key.any || bad_query || bad_output)) continue;
    const struct sdpai_interval own = sdpai_mask_interval(&back->head.view, first + r);
    sdpai_mask_allowed(&back->head.view, first + r, own, s->rows.allowed);
    for (int64_t j = own.begin; j < own.end; j++) {
      if (!s->rows.allowed[j - own.begin]) continue;
      const T w = ((const T *)s->weights)[r * ld + j - keys.begin];
      if (bad_output) X(add_nonfinite)(value_dim, w, go + r * value_dim, dv + j * value_dim);
      if (!back->by_scores) continue;
      const T du = ((const T *)s->scores)[r * ld + j - keys.begin];
      if (s->key.any && s->key.bad[j]) X(add_nonfinite)(dim, du, k + j * dim, dq + r * dim);
      if (bad_query) X(add_nonfinite)(dim, du, q + r * dim, dk + j * dim);
    }
  }
}

/* dQ of the block, and its share of dK and dV, without the scale of the scores. */
static void X(multiply_block)(const struct X(back) * back, int64_t rows, struct sdpai_interval keys,
                              const struct operand *query, const struct operand *grad_output) {
  const struct sdpai_problem *p = &back->head.plan->problem;
  const struct backward_scratch *s = back->scratch;
  const int64_t width = keys.end - keys.begin, ld = back->head.plan->blas.score_row;
  const struct sdpai_blas_layout by_rows = {0, ld}, by_keys = {1, ld};
  const struct sdpai_blas_layout of_key = {0, sdpai_max(p->key_dim, 1)};
  const struct sdpai_blas_layout of_value = {0, sdpai_max(p->value_dim, 1)};
  if (back->by_scores) {
    X(sdpai_blas_gemm)
    (rows, p->key_dim, width, s->scores, by_rows, X(at)(s->key.finite, keys.begin * p->key_dim),
     of_key, s->grad_query, of_key.ld, 0);
    X(sdpai_blas_gemm)
    (width, p->key_dim, rows, s->scores, by_keys, query->finite, of_key,
     X(out_at)(s->grad_key, keys.begin * p->key_dim), of_key.ld, 1);
  }
  if (back->grads->grad_value) X(sdpai_blas_gemm)
  (width, p->value_dim, rows, s->weights, by_keys, grad_output->finite, of_value,
   X(out_at)(s->grad_value, keys.begin * p->value_dim), of_value.ld, 1);
}

/* Rows of dQ to the caller's tensor; `data` NULL: zeros. */
static void X(store_grad_query)(const struct X(back) * back, int64_t first, int64_t rows, T *data) {
  const struct sdpai_problem *p = &back->head.plan->problem;
  const uint32_t type = p->types.query;
  if (!back->grads->grad_query || p->key_dim == 0) return;
  void *to =
      sdpai_out_at(type, back->grads->grad_query,
                   back->batch * p->grad_query.batch + back->query_head * p->grad_query.head);
  for (int64_t r = 0; r < rows; r++) {
    void *row = sdpai_out_at(type, to, (first + r) * p->grad_query.row);
    if (!data) {
      sdpai_clear_row(type, p->key_dim, row, p->grad_query.col);
      continue;
    }
    back->head.kernels->row_scale(p->key_dim, data + r * p->key_dim, (T)p->scale);
    X(store_row)
    (back->head.plan->kernels, type, p->key_dim, data + r * p->key_dim, row, p->grad_query.col);
  }
}

/* Rows that attend nothing. */
static void X(back_empty_rows)(const struct X(back) * back, int64_t first, int64_t end) {
  const struct sdpai_interval none = {0, 0};
  const T no_ds[1] = {0}; /* not read; GCC 12 warns of NULL */
  for (int64_t i = first; i < end; i++) X(bias_sum_add)
  (&back->bias, back->batch, back->query_head, i, none, no_ds);
  X(store_grad_query)(back, first, end - first, NULL);
}

static void X(back_block)(const struct X(back) * back, int64_t first, int64_t rows) {
  const struct sdpai_problem *p = &back->head.plan->problem;
  const struct backward_scratch *s = back->scratch;
  const int64_t ld = back->head.plan->blas.score_row;
  const struct sdpai_interval keys = sdpai_mask_interval_of_rows(&back->head.view, first, rows);
  struct operand query = s->query, grad_output = s->grad_output;
  if (keys.end == keys.begin) {
    X(back_empty_rows)(back, first, first + rows);
    return;
  }
  X(load_block)(back, first, rows, keys, &query, &grad_output);
  for (int64_t r = 0; r < rows; r++) X(back_row)
  (back, first + r, keys, X(at)(grad_output.data, r * p->value_dim), (T *)s->weights + r * ld,
   (T *)s->scores + r * ld, &s->live[r]);
  X(multiply_block)(back, rows, keys, &query, &grad_output);
  X(add_nonfinite_pairs)(back, first, rows, keys, &query, &grad_output);
  X(store_grad_query)(back, first, rows, s->grad_query);
}

/* Sums of a kv head, times `scale`, to rows of the caller's gradient; 0 from key `keys` on. */
static void X(store_sums)(const struct sdpa_plan *plan, uint32_t type, int64_t keys, int64_t dim,
                          T *sums, T scale, void *to, const sdpa_strides *strides) {
  for (int64_t j = 0; to && dim > 0 && j < plan->problem.key_len; j++) {
    void *row = sdpai_out_at(type, to, j * strides->row);
    if (j >= keys) {
      sdpai_clear_row(type, dim, row, strides->col);
      continue;
    }
    plan->kernels->FIELD.row_scale(dim, sums + j * dim, scale);
    X(store_row)(plan->kernels, type, dim, sums + j * dim, row, strides->col);
  }
}

/* A kv head of a batch entry: all query heads that read it. */
static void X(back_head)(struct X(back) * back, struct backward_scratch *s, int64_t b, int64_t g) {
  const struct sdpa_plan *plan = back->head.plan;
  const struct sdpai_problem *p = &plan->problem;
  const int64_t keys = sdpai_key_length(p, back->args, b);
  const int64_t rows = sdpai_query_length(p, back->args, b);
  X(fill)(keys * p->key_dim, 0, s->grad_key, 1);
  X(fill)(keys * p->value_dim, 0, s->grad_value, 1);
  if (rows > 0 && keys > 0 && p->query_heads > 0) X(load_heads_keys)
  (back, &s->key, &s->value, b, g, keys);
  for (int64_t h = g * p->group; h < sdpai_min((g + 1) * p->group, p->query_heads); h++) {
    back->batch = b;
    back->query_head = h;
    X(select_head)(&back->head, plan, back->args, &s->rows, b, h);
    for (int64_t i = 0; i < rows; i += plan->block_rows) X(back_block)
    (back, i, sdpai_min(plan->block_rows, rows - i));
    X(back_empty_rows)(back, rows, p->query_len);
  }
  const sdpa_strides *dk = &p->grad_key, *dv = &p->grad_value;
  X(store_sums)
  (plan, p->types.key, keys, p->key_dim, s->grad_key, (T)p->scale,
   sdpai_out_at(p->types.key, back->grads->grad_key, b * dk->batch + g * dk->head), dk);
  X(store_sums)
  (plan, p->types.value, keys, p->value_dim, s->grad_value, 1,
   sdpai_out_at(p->types.value, back->grads->grad_value, b * dv->batch + g * dv->head), dv);
}

static void X(run_backward)(const struct sdpa_plan *plan, const struct sdpai_args *args,
                            const struct sdpai_grads *grads, struct backward_scratch *s) {
  const struct sdpai_problem *p = &plan->problem;
  struct X(back) back = {.head = {.plan = plan}, .args = args, .grads = grads, .scratch = s};
  back.by_scores = grads->grad_query || grads->grad_key || grads->grad_bias || grads->grad_slopes;
  X(bias_sum_start)(plan, grads->grad_bias, s->bias_sum, &back.bias);
  for (int64_t h = 0; h < p->query_heads; h++) s->sink_sums[h] = s->slope_sums[h] = 0;
  for (int64_t b = 0; b < p->batch; b++)
    for (int64_t g = 0; g < p->kv_heads; g++) X(back_head)(&back, s, b, g);
  X(bias_sum_finish)(&back.bias);
  T *sinks = grads->grad_sinks, *slopes = grads->grad_slopes;
  for (int64_t h = 0; h < p->query_heads; h++) {
    if (sinks) sinks[h] = (T)s->sink_sums[h];
    if (slopes) slopes[h] = (T)s->slope_sums[h];
  }
}
