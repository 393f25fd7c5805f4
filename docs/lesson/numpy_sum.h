/* numpy_sum.h - sums and variances with NumPy's rounding
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * NumPy adds contiguous arrays pairwise: the error grows with log n instead of n, and the last
 * digits depend on how the array is cut. These functions cut it the same way.
 */
#ifndef NUMPY_SUM_H
#define NUMPY_SUM_H

#include <stddef.h>

/* values.sum() of a contiguous float64 array. */
double numpy_sum(const double *values, size_t n);

/* values.var(), n > 0. It works in place: afterwards values holds the squared deviations. */
double numpy_variance(double *values, size_t n);

/* numpy.allclose(weights.sum(axis=1), 1) of rows x cols weights. */
int numpy_rows_sum_to_one(const double *weights, size_t rows, size_t cols);

/* numpy.allclose(values, wanted) with NumPy's default tolerances; NaN is close to nothing. */
int numpy_all_close(const double *values, size_t n, double wanted);

#endif
