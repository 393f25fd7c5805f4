/* multi_head_self_attention.c - a multi-head self-attention layer with its four projections
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The layer of "Attention Is All You Need" (Vaswani et al., 2017, section 3.2.2):
 *
 *     [Q K V] = X [W_q W_k W_v]     one matrix product for all three and all heads
 *     head_h  = softmax(Q_h K_h^T / sqrt(d)) V_h
 *     Y       = [head_1 ... head_H] W_o
 *
 * The point to see: nothing is copied or transposed between the three steps. A token's row of the
 * first product holds [Q of all heads | K of all heads | V of all heads]. Q, K and V are views of
 * that one matrix, and strides say so. The output is written with the heads side by side, which is
 * what the last product reads.
 */
#include <sdpa/sdpa.h>

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, TOKENS = 12, HEADS = 4, HEAD_DIM = 8, MODEL = HEADS * HEAD_DIM };

struct layer {
  double w_qkv[MODEL][3][HEADS][HEAD_DIM]; /* MODEL rows of 3 * MODEL columns */
  double w_o[MODEL][MODEL];
};

static double x[BATCH][TOKENS][MODEL];
static double qkv[BATCH][TOKENS][3][HEADS][HEAD_DIM];
static double heads[BATCH][TOKENS][HEADS][HEAD_DIM];
static double y[BATCH][TOKENS][MODEL];

/* C (rows x cols) = A (rows x inner) B (inner x cols), all contiguous row-major. */
static void project(int rows, int cols, int inner, const double *a, const double *b, double *c) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, inner, 1, a, inner, b, cols, 0,
              c, cols);
}

/* Attention of all heads on the packed matrix. */
static sdpa_status attend(void) {
  sdpa_problem p;
  sdpa_problem_init(&p, sizeof p);
  p.query_type = SDPA_F64;
  p.batch = BATCH;
  p.query_heads = p.kv_heads = HEADS;
  p.query_len = p.key_len = TOKENS;
  p.key_dim = p.value_dim = HEAD_DIM;
  /* From one head to the next HEAD_DIM numbers, from one token to the next a packed row. */
  const int64_t row = 3 * MODEL;
  const sdpa_strides packed = {.batch = TOKENS * row, .head = HEAD_DIM, .row = row, .col = 1};
  p.query = p.key = p.value = packed;
  p.output = (sdpa_strides){.batch = TOKENS * MODEL, .head = HEAD_DIM, .row = MODEL, .col = 1};

  sdpa_args a;
  sdpa_args_init(&a, sizeof a);
  a.query = qkv[0][0][0];
  a.key = qkv[0][0][1];
  a.value = qkv[0][0][2];
  a.output = heads;
  return sdpa_attention(&p, NULL, &a);
}

static sdpa_status run_layer(const struct layer *w) {
  project(BATCH * TOKENS, 3 * MODEL, MODEL, x[0][0], w->w_qkv[0][0][0], qkv[0][0][0][0]);
  sdpa_status status = attend();
  project(BATCH * TOKENS, MODEL, MODEL, heads[0][0][0], w->w_o[0], y[0][0]);
  return status;
}

/* Number d of head h of projection `which` (0: Q, 1: K, 2: V) of a token, straight from the
 * formula. */
static double projected(const struct layer *w, int b, int token, int which, int h, int d) {
  double sum = 0;
  for (int m = 0; m < MODEL; m++) sum += x[b][token][m] * w->w_qkv[m][which][h][d];
  return sum;
}

/* out[d] of one head of one token. */
static void plain_head(const struct layer *w, int b, int token, int h, double out[HEAD_DIM]) {
  double weight[TOKENS], sum = 0;
  for (int j = 0; j < TOKENS; j++) {
    double score = 0;
    for (int d = 0; d < HEAD_DIM; d++)
      score += projected(w, b, token, 0, h, d) * projected(w, b, j, 1, h, d);
    sum += weight[j] = exp(score / sqrt(HEAD_DIM));
  }
  for (int d = 0; d < HEAD_DIM; d++) {
    out[d] = 0;
    for (int j = 0; j < TOKENS; j++) out[d] += weight[j] / sum * projected(w, b, j, 2, h, d);
  }
}

/* Largest difference between y and the formula. */
static double largest_error(const struct layer *w) {
  double largest = 0;
  for (int b = 0; b < BATCH; b++)
    for (int token = 0; token < TOKENS; token++) {
      double all[HEADS][HEAD_DIM];
      for (int h = 0; h < HEADS; h++) plain_head(w, b, token, h, all[h]);
      for (int m = 0; m < MODEL; m++) {
        double sum = 0;
        for (int k = 0; k < MODEL; k++) sum += all[k / HEAD_DIM][k % HEAD_DIM] * w->w_o[k][m];
        const double error = fabs(y[b][token][m] - sum);
        if (!(error <= largest)) largest = error; /* NaN counts, too */
      }
    }
  return largest;
}

/* Between -1 and 1. */
static void fill(double *numbers, int n, double scale) {
  for (int i = 0; i < n; i++) numbers[i] = scale * (2.0 * rand() / RAND_MAX - 1);
}

int main(void) {
  static struct layer w;
  fill(x[0][0], BATCH * TOKENS * MODEL, 1);
  fill(w.w_qkv[0][0][0], MODEL * 3 * MODEL, 2 / sqrt(MODEL));
  fill(w.w_o[0], MODEL * MODEL, 1 / sqrt(MODEL));

  const sdpa_status status = run_layer(&w);
  if (status != SDPA_OK) {
    fprintf(stderr, "sdpa_attention: %s\n", sdpa_status_string(status));
    return 1;
  }
  const double error = largest_error(&w);
  printf("multi-head self-attention: %d sequences, %d tokens, %d heads of %d\n", BATCH, TOKENS,
         HEADS, HEAD_DIM);
  printf("the packed product is read in place: row stride %d, head stride %d\n", 3 * MODEL,
         HEAD_DIM);
  printf("first token's output: %.6f %.6f %.6f ...\n", y[0][0][0], y[0][0][1], y[0][0][2]);
  printf("largest difference from the plain loop: %.1e\n", error);
  return error <= 1e-6 ? 0 : 1;
}
