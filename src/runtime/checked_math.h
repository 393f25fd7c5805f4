/* checked_math.h - size arithmetic that reports overflow instead of wrapping
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The one place where sizes, strides and byte counts are multiplied and added. Each sdpai_checked_
 * function stores the result and returns 1, or returns 0 and leaves *result alone.
 */
#ifndef SDPAI_CHECKED_MATH_H
#define SDPAI_CHECKED_MATH_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/compiler.h"

SDPAI_INLINE int sdpai_checked_mul(int64_t a, int64_t b, int64_t *result) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return 0;
  *result = r;
  return 1;
}

SDPAI_INLINE int sdpai_checked_add(int64_t a, int64_t b, int64_t *result) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return 0;
  *result = r;
  return 1;
}

/* a + b, held at the ends of int64_t: for positions, where beyond the end means "everything". */
SDPAI_INLINE int64_t sdpai_saturating_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return b < 0 ? INT64_MIN : INT64_MAX;
  return r;
}

/* a - b, likewise. */
SDPAI_INLINE int64_t sdpai_saturating_sub(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_sub_overflow(a, b, &r)) return b > 0 ? INT64_MIN : INT64_MAX;
  return r;
}

/* a * b of non-negative counts, held at INT64_MAX: for figures that are reported, not allocated. */
SDPAI_INLINE int64_t sdpai_saturating_mul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return INT64_MAX;
  return r;
}

SDPAI_INLINE int64_t sdpai_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
SDPAI_INLINE int64_t sdpai_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

#endif
