/* additive_attention.c - projections, tanh scores, the library's softmax, weighted sum
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "additive_attention.h"

#include <math.h>
#include <string.h>

size_t additive_scratch_bytes(const struct additive_problem *p) {
  return ((p->n_q + p->n_k) * p->d_h + p->n_k) * sizeof(double);
}

/* c = a b, with a rows x inner and b inner x cols; the innermost loop runs along rows of b and c.
 */
static void multiply(size_t rows, size_t inner, size_t cols, const double *restrict a,
                     const double *restrict b, double *restrict c) {
  memset(c, 0, rows * cols * sizeof *c);
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < inner; k++)
      for (size_t j = 0; j < cols; j++) c[i * cols + j] += a[i * inner + k] * b[k * cols + j];
}

static double score(size_t d_h, const double *v, const double *query, const double *key) {
  double sum = 0;
  for (size_t h = 0; h < d_h; h++) sum += v[h] * tanh(query[h] + key[h]);
  return sum;
}

sdpa_status additive_attention(const struct additive_problem *p, double *output, double *weights,
                               double *scratch) {
  double *query = scratch, *key = query + p->n_q * p->d_h, *scores = key + p->n_k * p->d_h;
  int64_t n_k = (int64_t)p->n_k;
  multiply(p->n_q, p->d_k, p->d_h, p->query, p->w_q, query);
  multiply(p->n_k, p->d_k, p->d_h, p->key, p->w_k, key);
  for (size_t i = 0; i < p->n_q; i++) {
    for (size_t j = 0; j < p->n_k; j++)
      scores[j] = score(p->d_h, p->v, query + i * p->d_h, key + j * p->d_h);
    sdpa_status status =
        sdpa_softmax_f64(1, n_k, 1, scores, n_k, NULL, 0, weights + i * p->n_k, n_k);
    if (status != SDPA_OK) return status;
  }
  multiply(p->n_q, p->n_k, p->d_v, weights, p->value, output);
  return SDPA_OK;
}
