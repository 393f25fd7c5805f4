/* random_problem.h - random problem specs over the whole option space
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One seed gives one spec, on every machine. Options, types, strides and sizes are drawn apart from
 * each other, so that every pair of options occurs. A fifth of the sizes lie at an edge of the
 * library's blocks - 1, 0 or + 1, one in 60 is 0, the others are small; together they are bounded,
 * so that thousands of problems take seconds. One problem in 24 has as many rows as a block of
 * engine blas or two, one as many keys as a tile or two of engine tiled, one in 200 as many as one
 * or two of the parts into which it cuts the keys of few queries. At least half of the tensors are
 * not contiguous: other orders of dimensions, gaps, column strides other than 1, negative strides,
 * and for inputs broadcasts and rows that overlap. Outputs never overlap. Half of the problems are
 * f64, three in ten f32; the others have tensors of 16 bits, alone or beside f32. An eighth has
 * dropout. One in 200 has heads of K and V that no query head reads. random_problem_backward() has
 * the same problems with their gradients asked for.
 */
#ifndef RANDOM_PROBLEM_H
#define RANDOM_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "problem_string.h"

struct random_problem_options {
  const int64_t *edges; /* block edges for sizes; NULL: those of the library */
  int n_edges;
  /* Work is batch x heads x queries x keys x (key_dim + value_dim). most_work bounds it (0: 150000;
   * a few problems with long rows or many of them pass it); least_work, if it is not 0, makes every
   * problem at least that large instead, and no size 0. */
  int64_t most_work, least_work;
};

/* options NULL: the defaults. The spec carries the seed. */
void random_problem(uint64_t seed, const struct random_problem_options *options,
                    struct problem_spec *spec);

/* The same spec with `bwd`: output and lse, and strides for the tensors of the backward pass. One in
 * four has dropout. */
void random_problem_backward(uint64_t seed, const struct random_problem_options *options,
                             struct problem_spec *spec);

/* A spec of the same kind whose choices are the bytes of a tape, as many as there are, and from the
 * seed behind its end: what a fuzzer steers. The spec carries the seed. */
void random_problem_tape(const uint8_t *tape, size_t bytes, uint64_t seed, int backward,
                         const struct random_problem_options *options, struct problem_spec *spec);

/* A spec that no library need accept: also mixtures with f64, lists, any strides, any numbers. For
 * the round trip of parser and printer. */
void random_problem_wild(uint64_t seed, struct problem_spec *spec);

#endif
