/* numpy_sum.c - pairwise summation in NumPy's order of additions
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * NumPy's add.reduce goes through an array in buffers of 8192 elements and adds their sums one
 * after the other. Within a buffer: below 8 elements in sequence; up to 128 in eight interleaved
 * sums, the rest after them; above, halves cut at a multiple of 8. Observed with NumPy 1.24.2
 * and 2.0.2.
 */
#include "numpy_sum.h"

#include <math.h>

enum { lanes = 8, block = 128, buffer = 8192 };

static double sum_block(const double *values, size_t n) {
  double lane[lanes];
  size_t whole = n - n % lanes;
  for (size_t k = 0; k < lanes; k++) lane[k] = values[k];
  for (size_t i = lanes; i < whole; i += lanes)
    for (size_t k = 0; k < lanes; k++) lane[k] += values[i + k];
  double sum =
      ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  for (size_t i = whole; i < n; i++) sum += values[i];
  return sum;
}

/* NOLINTNEXTLINE(misc-no-recursion): as NumPy does it; a buffer is halved seven times at most */
static double sum_pairwise(const double *values, size_t n) {
  if (n < lanes) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i];
    return sum;
  }
  if (n <= block) return sum_block(values, n);
  size_t half = n / 2;
  half -= half % lanes;
  return sum_pairwise(values, half) + sum_pairwise(values + half, n - half);
}

double numpy_sum(const double *values, size_t n) {
  double sum = 0;
  for (; n > buffer; values += buffer, n -= buffer) sum += sum_pairwise(values, buffer);
  return sum + sum_pairwise(values, n);
}

double numpy_variance(double *values, size_t n) {
  double mean = numpy_sum(values, n) / (double)n;
  for (size_t i = 0; i < n; i++) {
    double deviation = values[i] - mean;
    values[i] = deviation * deviation;
  }
  return numpy_sum(values, n) / (double)n;
}

int numpy_all_close(const double *values, size_t n, double wanted) {
  double tolerance = 1e-8 + 1e-5 * fabs(wanted);
  for (size_t i = 0; i < n; i++)
    if (!(fabs(values[i] - wanted) <= tolerance)) return 0;
  return 1;
}

int numpy_rows_sum_to_one(const double *weights, size_t rows, size_t cols) {
  for (size_t i = 0; i < rows; i++) {
    double sum = numpy_sum(weights + i * cols, cols);
    if (!numpy_all_close(&sum, 1, 1)) return 0;
  }
  return 1;
}
