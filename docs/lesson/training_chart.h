/* training_chart.h - the loss curves of the training, drawn by gnuplot
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TRAINING_CHART_H
#define TRAINING_CHART_H

#include "lesson_training.h"

/* Draws a curve for each layer of both kinds into the file at path, as svg_file_draw() does. 0, or -1
 * after one sentence on stderr. */
int training_chart_draw(const struct lesson_training *with_scale,
                        const struct lesson_training *without, const char *path);

#endif
