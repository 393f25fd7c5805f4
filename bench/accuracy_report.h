/* accuracy_report.h - errors as lines: JSON for programs, a table for people
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef ACCURACY_REPORT_H
#define ACCURACY_REPORT_H

#include <stdio.h>

#include "accuracy_judge.h"

/* A problem on one engine and ISA. */
struct accuracy_line {
  const char *problem;
  uint32_t engine, isa, precision;
  int parts;     /* of bf16 that a matrix unit multiplies; 0: multiply-adds */
  int64_t chain; /* L of the bound */
  struct accuracy_figures figures;
};

/* One object with the keys of docs/benchmarks.md, in their order. */
void accuracy_report_json(FILE *stream, const struct accuracy_line *line);

void accuracy_report_head(FILE *stream);
void accuracy_report_row(FILE *stream, const struct accuracy_line *line);

#endif
