/* svg_file.h - a chart that gnuplot draws, as an SVG file that is whole or not there
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SVG_FILE_H
#define SVG_FILE_H

#include <stdio.h>

/* The gnuplot commands after `set terminal`, written from data. */
struct svg_chart {
  void (*write_script)(const void *data, FILE *script);
  const void *data;
};

/* Draws the chart into the file at path. The file appears whole or not at all, and one that was
 * there stays as it was unless the new one is complete; something that is not a regular file is
 * refused. 0, or -1 after one sentence on stderr (no gnuplot; it failed; the file cannot be
 * written). */
int svg_file_draw(const struct svg_chart *chart, const char *path);

#endif
