/* timing.c - calibrated samples, taken in turn, and what they say
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L

#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double timing_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The first call pays for page faults and cold caches, and is all there is of calibration if it
 * takes longer than several samples. Else the number of calls doubles until a quarter of a sample
 * is long enough to extrapolate from. The bound ends the loop for a function that returns at once
 * whatever it is asked. */
static void calibrate(struct timed *function, double sample_seconds) {
  static const int64_t most_calls = 1 << 30;
  int64_t calls = 1;
  function->calls = 1;
  if (function->run(function->arg, 1) > 4.0 * sample_seconds) return;
  double seconds = function->run(function->arg, calls);
  while (seconds < 0.25 * sample_seconds && calls < most_calls) {
    calls *= 2;
    seconds = function->run(function->arg, calls);
  }
  const double wanted = (double)calls * sample_seconds / fmax(seconds, 1e-9);
  function->calls = (int64_t)fmin(fmax(wanted, 1.0), (double)most_calls);
}

static void pause_for(double seconds) {
  struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
  nanosleep(&time, NULL);
}

/* A call that is not counted first brings back caches, clock and sleeping threads, where it costs
 * little beside the sample. */
static void take_sample(struct timed *function, int round, const struct timed *before) {
  if (function->needs_quiet && before && before->leaves_spinning) pause_for(TIMING_QUIET_SECONDS);
  if (function->calls > 1) function->run(function->arg, 1);
  function->sample[round] = function->run(function->arg, function->calls) / (double)function->calls;
  function->rounds = round + 1;
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of_sorted(const double *sorted, int n) {
  return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

/* Sets min and median from the samples. Returns the half width of the median's 95 % confidence
 * interval as a fraction of it: the ranks n/2 +- 1.96 sqrt(n)/2 are the binomial distribution's
 * normal limit. */
static double summarize(struct timed *function) {
  double sorted[TIMING_MAX_ROUNDS];
  const int n = function->rounds;
  memcpy(sorted, function->sample, (size_t)n * sizeof sorted[0]);
  qsort(sorted, (size_t)n, sizeof sorted[0], compare_doubles);
  function->min = sorted[0];
  function->median = median_of_sorted(sorted, n);
  const double reach = 0.98 * sqrt((double)n);
  int low = (int)floor(0.5 * n - reach) - 1, high = (int)ceil(0.5 * n + reach);
  if (low < 0) low = 0;
  if (high > n - 1) high = n - 1;
  return 0.5 * (sorted[high] - sorted[low]) / function->median;
}

/* The first round has an interval too, of no width: min_rounds keeps it from being believed. */
int timing_run(struct timed *functions, int count, const struct timing_limits *limits) {
  const double start = timing_now();
  const struct timed *before = NULL;
  for (int i = 0; i < count; i++) {
    functions[i].rounds = 0;
    calibrate(&functions[i], limits->sample_seconds);
    before = &functions[i];
  }
  const int judged = limits->judged > 0 ? limits->judged : count;
  for (int round = 0; round < TIMING_MAX_ROUNDS; round++) {
    for (int i = 0; i < count; i++) {
      struct timed *function = &functions[(round + i) % count];
      take_sample(function, round, before);
      before = function;
    }
    double spread = 0.0;
    for (int i = 0; i < count; i++) {
      const double own = summarize(&functions[i]);
      if (i < judged) spread = fmax(spread, own);
    }
    if (limits->progress) limits->progress(limits->progress_arg, round + 1, spread);
    if (round + 1 >= limits->min_rounds && spread <= limits->spread) return 1;
    if (timing_now() - start > limits->total_seconds) return 0;
  }
  return 0;
}

double timing_ratio(const struct timed *a, const struct timed *b) {
  double ratio[TIMING_MAX_ROUNDS];
  const int n = a->rounds;
  for (int i = 0; i < n; i++) ratio[i] = a->sample[i] / b->sample[i];
  /* cppcheck-suppress uninitvar ; rounds is 1 at least */
  qsort(ratio, (size_t)n, sizeof ratio[0], compare_doubles);
  return median_of_sorted(ratio, n);
}
