/* bench_verify.h - whether a result that was timed is right
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include "bench_head.h"

enum { BENCH_VERIFY_ROWS = 64 };

struct bench_error {
  double max;   /* largest absolute error of head->output */
  double plain; /* that of three plain loops in the head's own precision */
  double limit; /* 2 * plain, plus one rounding of the largest element */
  int verified; /* max <= limit; a NaN is never verified */
};

/* Compares head->output with a reference in long double, on at most BENCH_VERIFY_ROWS rows from the
 * first to the last. The limit is the library's promise: never more than twice the largest error of
 * a plain implementation. Returns 0, or -1 if memory is short. */
int bench_verify(const struct bench_head *head, struct bench_error *error);

#endif
