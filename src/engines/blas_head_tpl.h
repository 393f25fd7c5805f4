/* blas_head_tpl.h - one kv head after the other through the `blas` engine, written once for both
 * types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: T the type, X(name) the name with the type's suffix, FIELD the member of struct
 * sdpai_kernels. The way of a block of query rows: QK^T by gemm -> rows (blas_rows_tpl.h) ->
 * weights V by gemm -> output.
 */

/* One query head, and the keys and values it shares with its group. */
struct X(blas) {
  struct X(head) head;
  const struct sdpai_args *args;
  const struct sdpai_blas_scratch *scratch;
  int64_t batch, kv_head;
  const T *key, *value;   /* at key 0, perhaps packed */
  const void *value_data; /* the caller's V */
  int64_t key_row, value_row;
  struct sdpai_blas_layout value_layout;
  int value_nonfinite; /* `value` is a copy with zeros, scratch->nonfinite tells where */
};

/* Keys that some row of the batch entry may attend, or all where raw scores are asked for.
 * Intervals move with the row, so the first and the last bound them; an end is open where that row
 * attends nothing. */
static struct sdpai_interval X(batch_keys)(const struct X(blas) * blas) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  const struct sdpai_mask_view *view = &blas->head.view;
  struct sdpai_interval keys = {0, view->key_len};
  if (!(p->features & (SDPA_CAUSAL | SDPA_WINDOW)) || X(wants_all_scores)(p) ||
      view->query_len == 0)
    return keys;
  const struct sdpai_interval first = sdpai_mask_interval(view, 0);
  const struct sdpai_interval last = sdpai_mask_interval(view, view->query_len - 1);
  if (first.end > first.begin) keys.begin = first.begin;
  if (last.end > last.begin) keys.end = last.end;
  return keys;
}

static void X(prepare_key)(struct X(blas) * blas) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  const uint32_t type = p->types.key;
  const void *data =
      sdpai_at(type, blas->args->key, blas->batch * p->key.batch + blas->kv_head * p->key.head);
  if (blas->head.plan->blas.takes_key) {
    blas->key = data;
    blas->key_row = p->key.row;
    return;
  }
  const struct sdpai_interval keys = X(batch_keys)(blas);
  T *packed = blas->scratch->key;
  X(load_rows)
  (blas->head.plan->kernels, type, keys.end - keys.begin, p->key_dim,
   sdpai_at(type, data, keys.begin * p->key.row), p->key.row, p->key.col,
   X(out_at)(packed, keys.begin * p->key_dim));
  blas->key = packed;
  blas->key_row = p->key_dim;
}

/* Elements t .. t + n - 1 of the caller's value row of a key, n <= VALUE_PART: in place, or copied
 * to `part`. */
static const T *X(value_part)(const struct X(blas) * blas, int64_t key, int64_t t, int64_t n,
                              T *part) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  const uint32_t type = p->types.value;
  const void *from = sdpai_at(type, blas->value_data, key * p->value.row + t * p->value.col);
  if (type == p->types.compute && p->value.col == 1) return from;
  X(load_row)(blas->head.plan->kernels, type, n, from, p->value.col, part);
  return part;
}

/* Marks those of `keys` whose value row is not finite; returns whether there are any. */
static int X(find_nonfinite)(struct X(blas) * blas, struct sdpai_interval keys) {
  const int64_t dim = blas->head.plan->problem.value_dim;
  uint8_t *nonfinite = blas->scratch->nonfinite;
  T part[VALUE_PART];
  int any = 0;
  for (int64_t j = keys.begin; j < keys.end; j++) {
    int finite = 1;
    for (int64_t t = 0; t < dim; t += VALUE_PART) {
      const int64_t n = sdpai_min(VALUE_PART, dim - t);
      finite &= blas->head.kernels->row_finite(n, X(value_part)(blas, j, t, n, part));
    }
    nonfinite[j] = !finite;
    any |= !finite;
  }
  return any;
}

