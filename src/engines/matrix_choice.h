/* matrix_choice.h - when the matrix unit is faster than multiply-adds
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_MATRIX_CHOICE_H
#define SDPAI_MATRIX_CHOICE_H

#include "kernels/kernels.h"
#include "problem/problem.h"

/* The two products by bf16 parts: keys and queries, values and weights. Zero: by multiply-adds. */
struct sdpai_matrix_parts {
  struct sdpai_parts scores, output;
};

/* Parts for the problem's types and the precision that the options allow; zero where it must be
 * multiply-adds, whatever the machine is. */
struct sdpai_matrix_parts sdpai_matrix_parts(const struct sdpai_problem *problem,
                                             const struct sdpai_options *options);

/* 1 if `rows` query rows that share their keys take less time in the matrix unit, by arithmetic and
 * not by measurement. More rows never pay less. */
int sdpai_matrix_pays(const struct sdpai_problem *problem, const struct sdpai_matrix_parts *parts,
                      int64_t rows);

/* Products of parts that one product of numbers takes. */
int sdpai_matrix_products(struct sdpai_parts parts);

#endif
