/* ceilings.c - buffers for the peak loops, and their timing on several threads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ceilings.h"

#include <stdlib.h>
#include <string.h>

enum {
  FMA_ROUNDS = 64,   /* of a call, 3072 vectors: enough to hide the start and end of the loop */
  TILE_ROUNDS = 64,  /* likewise */
  KERNEL_DEPTH = 64, /* a usual head's size; b is at most 16 KiB, all of it fits into 32 KiB */
  MOST_ROWS = 16,
  MOST_ROW_BYTES = 256, /* of b and c: four vectors of 64 bytes */
  CHOICE_ROUNDS = 5
};

/* One thread's own memory. Its results go to `sink`, whose address nobody else knows: the compiler
 * cannot leave the work out. */
struct ceiling {
  unsigned char a[MOST_ROWS * KERNEL_DEPTH * 8] __attribute__((aligned(PEAK_LINE)));
  unsigned char b[MOST_ROW_BYTES * KERNEL_DEPTH] __attribute__((aligned(PEAK_LINE)));
  unsigned char c[MOST_ROWS * MOST_ROW_BYTES] __attribute__((aligned(PEAK_LINE)));
  float x[CEILINGS_EXPS] __attribute__((aligned(PEAK_LINE)));
  float y[CEILINGS_EXPS] __attribute__((aligned(PEAK_LINE)));
  volatile double sink;
};

static const struct register_kernel *kernels_of(const struct ceilings *ceilings) {
  return ceilings->is_f64 ? ceilings->loops->kernel_f64 : ceilings->loops->kernel_f32;
}

double ceilings_fma_flops(const struct ceilings *ceilings) {
  const int lanes = ceilings->is_f64 ? ceilings->loops->f64_lanes : ceilings->loops->f32_lanes;
  return 2.0 * FMA_ROUNDS * PEAK_CHAINS * PEAK_CHAIN_STEPS * lanes *
         thread_team_size(ceilings->team);
}

double ceilings_kernel_flops(const struct ceilings *ceilings) {
  return 2.0 * KERNEL_DEPTH * ceilings->kernel->rows * ceilings->kernel->columns *
         thread_team_size(ceilings->team);
}

double ceilings_tile_flops(const struct ceilings *ceilings) {
  return (double)TILE_ROUNDS * PEAK_TILE_FLOPS * thread_team_size(ceilings->team);
}

static void fma_work(void *arg, int thread) {
  const struct ceilings *ceilings = arg;
  double (*loop)(int64_t) = ceilings->is_f64 ? ceilings->loops->fma_f64 : ceilings->loops->fma_f32;
  ceilings->part[thread].sink = loop(ceilings->calls * FMA_ROUNDS);
}

static void kernel_work(void *arg, int thread) {
  const struct ceilings *ceilings = arg;
  struct ceiling *part = &ceilings->part[thread];
  for (int64_t i = 0; i < ceilings->calls; i++)
    ceilings->kernel->run(KERNEL_DEPTH, part->a, part->b, part->c);
}

/* The operands are whatever the register kernels multiply: no bf16 of them is subnormal. */
static void tile_work(void *arg, int thread) {
  const struct ceilings *ceilings = arg;
  struct ceiling *part = &ceilings->part[thread];
  part->sink = ceilings->tiles(ceilings->calls * TILE_ROUNDS, part->a, part->b);
}

static void exp_work(void *arg, int thread) {
  const struct ceilings *ceilings = arg;
  struct ceiling *part = &ceilings->part[thread];
  for (int64_t i = 0; i < ceilings->calls; i++)
    ceilings->loops->exp_f32(part->x, part->y, CEILINGS_EXPS);
}

static void read_work(void *arg, int thread) {
  const struct ceilings *ceilings = arg;
  const int64_t share = ceilings->read_bytes / thread_team_size(ceilings->team);
  const unsigned char *from = ceilings->read_from + thread * share;
  uint64_t (*loop)(const void *, int64_t) =
      ceilings->reads_ahead ? ceilings->loops->read_ahead : ceilings->loops->read_plain;
  uint64_t sum = 0;
  for (int64_t i = 0; i < ceilings->calls; i++) sum += loop(from, share);
  ceilings->part[thread].sink = (double)sum;
}

static double run_on_team(struct ceilings *ceilings, void (*work)(void *, int), int64_t calls) {
  ceilings->calls = calls;
  return thread_team_run(ceilings->team, work, ceilings);
}

double ceilings_run_fma(void *arg, int64_t calls) {
  return run_on_team(arg, fma_work, calls);
}

double ceilings_run_kernel(void *arg, int64_t calls) {
  return run_on_team(arg, kernel_work, calls);
}

