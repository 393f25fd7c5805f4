/* accuracy_judge.h - how far outputs are from exact arithmetic, in the units of the error bound
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/numerics.md has the bound: c (eps (L + A) + e_p (1 + A)) S + e_w S for an element of the
 * output, with S the sum of weight |v|, and c (eps (L + A + |lse|) + e_p A) for a log-sum-exp. What
 * it adds for underflow is not taken off here.
 */
#ifndef ACCURACY_JUDGE_H
#define ACCURACY_JUDGE_H

#include <stdint.h>

#include "problem_data.h"
#include "reference.h"

/* Of the bound, what the computation decides and not the data. */
struct accuracy_terms {
  long double roundoff;                 /* eps */
  int64_t chain;                        /* L */
  struct reference_allowance allowance; /* e_p of products and e_w of weights */
};

/* An output that is not there has NaN. One that is not finite where it should be, or not 0 where
 * only 0 will do, is infinitely far off. */
struct accuracy_figures {
  int64_t rows;         /* that were compared */
  double score_size;    /* standard deviation of the scores, scale * (q . k), of these rows */
  double largest, mean; /* |error| / S over all elements */
  double bound_c;       /* the smallest c that the output needs. In a 16-bit type half a step of
                              what is stored is taken off each error first */
  double lse_largest;   /* |error| */
  double lse_c;
};

/* 1 if neither needs a larger c than the library promises. */
int accuracy_within_bound(const struct accuracy_figures *figures);

/* Judges what lies in the outputs of `data`. The reference is that of the same data, and holds the
 * scores of stage SDPA_STAGE_SCALED. */
void accuracy_judge(const struct reference *reference, const struct problem_data *data,
                    const struct accuracy_terms *terms, struct accuracy_figures *figures);

#endif
