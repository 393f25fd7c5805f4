/* narrow_float.h - the numbers of the 16-bit types, by their definition
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * bf16 and f16 are a sign, an exponent and a fraction, 8 and 7 or 5 and 10 bits of them, read as
 * IEEE 754 reads its formats. Tests judge the library's conversions by these, so they are
 * arithmetic on doubles and one formula for both types: no shift of an f32's bits, no instruction.
 */
#ifndef NARROW_FLOAT_H
#define NARROW_FLOAT_H

#include <stdint.h>
#include <string.h>

#include <sdpa/sdpa.h>

/* 1 for SDPA_BF16 and SDPA_F16. */
static inline int is_narrow_float(uint32_t type) {
  return type == SDPA_BF16 || type == SDPA_F16;
}

/* Bits of the fraction, the exponent of the smallest normal number, and the exponent's field in
 * infinity and NaN. */
static inline int narrow_fraction_bits(uint32_t type) {
  return type == SDPA_BF16 ? 7 : 10;
}
static inline int narrow_least_exponent(uint32_t type) {
  return type == SDPA_BF16 ? -126 : -14;
}
static inline int narrow_special_field(uint32_t type) {
  return type == SDPA_BF16 ? 0xFF : 0x1F;
}

/* The number, exactly; a NaN is a NaN. Inline and without a call: the reference's inner loops. */
static inline double narrow_to_double(uint32_t type, uint16_t bits) {
  const int fraction_bits = narrow_fraction_bits(type), least = narrow_least_exponent(type);
  const uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
  const int field = (bits & 0x7FFF) >> fraction_bits;
  uint64_t wide;
  double value;
  if (field == 0) {
    /* 2^(least - fraction_bits) */
    wide = (uint64_t)(1023 + least - fraction_bits) << 52;
    memcpy(&value, &wide, sizeof value);
    value *= (double)fraction;
    return bits & 0x8000 ? -value : value;
  }
  wide = (uint64_t)(field == narrow_special_field(type) ? 2047 : field - 1 + least + 1023) << 52;
  wide |= fraction << (52 - fraction_bits) | (uint64_t)(bits >> 15) << 63;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* The nearest number of the type, of two the even one; infinity from half a step beyond the largest
 * on; for a NaN a quiet NaN. */
uint16_t narrow_from_double(uint32_t type, double value);

/* How far that rounding moves a number of this magnitude at most: half the distance between two
 * neighbours; of NaN any number. 0 for the types that are not narrow: what is stored in them has
 * been computed in them. */
long double narrow_half_step(uint32_t type, long double magnitude);

#endif