double ceilings_run_tiles(void *arg, int64_t calls) {
  return run_on_team(arg, tile_work, calls);
}

double ceilings_run_exp(void *arg, int64_t calls) {
  return run_on_team(arg, exp_work, calls);
}

double ceilings_run_read(void *arg, int64_t calls) {
  return run_on_team(arg, read_work, calls);
}

double ceilings_run_adds(void *arg, int64_t calls) {
  struct ceilings *ceilings = arg;
  const double start = timing_now();
  ceilings->part[0].sink = (double)peak_dependent_adds((uint64_t)calls * CEILINGS_ADDS);
  return timing_now() - start;
}

/* Ordinary numbers, so that nothing is subnormal; exponents between -8 and 0 as softmax has them.
 */
static void fill_part(struct ceiling *part, int is_f64) {
  const size_t bytes = is_f64 ? sizeof(double) : sizeof(float);
  for (size_t i = 0; i < sizeof part->a / bytes; i++) {
    const double value = 0.25 + (double)(i % 7) / 16.0;
    const float narrow = (float)value;
    memcpy(part->a + i * bytes, is_f64 ? (const void *)&value : (const void *)&narrow, bytes);
  }
  for (size_t i = 0; i < sizeof part->b / bytes; i++) {
    const double value = 0.5 - (double)(i % 11) / 16.0;
    const float narrow = (float)value;
    memcpy(part->b + i * bytes, is_f64 ? (const void *)&value : (const void *)&narrow, bytes);
  }
  for (int i = 0; i < CEILINGS_EXPS; i++) part->x[i] = -8.0f * (float)i / CEILINGS_EXPS;
}

static const struct timing_limits choice_limits = {
    .sample_seconds = 3e-4, .total_seconds = 1.0, .min_rounds = CHOICE_ROUNDS, .spread = 1.0};

static double shortest_time(struct ceilings *ceilings, double (*run)(void *, int64_t)) {
  struct timed *timed = calloc(1, sizeof *timed);
  if (!timed) return 0.0;
  timed->run = run;
  timed->arg = ceilings;
  timing_run(timed, 1, &choice_limits);
  const double seconds = timed->min;
  free(timed);
  return seconds;
}

static void choose_kernel(struct ceilings *ceilings) {
  const struct register_kernel *best = NULL, *kernel = kernels_of(ceilings);
  double best_rate = 0.0;
  for (; kernel->name; kernel++) {
    ceilings->kernel = kernel;
    const double seconds = shortest_time(ceilings, ceilings_run_kernel);
    const double rate = seconds > 0.0 ? ceilings_kernel_flops(ceilings) / seconds : 0.0;
    if (best && rate <= best_rate) continue;
    best = kernel;
    best_rate = rate;
  }
  ceilings->kernel = best;
}

static void choose_reading(struct ceilings *ceilings) {
  ceilings->reads_ahead = 0;
  const double plain = shortest_time(ceilings, ceilings_run_read);
  ceilings->reads_ahead = 1;
  ceilings->reads_ahead = shortest_time(ceilings, ceilings_run_read) < plain;
}

/* Written once, so that every page is there. Pages of the ordinary kind, as the problem's own. */
static void make_buffer(struct ceilings *ceilings, int threads, int64_t bytes) {
  const int64_t unit = (int64_t)threads * PEAK_LINE;
  if (bytes <= 0 || bytes > INT64_MAX - unit) return;
  ceilings->read_bytes = (bytes + unit - 1) / unit * unit;
  ceilings->read_from = aligned_alloc(PEAK_LINE, (size_t)ceilings->read_bytes);
  if (ceilings->read_from) memset(ceilings->read_from, 1, (size_t)ceilings->read_bytes);
}

int ceilings_create(struct ceilings *ceilings, uint32_t isa, int threads, int is_f64,
                    int64_t read_bytes) {
  *ceilings = (struct ceilings){.loops = peak_loops_for(isa), .is_f64 = is_f64};
  if (!is_f64) ceilings->tiles = peak_tiles_for(isa);
  ceilings->part = aligned_alloc(PEAK_LINE, (size_t)threads * sizeof *ceilings->part);
  ceilings->team = thread_team_create(threads);
  if (!ceilings->part || !ceilings->team) {
    ceilings_destroy(ceilings);
    return -1;
  }
  for (int i = 0; i < threads; i++) fill_part(&ceilings->part[i], is_f64);
  make_buffer(ceilings, threads, read_bytes);
  choose_kernel(ceilings);
  if (ceilings->read_from) choose_reading(ceilings);
  return 0;
}

void ceilings_destroy(struct ceilings *ceilings) {
  thread_team_destroy(ceilings->team);
  free(ceilings->part);
  free(ceilings->read_from);
  *ceilings = (struct ceilings){0};
}