static void X(prepare_value)(struct X(blas) * blas) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  const uint32_t type = p->types.value;
  const int takes = blas->head.plan->blas.takes_value;
  blas->value_data = sdpai_at(type, blas->args->value,
                              blas->batch * p->value.batch + blas->kv_head * p->value.head);
  const struct sdpai_interval keys = X(batch_keys)(blas);
  blas->value_nonfinite = blas->head.plan->blas.guards_value && X(find_nonfinite)(blas, keys);
  if (takes && !blas->value_nonfinite) {
    blas->value = blas->value_data;
    blas->value_row = p->value.row;
    blas->value_layout = blas->head.plan->blas.value;
    return;
  }
  T *packed = blas->scratch->value;
  X(load_rows)
  (blas->head.plan->kernels, type, keys.end - keys.begin, p->value_dim,
   sdpai_at(type, blas->value_data, keys.begin * p->value.row), p->value.row, p->value.col,
   X(out_at)(packed, keys.begin * p->value_dim));
  blas->value = packed;
  blas->value_row = p->value_dim;
  blas->value_layout = (struct sdpai_blas_layout){0, sdpai_max(p->value_dim, 1)};
  for (int64_t j = keys.begin; blas->value_nonfinite && j < keys.end; j++) {
    T *row = packed + j * p->value_dim;
    for (int64_t d = 0; blas->scratch->nonfinite[j] && d < p->value_dim; d++)
      if (!isfinite(row[d])) row[d] = 0;
  }
}

/* The keys that some row of the block may attend, or all where raw scores are asked for. */
static struct sdpai_interval X(block_keys)(const struct X(blas) * blas, int64_t first,
                                           int64_t rows) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  const struct sdpai_interval all = {0, blas->head.view.key_len};
  if (!(p->features & (SDPA_CAUSAL | SDPA_WINDOW)) || X(wants_all_scores)(p)) return all;
  return sdpai_mask_interval_of_rows(&blas->head.view, first, rows);
}

/* C = A B, by the BLAS or, where its fixed cost would be most of it, by a kernel. `b` has k rows,
 * or n if it is transposed. */
static void X(multiply)(const struct X(blas) * blas, int64_t m, int64_t n, int64_t k, const T *a,
                        struct sdpai_blas_layout a_layout, const T *b,
                        struct sdpai_blas_layout b_layout, T *c, int64_t ldc) {
  if (n <= TINY_SIDE && k <= TINY_SIDE && m * n * k <= TINY_PRODUCT && !a_layout.transposed) {
    if (b_layout.transposed) {
      blas->head.kernels->product_nt(m, n, k, a, a_layout.ld, b, b_layout.ld, c, ldc);
    } else {
      blas->head.kernels->product_nn(m, n, k, a, a_layout.ld, b, b_layout.ld, c, ldc);
    }
  } else {
    X(sdpai_blas_gemm)(m, n, k, a, a_layout, b, b_layout, c, ldc, 0);
  }
}

/* products[rows][keys] = Q K^T of the block. */
static void X(multiply_keys)(const struct X(blas) * blas, int64_t first, int64_t rows,
                             struct sdpai_interval keys, T *products, int64_t ld) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  const void *query = sdpai_at(p->types.query, blas->head.query, first * p->query.row);
  const struct sdpai_blas_plan *b = &blas->head.plan->blas;
  if (!b->takes_query) {
    X(load_rows)
    (blas->head.plan->kernels, p->types.query, rows, p->key_dim, query, p->query.row, p->query.col,
     blas->scratch->query);
    query = blas->scratch->query;
  }
  X(multiply)
  (blas, rows, keys.end - keys.begin, p->key_dim, query, b->query,
   X(at)(blas->key, keys.begin * blas->key_row), sdpai_blas_transpose(b->key), products, ld);
}

/* Adds the products with the non-finite elements of V, for the rows that attend them. */
static void X(add_nonfinite)(const struct X(blas) * blas, int64_t row, struct sdpai_interval keys,
                             const T *weights, T *output) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  struct sdpai_interval own = sdpai_mask_interval(&blas->head.view, row);
  own.begin = sdpai_max(own.begin, keys.begin);
  own.end = sdpai_min(own.end, keys.end);
  sdpai_mask_allowed(&blas->head.view, row, own, blas->scratch->rows.allowed);
  T part[VALUE_PART];
  for (int64_t j = own.begin; j < own.end; j++) {
    if (!blas->scratch->nonfinite[j] || !blas->scratch->rows.allowed[j - own.begin]) continue;
    for (int64_t t = 0; t < p->value_dim; t += VALUE_PART) {
      const int64_t n = sdpai_min(VALUE_PART, p->value_dim - t);
      const T *value = X(value_part)(blas, j, t, n, part);
      for (int64_t d = 0; d < n; d++)
        if (!isfinite(value[d])) output[t + d] += weights[j - keys.begin] * value[d];
    }
  }
}

