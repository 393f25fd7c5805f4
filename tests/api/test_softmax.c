/* test_softmax.c - softmax of given scores, its Jacobian, its gradient (semantics rule 21)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Both types run the same cases through one wrapper per function. Scores are logarithms of small
 * integers, so that the weights are fractions.
 */
#include "api_support.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define FOR_TYPES for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++)

/* A matrix of up to this many elements in both types; the one of `type` is what is passed on. */
enum { MOST = 64 };
union numbers {
  double f64[MOST];
  float f32[MOST];
};

static void fill(uint32_t type, union numbers *m, int n, const double *x) {
  api_put_all(type, m, n, x);
}
static void sentinel(uint32_t type, union numbers *m) {
  for (int i = 0; i < MOST; i++) api_put(type, m, i, -77);
}
static void assert_sentinel(uint32_t type, const union numbers *m) {
  for (int i = 0; i < MOST; i++) assert_true(api_get(type, m, i) == -77);
}

static sdpa_status softmax(uint32_t type, int64_t rows, int64_t cols, double scale,
                           const void *scores, int64_t scores_ld, const uint8_t *mask,
                           int64_t mask_ld, void *weights, int64_t weights_ld) {
  if (type == SDPA_F64)
    return sdpa_softmax_f64(rows, cols, scale, scores, scores_ld, mask, mask_ld, weights,
                            weights_ld);
  return sdpa_softmax_f32(rows, cols, (float)scale, scores, scores_ld, mask, mask_ld, weights,
                          weights_ld);
}
static sdpa_status jacobian(uint32_t type, int64_t n, const void *weights, void *result,
                            int64_t ld) {
  if (type == SDPA_F64) return sdpa_softmax_jacobian_f64(n, weights, result, ld);
  return sdpa_softmax_jacobian_f32(n, weights, result, ld);
}
static sdpa_status backward(uint32_t type, int64_t rows, int64_t cols, const void *weights,
                            int64_t weights_ld, const void *grad, int64_t grad_ld, void *out,
                            int64_t out_ld) {
  if (type == SDPA_F64)
    return sdpa_softmax_backward_f64(rows, cols, weights, weights_ld, grad, grad_ld, out, out_ld);
  return sdpa_softmax_backward_f32(rows, cols, weights, weights_ld, grad, grad_ld, out, out_ld);
}

