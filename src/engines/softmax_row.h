/* softmax_row.h - finishing a row of scores: the one place where a softmax is taken
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_SOFTMAX_ROW_H
#define SDPAI_SOFTMAX_ROW_H

#include <stdint.h>

#include "kernels/kernels.h"

/* What became of a row of n scores scale * x[t], of which excluded keys are -inf. */
enum sdpai_row {
  SDPAI_ROW_FINE,  /* x: weights before division; factor: 1 / their sum, sink included */
  SDPAI_ROW_EMPTY, /* no score above -inf (semantics rules 10, 12); x and factor are 0 */
  SDPAI_ROW_NAN /* a NaN or +inf score or sink: the caller sets allowed weights to NaN, others to 0;
                   factor is 1, so that what was computed from NaN weights stays NaN */
};

/* x becomes exp(scale * x - max), `max` being what row_max or row_scores returned. *sink NULL:
 * none. *lse gets the log-sum-exp of the row, sink included: -inf or the sink for an empty row, NaN
 * for a NaN row. */
enum sdpai_row sdpai_softmax_row_f32(const struct sdpai_kernels *kernels, int64_t n, float *x,
                                     float scale, float max, const float *sink, float *factor,
                                     float *lse);
enum sdpai_row sdpai_softmax_row_f64(const struct sdpai_kernels *kernels, int64_t n, double *x,
                                     double scale, double max, const double *sink, double *factor,
                                     double *lse);

#endif
