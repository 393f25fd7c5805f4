/* mpfr_ulp.h - errors of doubles in ulps, against MPFR at 200 bits
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_MPFR_ULP_H
#define TEST_MPFR_ULP_H

#include <mpfr.h>

enum { MPFR_ULP_BITS = 200 };

/* |got - exact| in units of the last place of a double of exact's size (a normal one). `scratch` is
 * overwritten. */
static inline double mpfr_ulp_error(double got, const mpfr_t exact, mpfr_t scratch) {
  mpfr_exp_t exponent = mpfr_get_exp(exact); /* 2^(exponent - 1) <= |exact| < 2^exponent */
  mpfr_sub_d(scratch, exact, got, MPFR_RNDN);
  mpfr_mul_2si(scratch, scratch, 53 - (long)exponent, MPFR_RNDN);
  mpfr_abs(scratch, scratch, MPFR_RNDN);
  return mpfr_get_d(scratch, MPFR_RNDU);
}

#endif
