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

/* One function to time. The caller sets what stands first, the rest is filled in; times are seconds
 * a call. */
struct timed {
  double (*run)(void *arg, int64_t calls); /* makes `calls` calls, returns the seconds they took */
  void *arg;
  int leaves_spinning; /* threads that it woke (a BLAS's) may spin for a while after it */
  int needs_quiet;     /* spinning threads would slow it down: pause after such a function */

  int64_t calls; /* in one sample, calibrated so that the clock's own cost vanishes */
  int rounds;
  double min, median;
  double sample[TIMING_MAX_ROUNDS]; /* by round */
};

struct timing_limits {
  double sample_seconds; /* a sample takes about this long, or one call */
  double total_seconds;  /* start no round after this long, warming up included; there is always
                            one round */
  int min_rounds;        /* not stable with fewer */
  int judged;            /* the first so many functions must be stable; 0: all */
  double spread;         /* stable: the median is known within this fraction */
  void (*progress)(void *arg, int round, double spread); /* after every round; may be NULL */
  void *progress_arg;
};

/* How long the threads of a BLAS spin: OpenBLAS's wait for 2^28 cycles of the time-stamp counter.
 */
#define TIMING_QUIET_SECONDS 0.12

/* Seconds of a monotonic clock. */
double timing_now(void);

/* Warms up, calibrates and samples the functions round robin, the order rotating by one each round.
 * Returns 1 if the result is stable: the 95 % confidence interval of every judged median lies
 * within +- spread of it (ranks of the sorted samples, no assumption on their distribution); 0 if
 * time ran out first. */
int timing_run(struct timed *functions, int count, const struct timing_limits *limits);

/* Median over the rounds of a's time / b's time, for two functions of one timing_run(). */
double timing_ratio(const struct timed *a, const struct timed *b);

#endif
