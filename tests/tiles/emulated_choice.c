/* emulated_choice.c - the matrix unit wherever it is possible, whether it pays or not
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands for matrix_choice.c, so that small problems go through the unit too.
 */
#include "engines/matrix_choice.h"

int sdpai_matrix_pays(const struct sdpai_problem *problem, const struct sdpai_matrix_parts *parts,
                      int64_t rows) {
  (void)problem, (void)parts, (void)rows;
  return 1;
}
