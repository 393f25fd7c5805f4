/* softmax_chart.h - the lesson's bar chart of three softmaxes, drawn by gnuplot
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SOFTMAX_CHART_H
#define SOFTMAX_CHART_H

#include "lesson_parts.h"

/* Draws the cases as SVG into the file at path. The file appears whole or not at all, and one that
 * was there stays as it was unless the new one is complete; something that is not a regular file
 * is refused. 0, or -1 after one sentence on stderr (no gnuplot; it failed; the file cannot be
 * written). */
int softmax_chart_draw(const struct lesson_case cases[lesson_cases], const char *path);

#endif
