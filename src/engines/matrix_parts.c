/* matrix_parts.c - how many bf16 parts a problem's numbers need
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Three parts hold an f32, and of the nine products of two such numbers those six are formed that
 * reach f32's last bit: what is left out is at most 2^-24 of a product. Under reduced precision two
 * parts and three products: 2^-15. docs/numerics.md derives both.
 */
#include "engines/matrix_choice.h"

struct sdpai_matrix_parts sdpai_matrix_parts(const struct sdpai_problem *problem,
                                             const struct sdpai_options *options) {
  static const struct sdpai_parts full = {3, 3, 2}, reduced = {2, 2, 1};
  const struct sdpai_matrix_parts none = {{0, 0, 0}, {0, 0, 0}};
  if (problem->types.compute != SDPA_F32 || problem->key_dim == 0) return none;
  if (options->precision == SDPA_PRECISION_FMA) return none;
  const struct sdpai_parts parts = options->precision == SDPA_PRECISION_REDUCED ? reduced : full;
  return (struct sdpai_matrix_parts){parts, parts};
}

int sdpai_matrix_products(struct sdpai_parts parts) {
  int count = 0;
  for (int i = 0; i < parts.left; i++)
    for (int j = 0; j < parts.right; j++) count += i + j <= parts.order;
  return count;
}
