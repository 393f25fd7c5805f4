/* bench_main.c - sdpa-bench: how fast the library is, beside what the machine can do, and how accurate
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/benchmarks.md is its manual. Exit status 0, 1 if a result is wrong or cannot be had, 2 for
 * bad arguments. In JSON mode standard output holds objects alone; the lines about the machine go
 * to stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_accuracy.h"
#include "bench_args.h"
#include "bench_machine.h"
#include "bench_measure.h"
#include "bench_peak.h"
#include "bench_progress.h"
#include "bench_report.h"
#include "bench_table.h"
#include "plain_products.h"

/* Measures all problems, also after a failure. */
static int run_problems(const struct bench_args *args, const struct bench_choice *choice) {
  int status = EXIT_SUCCESS;
  if (!args->json) bench_report_head(stdout);
  for (int i = 0; i < args->problems; i++) {
    const char *problem = args->problem[i];
    struct bench_result result;
    char message[1024];
    bench_progress_item(i + 1, args->problems, problem);
    const int failed =
        bench_measure(problem, choice, args->seconds, &result, message, sizeof message) != 0;
    bench_progress_wipe();
    if (!failed && args->json) bench_report_json(stdout, &result);
    if (!failed && !args->json) bench_report_row(stdout, &result);
    if (!failed && result.verdict.verified) continue;
    status = EXIT_FAILURE;
    if (!failed) snprintf(message, sizeof message, "wrong result: %s", result.verdict.text);
    if (failed && args->json) bench_report_json_error(stdout, problem, message);
    fprintf(stderr, "sdpa-bench: %s: %s\n", problem, message);
  }
  return status;
}

static int run_peak(const struct bench_args *args) {
  struct bench_peak peak;
  const int threads = args->threads > 0 ? args->threads : 1;
  if (bench_peak_measure(bench_machine_isa(args->isa), threads, &peak) != 0) {
    fprintf(stderr, "sdpa-bench: no memory or no threads to measure the peak with\n");
    return EXIT_FAILURE;
  }
  if (args->json)
    bench_peak_json(&peak);
  else
    bench_peak_print(&peak);
  return EXIT_SUCCESS;
}

static int run(const struct bench_args *args) {
  const struct bench_choice choice = {args->engine, args->isa, args->threads};
  if (args->mode == BENCH_HELP) {
    fputs(bench_usage, stdout);
    fputs(bench_table_legend, stdout);
    return EXIT_SUCCESS;
  }
  if (args->mode == BENCH_MEMORY) return bench_memory_child(args->problem[0], &choice);
  if (args->threads > 0 && blas_set_threads(args->threads) != 0)
    fprintf(stderr, "sdpa-bench: the threads of this BLAS cannot be set here, only by its own "
                    "environment variable\n");
  bench_machine_print(args->json ? stderr : stdout, &choice);
  if (args->mode == BENCH_PEAK) return run_peak(args);
  if (args->mode == BENCH_ACCURACY)
    return bench_accuracy_run(args->problem, args->problems, &choice, args->json) == 0
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
  if (args->mode == BENCH_PROBLEMS) return run_problems(args, &choice);
  if (!blas_is_there()) {
    fprintf(stderr,
            "sdpa-bench: this build has no BLAS, whose products the table compares with: name "
            "problems by --problem or --shapes\n");
    return EXIT_FAILURE;
  }
  fputs(bench_table_legend, stdout);
  fflush(stdout);
  return bench_table_run(args->threads) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  struct bench_args args;
  char message[1024];
  int status = 2;
  if (bench_args_read(&args, argc, argv, message, sizeof message) != 0) {
    if (message[0] != '\0') fprintf(stderr, "sdpa-bench: %s\n", message);
    fputs(bench_usage, stderr);
  } else {
    status = run(&args);
  }
  bench_args_free(&args);
  return status;
}
