/* test_additive_attention.c - the comparison's additive attention against its formula
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference below is the formula term by term in long double: no projections kept, no library.
 */
#include "additive_attention.h"
#include "numpy_random.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

struct arrays {
  double query[64], key[64], value[64], w_q[64], w_k[64], v[8];
};

static struct additive_problem draw(size_t n_q, size_t n_k, size_t d_k, size_t d_v, size_t d_h,
                                    struct arrays *a) {
  struct numpy_rng rng;
  numpy_rng_seed(&rng, 1 + n_q + 10 * n_k + 100 * d_k);
  numpy_rng_fill_normal(&rng, a->query, n_q * d_k);
  numpy_rng_fill_normal(&rng, a->key, n_k * d_k);
  numpy_rng_fill_normal(&rng, a->value, n_k * d_v);
  numpy_rng_fill_normal(&rng, a->w_q, d_k * d_h);
  numpy_rng_fill_normal(&rng, a->w_k, d_k * d_h);
  numpy_rng_fill_normal(&rng, a->v, d_h);
  return (struct additive_problem){n_q,    n_k,      d_k,    d_v,    d_h, a->query,
                                   a->key, a->value, a->w_q, a->w_k, a->v};
}

static long double reference_score(const struct additive_problem *p, size_t i, size_t j) {
  long double sum = 0;
  for (size_t h = 0; h < p->d_h; h++) {
    long double inner = 0;
    for (size_t d = 0; d < p->d_k; d++)
      inner += (long double)p->query[i * p->d_k + d] * (long double)p->w_q[d * p->d_h + h] +
               (long double)p->key[j * p->d_k + d] * (long double)p->w_k[d * p->d_h + h];
    sum += (long double)p->v[h] * tanhl(inner);
  }
  return sum;
}

static void check_row(const struct additive_problem *p, size_t i, const double *output,
                      const double *weights) {
  long double total = 0;
  for (size_t j = 0; j < p->n_k; j++) total += expl(reference_score(p, i, j));
  for (size_t j = 0; j < p->n_k; j++) {
    long double expected = expl(reference_score(p, i, j)) / total;
    assert_true(fabsl((long double)weights[i * p->n_k + j] - expected) <= 1e-14L);
  }
  for (size_t c = 0; c < p->d_v; c++) {
    long double expected = 0;
    for (size_t j = 0; j < p->n_k; j++)
      expected += expl(reference_score(p, i, j)) / total * (long double)p->value[j * p->d_v + c];
    assert_true(fabsl((long double)output[i * p->d_v + c] - expected) <= 1e-14L);
  }
}

static void follows_the_formula(void **state) {
  static const size_t sizes[][5] = {
      {1, 1, 1, 1, 1}, {3, 5, 4, 2, 7}, {5, 3, 2, 7, 4}, {8, 8, 8, 8, 8}, {1, 7, 3, 3, 1}};
  (void)state;
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    struct arrays arrays;
    double output[64], weights[64];
    struct additive_problem p =
        draw(sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3], sizes[s][4], &arrays);
    double *scratch = malloc(additive_scratch_bytes(&p));
    assert_non_null(scratch);
    assert_int_equal(additive_attention(&p, output, weights, scratch), SDPA_OK);
    free(scratch);
    for (size_t i = 0; i < p.n_q; i++) check_row(&p, i, output, weights);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(follows_the_formula)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
