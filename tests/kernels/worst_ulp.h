/* worst_ulp.h - the largest error of a measurement, and where it was
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_WORST_ULP_H
#define TEST_WORST_ULP_H

#include <math.h>

struct worst_ulp {
  double ulp, at;
};

/* A NaN counts as infinite: it stays the largest. */
static inline void worst_ulp_note(struct worst_ulp *worst, double ulp, double at) {
  if (ulp <= worst->ulp) return;
  worst->ulp = isnan(ulp) ? (double)INFINITY : ulp;
  worst->at = at;
}

#endif
