/* narrow_float.c - the numbers of the 16-bit types, by their definition
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "narrow_float.h"

#include <math.h>

/* The exponent that decides the distance to the next number: subnormal numbers have the smallest
 * normal ones' distance, and what lies beyond the largest number that of the largest. */
static int step_exponent(uint32_t type, long double magnitude) {
  const int least = narrow_least_exponent(type), most = 1 - least;
  if (!(magnitude >= ldexpl(1.0L, least))) return least; /* NaN, too */
  if (magnitude >= ldexpl(1.0L, most)) return most;
  return ilogbl(magnitude);
}

uint16_t narrow_from_double(uint32_t type, double value) {
  const int fraction_bits = narrow_fraction_bits(type), least = narrow_least_exponent(type);
  const int infinity = narrow_special_field(type) << fraction_bits;
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const double magnitude = fabs(value);
  if (isnan(value)) return (uint16_t)(sign | infinity | 1 << (fraction_bits - 1));
  if (magnitude >= ldexp(1.0, 2 - least)) return (uint16_t)(sign | infinity);
  const int exponent = step_exponent(type, (long double)magnitude);
  /* In steps, to nearest and of two to even; a carry out of the fraction is the next exponent, out
   * of the largest one infinity. */
  const int steps = (int)rint(ldexp(magnitude, fraction_bits - exponent));
  return (uint16_t)(sign | (((exponent - least) << fraction_bits) + steps));
}

long double narrow_half_step(uint32_t type, long double magnitude) {
  if (!is_narrow_float(type)) return 0.0L;
  return ldexpl(0.5L, step_exponent(type, fabsl(magnitude)) - narrow_fraction_bits(type));
}
