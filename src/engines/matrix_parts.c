/* matrix_parts.c - how many bf16 parts a problem's numbers need
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One part holds a bf16, two an f16, three an f32. Of the products of parts those are left out that
 * are below f32's last bit: at most 2^-24 of a product of two f32. Weights need as many parts as V
 * or the output has, whichever are more; where both are in 16 bits the products may be as coarse as
 * such weights are. Under reduced precision f32 has two parts and three products: 2^-15.
 * docs/numerics.md derives the bounds.
 */
#include "engines/matrix_choice.h"

static int parts_of(uint32_t type, int reduced) {
  switch (type) {
  case SDPA_BF16:
    return 1;
  case SDPA_F16:
    return 2;
  default:
    return reduced ? 2 : 3;
  }
}

/* Products that the operands do not have are none of `order`. */
static struct sdpai_parts parts_with(int left, int right, int order) {
  const int last = left + right - 2;
  return (struct sdpai_parts){(uint8_t)left, (uint8_t)right,
                              (uint8_t)(order < last ? order : last)};
}

struct sdpai_matrix_parts sdpai_matrix_parts(const struct sdpai_problem *problem,
                                             const struct sdpai_options *options) {
  const struct sdpai_types *t = &problem->types;
  const struct sdpai_matrix_parts none = {{0, 0, 0}, {0, 0, 0}};
  if (t->compute != SDPA_F32 || problem->key_dim == 0) return none;
  if (options->precision == SDPA_PRECISION_FMA) return none;
  const int reduced = options->precision == SDPA_PRECISION_REDUCED;
  const int key = parts_of(t->key, reduced), query = parts_of(t->query, reduced);
  const int value = parts_of(t->value, reduced), output = parts_of(t->output, reduced);
  const int cuts_scores = reduced && (t->key == SDPA_F32 || t->query == SDPA_F32);
  const int cuts_output = reduced || (t->value != SDPA_F32 && t->output != SDPA_F32);
  return (struct sdpai_matrix_parts){
      parts_with(key, query, cuts_scores ? 1 : 2),
      parts_with(value, value > output ? value : output, cuts_output ? 1 : 2)};
}

int sdpai_matrix_products(struct sdpai_parts parts) {
  int count = 0;
  for (int i = 0; i < parts.left; i++)
    for (int j = 0; j < parts.right; j++) count += i + j <= parts.order;
  return count;
}
