/* lesson_training.c - layers in plenty, each kind at its best rate, so that luck decides little
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The scale multiplies the gradients of both tables. At one rate for all, a difference could be
 * that of the steps alone; among rates that are a factor of ten apart each kind finds its own. And
 * a layer may start from tables that happen to be good, or bad: so there are several.
 */
#include "lesson_training.h"

#include "lesson_parts.h"

#include <inttypes.h>

static const double rates[] = {0.1, 1, 10};

static sdpa_status train_at(double rate, uint64_t seed, int64_t d_k, int scaled,
                            struct lesson_training *training) {
  *training = (struct lesson_training){.learned = 0};
  for (int i = 0; i < lesson_layers; i++) {
    struct recall_run *run = &training->runs[i];
    *run =
        (struct recall_run){.seed = seed + (uint64_t)i, .d_k = d_k, .scaled = scaled, .rate = rate};
    sdpa_status status = recall_train(run);
    if (status != SDPA_OK) return status;
    for (int step = 0; step <= recall_steps; step++)
      training->loss[step] += run->loss[step] / lesson_layers;
    training->learned += run->recalled == recall_questions;
  }
  return SDPA_OK;
}

int lesson_train(uint64_t seed, int64_t d_k, int scaled, struct lesson_training *training) {
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    struct lesson_training next;
    sdpa_status status = train_at(rates[i], seed, d_k, scaled, &next);
    if (status != SDPA_OK) return lesson_fail("the training", status);
    if (i == 0 || next.loss[recall_steps] < training->loss[recall_steps]) *training = next;
  }
  return 0;
}

static int print_line(FILE *out, uint64_t seed, int64_t d_k, int scaled) {
  struct lesson_training training = {.learned = 0};
  if (lesson_train(seed, d_k, scaled, &training) != 0) return -1;
  fprintf(out, "d_k = %2" PRId64 " %-17s rate %-3g  loss", d_k,
          scaled ? "with the scale" : "without the scale", training.runs[0].rate);
  for (int step = 0; step <= recall_steps; step += recall_steps / 4)
    fprintf(out, " %.4f", training.loss[step]);
  fprintf(out, "   recall everything: %d of %d\n", training.learned, lesson_layers);
  return 0;
}

int lesson_print_training(FILE *out, uint64_t seed) {
  static const int64_t sizes[] = {4, lesson_training_d_k};
  fprintf(out, "\nTraining with the scale and without it: layers of attention learn to recall the "
               "vector that came with a symbol\n");
  fprintf(out,
          "%d layers of each kind, %d symbols, 2 x %d x d_k parameters (%d and %d), %d steps of "
          "plain gradient descent,\n",
          lesson_layers, recall_symbols, recall_symbols, 2 * recall_symbols * (int)sizes[0],
          2 * recall_symbols * (int)sizes[1], recall_steps);
  fprintf(out, "each kind at the best of the rates");
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
    fprintf(out, "%s%g", i > 0 ? ", " : " ", rates[i]);
  fprintf(out, "; mean loss after 0, %d, %d, %d and %d steps\n", recall_steps / 4, recall_steps / 2,
          3 * recall_steps / 4, recall_steps);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int scaled = 1; scaled >= 0; scaled--)
      if (print_line(out, seed, sizes[i], scaled) != 0) return -1;
  return 0;
}
