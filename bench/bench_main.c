/* bench_main.c - sdpa-bench: how fast the library is, beside the plain matrix products
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Times sdpa_attention_f64() and sdpa_attention_f32() for one head of d = 64 and a few lengths,
 * checks each result, and times the two plain cblas products alone in the same rounds. Exit status
 * 0, 1 if a result is wrong or cannot be had, 2 for bad arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sdpa/sdpa.h>

#include "bench_head.h"
#include "bench_machine.h"
#include "bench_verify.h"
#include "plain_products.h"
#include "timing.h"

static const char usage[] = "usage: sdpa-bench [--help]\n";

static const char legend[] =
    "\n"
    "time: one call of sdpa_attention_f64/f32, median (and smallest) of interleaved samples\n"
    "products: Q K^T and S V alone at full size, by the fastest cblas calls for them\n"
    "ratio: time / products, median over the rounds; ~ marks medians not known within 2 %\n"
    "GFLOP/s: 2 (key_dim + value_dim) operations a pair of query and key\n"
    "error: largest absolute error on at most 64 rows; right if within twice that of plain loops\n"
    "\n";

/* One line of the table: a problem and what became of it. */
struct measurement {
  struct bench_head head;
  struct plain_products *products;
  struct timed timed[2]; /* the library, the plain products */
  struct bench_error error;
  int stable;
};

static const char *type_name(const struct bench_head *head) {
  return head->is_f64 ? "f64" : "f32";
}

static void print_row(const struct measurement *m) {
  const struct bench_head *head = &m->head;
  char products[64];
  plain_products_describe(m->products, products, sizeof products);
  const double pairs = (double)head->query_len * (double)head->key_len;
  const double flops = 2.0 * (double)(head->key_dim + head->value_dim) * pairs;
  printf("%6lld  %-4s %12.3f %12.3f %12.3f  %6.3f%c %9.2f  %9.2e  %-8s  %s\n",
         (long long)head->query_len, type_name(head), 1e6 * m->timed[0].median,
         1e6 * m->timed[0].min, 1e6 * m->timed[1].median, timing_ratio(&m->timed[0], &m->timed[1]),
         m->stable ? ' ' : '~', 1e-9 * flops / m->timed[0].median, m->error.max,
         m->error.verified ? "yes" : "NO", products);
  fflush(stdout);
}

/* Measures one head, prints its row, returns 0; or -1 after a sentence on stderr. */
static int measure(struct measurement *m, int is_f64, int64_t n, int64_t dim) {
  static const struct timing_limits limits = {
      .sample_seconds = 2e-3, .total_seconds = 4.0, .min_rounds = 21, .spread = 0.02};
  if (bench_head_create(&m->head, is_f64, n, n, dim, dim) != 0 ||
      !(m->products = plain_products_create(&m->head))) {
    fprintf(stderr, "sdpa-bench: no memory for n = %lld\n", (long long)n);
    return -1;
  }
  m->timed[0].run = bench_head_run;
  m->timed[0].arg = &m->head;
  m->timed[1].run = plain_products_run;
  m->timed[1].arg = m->products;

  /* A call that fails is not worth timing. */
  bench_head_run(&m->head, 1);
  if (m->head.status == SDPA_OK) m->stable = timing_run(m->timed, 2, &limits);
  if (m->head.status != SDPA_OK) {
    fprintf(stderr, "sdpa-bench: sdpa_attention_%s with n = %lld: %s\n", type_name(&m->head),
            (long long)n, sdpa_status_string(m->head.status));
    return -1;
  }
  if (bench_verify(&m->head, &m->error) != 0) {
    fprintf(stderr, "sdpa-bench: no memory to check n = %lld\n", (long long)n);
    return -1;
  }
  print_row(m);
  if (m->error.verified) return 0;
  fprintf(stderr, "sdpa-bench: %s, n = %lld: error %.3e is above %.3e\n", type_name(&m->head),
          (long long)n, m->error.max, m->error.limit);
  return -1;
}

/* Measures all lines of the table, also after a failure. */
static int run_table(void) {
  static const int64_t lengths[] = {3, 512, 4096};
  int status = 0;
  struct measurement *m = malloc(sizeof *m);
  if (!m) {
    fprintf(stderr, "sdpa-bench: no memory\n");
    return -1;
  }
  printf("%6s  %-4s %12s %12s %12s  %7s %9s  %9s  %-8s  %s\n", "n", "type", "time us", "min us",
         "products us", "ratio ", "GFLOP/s", "error", "right", "calls of the products");
  for (int is_f64 = 1; is_f64 >= 0; is_f64--) {
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
      memset(m, 0, sizeof *m);
      if (measure(m, is_f64, lengths[i], 64) != 0) status = -1;
      plain_products_destroy(m->products);
      bench_head_destroy(&m->head);
    }
  }
  free(m);
  return status;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    fputs(usage, stdout);
    fputs(legend, stdout);
    return EXIT_SUCCESS;
  }
  if (argc != 1) {
    fputs(usage, stderr);
    return 2;
  }
  bench_machine_print(stdout);
  fputs(legend, stdout);
  fflush(stdout);
  return run_table() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
