/* gradient_bounds.h - how far the gradients of one row may be off
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef GRADIENT_BOUNDS_H
#define GRADIENT_BOUNDS_H

#include "gradient_case.h"

/* The exact terms of one row; arrays by key, where the case lists the key. */
struct gradient_terms {
  const long double *weight, *capped, *of_weight, *of_score, *of_product, *slope;
  long double inner, lse;
  int is_nan;
};

/* Sums so far, beside those of the gradients. */
struct gradient_sums {
  long double *bound[GRADIENT_KINDS], *floor[GRADIENT_KINDS];
};

/* The largest magnitudes of K and V in the columns of one kv head: what a row whose keys are not all
 * listed is judged by. */
struct gradient_largest {
  long double *key, *value;
};

/* Adds what a row may be off, unless it is NaN. scratch: 3 * key_len numbers. */
void gradient_bounds_add(const struct gradient_case *g, const struct gradient_terms *t,
                         const struct gradient_largest *largest, long double *scratch,
                         const struct gradient_sums *sums);

#endif
