/* test_kernel_tanh.c - the hyperbolic tangent inside row_scores' softcap
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * With scale = softcap = 1 a score is tanh of the product and nothing else. exp_tpl.h claims an
 * error of at most TANH_ULP; the claim is what is asserted.
 */
#include <float.h>
#include <math.h>

#include "kernel_tests.h"
#include "mpfr_ulp.h"

#define TANH_ULP 2.75

enum { BLOCK = 1 << 16, SAMPLES = 150000 };

static float x32[BLOCK], got32[BLOCK];
static double expected32[BLOCK];
static double x64[SAMPLES], got64[SAMPLES];

static const struct sdpai_score_f32 only_tanh_f32 = {.scale = 1, .softcap = 1};
static const struct sdpai_score_f64 only_tanh_f64 = {.scale = 1, .softcap = 1};

static double ulp_of_float(double expected) {
  int exponent;
  frexp(expected, &exponent); /* expected < 2^exponent */
  if (exponent < FLT_MIN_EXP) exponent = FLT_MIN_EXP;
  return ldexp(1, exponent - FLT_MANT_DIG);
}

/* Every 61st float from 0 to beyond 16, and of 1 to 12 every 3rd one; libm's double is the
 * reference. */
static void test_tanh_f32(void **state) {
  (void)state;
  double max_ulp[8] = {0};
  float max_at[8] = {0};
  const struct sdpai_kernels *table;
  uint32_t bits = 0;
  while (bits < UINT32_C(0x41900000)) {
    for (int t = 0; t < BLOCK; t++) {
      memcpy(&x32[t], &bits, sizeof bits);
      expected32[t] = tanh((double)x32[t]);
      bits += x32[t] >= 1 && x32[t] < 12 ? 3 : 61;
    }
    for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
      memcpy(got32, x32, sizeof got32);
      table->f32.row_scores(BLOCK, got32, &only_tanh_f32);
      for (int t = 0; t < BLOCK; t++) {
        double ulp = fabs((double)got32[t] - expected32[t]) / ulp_of_float(expected32[t]);
        if (ulp <= max_ulp[i]) continue;
        max_ulp[i] = ulp;
        max_at[i] = x32[t];
      }
    }
  }
  for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
    print_message("tanh f32 %-8s max %.4f ulp, at %a\n", table->name, max_ulp[i],
                  (double)max_at[i]);
    assert_true(max_ulp[i] > 0.5 && max_ulp[i] <= TANH_ULP);
  }
}

static void test_tanh_f64(void **state) {
  (void)state;
  uint64_t random = 10;
  const struct sdpai_kernels *table;
  mpfr_t exact, scratch;
  mpfr_inits2(MPFR_ULP_BITS, exact, scratch, (mpfr_ptr)0);
  for (int t = 0; t < SAMPLES; t++)
    x64[t] = t % 3 ? next_between(&random, 0, t % 3 == 1 ? 2 : 21)
                   : exp2(next_between(&random, -1000, 5));
  for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
    double max_ulp = 0, max_at = 0;
    memcpy(got64, x64, sizeof got64);
    table->f64.row_scores(SAMPLES, got64, &only_tanh_f64);
    for (int t = 0; t < SAMPLES; t++) {
      mpfr_set_d(exact, x64[t], MPFR_RNDN);
      mpfr_tanh(exact, exact, MPFR_RNDN);
      double ulp = mpfr_ulp_error(got64[t], exact, scratch);
      if (ulp <= max_ulp) continue;
      max_ulp = ulp;
      max_at = x64[t];
    }
    print_message("tanh f64 %-8s max %.4f ulp, at %a\n", table->name, max_ulp, max_at);
    assert_true(max_ulp > 0.5 && max_ulp <= TANH_ULP);
  }
  mpfr_clears(exact, scratch, (mpfr_ptr)0);
  mpfr_free_cache();
}

/* Odd in every bit, NaN kept, +-1 exactly where that is the nearest number, subnormals returned. */
static void test_tanh_special(void **state) {
  (void)state;
  static const float saturated[] = {9.011f, 10, 10.0001f, 88, 1e30f, FLT_MAX, INFINITY};
  static const float itself[] = {0, 0x1p-149f, 0x1p-127f, FLT_MIN, 0x1p-40f};
  const struct sdpai_kernels *table;
  for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
    for (int sign = -1; sign <= 1; sign += 2) {
      for (int c = 0; c < 7; c++) {
        float y = (float)sign * saturated[c];
        double z = (double)y * 2.12; /* 19.1: tanh rounds to 1 from 19.07 on */
        table->f32.row_scores(1, &y, &only_tanh_f32);
        table->f64.row_scores(1, &z, &only_tanh_f64);
        assert_true(y == (float)sign);
        assert_true(z == (double)sign);
      }
      for (int c = 0; c < 5; c++) {
        float y = (float)sign * itself[c], y_was = y;
        double z = (double)y, z_was = z;
        table->f32.row_scores(1, &y, &only_tanh_f32);
        table->f64.row_scores(1, &z, &only_tanh_f64);
        assert_memory_equal(&y, &y_was, sizeof y);
        assert_memory_equal(&z, &z_was, sizeof z);
      }
    }
    uint64_t random = 11;
    for (int c = 0; c < 10000; c++) {
      float y[2] = {(float)next_between(&random, -12, 12)};
      double z[2] = {next_between(&random, -25, 25)};
      y[1] = -y[0];
      z[1] = -z[0];
      table->f32.row_scores(2, y, &only_tanh_f32);
      table->f64.row_scores(2, z, &only_tanh_f64);
      assert_true(y[0] == -y[1]);
      assert_true(z[0] == -z[1]);
    }
    float y = NAN;
    double z = (double)NAN;
    table->f32.row_scores(1, &y, &only_tanh_f32);
    table->f64.row_scores(1, &z, &only_tanh_f64);
    assert_true(isnan(y));
    assert_true(isnan(z));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tanh_f32),
      cmocka_unit_test(test_tanh_f64),
      cmocka_unit_test(test_tanh_special),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
