/* test_kernel_exp_f32.c - row_exp of single precision for all 2^32 arguments
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference is libm's exp() in double, whose error of less than one ulp of a double is 2^-29
 * ulp of a float; it is computed once for all ISAs. exp_tpl.h claims less than 1 ulp, kernels.h
 * promises 2: the claim is what is asserted. SDPA_EXP_STRIDE in the environment takes every so
 * many'th argument only, where an emulator makes all of them slow.
 */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernel_tests.h"

enum { BLOCK = 1 << 14, THREADS = 2, MOST_ISAS = 8 };
#define ALL_ARGUMENTS UINT64_C(0x100000000)

struct measured {
  double max_ulp;
  float max_at;
  uint64_t wrong; /* results that are not 0, +infinity or NaN where they must be */
  float wrong_at;
};

static atomic_uint_fast64_t next_block;
static uint64_t stride = 1;

/* 2^23 / 2^e for a normal |expected| = m 2^e, 1 <= m < 2: ulps of a float per unit. */
static double ulps_per_unit(double expected) {
  uint64_t bits;
  double factor;
  memcpy(&bits, &expected, sizeof bits);
  bits = ((UINT64_C(2046) + 23) << 52) - (bits & UINT64_C(0x7ff0000000000000));
  memcpy(&factor, &bits, sizeof factor);
  return factor;
}

/* exp(a) where it is below the smallest normal float, above the largest, or NaN. */
static int special_is_right(float got, double expected) {
  if (isnan(expected)) return isnan(got);
  if (expected < (double)FLT_MIN) return got == 0 && !signbit(got);
  return got == INFINITY;
}

static void measure(const float *x, const float *got, const double *expected, struct measured *m) {
  for (int t = 0; t < BLOCK; t++) {
    if (expected[t] >= (double)FLT_MIN && expected[t] <= (double)FLT_MAX) {
      double ulp = fabs((double)got[t] - expected[t]) * ulps_per_unit(expected[t]);
      if (!(ulp <= m->max_ulp)) {
        m->max_ulp = isnan(ulp) ? (double)INFINITY : ulp;
        m->max_at = x[t];
      }
    } else if (!special_is_right(got[t], expected[t])) {
      m->wrong++;
      m->wrong_at = x[t];
    }
  }
}

static void *work(void *arg) {
  struct measured *m = arg;
  static _Thread_local float x[BLOCK], got[BLOCK];
  static _Thread_local double expected[BLOCK];
  for (;;) {
    uint64_t block = atomic_fetch_add(&next_block, 1);
    if (block * BLOCK * stride >= ALL_ARGUMENTS) return NULL;
    for (uint32_t t = 0; t < BLOCK; t++) {
      uint32_t bits = (uint32_t)((block * BLOCK + t) * stride); /* the last block may wrap */
      memcpy(&x[t], &bits, sizeof bits);
      expected[t] = exp((double)x[t]);
    }
    const struct sdpai_kernels *table;
    for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
      table->f32.row_exp(BLOCK, x, 1, 0, got);
      measure(x, got, expected, &m[i]);
    }
  }
}

static void test_exp_f32_all_arguments(void **state) {
  (void)state;
  static struct measured m[THREADS][MOST_ISAS];
  pthread_t threads[THREADS];
  const char *text = getenv("SDPA_EXP_STRIDE");
  if (text && *text) {
    stride = strtoull(text, NULL, 10);
    assert_in_range(stride, 1, 1 << 20);
  }
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, m[i]), 0);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  const struct sdpai_kernels *table;
  int failed = 0;
  for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
    struct measured all = m[0][i];
    for (int k = 1; k < THREADS; k++) {
      if (m[k][i].max_ulp > all.max_ulp) {
        all.max_ulp = m[k][i].max_ulp;
        all.max_at = m[k][i].max_at;
      }
      if (m[k][i].wrong) all.wrong_at = m[k][i].wrong_at;
      all.wrong += m[k][i].wrong;
    }
    print_message("exp f32 %-8s every %llu of 2^32 arguments: max %.4f ulp, at %a\n", table->name,
                  (unsigned long long)stride, all.max_ulp, (double)all.max_at);
    if (all.wrong)
      print_error("%llu wrong, one at %a\n", (unsigned long long)all.wrong, (double)all.wrong_at);
    /* no polynomial rounds every result rightly: 0.5 and less would mean that nothing was measured
     */
    if (all.wrong || !(all.max_ulp > 0.5 && all.max_ulp < exp_claimed_ulp(table))) failed = 1;
  }
  assert_false(failed);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exp_f32_all_arguments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
