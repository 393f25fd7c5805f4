/* bench_report.c - prints results
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench_report.h"

#include <math.h>

#include "bench_names.h"
#include "json_text.h"

static void json_bytes(struct json_object *object, const char *key, int64_t bytes) {
  if (bytes < 0)
    json_null(object, key);
  else
    json_integer(object, key, bytes);
}

void bench_report_json(FILE *stream, const struct bench_result *r) {
  struct json_object object;
  json_begin(&object, stream);
  json_string(&object, "problem", r->problem);
  json_string(&object, "engine", bench_name_of(bench_engines, r->engine));
  json_string(&object, "isa", bench_name_of(bench_isas, r->isa));
  json_string(&object, "precision", bench_name_of(bench_precisions, r->precision));
  json_integer(&object, "threads", r->threads);
  json_number(&object, "min_s", r->min_s);
  json_number(&object, "median_s", r->median_s);
  json_number(&object, "gflops", r->gflops);
  json_number(&object, "fma_peak_gflops", r->fma_peak_gflops);
  json_number(&object, "of_peak", r->of_peak);
  json_number(&object, "ceiling_gflops", r->ceiling_gflops);
  json_number(&object, "of_ceiling", r->of_ceiling);
  json_bytes(&object, "bytes", r->bytes);
  json_number(&object, "of_read", r->of_read);
  json_boolean(&object, "stable", r->stable);
  json_number(&object, "max_error", r->verdict.max_error);
  json_boolean(&object, "verified", r->verdict.verified);
  json_bytes(&object, "peak_rss_bytes", r->memory.peak);
  json_bytes(&object, "start_rss_bytes", r->memory.start);
  json_number(&object, "cblas_s", r->cblas_s);
  json_end(&object);
  fflush(stream);
}

void bench_report_json_error(FILE *stream, const char *problem, const char *sentence) {
  struct json_object object;
  json_begin(&object, stream);
  json_string(&object, "problem", problem);
  json_string(&object, "error", sentence);
  json_end(&object);
  fflush(stream);
}

void bench_report_head(FILE *stream) {
  fprintf(stream,
          "\n"
          "time: median (and smallest) of interleaved samples of sdpa_execute(), for bwd "
          "sdpa_backward(); ~ if "
          "the median is "
          "not known within 2 %%\n"
          "of peak, of kernel, of read: share of the FMA peak, of the best register kernel, of the "
          "rate of reading\n"
          "cblas: time of both plain products; memory: peak above the start of a run alone\n"
          "\n"
          "%10s  %10s  %8s  %7s  %9s  %7s  %10s  %9s  %9s  %-5s  %-6s %-7s %3s  %s\n",
          "time us", "min us", "GFLOP/s", "of peak", "of kernel", "of read", "cblas us",
          "memory MB", "error", "right", "engine", "ISA", "thr", "problem");
}

/* A number in a column, '-' for none. */
static void print_number(FILE *stream, int width, int digits, double value) {
  if (isfinite(value))
    fprintf(stream, "  %*.*f", width, digits, value);
  else
    fprintf(stream, "  %*s", width, "-");
}

void bench_report_row(FILE *stream, const struct bench_result *r) {
  const double memory =
      r->memory.peak < 0 ? (double)NAN : 1e-6 * (double)(r->memory.peak - r->memory.start);
  fprintf(stream, "%10.3f%c %10.3f  %8.2f", 1e6 * r->median_s, r->stable ? ' ' : '~',
          1e6 * r->min_s, r->gflops);
  print_number(stream, 7, 3, r->of_peak);
  print_number(stream, 9, 3, r->of_ceiling);
  print_number(stream, 7, 3, r->of_read);
  print_number(stream, 10, 3, 1e6 * r->cblas_s);
  print_number(stream, 9, 1, memory);
  fprintf(stream, "  %9.2e  %-5s  %-6s %-7s %3d  %s\n", r->verdict.max_error,
          r->verdict.verified ? "yes" : "NO", bench_name_of(bench_engines, r->engine),
          bench_name_of(bench_isas, r->isa), r->threads, r->problem);
  fflush(stream);
}
