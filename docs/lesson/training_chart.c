/* training_chart.c - loss against step, on a logarithmic axis, as a gnuplot script
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "training_chart.h"

#include "svg_file.h"

#include <inttypes.h>

struct kind {
  const struct lesson_training *training;
  const char *name, *colour;
};

enum { kinds = 2 };

/* One layer's curve is a block of lines; an empty line ends it. */
static void write_curves(FILE *script, int number, const struct lesson_training *training) {
  fprintf(script, "$kind%d << end_of_data\n", number);
  for (int i = 0; i < lesson_layers; i++) {
    for (int step = 0; step <= recall_steps; step++)
      fprintf(script, "%d %.17g\n", step, training->runs[i].loss[step]);
    fputs("\n", script);
  }
  fputs("end_of_data\n", script);
}

static void write_script(const void *data, FILE *script) {
  const struct kind *kind = data;
  fprintf(script,
          "set title 'Learning to recall: d_k = %" PRId64 ", %d layers of each kind'\n"
          "set xlabel 'step of gradient descent'\n"
          "set ylabel 'mean squared error'\n"
          "set logscale y\n"
          "set format y '%%g'\n"
          "set xrange [0:%d]\n"
          "set tics out nomirror\n"
          "set grid ytics linecolor rgb '#dddddd' linetype 1\n"
          "set key below\n",
          kind[0].training->runs[0].d_k, lesson_layers, recall_steps);
  for (int i = 0; i < kinds; i++) write_curves(script, i, kind[i].training);
  for (int i = 0; i < kinds; i++)
    fprintf(script, "%s $kind%d with lines linewidth 1.5 linecolor rgb '%s' title '%s, rate %g'",
            i == 0 ? "plot" : ",", i, kind[i].colour, kind[i].name, kind[i].training->runs[0].rate);
  fputs("\n", script);
}

int training_chart_draw(const struct lesson_training *with_scale,
                        const struct lesson_training *without, const char *path) {
  const struct kind data[kinds] = {{with_scale, "with the scale", "#3a6fd8"},
                                   {without, "without the scale", "#e08a1e"}};
  const struct svg_chart chart = {write_script, data};
  return svg_file_draw(&chart, path);
}
