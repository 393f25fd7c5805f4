/* timing.h - times several functions against each other in one run
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * On a shared machine the clock rate and the neighbours change within seconds. Functions that are
 * to be compared are therefore sampled in turn, round after round, and compared round by round.
 */
#ifndef TIMING_H
#define TIMING_H

#include <stdint.h>

enum { TIMING_MAX_ROUNDS = 400 };

/* One function to time. The caller sets run and arg, the rest is filled in; times are seconds a
 * call. */
struct timed {
  void (*run)(void *arg, int64_t calls); /* makes `calls` calls, one after the other */
  void *arg;
  int64_t calls; /* in one sample, calibrated so that the clock's own cost vanishes */
  int rounds;
  double min, median;
  double sample[TIMING_MAX_ROUNDS]; /* by round */
};

struct timing_limits {
  double sample_seconds; /* a sample takes about this long, or one call */
  double total_seconds;  /* start no round after this long, once min_rounds are done */
  int min_rounds;        /* at least 1 */
  double spread;         /* stop when every median is known within this fraction */
};

/* Seconds of a monotonic clock. */
double timing_now(void);

/* Warms up, calibrates and samples the functions round robin, the order rotating by one each round.
 * Returns 1 if the result is stable: the 95 % confidence interval of every median lies within +-
 * spread of it (ranks of the sorted samples, no assumption on their distribution); 0 if time ran
 * out first. */
int timing_run(struct timed *functions, int count, const struct timing_limits *limits);

/* Median over the rounds of a's time / b's time, for two functions of one timing_run(). */
double timing_ratio(const struct timed *a, const struct timed *b);

#endif
