/* masked_decoder_self_attention.c - causal self-attention of a decoder on a padded batch
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In training, a decoder sees whole sequences at once, and token i must not look at tokens after
 * i: SDPA_CAUSAL. Sequences of a batch have different lengths and are padded at the end: lengths
 * say how many rows and keys of each are real. Heads are grouped: two query heads share the keys
 * and values of one kv head.
 *
 * The points to see: no mask matrix is built; padding may hold anything (here NaN) and its rows
 * come out as 0; and changing a later token changes no bit of an earlier one's output.
 */
#include <sdpa/sdpa.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, TOKENS = 10, HEADS = 4, KV_HEADS = 2, DIM = 16 };

/* [batch][token][head][dim], SDPA_LAYOUT_BSHD */
struct tensors {
  float query[BATCH][TOKENS][HEADS][DIM];
  float key[BATCH][TOKENS][KV_HEADS][DIM];
  float value[BATCH][TOKENS][KV_HEADS][DIM];
  float output[BATCH][TOKENS][HEADS][DIM];
};

static const int64_t lengths[BATCH] = {10, 6};

static sdpa_status attend(struct tensors *t) {
  sdpa_problem p;
  sdpa_problem_init(&p, sizeof p);
  p.query_type = SDPA_F32;
  p.batch = BATCH;
  p.query_heads = HEADS;
  p.kv_heads = KV_HEADS;
  p.query_len = p.key_len = TOKENS;
  p.key_dim = p.value_dim = DIM;
  p.features = SDPA_CAUSAL | SDPA_QUERY_LENS | SDPA_KEY_LENS;
  p.alignment = SDPA_ALIGN_TOP_LEFT; /* row i is token i: it attends the keys 0 to i */
  sdpa_problem_layout(&p, SDPA_LAYOUT_BSHD);

  sdpa_args a;
  sdpa_args_init(&a, sizeof a);
  a.query = t->query;
  a.key = t->key;
  a.value = t->value;
  a.output = t->output;
  a.query_lens = a.key_lens = lengths;
  return sdpa_attention(&p, NULL, &a);
}

/* One row from the formula; 0 in the padding. */
static void plain_row(const struct tensors *t, int b, int i, int h, double out[DIM]) {
  const int kv = h / (HEADS / KV_HEADS);
  double weight[TOKENS], sum = 0;
  memset(out, 0, DIM * sizeof *out);
  if (i >= lengths[b]) return;
  for (int j = 0; j <= i; j++) {
    double score = 0;
    for (int d = 0; d < DIM; d++)
      score += (double)t->query[b][i][h][d] * (double)t->key[b][j][kv][d];
    sum += weight[j] = exp(score / sqrt(DIM));
  }
  for (int j = 0; j <= i; j++)
    for (int d = 0; d < DIM; d++) out[d] += weight[j] / sum * (double)t->value[b][j][kv][d];
}

static double largest_error(const struct tensors *t) {
  double largest = 0, row[DIM];
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < TOKENS; i++)
      for (int h = 0; h < HEADS; h++) {
        plain_row(t, b, i, h, row);
        for (int d = 0; d < DIM; d++) {
          const double error = fabs((double)t->output[b][i][h][d] - row[d]);
          if (!(error <= largest)) largest = error; /* NaN counts, too */
        }
      }
  return largest;
}

/* Real tokens between -1 and 1, padding NaN. */
static void fill(float *numbers, int heads) {
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < TOKENS; i++)
      for (int k = 0; k < heads * DIM; k++)
        *numbers++ = i < lengths[b] ? 2 * (float)rand() / (float)RAND_MAX - 1 : NAN;
}

/* Whether the first 9 tokens of sequence 0 keep every bit when token 9 is another. */
static int past_is_unchanged(struct tensors *t) {
  static struct tensors other;
  other = *t;
  for (int h = 0; h < KV_HEADS; h++)
    for (int d = 0; d < DIM; d++) other.key[0][9][h][d] = other.value[0][9][h][d] = 1000;
  return attend(&other) == SDPA_OK &&
         memcmp(t->output[0], other.output[0], 9 * sizeof t->output[0][0]) == 0 &&
         memcmp(t->output[0][9], other.output[0][9], sizeof t->output[0][9]) != 0;
}

int main(void) {
  static struct tensors t;
  fill(t.query[0][0][0], HEADS);
  fill(t.key[0][0][0], KV_HEADS);
  fill(t.value[0][0][0], KV_HEADS);

  const sdpa_status status = attend(&t);
  if (status != SDPA_OK) {
    fprintf(stderr, "sdpa_attention: %s\n", sdpa_status_string(status));
    return 1;
  }
  const double error = largest_error(&t);
  const int unchanged = past_is_unchanged(&t);
  printf("masked decoder self-attention: lengths %d and %d of %d, %d query heads, %d kv heads\n",
         (int)lengths[0], (int)lengths[1], TOKENS, HEADS, KV_HEADS);
  printf("token 0 attends itself alone: output %.6f, its value %.6f\n",
         (double)t.output[0][0][0][0], (double)t.value[0][0][0][0]);
  printf("a padding row: %.6f\n", (double)t.output[1][TOKENS - 1][0][0]);
  printf("another last token changes no bit of the earlier ones: %s\n", unchanged ? "yes" : "NO");
  printf("largest difference from the plain loop: %.1e\n", error);
  return error <= 1e-6 && unchanged ? 0 : 1;
}