static void test_rows(void **state) {
  (void)state;
  const double z[6] = {0, log(2), log(5), log(2), log(2), log(4)};
  FOR_TYPES {
    union numbers scores, weights;
    fill(type, &scores, 6, z);
    sentinel(type, &weights);
    assert_int_equal(softmax(type, 2, 3, 1, &scores, 3, NULL, 0, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 6, (const double[]){.125, .25, .625, .25, .25, .5}, 1);
    assert_true(api_get(type, &weights, 6) == -77);

    assert_int_equal(softmax(type, 1, 3, -2, &scores, 3, NULL, 0, &weights, 3), SDPA_OK);
    const double sum = 1 + .25 + .04;
    api_assert_all_near(type, &weights, 3, (const double[]){1 / sum, .25 / sum, .04 / sum}, 1);

    assert_int_equal(softmax(type, 1, 3, 0, &scores, 3, NULL, 0, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 3, (const double[]){1. / 3, 1. / 3, 1. / 3}, 1);

    assert_int_equal(softmax(type, 2, 3, 1, &scores, 3, NULL, 0, &scores, 3), SDPA_OK);
    api_assert_all_near(type, &scores, 6, (const double[]){.125, .25, .625, .25, .25, .5}, 1);
  }
}

/* Scores that overflow exp alone, and a common shift. */
static void test_stable(void **state) {
  (void)state;
  FOR_TYPES for (int sign = -1; sign <= 1; sign += 2) {
    union numbers scores, weights;
    fill(type, &scores, 3, (const double[]){sign * 2048., sign * 2048. + 1, sign * 2048. - 1});
    assert_int_equal(softmax(type, 1, 3, 1, &scores, 3, NULL, 0, &weights, 3), SDPA_OK);
    const double sum = 1 + exp(1) + exp(-1);
    api_assert_all_near(type, &weights, 3, (const double[]){1 / sum, exp(1) / sum, exp(-1) / sum},
                        1);
    fill(type, &scores, 2, (const double[]){0, -1e30});
    assert_int_equal(softmax(type, 1, 2, 1, &scores, 2, NULL, 0, &weights, 2), SDPA_OK);
    assert_true(api_get(type, &weights, 0) == 1);
    assert_true(api_get(type, &weights, 1) == 0);
  }
}

/* Equal scores so large that the rounding of scale * score is itself beyond exp's range: the
 * largest gives exp(0) all the same. */
static void test_huge_scores(void **state) {
  (void)state;
  static const double scales[] = {0.1, -1.7, 1 / 3.};
  enum { N = 61 };
  FOR_TYPES for (int s = 0; s < 3; s++) {
    const double least = type == SDPA_F64 ? 1e18 : 1e9, most = type == SDPA_F64 ? 1e300 : 1e37;
    for (double size = least; size < most; size *= 1.9e3 + size / most) {
      for (int sign = -1; sign <= 1; sign += 2) {
        union numbers scores, weights;
        const double largest = sign * scales[s] > 0 ? 1 : 0.5; /* which of the two is larger */
        for (int i = 0; i < N; i++) api_put(type, &scores, i, sign * size * (i % 2 ? 0.5 : 1));
        assert_int_equal(softmax(type, 1, N, scales[s], &scores, N, NULL, 0, &weights, N), SDPA_OK);
        for (int i = 0; i < N; i++)
          api_assert_near(type, api_get(type, &weights, i),
                          (i % 2 ? 0.5 : 1) == largest ? 1. / (N / 2 + (largest == 1)) : 0, 1);
      }
    }
  }
}

/* Leading dimensions: gaps are neither read (NaN stands there) nor written; 0 repeats an input row.
 */
static void test_leading_dimensions(void **state) {
  (void)state;
  FOR_TYPES {
    union numbers scores, weights;
    fill(type, &scores, 8, (const double[]){0, log(3), NAN, NAN, log(3), 0, NAN, NAN});
    sentinel(type, &weights);
    assert_int_equal(softmax(type, 2, 2, 1, &scores, 4, NULL, 0, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 6, (const double[]){.25, .75, -77, .75, .25, -77}, 1);

    sentinel(type, &weights);
    assert_int_equal(softmax(type, 3, 2, 1, &scores, 0, NULL, 0, &weights, 2), SDPA_OK);
    api_assert_all_near(type, &weights, 6, (const double[]){.25, .75, .25, .75, .25, .75}, 1);
  }
}

static void test_mask(void **state) {
  (void)state;
  static const uint8_t mask[] = {1, 0, 255, 9, /* row 2 */ 0, 2, 2, 9, /* row 3 */ 0, 0, 0, 9};
  FOR_TYPES {
    union numbers scores, weights;
    const double bad[] = {0, NAN, log(3), INFINITY, 0, 0, NAN, INFINITY, NAN};
    fill(type, &scores, 9, bad);
    assert_int_equal(softmax(type, 3, 3, 1, &scores, 3, mask, 4, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 9, (const double[]){.25, 0, .75, 0, .5, .5, 0, 0, 0}, 1);
    assert_true(api_get(type, &weights, 1) == 0); /* exactly */

    /* One mask row for all. */
    fill(type, &scores, 6, (const double[]){0, NAN, log(3), log(3), INFINITY, 0});
    assert_int_equal(softmax(type, 2, 3, 1, &scores, 3, mask, 0, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 6, (const double[]){.25, 0, .75, .75, 0, .25}, 1);

    /* Scaled once, 3 and 1/3 to 1. */
    fill(type, &scores, 3, (const double[]){0, NAN, log(3) / 2});
    assert_int_equal(softmax(type, 1, 3, 2, &scores, 3, mask, 0, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 3, (const double[]){.25, 0, .75}, 1);
    assert_int_equal(softmax(type, 1, 3, -2, &scores, 3, mask, 0, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 3, (const double[]){.75, 0, .25}, 1);
  }
}

/* Semantics rule 12, for every way a row can be spoiled, with and without a mask. */
static void test_nonfinite(void **state) {
  (void)state;
  static const uint8_t mask[] = {1, 1, 0};
  const double n = NAN, i = INFINITY;
  const struct {
    double scores[3], weights[3], masked[3];
  } cases[] = {
      {{0, n, 0}, {n, n, n}, {n, n, 0}},    {{0, i, 0}, {n, n, n}, {n, n, 0}},
      {{i, i, i}, {n, n, n}, {n, n, 0}},    {{-i, i, n}, {n, n, n}, {n, n, 0}},
      {{-i, 0, 0}, {0, .5, .5}, {0, 1, 0}}, {{-i, -i, 0}, {0, 0, 1}, {0, 0, 0}},
      {{-i, -i, -i}, {0, 0, 0}, {0, 0, 0}}, {{0, 0, n}, {n, n, n}, {.5, .5, 0}},
  };
  FOR_TYPES for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    union numbers scores, weights;
    fill(type, &scores, 3, cases[c].scores);
    assert_int_equal(softmax(type, 1, 3, 1, &scores, 3, NULL, 0, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 3, cases[c].weights, 1);
    assert_int_equal(softmax(type, 1, 3, 1, &scores, 3, mask, 3, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 3, cases[c].masked, 1);
  }
}

static void test_jacobian(void **state) {
  (void)state;
  FOR_TYPES {
    union numbers weights, j;
    fill(type, &weights, 3, (const double[]){.125, .25, .625});
    sentinel(type, &j);
    assert_int_equal(jacobian(type, 3, &weights, &j, 4), SDPA_OK);
    api_assert_all_near(type, &j, 12,
                        (const double[]){.109375, -.03125, -.078125, -77, -.03125, .1875, -.15625,
                                         -77, -.078125, -.15625, .234375, -77},
                        1);
    fill(type, &weights, 2, (const double[]){0, 0});
    assert_int_equal(jacobian(type, 2, &weights, &j, 2), SDPA_OK);
    api_assert_all_near(type, &j, 4, (const double[]){0, 0, 0, 0}, 0);
    fill(type, &weights, 1, (const double[]){1});
    assert_int_equal(jacobian(type, 1, &weights, &j, 1), SDPA_OK);
    assert_true(api_get(type, &j, 0) == 0);
  }
}

/* The gradient is the Jacobian times grad: against the product of the two, and by hand. */
static void test_backward(void **state) {
  (void)state;
  const double w[3] = {.125, .25, .625}, g[3] = {8, 4, -2};
  /* dot = 1 + 1 - 1.25 = 0.75 */
  const double expected[3] = {.90625, .8125, -1.71875};
  FOR_TYPES {
    union numbers weights, grad, out, j;
    fill(type, &weights, 3, w);
    fill(type, &grad, 3, g);
    assert_int_equal(backward(type, 1, 3, &weights, 3, &grad, 3, &out, 3), SDPA_OK);
    api_assert_all_near(type, &out, 3, expected, 8);
    assert_int_equal(jacobian(type, 3, &weights, &j, 3), SDPA_OK);
    for (int r = 0; r < 3; r++) {
      double sum = 0;
      for (int c = 0; c < 3; c++) sum += api_get(type, &j, 3 * r + c) * g[c];
      api_assert_near(type, api_get(type, &out, r), sum, 8);
    }
    /* In place, either way. */
    assert_int_equal(backward(type, 1, 3, &weights, 3, &grad, 3, &grad, 3), SDPA_OK);
    api_assert_all_near(type, &grad, 3, expected, 8);
    fill(type, &grad, 3, g);
    assert_int_equal(backward(type, 1, 3, &weights, 3, &grad, 3, &weights, 3), SDPA_OK);
    api_assert_all_near(type, &weights, 3, expected, 8);
  }
}

/* Where the weight is 0 the gradient is exactly 0, and NaN in grad there reaches nothing. */
static void test_backward_excluded(void **state) {
  (void)state;
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  FOR_TYPES for (int b = 0; b < 3; b++) {
    union numbers weights, grad, out;
    fill(type, &weights, 8, (const double[]){.5, 0, .5, NAN, 0, 0, 0, NAN});
    fill(type, &grad, 8, (const double[]){1, bad[b], 3, NAN, bad[b], 1, bad[b], NAN});
    sentinel(type, &out);
    assert_int_equal(backward(type, 2, 3, &weights, 4, &grad, 4, &out, 4), SDPA_OK);
    api_assert_all_near(type, &out, 8, (const double[]){-.5, 0, .5, -77, 0, 0, 0, -77}, 3);
    assert_true(api_get(type, &out, 1) == 0);

    /* A NaN with weight takes the row, and a row takes no other. */
    fill(type, &weights, 4, (const double[]){.5, .5, .25, .75});
    fill(type, &grad, 4, (const double[]){NAN, 1, 4, 0});
    assert_int_equal(backward(type, 2, 2, &weights, 2, &grad, 2, &out, 2), SDPA_OK);
    api_assert_all_near(type, &out, 4, (const double[]){NAN, NAN, .75, -.75}, 4);
  }
}

/* Every argument error, with nothing written. */
static void test_bad_softmax(void **state) {
  (void)state;
  static const uint8_t mask[4] = {1, 1, 1, 1};
  FOR_TYPES {
    union numbers in, out;
    fill(type, &in, 4, (const double[]){1, 2, 3, 4});
    sentinel(type, &out);
    const char *odd = (const char *)&in + 1;
    char *odd_out = (char *)&out + 1;
    const int64_t far = INT64_MAX;
    assert_int_equal(softmax(type, -1, 2, 1, &in, 2, NULL, 0, &out, 2), SDPA_ERROR_SHAPE);
    assert_int_equal(softmax(type, 2, -1, 1, &in, 2, NULL, 0, &out, 2), SDPA_ERROR_SHAPE);
    assert_int_equal(softmax(type, 2, 2, 1, NULL, 2, NULL, 0, &out, 2), SDPA_ERROR_NULL);
    assert_int_equal(softmax(type, 2, 2, 1, &in, 2, NULL, 0, NULL, 2), SDPA_ERROR_NULL);
    assert_int_equal(softmax(type, 2, 2, NAN, &in, 2, NULL, 0, &out, 2), SDPA_ERROR_VALUE);
    assert_int_equal(softmax(type, 2, 2, INFINITY, &in, 2, NULL, 0, &out, 2), SDPA_ERROR_VALUE);
    assert_int_equal(softmax(type, 2, 2, 1, &in, 1, NULL, 0, &out, 2), SDPA_ERROR_STRIDE);
    assert_int_equal(softmax(type, 2, 2, 1, &in, -2, NULL, 0, &out, 2), SDPA_ERROR_STRIDE);
    assert_int_equal(softmax(type, 2, 2, 1, &in, 2, NULL, 0, &out, 1), SDPA_ERROR_STRIDE);
    assert_int_equal(softmax(type, 2, 2, 1, &in, 2, NULL, 0, &out, 0), SDPA_ERROR_STRIDE);
    assert_int_equal(softmax(type, 2, 2, 1, &in, 2, mask, 1, &out, 2), SDPA_ERROR_STRIDE);
    assert_int_equal(softmax(type, 2, 2, 1, odd, 2, NULL, 0, &out, 2), SDPA_ERROR_ALIGNMENT);
    assert_int_equal(softmax(type, 2, 2, 1, &in, 2, NULL, 0, odd_out, 2), SDPA_ERROR_ALIGNMENT);
    assert_int_equal(softmax(type, 3, 2, 1, &in, far, NULL, 0, &out, 2), SDPA_ERROR_OVERFLOW);
    assert_int_equal(softmax(type, 3, 2, 1, &in, 2, NULL, 0, &out, far), SDPA_ERROR_OVERFLOW);
    assert_int_equal(softmax(type, far, far, 1, &in, 0, NULL, 0, &out, far), SDPA_ERROR_OVERFLOW);
    assert_int_equal(softmax(type, 1, far, 1, &in, 0, NULL, 0, &out, 0), SDPA_ERROR_OVERFLOW);
    assert_sentinel(type, &out);

    assert_int_equal(softmax(type, 0, 2, 1, NULL, 0, NULL, 0, NULL, 0), SDPA_OK);
    assert_int_equal(softmax(type, 2, 0, 1, NULL, 0, NULL, 0, NULL, 0), SDPA_OK);
    assert_int_equal(softmax(type, 0, 2, NAN, NULL, 0, NULL, 0, NULL, 0), SDPA_ERROR_VALUE);
    assert_int_equal(softmax(type, 1, 2, 1, &in, -5, NULL, 0, &out, 0), SDPA_OK); /* ld not used */
  }
}

static void test_bad_jacobian_and_backward(void **state) {
  (void)state;
  FOR_TYPES {
    union numbers in, out;
    fill(type, &in, 4, (const double[]){.5, .5, .5, .5});
    sentinel(type, &out);
    const char *odd = (const char *)&in + 1;
    assert_int_equal(jacobian(type, -1, &in, &out, 2), SDPA_ERROR_SHAPE);
    assert_int_equal(jacobian(type, 2, NULL, &out, 2), SDPA_ERROR_NULL);
    assert_int_equal(jacobian(type, 2, &in, NULL, 2), SDPA_ERROR_NULL);
    assert_int_equal(jacobian(type, 2, &in, &out, 1), SDPA_ERROR_STRIDE);
    assert_int_equal(jacobian(type, 2, odd, &out, 2), SDPA_ERROR_ALIGNMENT);
    assert_int_equal(jacobian(type, INT64_C(1) << 40, &in, &out, INT64_C(1) << 40),
                     SDPA_ERROR_OVERFLOW);
    assert_int_equal(backward(type, -1, 2, &in, 2, &in, 2, &out, 2), SDPA_ERROR_SHAPE);
    assert_int_equal(backward(type, 2, -3, &in, 2, &in, 2, &out, 2), SDPA_ERROR_SHAPE);
    assert_int_equal(backward(type, 2, 2, NULL, 2, &in, 2, &out, 2), SDPA_ERROR_NULL);
    assert_int_equal(backward(type, 2, 2, &in, 2, NULL, 2, &out, 2), SDPA_ERROR_NULL);
    assert_int_equal(backward(type, 2, 2, &in, 2, &in, 2, NULL, 2), SDPA_ERROR_NULL);
    assert_int_equal(backward(type, 2, 2, &in, 1, &in, 2, &out, 2), SDPA_ERROR_STRIDE);
    assert_int_equal(backward(type, 2, 2, &in, 2, &in, -2, &out, 2), SDPA_ERROR_STRIDE);
    assert_int_equal(backward(type, 2, 2, &in, 2, &in, 2, &out, 0), SDPA_ERROR_STRIDE);
    assert_int_equal(backward(type, 2, 2, &in, 2, odd, 2, &out, 2), SDPA_ERROR_ALIGNMENT);
    assert_sentinel(type, &out);
    assert_int_equal(jacobian(type, 0, NULL, NULL, 0), SDPA_OK);
    assert_int_equal(backward(type, 0, 2, NULL, 0, NULL, 0, NULL, 0), SDPA_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_stable),
      cmocka_unit_test(test_huge_scores),
      cmocka_unit_test(test_leading_dimensions),
      cmocka_unit_test(test_mask),
      cmocka_unit_test(test_nonfinite),
      cmocka_unit_test(test_jacobian),
      cmocka_unit_test(test_backward),
      cmocka_unit_test(test_backward_excluded),
      cmocka_unit_test(test_bad_softmax),
      cmocka_unit_test(test_bad_jacobian_and_backward),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
