/* random_problem.h - random problem specs over the whole option space
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One seed gives one spec, on every machine. Options, types, strides and sizes are drawn apart from
 * each other, so that every pair of options occurs. A fifth of the sizes lie at an edge of the
 * library's blocks - 1, 0 or + 1, one in 60 is 0, the others are small; together they are bounded,
 * so that thousands of problems take seconds. At least half of the tensors are not contiguous:
 * other orders of dimensions, gaps, column strides other than 1, negative strides, and for inputs
 * broadcasts and rows that overlap. Outputs never overlap.
 */
#ifndef RANDOM_PROBLEM_H
#define RANDOM_PROBLEM_H

#include <stdint.h>

#include "problem_string.h"

struct random_problem_options {
  const int64_t *edges; /* block edges for sizes; NULL: vector and row blocks of the library */
  int n_edges;
  int64_t
      most_work; /* bound of batch x heads x queries x keys x (key_dim + value_dim); 0: 150000 */
};

/* options NULL: the defaults. The spec carries the seed. */
void random_problem(uint64_t seed, const struct random_problem_options *options,
                    struct problem_spec *spec);

/* A spec that no library need accept: also types of 16 bits, lists, any strides, any numbers. For
 * the round trip of parser and printer. */
void random_problem_wild(uint64_t seed, struct problem_spec *spec);

#endif
