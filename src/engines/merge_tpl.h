/* merge_tpl.h - joining finished results over disjoint sets of keys, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: T the type, X(name) the name with the type's suffix, EXP and LOG of <math.h>.
 */

/* One row. A part without keys (-inf) leaves the other as it is, whatever its output holds. */
static void X(merge_row)(int64_t dim, int64_t col, T *output, T *lse, const T *part_output,
                         T part_lse) {
  const T infinity = (T)INFINITY;
  if (*lse == -infinity) {
    const int empty = part_lse == -infinity;
    for (int64_t d = 0; d < dim; d++) output[d * col] = empty ? 0 : part_output[d * col];
    *lse = part_lse;
    return;
  }
  if (part_lse == -infinity) return;
  const T max = *lse > part_lse ? *lse : part_lse;
  const T weight = EXP(*lse - max), part_weight = EXP(part_lse - max), sum = weight + part_weight;
  for (int64_t d = 0; d < dim; d++)
    output[d * col] = (weight * output[d * col] + part_weight * part_output[d * col]) / sum;
  *lse = max + LOG(sum);
}

static void X(merge_head)(void *arg, int64_t number, int64_t slot) {
  const struct merge *merge = arg;
  const struct sdpai_problem *p = merge->problem;
  const int64_t b = number / p->query_heads, h = number % p->query_heads;
  const int64_t lse_at = b * p->lse.batch + h * p->lse.head;
  const int64_t output_at = b * p->output.batch + h * p->output.head;
  const int64_t dim = merge->output ? p->value_dim : 0;
  (void)slot;
  for (int64_t i = 0; i < p->query_len; i++) {
    const int64_t at = lse_at + i * p->lse.row, o = output_at + i * p->output.row;
    X(merge_row)
    (dim, p->output.col, dim ? (T *)merge->output + o : NULL, (T *)merge->lse + at,
     dim ? (const T *)merge->part_output + o : NULL, ((const T *)merge->part_lse)[at]);
  }
}