/* output[rows][value_dim] = weights V of the block, each row times its factor. */
static void X(multiply_values)(const struct X(blas) * blas, int64_t first, int64_t rows,
                               struct sdpai_interval keys, const T *weights, int64_t ld) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  const int in_place = blas->head.plan->blas.takes_output;
  const T *factors = blas->scratch->factors;
  const uint32_t type = p->types.output;
  void *target = sdpai_out_at(type, blas->head.output, first * p->output.row);
  T *output = in_place ? target : blas->scratch->output;
  const int64_t output_row = in_place ? p->output.row : p->value_dim;
  X(multiply)
  (blas, rows, p->value_dim, keys.end - keys.begin, weights, (struct sdpai_blas_layout){0, ld},
   X(at)(blas->value, keys.begin * blas->value_row), blas->value_layout, output,
   in_place && p->query_len > 1 ? output_row : sdpai_max(p->value_dim, 1));
  for (int64_t r = 0; r < rows; r++) {
    T *row = output + r * output_row;
    if (factors[r] == 0) {
      memset(row, 0, (size_t)p->value_dim * sizeof *row);
    } else {
      if (blas->value_nonfinite) X(add_nonfinite)(blas, first + r, keys, weights + r * ld, row);
      /* by 1 too: zeros lose their sign */
      blas->head.kernels->row_scale(p->value_dim, row, factors[r]);
    }
    if (!in_place) X(store_row)
    (blas->head.plan->kernels, type, p->value_dim, row,
     sdpai_out_at(type, target, r * p->output.row), p->output.col);
  }
}

/* Rows that attend nothing at all; Q is not read. */
static void X(run_empty_rows)(const struct X(blas) * blas, int64_t first, int64_t end) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  const uint32_t type = p->types.output;
  for (int64_t i = first; i < end; i++) {
    X(finish_empty_row)(&blas->head, i);
    if (blas->head.output)
      sdpai_clear_row(type, p->value_dim, sdpai_out_at(type, blas->head.output, i * p->output.row),
                      p->output.col);
  }
}

static void X(run_block)(const struct X(blas) * blas, int64_t first, int64_t rows) {
  const struct sdpai_problem *p = &blas->head.plan->problem;
  const struct sdpai_interval keys = X(block_keys)(blas, first, rows);
  const int64_t width = keys.end - keys.begin;
  if (width == 0) {
    X(run_empty_rows)(blas, first, first + rows);
    return;
  }
  T *products = blas->scratch->scores, *factors = blas->scratch->factors;
  int64_t ld = blas->head.plan->blas.score_row;
  if (blas->head.plan->blas.takes_weights) {
    products = blas->head.weights + first * p->weights.row + keys.begin;
    ld = p->query_len > 1 ? p->weights.row : width;
  }
  X(multiply_keys)(blas, first, rows, keys, products, ld);
  for (int64_t r = 0; r < rows; r++)
    factors[r] = X(finish_row)(&blas->head, first + r, keys, products + r * ld);
  if (blas->head.output && p->value_dim > 0)
    X(multiply_values)(blas, first, rows, keys, products, ld);
}

static void X(run_problem)(const struct sdpa_plan *plan, const struct sdpai_args *args,
                           const struct sdpai_blas_scratch *scratch) {
  const struct sdpai_problem *p = &plan->problem;
  struct X(blas) blas = {.args = args, .scratch = scratch};
  const struct X(head) *head = &blas.head;
  if (p->query_len == 0) return;
  for (blas.batch = 0; blas.batch < p->batch; blas.batch++) {
    for (int64_t h = 0; h < p->query_heads; h++) {
      X(select_head)(&blas.head, plan, args, &scratch->rows, blas.batch, h);
      if (h % p->group == 0) {
        blas.kv_head = h / p->group;
        X(prepare_key)(&blas);
        if (head->output && p->value_dim > 0) X(prepare_value)(&blas);
      }
      for (int64_t i = 0; i < head->view.query_len; i += plan->block_rows)
        X(run_block)(&blas, i, sdpai_min(plan->block_rows, head->view.query_len - i));
      X(run_empty_rows)(&blas, head->view.query_len, p->query_len);
    }
  }
}
