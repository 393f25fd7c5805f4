/* test_kernel_tanh.c - the hyperbolic tangent inside row_scores' softcap
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * With scale = softcap = 1 a score is tanh of the product and nothing else. exp_tpl.h claims an
 * error of at most TANH_ULP; the claim is what is asserted: for f32 over all positive arguments up
 * to where tanh is 1 for good, for f64 over samples. SDPA_EXP_STRIDE in the environment takes every
 * so many'th f32 argument only, where an emulator makes all of them slow.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernel_tests.h"
#include "mpfr_ulp.h"
#include "worst_ulp.h"

#define TANH_ULP 2.75

enum { BLOCK = 1 << 14, THREADS = 2, MOST_ISAS = 8, SAMPLES = 150000 };
#define ALL_ARGUMENTS UINT64_C(0x41900000) /* the bits of 18.0f */

static double x64[SAMPLES], got64[SAMPLES];

static const struct sdpai_score_f32 only_tanh_f32 = {.scale = 1, .softcap = 1};
static const struct sdpai_score_f64 only_tanh_f64 = {.scale = 1, .softcap = 1};

static atomic_uint_fast64_t next_block;
static uint64_t stride = 1;

/* libm's tanh in double, whose error is 2^-28 ulp of a float. Seven eighths of the arguments are so
 * small that three terms of the series are closer than that, and faster. */
static double tanh_of(float x) {
  const double y = (double)x, square = y * y;
  if (y >= 0x1p-13) return tanh(y);
  return y - y * square * (1 / 3. - square * (2 / 15.));
}

/* Ulps of a float of this size per unit; of a subnormal one as of the smallest normal. */
static double ulps_per_unit(double expected) {
  const double normal = expected < (double)FLT_MIN ? (double)FLT_MIN : expected;
  uint64_t bits;
  double factor;
  memcpy(&bits, &normal, sizeof bits);
  bits = ((UINT64_C(2046) + 23) << 52) - (bits & UINT64_C(0x7ff0000000000000));
  memcpy(&factor, &bits, sizeof factor);
  return factor;
}

static void *work(void *arg) {
  struct worst_ulp *worst = arg;
  static _Thread_local float x[BLOCK], got[BLOCK];
  static _Thread_local double expected[BLOCK];
  for (;;) {
    const uint64_t first = atomic_fetch_add(&next_block, 1) * BLOCK * stride;
    if (first >= ALL_ARGUMENTS) return NULL;
    for (uint32_t t = 0; t < BLOCK; t++) {
      uint32_t bits = (uint32_t)(first + t * stride);
      if (bits > ALL_ARGUMENTS) bits = (uint32_t)ALL_ARGUMENTS;
      memcpy(&x[t], &bits, sizeof bits);
      expected[t] = tanh_of(x[t]);
    }
    const struct sdpai_kernels *table;
    for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
      memcpy(got, x, sizeof got);
      table->f32.row_scores(BLOCK, got, &only_tanh_f32);
      for (int t = 0; t < BLOCK; t++)
        worst_ulp_note(&worst[i], fabs((double)got[t] - expected[t]) * ulps_per_unit(expected[t]),
                       (double)x[t]);
    }
  }
}

static void test_tanh_f32(void **state) {
  (void)state;
  static struct worst_ulp worst[THREADS][MOST_ISAS];
  pthread_t threads[THREADS];
  const char *text = getenv("SDPA_EXP_STRIDE");
  if (text && *text) {
    stride = strtoull(text, NULL, 10);
    assert_in_range(stride, 1, 1 << 20);
  }
  for (int k = 0; k < THREADS; k++)
    assert_int_equal(pthread_create(&threads[k], NULL, work, worst[k]), 0);
  for (int k = 0; k < THREADS; k++) assert_int_equal(pthread_join(threads[k], NULL), 0);
  const struct sdpai_kernels *table;
  int failed = 0;
  for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
    struct worst_ulp all = worst[0][i];
    for (int k = 1; k < THREADS; k++) worst_ulp_note(&all, worst[k][i].ulp, worst[k][i].at);
    print_message("tanh f32 %-8s every %llu of all positive arguments: max %.4f ulp, at %a\n",
                  table->name, (unsigned long long)stride, all.ulp, all.at);
    /* none rounds every result rightly: 0.5 and less would mean that nothing was measured */
    if (!(all.ulp > 0.5 && all.ulp <= TANH_ULP)) failed = 1;
  }
  assert_false(failed);
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
    struct worst_ulp worst = {0, 0};
    memcpy(got64, x64, sizeof got64);
    table->f64.row_scores(SAMPLES, got64, &only_tanh_f64);
    for (int t = 0; t < SAMPLES; t++) {
      mpfr_set_d(exact, x64[t], MPFR_RNDN);
      mpfr_tanh(exact, exact, MPFR_RNDN);
      worst_ulp_note(&worst, mpfr_ulp_error(got64[t], exact, scratch), x64[t]);
    }
    print_message("tanh f64 %-8s max %.4f ulp, at %a\n", table->name, worst.ulp, worst.at);
    assert_true(worst.ulp > 0.5 && worst.ulp <= TANH_ULP);
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
