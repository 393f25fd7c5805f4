/* softmax_row_tpl.h - finishing a row of scores, written once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: T the type, X(name) the name with the type's suffix, FIELD the member of struct
 * sdpai_kernels, EXP and LOG of <math.h>.
 */

/* Max kernels may lose a NaN, so a row whose maximum is -inf is looked at again. */
static int X(has_nan)(int64_t n, const T *x, T scale) {
  for (int64_t t = 0; t < n; t++)
    if (isnan(scale * x[t])) return 1;
  return 0;
}

enum sdpai_row X(sdpai_softmax_row)(const struct sdpai_kernels *kernels, int64_t n, T *x, T scale,
                                    T max, const T *sink, T *factor, T *lse) {
  const T infinity = (T)INFINITY;
  if (max == -infinity && !X(has_nan)(n, x, scale)) {
    if (n > 0) memset(x, 0, (size_t)n * sizeof *x);
    *factor = 0;
    if (lse) *lse = sink ? *sink : -infinity;
    return SDPAI_ROW_EMPTY;
  }
  /* The sink takes part in the maximum: either may be the larger by far. */
  if (sink && *sink > max) max = *sink;
  T sum = kernels->FIELD.row_exp(n, x, scale, max, x);
  if (sink) sum += EXP(*sink - max);
  if (isnan(sum)) {
    *factor = 1;
    if (lse) *lse = (T)NAN;
    return SDPAI_ROW_NAN;
  }
  *factor = 1 / sum;
  if (lse) *lse = max + LOG(sum);
  return SDPAI_ROW_FINE;
}
