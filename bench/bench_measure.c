/* bench_measure.c - a problem and its yardsticks, interleaved
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Order of things: the child that measures memory, data, yardsticks, timing, the check of what the
 * last timed run left behind.
 */
#include "bench_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_progress.h"
#include "bench_work.h"
#include "ceilings.h"
#include "plain_products.h"

enum { RUN_CASE, RUN_FMA, RUN_KERNEL, RUN_READ, RUN_PRODUCTS, RUNS };

/* Slots of `timed` that are in use stand first; at[] says where, -1: not measured. */
struct measurement {
  struct bench_case c;
  struct ceilings ceilings;
  struct plain_products *products;
  struct timed timed[RUNS];
  int at[RUNS], count;
};

static void add(struct measurement *m, int which, double (*run)(void *, int64_t), void *arg) {
  struct timed *timed = &m->timed[m->count];
  const int threaded = bench_case_threads(&m->c) > 1;
  m->at[which] = m->count++;
  timed->run = run;
  timed->arg = arg;
  timed->leaves_spinning =
      threaded &&
      (which == RUN_PRODUCTS || (which == RUN_CASE && m->c.info.engine == SDPA_ENGINE_BLAS));
  timed->needs_quiet = threaded && (which == RUN_FMA || which == RUN_KERNEL || which == RUN_READ);
}

/* Data and yardsticks. Returns 0, or -1 after a sentence. */
static int prepare(struct measurement *m, char *message, size_t message_bytes) {
  const sdpa_problem *problem = &m->c.spec.problem;
  const int is_f64 = problem->query_type == SDPA_F64;
  for (int i = 0; i < RUNS; i++) m->at[i] = -1;
  bench_progress_phase("making data");
  if (bench_case_fill(&m->c, message, message_bytes) != 0) return -1;
  bench_progress_phase("choosing the ceilings");
  if (ceilings_create(&m->ceilings, m->c.info.isa, bench_case_threads(&m->c), is_f64,
                      bench_work_bytes(problem, &m->c.data.args, (int)m->c.spec.backward)) != 0) {
    snprintf(message, message_bytes, "no memory or no threads for the ceilings");
    return -1;
  }
  add(m, RUN_CASE, bench_case_run, &m->c);
  add(m, RUN_FMA, ceilings_run_fma, &m->ceilings);
  add(m, RUN_KERNEL, ceilings_run_kernel, &m->ceilings);
  if (m->ceilings.read_from) add(m, RUN_READ, ceilings_run_read, &m->ceilings);
  if (m->c.spec.backward || !plain_products_offered(problem)) return 0;
  bench_progress_phase("choosing the plain products");
  m->products = plain_products_create(&m->c.data);
  if (m->products) add(m, RUN_PRODUCTS, plain_products_run, m->products);
  return 0;
}

/* Warming up is part of timing_run(); a call that fails returns at once, so that nothing is lost by
 * looking at its status afterwards. */
static int time_all(struct measurement *m, double seconds, int *stable, char *message,
                    size_t message_bytes) {
  const struct timing_limits limits = {.sample_seconds = 2e-3,
                                       .total_seconds = seconds,
                                       .min_rounds = 9,
                                       .judged = 1,
                                       .spread = 0.02,
                                       .progress = bench_progress_round};
  bench_progress_phase("warming up");
  *stable = timing_run(m->timed, m->count, &limits);
  if (m->c.status == SDPA_OK) return 0;
  snprintf(message, message_bytes, "%s", sdpa_status_string(m->c.status));
  return -1;
}

/* Rates from medians, ratios from rounds. */
static void evaluate(const struct measurement *m, struct bench_result *r) {
  const struct timed *run = &m->timed[m->at[RUN_CASE]];
  const struct timed *fma = &m->timed[m->at[RUN_FMA]];
  const struct timed *kernel = &m->timed[m->at[RUN_KERNEL]];
  const sdpa_problem *problem = &m->c.spec.problem;
  const double flops = bench_work_flops_per_pair(problem, (int)m->c.spec.backward) *
                       (double)bench_work_pairs(problem, &m->c.data.args);
  const double fma_flops = ceilings_fma_flops(&m->ceilings);
  const double kernel_flops = ceilings_kernel_flops(&m->ceilings);
  r->min_s = run->min;
  r->median_s = run->median;
  r->gflops = 1e-9 * flops / run->median;
  r->fma_peak_gflops = 1e-9 * fma_flops / fma->median;
  r->of_peak = flops / fma_flops * timing_ratio(fma, run);
  r->ceiling_gflops = 1e-9 * kernel_flops / kernel->median;
  r->of_ceiling = flops / kernel_flops * timing_ratio(kernel, run);
  r->kernel = m->ceilings.kernel->name;
  r->bytes = bench_work_bytes(problem, &m->c.data.args, (int)m->c.spec.backward);
  r->of_read = r->cblas_s = NAN;
  if (m->at[RUN_READ] >= 0) {
    /* The buffer is rounded up to whole lines. */
    const double share = (double)r->bytes / (double)m->ceilings.read_bytes;
    r->of_read = share * timing_ratio(&m->timed[m->at[RUN_READ]], run);
  }
  if (m->at[RUN_PRODUCTS] >= 0) {
    r->cblas_s = m->timed[m->at[RUN_PRODUCTS]].median * plain_products_units(m->products);
    plain_products_describe(m->products, r->products, sizeof r->products);
  }
}

int bench_measure(const char *problem, const struct bench_choice *choice, double seconds,
                  struct bench_result *result, char *message, size_t message_bytes) {
  struct measurement *m = calloc(1, sizeof *m);
  memset(result, 0, sizeof *result);
  if (!m) {
    snprintf(message, message_bytes, "no memory");
    return -1;
  }
  int status = bench_case_open(&m->c, problem, choice, message, message_bytes);
  if (status == 0) {
    result->problem = problem;
    result->engine = m->c.info.engine;
    result->isa = m->c.info.isa;
    result->precision = m->c.info.precision;
    result->threads = bench_case_threads(&m->c);
    bench_progress_phase("measuring memory");
    bench_memory_measure(problem, choice, &result->memory);
    status = prepare(m, message, message_bytes);
  }
  if (status == 0) status = time_all(m, seconds, &result->stable, message, message_bytes);
  if (status == 0) {
    evaluate(m, result);
    bench_progress_phase("checking");
    status = bench_check(&m->c, &result->verdict);
    if (status != 0) snprintf(message, message_bytes, "no memory to check the result");
  }
  plain_products_destroy(m->products);
  ceilings_destroy(&m->ceilings);
  bench_case_close(&m->c);
  free(m);
  return status;
}
