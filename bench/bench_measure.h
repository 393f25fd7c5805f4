/* bench_measure.h - one problem measured: everything that docs/benchmarks.md defines
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "bench_case.h"
#include "bench_check.h"
#include "bench_memory.h"

/* What is null in JSON is NaN here, or -1. */
struct bench_result {
  const char *problem;
  uint32_t engine, isa, precision;
  int threads;
  double min_s, median_s, gflops;
  double fma_peak_gflops, of_peak, ceiling_gflops, of_ceiling;
  int64_t bytes;
  double of_read;
  int stable;
  struct bench_verdict verdict;
  struct bench_memory memory;
  double cblas_s;
  const char *kernel; /* shape of the ceiling's register kernel */
  char products[64];  /* the calls behind cblas_s; empty: none */
};

/* Measures a problem string for about `seconds` at most (data, checking and the run for memory come
 * on top). Returns 0, also if the result is wrong: the verdict says so; or -1 and a sentence in
 * `message` if the library does not serve the problem or memory is short. */
int bench_measure(const char *problem, const struct bench_choice *choice, double seconds,
                  struct bench_result *result, char *message, size_t message_bytes);

#endif
