/* report_plain_loop.c - attention by three loops in double, and numbers to run it on
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report_case.h"

#include <math.h>
#include <stdlib.h>

/* Where one row of one head finds its numbers. */
struct plain_row {
  const struct report_case *c;
  int64_t b, h, kv, i;
};

static double element(const struct report_input *input, const sdpa_strides *s, int64_t b, int64_t h,
                      int64_t row, int64_t col) {
  return input->data[input->first + b * s->batch + h * s->head + row * s->row + col * s->col];
}

/* -infinity for a key that the row does not attend. */
static double score(const struct plain_row *r, int64_t j) {
  const sdpa_problem *p = &r->c->problem;
  if ((p->features & SDPA_CAUSAL) && j > r->i) return -INFINITY;
  const sdpa_strides *m = &p->mask;
  if ((p->features & SDPA_MASK) &&
      r->c->mask[r->b * m->batch + r->h * m->head + r->i * m->row + j * m->col] == 0)
    return -INFINITY;
  double sum = 0;
  for (int64_t d = 0; d < p->key_dim; d++)
    sum += element(&r->c->query, &p->query, r->b, r->h, r->i, d) *
           element(&r->c->key, &p->key, r->b, r->kv, j, d);
  sum *= p->features & SDPA_SCALE ? p->scale : 1 / sqrt((double)p->key_dim);
  if (p->features & SDPA_BIAS) sum += element(&r->c->bias, &p->bias, r->b, r->h, r->i, j);
  return sum;
}

static void plain_row(const struct plain_row *r, double *weights, double *output) {
  const sdpa_problem *p = &r->c->problem;
  double max = -INFINITY, sum = 0;
  for (int64_t d = 0; d < p->value_dim; d++) output[d] = 0;
  for (int64_t j = 0; j < p->key_len; j++) max = fmax(max, weights[j] = score(r, j));
  if (max == -(double)INFINITY) return;
  for (int64_t j = 0; j < p->key_len; j++) sum += weights[j] = exp(weights[j] - max);
  for (int64_t j = 0; j < p->key_len; j++)
    for (int64_t d = 0; weights[j] > 0 && d < p->value_dim; d++)
      output[d] += weights[j] / sum * element(&r->c->value, &p->value, r->b, r->kv, j, d);
}

void report_plain_loop(const struct report_case *c, double *output) {
  const sdpa_problem *p = &c->problem;
  double *weights = malloc((size_t)(p->key_len + 1) * sizeof *weights);
  assert_non_null(weights);
  for (int64_t b = 0; b < p->batch; b++)
    for (int64_t h = 0; h < p->query_heads; h++)
      for (int64_t i = 0; i < p->query_len; i++, output += p->value_dim) {
        const struct plain_row row = {c, b, h, h / (p->query_heads / p->kv_heads), i};
        plain_row(&row, weights, output);
      }
  free(weights);
}

double *report_numbers(int64_t n, int salt) {
  double *numbers = malloc((size_t)(n ? n : 1) * sizeof *numbers);
  assert_non_null(numbers);
  uint32_t state = (uint32_t)salt * 2654435761u + 12345u;
  for (int64_t i = 0; i < n; i++) {
    /* Numerical Recipes' linear congruential generator; the high bits are the good ones. 13 bits
     * are exact in f64 and f32; in 16 bits the roundoff by which tests judge is far larger. */
    state = state * 1664525u + 1013904223u;
    numbers[i] = ((double)(state >> 20) - 2047.5) / 2048;
  }
  return numbers;
}
