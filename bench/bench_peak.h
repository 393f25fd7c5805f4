/* bench_peak.h - what this machine can do at best: sdpa-bench --peak
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include <stddef.h>
#include <stdint.h>

struct bench_peak {
  const char *isa;                       /* whose loops ran */
  double f32_fma_gflops, f64_fma_gflops; /* of all threads together */
  double f32_kernel_gflops, f64_kernel_gflops;
  const char *f32_kernel, *f64_kernel; /* shapes */
  double bf16_tile_gflops;             /* of all threads together; NAN: no unit for tiles */
  double exp_f32_ns;                   /* an element on one thread, with all threads at work */
  double read_bytes_per_s;             /* of all threads together */
  double clock_ghz;                    /* from dependent additions */
  double vector_fmas_per_cycle;        /* f32, of one thread: how many units are kept busy */
};

/* Measures with the ISA in force and `threads` threads. Returns 0, or -1 without memory or threads.
 */
int bench_peak_measure(uint32_t isa, int threads, struct bench_peak *peak);

void bench_peak_print(const struct bench_peak *peak);
void bench_peak_json(const struct bench_peak *peak);

#endif
