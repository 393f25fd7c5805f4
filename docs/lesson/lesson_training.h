/* lesson_training.h - training with the scale and without it: figures, lines
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef LESSON_TRAINING_H
#define LESSON_TRAINING_H

#include "recall_layer.h"

#include <stdio.h>

enum {
  lesson_layers = 8,        /* that differ by their seeds, seed, seed + 1 and so on */
  lesson_training_d_k = 64, /* where the scale matters; what the chart shows */
};

/* The layers of one d_k, all with the scale or all without it. */
struct lesson_training {
  struct recall_run runs[lesson_layers];
  double loss[recall_steps + 1]; /* mean over the layers */
  int learned;                   /* layers that answer every question right */
};

/* Trains at several rates; *training becomes the one whose mean loss ended lowest. 0, or -1 after
 * one sentence on stderr. */
int lesson_train(uint64_t seed, int64_t d_k, int scaled, struct lesson_training *training);

/* "Training with the scale and without it": a line for each, at d_k = 4 and 64. 0, or -1 after one
 * sentence on stderr. */
int lesson_print_training(FILE *out, uint64_t seed);

#endif
