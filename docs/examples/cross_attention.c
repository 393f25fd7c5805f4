/* cross_attention.c - encoder-decoder cross-attention over padded source sentences
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Queries come from the decoder, keys and values from the encoder: two lengths that have nothing to
 * do with each other, and no causal rule, for the whole source sentence is known. The sentences of
 * a batch differ in length; what lies behind a sentence is padding that no query may attend.
 *
 * The padding is told in two ways here. key_lens is the better one: nothing behind a length is read
 * at all. A boolean mask can say the same, and also exclude keys elsewhere; one of shape
 * [batch, 1, 1, key_len] is enough for all heads and rows. Both give the same result.
 */
#include <sdpa/sdpa.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 3, HEADS = 2, TARGET = 5, SOURCE = 9, DIM = 8, VALUE_DIM = 4 };

static float query[BATCH][HEADS][TARGET][DIM];
static float key[BATCH][HEADS][SOURCE][DIM];
static float value[BATCH][HEADS][SOURCE][VALUE_DIM];

typedef float output_array[BATCH][HEADS][TARGET][VALUE_DIM];

static const int64_t source_lens[BATCH] = {9, 4, 7};

static void set_problem(sdpa_problem *p, sdpa_args *a, output_array output) {
  sdpa_problem_init(p, sizeof *p);
  p->query_type = SDPA_F32;
  p->batch = BATCH;
  p->query_heads = p->kv_heads = HEADS;
  p->query_len = TARGET;
  p->key_len = SOURCE;
  p->key_dim = DIM;
  p->value_dim = VALUE_DIM;
  sdpa_problem_layout(p, SDPA_LAYOUT_BHSD);
  sdpa_args_init(a, sizeof *a);
  a->query = query;
  a->key = key;
  a->value = value;
  a->output = output;
}

static sdpa_status attend_by_lengths(output_array output) {
  sdpa_problem p;
  sdpa_args a;
  set_problem(&p, &a, output);
  p.features = SDPA_KEY_LENS;
  a.key_lens = source_lens;
  return sdpa_attention(&p, NULL, &a);
}

static sdpa_status attend_by_mask(output_array output) {
  static uint8_t mask[BATCH][SOURCE]; /* 1: attend */
  sdpa_problem p;
  sdpa_args a;
  set_problem(&p, &a, output);
  p.features = SDPA_MASK;
  const int64_t shape[4] = {BATCH, 1, 1, SOURCE};
  const sdpa_status status = sdpa_problem_broadcast(&p, 4, shape, &p.mask);
  if (status != SDPA_OK) return status;
  for (int b = 0; b < BATCH; b++)
    for (int j = 0; j < SOURCE; j++) mask[b][j] = j < source_lens[b];
  a.mask = mask[0];
  return sdpa_attention(&p, NULL, &a);
}

static void plain_row(int b, int h, int i, double out[VALUE_DIM]) {
  double weight[SOURCE], sum = 0;
  const int n = (int)source_lens[b];
  for (int j = 0; j < n; j++) {
    double score = 0;
    for (int d = 0; d < DIM; d++) score += (double)query[b][h][i][d] * (double)key[b][h][j][d];
    sum += weight[j] = exp(score / sqrt(DIM));
  }
  for (int d = 0; d < VALUE_DIM; d++) {
    out[d] = 0;
    for (int j = 0; j < n; j++) out[d] += weight[j] / sum * (double)value[b][h][j][d];
  }
}

static double largest_error(output_array output) {
  double largest = 0, row[VALUE_DIM];
  for (int b = 0; b < BATCH; b++)
    for (int h = 0; h < HEADS; h++)
      for (int i = 0; i < TARGET; i++) {
        plain_row(b, h, i, row);
        for (int d = 0; d < VALUE_DIM; d++) {
          const double error = fabs((double)output[b][h][i][d] - row[d]);
          if (!(error <= largest)) largest = error; /* NaN counts, too */
        }
      }
  return largest;
}

static float uniform(void) {
  return 2 * (float)rand() / (float)RAND_MAX - 1;
}

/* Padding is NaN, as memory that nobody wrote may be. */
static void fill(void) {
  for (int b = 0; b < BATCH; b++)
    for (int h = 0; h < HEADS; h++) {
      for (int i = 0; i < TARGET; i++)
        for (int d = 0; d < DIM; d++) query[b][h][i][d] = uniform();
      for (int j = 0; j < SOURCE; j++) {
        const int padding = j >= source_lens[b];
        for (int d = 0; d < DIM; d++) key[b][h][j][d] = padding ? NAN : uniform();
        for (int d = 0; d < VALUE_DIM; d++) value[b][h][j][d] = padding ? NAN : uniform();
      }
    }
}

int main(void) {
  static output_array by_lengths, by_mask;
  fill();
  sdpa_status status = attend_by_lengths(by_lengths);
  if (status == SDPA_OK) status = attend_by_mask(by_mask);
  if (status != SDPA_OK) {
    fprintf(stderr, "sdpa_attention: %s\n", sdpa_status_string(status));
    return 1;
  }
  const double error_lengths = largest_error(by_lengths), error_mask = largest_error(by_mask);
  printf("cross-attention: %d target tokens attend source sentences of %d, %d and %d tokens\n",
         TARGET, (int)source_lens[0], (int)source_lens[1], (int)source_lens[2]);
  printf("a target token of sentence 1: %.6f by key_lens, %.6f by a mask [%d, 1, 1, %d]\n",
         (double)by_lengths[1][0][0][0], (double)by_mask[1][0][0][0], BATCH, SOURCE);
  printf("largest difference from the plain loop: %.1e by key_lens, %.1e by mask\n", error_lengths,
         error_mask);
  return error_lengths <= 1e-6 && error_mask <= 1e-6 ? 0 : 1;
}
