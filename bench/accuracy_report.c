/* accuracy_report.c - errors as lines: JSON for programs, a table for people
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "accuracy_report.h"

#include <math.h>

#include "bench_names.h"
#include "json_text.h"

void accuracy_report_json(FILE *stream, const struct accuracy_line *line) {
  const struct accuracy_figures *f = &line->figures;
  struct json_object object;
  json_begin(&object, stream);
  json_string(&object, "problem", line->problem);
  json_string(&object, "engine", bench_name_of(bench_engines, line->engine));
  json_string(&object, "isa", bench_name_of(bench_isas, line->isa));
  json_string(&object, "precision", bench_name_of(bench_precisions, line->precision));
  json_integer(&object, "parts", line->parts);
  json_integer(&object, "rows", f->rows);
  json_number(&object, "score_size", f->score_size);
  json_number(&object, "largest", f->largest);
  json_number(&object, "mean", f->mean);
  json_integer(&object, "chain", line->chain);
  json_number(&object, "bound_c", f->bound_c);
  json_number(&object, "lse_largest", f->lse_largest);
  json_number(&object, "lse_c", f->lse_c);
  json_boolean(&object, "within_bound", accuracy_within_bound(f));
  json_end(&object);
  fflush(stream);
}

void accuracy_report_head(FILE *stream) {
  fprintf(stream,
          "\n"
          "largest, mean: error of an output element from exact arithmetic, relative to the sum of "
          "weight |v|\n"
          "c: what the error bound of docs/numerics.md needs in the place of its 4; for 16-bit "
          "outputs of what exceeds half a step\n"
          "lse: largest error of the log-sum-exp, and its c; score: standard deviation of the "
          "scores\n"
          "\n"
          "%9s  %9s  %8s  %9s  %8s  %8s  %-5s  %-6s %-7s %-9s  %s\n",
          "largest", "mean", "c", "lse", "c of lse", "score", "right", "engine", "ISA", "precision",
          "problem");
}

/* Columns; '-' for what is not there. */
static void print_error(FILE *stream, double value) {
  if (isnan(value))
    fprintf(stream, "%9s  ", "-");
  else
    fprintf(stream, "%9.2e  ", value);
}

static void print_ratio(FILE *stream, int digits, double value) {
  if (isnan(value))
    fprintf(stream, "%8s  ", "-");
  else
    fprintf(stream, "%8.*f  ", digits, value);
}

void accuracy_report_row(FILE *stream, const struct accuracy_line *line) {
  const struct accuracy_figures *f = &line->figures;
  print_error(stream, f->largest);
  print_error(stream, f->mean);
  print_ratio(stream, 4, f->bound_c);
  print_error(stream, f->lse_largest);
  print_ratio(stream, 4, f->lse_c);
  print_ratio(stream, 2, f->score_size);
  fprintf(stream, "%-5s  %-6s %-7s %-9s  %s\n", accuracy_within_bound(f) ? "yes" : "NO",
          bench_name_of(bench_engines, line->engine), bench_name_of(bench_isas, line->isa),
          bench_name_of(bench_precisions, line->precision), line->problem);
  fflush(stream);
}
