/* bench_peak.c - measures the ceilings alone
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A peak is the best that was seen, so that rates come from the shortest samples: a neighbour on
 * the machine can only make a loop slower.
 */
#include "bench_peak.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_progress.h"
#include "ceilings.h"
#include "json_text.h"

/* 256 MB: more than any cache that one core reads from. */
enum { READ_BYTES = 256 * 1000 * 1000 };

/* Those for f64, those for f32 besides, and the one that needs a unit for tiles. */
enum { FMA, KERNEL, EXP, ADDS, READ, TILES, LOOPS };

/* Times all loops for one type; reading for f32 alone. Returns 0 or -1. */
static int measure_type(uint32_t isa, int threads, int is_f64, struct bench_peak *peak,
                        struct timed timed[LOOPS]) {
  static const struct timing_limits limits = {.sample_seconds = 4e-3,
                                              .total_seconds = 3.0,
                                              .min_rounds = 41,
                                              .spread = 0.01,
                                              .progress = bench_progress_round};
  double (*const runs[LOOPS])(void *, int64_t) = {ceilings_run_fma,  ceilings_run_kernel,
                                                  ceilings_run_exp,  ceilings_run_adds,
                                                  ceilings_run_read, ceilings_run_tiles};
  struct ceilings ceilings;
  bench_progress_phase(is_f64 ? "f64" : "f32");
  if (ceilings_create(&ceilings, isa, threads, is_f64, is_f64 ? 0 : READ_BYTES) != 0) return -1;
  if (!is_f64 && !ceilings.read_from) {
    ceilings_destroy(&ceilings);
    return -1;
  }
  for (int i = 0; i < LOOPS; i++) {
    timed[i] = (struct timed){.run = runs[i], .arg = &ceilings};
  }
  timing_run(timed, is_f64 ? READ : ceilings.tiles ? LOOPS : TILES, &limits);
  const double fma = ceilings_fma_flops(&ceilings), kernel = ceilings_kernel_flops(&ceilings);
  peak->isa = ceilings.loops->name;
  *(is_f64 ? &peak->f64_fma_gflops : &peak->f32_fma_gflops) = 1e-9 * fma / timed[FMA].min;
  *(is_f64 ? &peak->f64_kernel_gflops : &peak->f32_kernel_gflops) =
      1e-9 * kernel / timed[KERNEL].min;
  *(is_f64 ? &peak->f64_kernel : &peak->f32_kernel) = ceilings.kernel->name;
  if (!is_f64) {
    const double vectors = fma / 2.0 / ceilings.loops->f32_lanes / threads;
    peak->bf16_tile_gflops =
        ceilings.tiles ? 1e-9 * ceilings_tile_flops(&ceilings) / timed[TILES].min : (double)NAN;
    peak->exp_f32_ns = 1e9 * timed[EXP].min / CEILINGS_EXPS;
    peak->read_bytes_per_s = (double)ceilings.read_bytes / timed[READ].min;
    peak->clock_ghz = 1e-9 * CEILINGS_ADDS / timed[ADDS].min;
    peak->vector_fmas_per_cycle = vectors / CEILINGS_ADDS * timed[ADDS].min / timed[FMA].min;
  }
  ceilings_destroy(&ceilings);
  return 0;
}

int bench_peak_measure(uint32_t isa, int threads, struct bench_peak *peak) {
  struct timed *timed = calloc(LOOPS, sizeof *timed);
  if (!timed) return -1;
  bench_progress_item(1, 1, "peak");
  int status = measure_type(isa, threads, 0, peak, timed);
  if (status == 0) status = measure_type(isa, threads, 1, peak, timed);
  bench_progress_wipe();
  free(timed);
  return status;
}

void bench_peak_print(const struct bench_peak *peak) {
  printf("\n"
         "f32 FMA:      %.1f GFLOP/s (%s), %.2f vectors a cycle at %.2f GHz\n"
         "f64 FMA:      %.1f GFLOP/s\n"
         "f32 kernel:   %.1f GFLOP/s (%s vectors)\n"
         "f64 kernel:   %.1f GFLOP/s (%s vectors)\n"
         "f32 exp:      %.4f ns an element\n"
         "reading:      %.2f GB/s, 256 MB\n",
         peak->f32_fma_gflops, peak->isa, peak->vector_fmas_per_cycle, peak->clock_ghz,
         peak->f64_fma_gflops, peak->f32_kernel_gflops, peak->f32_kernel, peak->f64_kernel_gflops,
         peak->f64_kernel, peak->exp_f32_ns, 1e-9 * peak->read_bytes_per_s);
  if (isfinite(peak->bf16_tile_gflops))
    printf("bf16 tiles:   %.1f GFLOP/s\n", peak->bf16_tile_gflops);
  else
    printf(
        "bf16 tiles:   none: the ISA in force has no unit for them (AMX), or Linux refuses it\n");
}

void bench_peak_json(const struct bench_peak *peak) {
  struct json_object object;
  json_begin(&object, stdout);
  json_number(&object, "f32_fma_gflops", peak->f32_fma_gflops);
  json_number(&object, "f64_fma_gflops", peak->f64_fma_gflops);
  json_number(&object, "bf16_tile_gflops", peak->bf16_tile_gflops);
  json_number(&object, "exp_f32_ns", peak->exp_f32_ns);
  json_number(&object, "read_bytes_per_s", peak->read_bytes_per_s);
  json_end(&object);
}
