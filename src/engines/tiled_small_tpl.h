/* tiled_small_tpl.h - a few rows over one tile, without rules: straight through, once for both
 * types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h. The same kernels on the same rows as tiled_rows_tpl.h, so the same
 * bits; what is left out is what costs more than the arithmetic at n = 3: items, segments, masks,
 * parts.
 */
static void X(run_small)(const struct sdpa_plan *plan, const struct sdpai_args *a, T *scores) {
  const struct sdpai_problem *p = &plan->problem;
  const struct X(sdpai_kernels) *kernels = &plan->kernels->FIELD;
  const int64_t rows = p->query_len, keys = p->key_len;
  const T scale = (T)p->scale;
  for (int64_t b = 0; b < p->batch; b++) {
    for (int64_t h = 0; h < p->query_heads; h++) {
      const int64_t kv = h / p->group;
      T *output = (T *)a->output + b * p->output.batch + h * p->output.head;
      kernels->product_nt(rows, keys, p->key_dim,
                          (const T *)a->query + b * p->query.batch + h * p->query.head,
                          p->query.row, (const T *)a->key + b * p->key.batch + kv * p->key.head,
                          p->key.row, scores, SDPAI_TILE_KEYS);
      T factors[SMALL_ROWS];
      for (int64_t i = 0; i < rows; i++) {
        T *row = scores + i * SDPAI_TILE_KEYS;
        X(sdpai_softmax_row)
        (plan->kernels, keys, row, scale, kernels->row_max(keys, row, scale), NULL, &factors[i],
         NULL);
      }
      kernels->product_nn(rows, p->value_dim, keys, scores, SDPAI_TILE_KEYS,
                          (const T *)a->value + b * p->value.batch + kv * p->value.head,
                          p->value.row, output, p->output.row);
      for (int64_t i = 0; i < rows; i++) {
        T *row = output + i * p->output.row;
        if (factors[i] == 0) {
          X(fill)(p->value_dim, 0, row, 1);
        } else {
          kernels->row_scale(p->value_dim, row, factors[i]);
        }
      }
    }
  }
}
