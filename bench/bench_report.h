/* bench_report.h - results as lines: JSON for programs, a table for people
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "bench_measure.h"

/* One object with the keys of docs/benchmarks.md, in their order. */
void bench_report_json(FILE *stream, const struct bench_result *result);

/* A problem that could not be measured: `problem` and `error` alone. */
void bench_report_json_error(FILE *stream, const char *problem, const char *sentence);

void bench_report_head(FILE *stream);
void bench_report_row(FILE *stream, const struct bench_result *result);

#endif
