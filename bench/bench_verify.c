/* bench_verify.c - reference and plain implementation of one head, and the judgement
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench_verify.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Rounds to the head's type. Sums, products and quotients of floats, formed in double and rounded
 * once to float, are exactly what float arithmetic gives (double has more than 2 * 24 + 2 bits:
 * Figueroa, When is double rounding innocuous?, 1995), so that one function computes in both
 * precisions. */
static double round_to(const struct bench_head *head, double x) {
  return head->is_f64 ? x : (double)(float)x;
}

/* Row i as the formula says, in long double. weights: key_len of them, scratch. */
static void reference_row(const struct bench_head *head, int64_t i, long double *weights,
                          long double *row) {
  long double max = -(long double)INFINITY, sum = 0.0L;
  for (int64_t j = 0; j < head->key_len; j++) {
    long double dot = 0.0L;
    for (int64_t c = 0; c < head->key_dim; c++) {
      dot += (long double)bench_head_value(head, head->query, i * head->key_dim + c) *
             (long double)bench_head_value(head, head->key, j * head->key_dim + c);
    }
    weights[j] = dot / sqrtl((long double)head->key_dim);
    max = fmaxl(max, weights[j]);
  }
  for (int64_t j = 0; j < head->key_len; j++) {
    weights[j] = expl(weights[j] - max);
    sum += weights[j];
  }
  for (int64_t c = 0; c < head->value_dim; c++) {
    long double total = 0.0L;
    for (int64_t j = 0; j < head->key_len; j++) {
      total +=
          weights[j] * (long double)bench_head_value(head, head->value, j * head->value_dim + c);
    }
    row[c] = total / sum;
  }
}

/* Row i by three plain loops with sequential sums in the head's precision. */
static void plain_row(const struct bench_head *head, int64_t i, double *weights, double *row) {
  const double scale = round_to(head, 1.0 / sqrt((double)head->key_dim));
  double max = -(double)INFINITY, sum = 0.0;
  for (int64_t j = 0; j < head->key_len; j++) {
    double dot = 0.0;
    for (int64_t c = 0; c < head->key_dim; c++) {
      const double product = bench_head_value(head, head->query, i * head->key_dim + c) *
                             bench_head_value(head, head->key, j * head->key_dim + c);
      dot = round_to(head, dot + round_to(head, product));
    }
    weights[j] = round_to(head, scale * dot);
    max = fmax(max, weights[j]);
  }
  for (int64_t j = 0; j < head->key_len; j++) {
    weights[j] = round_to(head, exp(round_to(head, weights[j] - max)));
    sum = round_to(head, sum + weights[j]);
  }
  for (int64_t j = 0; j < head->key_len; j++) weights[j] = round_to(head, weights[j] / sum);
  for (int64_t c = 0; c < head->value_dim; c++) {
    double total = 0.0;
    for (int64_t j = 0; j < head->key_len; j++) {
      const double value = bench_head_value(head, head->value, j * head->value_dim + c);
      total = round_to(head, total + round_to(head, weights[j] * value));
    }
    row[c] = total;
  }
}

/* max(a, b) that keeps a NaN. */
static double larger(double a, double b) {
  return a >= b || isnan(a) ? a : b;
}

int bench_verify(const struct bench_head *head, struct bench_error *error) {
  const int64_t key_len = head->key_len, dim = head->value_dim;
  long double *reference = malloc((size_t)(key_len + dim) * sizeof *reference);
  double *plain = malloc((size_t)(key_len + dim) * sizeof *plain);
  *error = (struct bench_error){0};
  if (!reference || !plain) {
    free(reference);
    free(plain);
    return -1;
  }
  double largest = 0.0;
  const int64_t rows = head->query_len < BENCH_VERIFY_ROWS ? head->query_len : BENCH_VERIFY_ROWS;
  for (int64_t r = 0; r < rows; r++) {
    const int64_t i = rows > 1 ? r * (head->query_len - 1) / (rows - 1) : 0;
    reference_row(head, i, reference, reference + key_len);
    plain_row(head, i, plain, plain + key_len);
    for (int64_t c = 0; c < dim; c++) {
      const long double exact = reference[key_len + c];
      const double got = bench_head_value(head, head->output, i * dim + c);
      error->max = larger(error->max, (double)fabsl((long double)got - exact));
      error->plain = larger(error->plain, (double)fabsl((long double)plain[key_len + c] - exact));
      largest = larger(largest, (double)fabsl(exact));
    }
  }
  const double roundoff = head->is_f64 ? 0.5 * DBL_EPSILON : 0.5 * (double)FLT_EPSILON;
  error->limit = 2.0 * error->plain + roundoff * largest;
  error->verified = error->max <= error->limit;
  free(reference);
  free(plain);
  return 0;
}
