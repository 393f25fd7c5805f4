/* tiled_parts_tpl.h - partial results over parts of the keys, and their join, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h. A part holds for each row the maximum m of its scores, l = sum exp(s -
 * m) and o = sum exp(s - m) v. Two parts join as m = max(m1, m2), l = l1 exp(m1 - m) + l2 exp(m2 -
 * m), o likewise (Milakov and Gimelshein, 2018). Parts are joined in the order of the keys, whoever
 * computed them, so a row's bits depend on the cut alone.
 */

/* A part without keys, but for its outputs. */
static void X(clear_sums)(const struct sdpai_part *part, int64_t rows) {
  T *m = part->m, *l = part->l;
  for (int64_t r = 0; r < rows; r++) {
    m[r] = -(T)INFINITY;
    l[r] = 0;
  }
}

static void X(clear_part)(const struct sdpai_part *part, int64_t rows, int64_t dim) {
  X(clear_sums)(part, rows);
  if (rows * dim > 0) memset(part->o, 0, (size_t)(rows * dim) * sizeof(T));
}

static void X(join_part)(const struct sdpai_part *total, const struct sdpai_part *part,
                         int64_t rows, int64_t dim) {
  T *m = total->m, *l = total->l, *o = total->o;
  const T *part_m = part->m, *part_l = part->l, *part_o = part->o;
  for (int64_t r = 0; r < rows; r++) {
    const T now = part_m[r] > m[r] ? part_m[r] : m[r];
    const T shift = now == -(T)INFINITY ? 0 : now;
    const T old_weight = EXP(m[r] - shift), part_weight = EXP(part_m[r] - shift);
    m[r] = now;
    l[r] = l[r] * old_weight + part_l[r] * part_weight;
    for (int64_t d = 0; d < dim; d++)
      o[r * dim + d] = o[r * dim + d] * old_weight + part_o[r * dim + d] * part_weight;
  }
}

/* Every zero is +0: in a sum of products that all underflow excluded keys would decide its sign. */
static void X(finish_output)(int64_t dim, const T *o, T factor, T *output, int64_t col) {
  if (factor == 0) {
    X(fill)(dim, 0, output, col);
  } else if (col == 1) {
    for (int64_t d = 0; d < dim; d++) output[d] = o[d] * factor + 0;
  } else {
    for (int64_t d = 0; d < dim; d++) output[d * col] = o[d] * factor + 0;
  }
}

/* The rows' ends from a part that holds all keys, whose outputs are used up. */
static void X(finish_part)(const struct X(item) * item, const struct sdpai_part *part) {
  const struct sdpai_problem *p = &item->plan->problem;
  const T *m = part->m, *l = part->l;
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, item->first, item->rows, &s)) {
    struct X(head) head;
    X(item_head)(item, s.head, &head);
    for (int64_t r = 0; r < s.rows; r++) {
      const int64_t at = s.lane + r, row = s.row + r;
      const T factor = X(finish_row_tiled)(item, &head, row, m[at], l[at]);
      if (!head.output) continue;
      T *o = X(out_at)(part->o, at * p->value_dim);
      void *output = sdpai_out_at(p->types.output, head.output, row * p->output.row);
      if (p->types.output == p->types.compute) {
        X(finish_output)(p->value_dim, o, factor, output, p->output.col);
      } else {
        X(finish_output)(p->value_dim, o, factor, o, 1);
        X(store_row)
        (item->plan->kernels, p->types.output, p->value_dim, o, output, p->output.col);
      }
    }
  }
}
