/* sdpa_lesson.c - the program: arguments, then the lesson part by part
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Exit status: 0; 1 when something failed, with a sentence on stderr; 2 for bad arguments, with the
 * usage line. Charts are drawn before anything is printed, so that a failure is told at once.
 */
#define _GNU_SOURCE

#include "lesson_compare.h"
#include "lesson_gradient.h"
#include "lesson_parts.h"
#include "lesson_training.h"
#include "softmax_chart.h"
#include "training_chart.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: sdpa-lesson [--seed S] [--plot FILE.svg] [--plot-training FILE.svg] [--help]\n";

static const char help[] =
    "\n"
    "Prints the figures of the lesson on scaled dot-product attention as the library computes\n"
    "them, compares dot-product with additive attention, and goes on where the lesson ends: the\n"
    "gradients that reach the query, and a layer that is trained with the scale and without it.\n"
    "\n"
    "  --seed S                  seed of numpy.random.default_rng, 0 to 2^64 - 1 (default 42)\n"
    "  --plot FILE.svg           also draw the bar chart of the three softmaxes (needs gnuplot)\n"
    "  --plot-training FILE.svg  also draw the loss curves of the training (needs gnuplot)\n"
    "  --help                    this text\n";

struct arguments {
  uint64_t seed;
  const char *plot, *plot_training; /* NULL: no chart */
  int help;
};

/* Digits only: strtoull alone would take blanks and signs. */
static int parse_seed(const char *text, uint64_t *seed) {
  if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') return -1;
  errno = 0;
  unsigned long long value = strtoull(text, NULL, 10);
  if (errno != 0) return -1;
  *seed = value;
  return 0;
}

static int parse_arguments(int argc, char **argv, struct arguments *a) {
  static const struct option options[] = {{"seed", required_argument, NULL, 's'},
                                          {"plot", required_argument, NULL, 'p'},
                                          {"plot-training", required_argument, NULL, 't'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
  int option;
  *a = (struct arguments){.seed = 42};
  opterr = 0;
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
    if (option == 'h')
      a->help = 1;
    else if (option == 'p' && optarg[0] != '\0')
      a->plot = optarg;
    else if (option == 't' && optarg[0] != '\0')
      a->plot_training = optarg;
    else if (option != 's' || parse_seed(optarg, &a->seed) != 0)
      return -1;
  }
  return optind == argc ? 0 : -1;
}

static int draw_chart(const char *path) {
  struct lesson_case cases[lesson_cases];
  if (lesson_compute_cases(cases) != 0) return -1;
  return softmax_chart_draw(cases, path);
}

static int draw_training_chart(uint64_t seed, const char *path) {
  struct lesson_training with_scale, without;
  if (lesson_train(seed, lesson_training_d_k, 1, &with_scale) != 0) return -1;
  if (lesson_train(seed, lesson_training_d_k, 0, &without) != 0) return -1;
  return training_chart_draw(&with_scale, &without, path);
}

static int print_lesson(uint64_t seed) {
  if (lesson_print_softmax(stdout) != 0) return -1;
  if (lesson_print_variance(stdout, seed) != 0) return -1;
  if (lesson_print_attention(stdout, seed) != 0) return -1;
  if (lesson_print_comparison(stdout, seed) != 0) return -1;
  if (lesson_print_gradient(stdout) != 0) return -1;
  return lesson_print_training(stdout, seed);
}

int main(int argc, char **argv) {
  struct arguments arguments;
  if (parse_arguments(argc, argv, &arguments) != 0) {
    fputs(usage, stderr);
    return 2;
  }
  int result = 0;
  if (arguments.help) {
    fputs(usage, stdout);
    fputs(help, stdout);
  } else {
    if (arguments.plot != NULL) result = draw_chart(arguments.plot);
    if (result == 0 && arguments.plot_training != NULL)
      result = draw_training_chart(arguments.seed, arguments.plot_training);
    if (result == 0) result = print_lesson(arguments.seed);
  }
  if (fflush(stdout) != 0 || ferror(stdout)) {
    perror("sdpa-lesson: standard output");
    result = -1;
  }
  return result == 0 ? 0 : 1;
}
