/* bench_check.h - whether a result that was timed is right
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include <stdint.h>

#include "bench_case.h"

enum { BENCH_CHECK_ROWS = 64, BENCH_CHECK_LEAST_ROWS = 2 };

struct bench_verdict {
  int verified;
  double max_error; /* largest absolute error of a finite element, of any output or gradient; NaN if
                       the result is wrong: then not all elements were looked at */
  char text[512];   /* what is wrong; empty if nothing is */
};

/* Rows a head that are compared: BENCH_CHECK_ROWS, of many or long heads fewer, so that the
 * reference takes seconds and not minutes; never fewer than the first and the last. Of gradients as
 * many rows and as many keys, each of which takes as long as four rows of the forward pass. */
int64_t bench_check_rows(const sdpa_problem *problem, int backward);

/* The precision by which a case's errors are judged: without a matrix unit every one is FMA. */
uint32_t bench_check_precision(const struct bench_case *c);

/* Compares what lies in the outputs, or for `bwd` in the gradients, with the tests' reference, element by element within its bound
 * and as a whole with twice the error of plain loops (rule 18). Returns 0, or -1 if memory is
 * short. */
int bench_check(const struct bench_case *c, struct bench_verdict *verdict);

#endif
