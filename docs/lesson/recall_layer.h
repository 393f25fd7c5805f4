/* recall_layer.h - a tiny attention layer that learns to recall, by plain gradient descent
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Associative recall: a sequence holds pairs of a symbol and a vector, in any order; asked for a
 * symbol, the layer is to give the vector that came with it. It has one head. Its parameters are
 * two tables with a row of d_k numbers for each symbol, which it looks for a symbol up in, as a
 * query and as a key; the vectors are the values. What it gives for a symbol is the output of
 * attention, and the loss the mean squared distance of that, number by number, from the vector.
 */
#ifndef RECALL_LAYER_H
#define RECALL_LAYER_H

#include <sdpa/sdpa.h>

enum {
  recall_symbols = 6,    /* each of them once in every sequence */
  recall_sequences = 32, /* one batch, the same at every step */
  recall_width = 4,      /* numbers of a vector, standard normal */
  recall_steps = 400,
  recall_dims_max = 64, /* d_k at most */
  recall_questions = recall_sequences * recall_symbols
};

struct recall_run {
  /* What is asked. Tables, sequences and vectors come from numpy.random.default_rng(seed); the
   * tables' numbers are standard normal, as in the lesson's reason for the scale. */
  uint64_t seed;
  int64_t d_k;
  int scaled; /* scores divided by sqrt(d_k), or not at all */
  double rate;
  /* What came out. */
  double loss[recall_steps + 1]; /* before each step, and after the last */
  int recalled; /* after the last: questions whose answer is nearest to the right vector of the six
                 */
};

/* Trains, on the calling thread. */
sdpa_status recall_train(struct recall_run *run);

#endif
