/* bench_table.c - one-shot calls against the plain products, for a few lengths
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench_case.h"
#include "bench_check.h"
#include "bench_progress.h"
#include "bench_work.h"
#include "plain_products.h"
#include "timing.h"

const char bench_table_legend[] =
    "\n"
    "time: one call of sdpa_attention_f64/f32, median (and smallest) of interleaved samples\n"
    "products: Q K^T and S V alone at full size, by the fastest cblas calls for them\n"
    "ratio: time / products, median over the rounds; ~ marks medians not known within 2 %\n"
    "GFLOP/s: 2 (key_dim + value_dim) operations a pair of query and key\n"
    "error: largest absolute error on at most 64 rows; right if within the documented bounds\n"
    "\n";

/* One line of the table. */
struct line {
  struct bench_case c;
  struct plain_products *products;
  struct timed timed[2]; /* the library, the plain products */
  struct bench_verdict verdict;
  int stable;
};

static void print_line(const struct line *line) {
  const sdpa_problem *problem = &line->c.spec.problem;
  char products[64];
  plain_products_describe(line->products, products, sizeof products);
  const double flops =
      bench_work_flops_per_pair(problem, 0) * (double)bench_work_pairs(problem, &line->c.data.args);
  bench_progress_wipe();
  printf("%6lld  %-4s %12.3f %12.3f %12.3f  %6.3f%c %9.2f  %9.2e  %-8s  %s\n",
         (long long)problem->query_len, problem->query_type == SDPA_F64 ? "f64" : "f32",
         1e6 * line->timed[0].median, 1e6 * line->timed[0].min, 1e6 * line->timed[1].median,
         timing_ratio(&line->timed[0], &line->timed[1]), line->stable ? ' ' : '~',
         1e-9 * flops / line->timed[0].median, line->verdict.max_error,
         line->verdict.verified ? "yes" : "NO", products);
  fflush(stdout);
}

/* Measures a problem of one head and prints its line. Returns 0, or -1 with a sentence in
 * `message`. */
static int measure_line(struct line *line, const char *problem, int threads, char *message,
                        size_t message_bytes) {
  static const struct timing_limits limits = {.sample_seconds = 2e-3,
                                              .total_seconds = 6.0,
                                              .min_rounds = 21,
                                              .spread = 0.02,
                                              .progress = bench_progress_round};
  const struct bench_choice choice = {.threads = threads};
  bench_progress_phase("making data");
  if (bench_case_open(&line->c, problem, &choice, message, message_bytes) != 0 ||
      bench_case_fill(&line->c, message, message_bytes) != 0)
    return -1;
  line->c.one_shot = 1;
  bench_progress_phase("choosing the plain products");
  line->products = plain_products_create(&line->c.data);
  if (!line->products) {
    snprintf(message, message_bytes, "no memory for the plain products");
    return -1;
  }
  line->timed[0].run = bench_case_run;
  line->timed[0].arg = &line->c;
  line->timed[1].run = plain_products_run;
  line->timed[1].arg = line->products;

  line->stable = timing_run(line->timed, 2, &limits);
  if (line->c.status != SDPA_OK) {
    snprintf(message, message_bytes, "%s", sdpa_status_string(line->c.status));
    return -1;
  }
  bench_progress_phase("checking");
  if (bench_check(&line->c, &line->verdict) != 0) {
    snprintf(message, message_bytes, "no memory to check the result");
    return -1;
  }
  print_line(line);
  snprintf(message, message_bytes, "%s", line->verdict.text);
  return line->verdict.verified ? 0 : -1;
}

int bench_table_run(int threads) {
  static const char *const problems[] = {"f64:q3:k3:d64",       "f64:q512:k512:d64",
                                         "f64:q4096:k4096:d64", "f32:q3:k3:d64",
                                         "f32:q512:k512:d64",   "f32:q4096:k4096:d64"};
  enum { PROBLEMS = sizeof problems / sizeof *problems };
  int status = 0;
  printf("%6s  %-4s %12s %12s %12s  %7s %9s  %9s  %-8s  %s\n", "n", "type", "time us", "min us",
         "products us", "ratio ", "GFLOP/s", "error", "right", "calls of the products");
  fflush(stdout);
  for (int i = 0; i < PROBLEMS; i++) {
    char message[512] = "no memory";
    struct line *line = calloc(1, sizeof *line);
    bench_progress_item(i + 1, PROBLEMS, problems[i]);
    if (!line || measure_line(line, problems[i], threads, message, sizeof message) != 0) {
      bench_progress_wipe();
      fprintf(stderr, "sdpa-bench: %s: %s\n", problems[i], message);
      status = -1;
    }
    if (line) {
      plain_products_destroy(line->products);
      bench_case_close(&line->c);
    }
    free(line);
  }
  return status;
}
