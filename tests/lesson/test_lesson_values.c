/* test_lesson_values.c - figures of the lesson to all digits, for its seed and for another
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Expected values: NumPy 1.24.2, float64, from the lesson's own programs with the seed replaced.
 */
#include "numpy_random.h"
#include "numpy_sum.h"

#include <sdpa/sdpa.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

enum { pairs = 100000, pairs_at_once = 1000, dim = 64, sizes = 3 };

static double *allocate(size_t n) {
  double *values = malloc(n * sizeof *values);
  assert_non_null(values);
  return values;
}

/* The library's raw scores, unscaled, of pairs_at_once problems of one query and one key. */
static void library_dots(size_t d_k, const double *query, const double *key, double *dots) {
  sdpa_problem problem;
  sdpa_args args;
  assert_int_equal(sdpa_problem_init(&problem, sizeof problem), SDPA_OK);
  assert_int_equal(sdpa_args_init(&args, sizeof args), SDPA_OK);
  problem.features = SDPA_SCORES | SDPA_SCALE;
  problem.score_stage = SDPA_STAGE_SCALED;
  problem.scale = 1;
  problem.query_type = SDPA_F64;
  problem.batch = pairs_at_once;
  problem.query_heads = problem.kv_heads = problem.query_len = problem.key_len = 1;
  problem.key_dim = (int64_t)d_k;
  assert_int_equal(sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD), SDPA_OK);
  args.query = query;
  args.key = key;
  args.scores = dots;
  assert_int_equal(sdpa_attention(&problem, NULL, &args), SDPA_OK);
}

static void numpy_dots(size_t d_k, const double *query, const double *key, double *dots) {
  double products[512];
  for (size_t i = 0; i < pairs_at_once; i++) {
    for (size_t j = 0; j < d_k; j++) products[j] = query[i * d_k + j] * key[i * d_k + j];
    dots[i] = numpy_sum(products, d_k);
  }
}

/* Both kinds of dot products of 100,000 pairs. NumPy draws all of q before k: a copy of the
 * generator is sent ahead to where k begins, and the two are drawn in step, block by block. */
static void draw_dots(struct numpy_rng *rng, size_t d_k, double *numpy, double *library) {
  double *query = allocate(pairs_at_once * d_k), *key = allocate(pairs_at_once * d_k);
  struct numpy_rng key_rng = *rng;
  for (size_t i = 0; i < pairs * d_k; i++) numpy_rng_normal(&key_rng);
  for (size_t first = 0; first < pairs; first += pairs_at_once) {
    numpy_rng_fill_normal(rng, query, pairs_at_once * d_k);
    numpy_rng_fill_normal(&key_rng, key, pairs_at_once * d_k);
    numpy_dots(d_k, query, key, numpy + first);
    library_dots(d_k, query, key, library + first);
  }
  *rng = key_rng;
  free(query);
  free(key);
}

/* (q * k).sum(axis=1).var() for the three d_k: equal to NumPy's to the last bit when the products
 * are added as NumPy adds them, and to rounding when the library forms them. */
static void check_variances(uint64_t seed, const double expected[sizes]) {
  static const size_t dims[sizes] = {4, 64, 512};
  struct numpy_rng rng;
  numpy_rng_seed(&rng, seed);
  for (int s = 0; s < sizes; s++) {
    double *dots = allocate(pairs), *library = allocate(pairs);
    draw_dots(&rng, dims[s], dots, library);
    double variance = numpy_variance(dots, pairs), from_library = numpy_variance(library, pairs);
    if (variance != expected[s]) fail_msg("%.17g, expected %.17g", variance, expected[s]);
    if (!(fabs(from_library - expected[s]) <= 1e-13 * expected[s]))
      fail_msg("%.17g from the library, expected %.17g", from_library, expected[s]);
    free(dots);
    free(library);
  }
}

static void variances_of_seed_42(void **state) {
  static const double expected[sizes] = {4.0284523490516584, 63.202746364137397,
                                         510.75193353757612};
  (void)state;
  check_variances(42, expected);
}

static void variances_of_seed_7(void **state) {
  static const double expected[sizes] = {3.9306201523915392, 63.582824365196785,
                                         510.07751548747183};
  (void)state;
  check_variances(7, expected);
}

static void assert_within(double value, double expected, const char *what, size_t n) {
  if (!(fabs(value - expected) <= 1e-14))
    fail_msg("n = %zu: %s is %.17g, expected %.17g", n, what, value, expected);
}

static void attention_of_seed_7(void **state) {
  static const struct {
    size_t n;
    double first_output, largest_weight;
  } expected[sizes] = {{3, 0.1050267003444557, 0.60906464548265904},
                       {512, -0.022596494578230986, 0.14720123045790087},
                       {4096, -0.00038998047453029164, 0.037036039607927972}};
  struct numpy_rng rng;
  (void)state;
  numpy_rng_seed(&rng, 7);
  for (int s = 0; s < sizes; s++) {
    size_t n = expected[s].n;
    int64_t rows = (int64_t)n;
    double *query = allocate(n * dim), *key = allocate(n * dim), *value = allocate(n * dim);
    double *output = allocate(n * dim), *weights = allocate(n * n), largest = 0;
    numpy_rng_fill_normal(&rng, query, n * dim);
    numpy_rng_fill_normal(&rng, key, n * dim);
    numpy_rng_fill_normal(&rng, value, n * dim);
    assert_int_equal(sdpa_attention_f64(rows, rows, dim, dim, query, key, value, output, weights),
                     SDPA_OK);
    for (size_t i = 0; i < n * n; i++) largest = fmax(largest, weights[i]);
    assert_within(output[0], expected[s].first_output, "out[0, 0]", n);
    assert_within(largest, expected[s].largest_weight, "the largest weight", n);
    free(query);
    free(key);
    free(value);
    free(output);
    free(weights);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(variances_of_seed_42),
      cmocka_unit_test(variances_of_seed_7),
      cmocka_unit_test(attention_of_seed_7),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
