/* softmax_chart.h - the lesson's bar chart of three softmaxes, drawn by gnuplot
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SOFTMAX_CHART_H
#define SOFTMAX_CHART_H

#include "lesson_parts.h"

/* Draws the cases into the file at path, as svg_file_draw() does. 0, or -1 after one sentence on
 * stderr. */
int softmax_chart_draw(const struct lesson_case cases[lesson_cases], const char *path);

#endif
