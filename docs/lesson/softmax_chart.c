/* softmax_chart.c - the bars as a gnuplot script
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "softmax_chart.h"

#include "svg_file.h"

/* Two series of bars, 0.18 left and right of each case, with their values above them. */
static void write_script(const void *data, FILE *script) {
  const struct lesson_case *cases = data;
  fputs("set title 'Softmax of two scores: first key (orange), second key (blue)'\n"
        "set ylabel 'attention weight'\n"
        "set xrange [-0.5:2.5]\n"
        "set yrange [0:1.12]\n"
        "set boxwidth 0.34\n"
        "set style fill solid noborder\n"
        "set tics out nomirror\n"
        "set xtics scale 0\n"
        "unset key\n",
        script);
  for (int key = 0; key < lesson_keys; key++) {
    fprintf(script, "$key%d << end_of_data\n", key);
    for (int i = 0; i < lesson_cases; i++)
      fprintf(script, "%.2f %.17g %.4f\n", i + (key == 0 ? -0.18 : 0.18), cases[i].weights[key],
              cases[i].weights[key]);
    fputs("end_of_data\n", script);
  }
  fputs("set xtics (", script);
  for (int i = 0; i < lesson_cases; i++)
    fprintf(script, "%s'%s' %d", i > 0 ? ", " : "", cases[i].name, i);
  fputs(")\n"
        "plot $key0 using 1:2 with boxes linecolor rgb '#e08a1e', \\\n"
        "     $key1 using 1:2 with boxes linecolor rgb '#3a6fd8', \\\n"
        "     $key0 using 1:($2+0.04):(strcol(3)) with labels, \\\n"
        "     $key1 using 1:($2+0.04):(strcol(3)) with labels\n",
        script);
}

int softmax_chart_draw(const struct lesson_case cases[lesson_cases], const char *path) {
  const struct svg_chart chart = {write_script, cases};
  return svg_file_draw(&chart, path);
}
