/* test_kernel_exp_f64.c - row_exp of double precision against MPFR
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Arguments: of every size, dense where the exponential changes its power of two, and dense at the
 * two ends of the normal numbers. exp_tpl.h claims less than 1 ulp, kernels.h promises 2: the claim
 * is what is asserted.
 */
#include <float.h>
#include <math.h>

#include "kernel_tests.h"
#include "mpfr_ulp.h"
#include "worst_ulp.h"

enum { HALF_POWERS = 2040 };
enum {
  OF_EVERY_SIZE = 120000,
  LIKE_SOFTMAX = 40000,
  AT_BOUNDARIES = 2 * HALF_POWERS * 24,
  AT_ENDS = 2 * 2001
};
enum { SAMPLES = OF_EVERY_SIZE + LIKE_SOFTMAX + AT_BOUNDARIES + AT_ENDS };

static double x[SAMPLES], got[SAMPLES];

#define LN2 0x1.62e42fefa39efp-1
/* Where exp becomes normal, and where it becomes infinite. */
#define LEAST_ARGUMENT   (-0x1.6232bdd7abcd2p+9)
#define LARGEST_ARGUMENT 0x1.62e42fefa39efp+9

static int add_neighbours(int n, double centre, int below, int above) {
  double a = centre;
  for (int i = 0; i < below; i++) a = nextafter(a, -(double)INFINITY);
  for (int i = -below; i <= above; i++, a = nextafter(a, (double)INFINITY)) x[n++] = a;
  return n;
}

static void fill_samples(void) {
  uint64_t state = 9;
  int n = 0;
  for (int i = 0; i < OF_EVERY_SIZE; i++) {
    double size = exp2(next_between(&state, -60, 9.6));
    x[n++] = i % 2 ? size : -size;
  }
  for (int i = 0; i < LIKE_SOFTMAX; i++) x[n++] = next_between(&state, -40, 0);
  /* k ln 2 and (k + 1/2) ln 2: where r is 0, and where it jumps from its largest to its least */
  for (int k = -HALF_POWERS; k < HALF_POWERS; k++) n = add_neighbours(n, k * (LN2 / 2), 11, 12);
  n = add_neighbours(n, LEAST_ARGUMENT, 1000, 1000);
  n = add_neighbours(n, LARGEST_ARGUMENT, 1000, 1000);
  assert_int_equal(n, SAMPLES);
}

static void test_exp_f64_samples(void **state) {
  (void)state;
  const struct sdpai_kernels *table;
  mpfr_t exact, scratch, least, largest;
  mpfr_inits2(MPFR_ULP_BITS, exact, scratch, least, largest, (mpfr_ptr)0);
  mpfr_set_d(least, DBL_MIN, MPFR_RNDN);
  mpfr_set_d(largest, DBL_MAX, MPFR_RNDN);
  fill_samples();
  for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
    struct worst_ulp worst = {0, 0};
    int outside = 0;
    table->f64.row_exp(SAMPLES, x, 1, 0, got);
    for (int t = 0; t < SAMPLES; t++) {
      mpfr_set_d(exact, x[t], MPFR_RNDN);
      mpfr_exp(exact, exact, MPFR_RNDN);
      if (mpfr_less_p(exact, least)) {
        assert_true(got[t] == 0 && !signbit(got[t]));
        outside++;
        continue;
      }
      if (mpfr_greater_p(exact, largest)) {
        assert_true(got[t] == (double)INFINITY);
        outside++;
        continue;
      }
      worst_ulp_note(&worst, mpfr_ulp_error(got[t], exact, scratch), x[t]);
    }
    print_message("exp f64 %-8s %d samples: max %.4f ulp, at %a\n", table->name, SAMPLES - outside,
                  worst.ulp, worst.at);
    assert_true(outside >= 2000); /* both ends were reached */
    assert_true(worst.ulp > 0.5 && worst.ulp < exp_claimed_ulp(table));
  }
  mpfr_clears(exact, scratch, least, largest, (mpfr_ptr)0);
  mpfr_free_cache();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exp_f64_samples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
