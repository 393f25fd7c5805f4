/* vec_generic.h - the vector operations in plain C: one lane, any CPU
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * THE VOCABULARY. Every vec_<isa>.h defines the types vf32 and vf64, their lanes, and for each
 * these operations (vf32_add and vf64_add, ...); the templates of tpl/ know nothing else. `k` is a
 * number of lanes, 0 < k <= lanes; an operation with k touches the memory of the first k lanes
 * only.
 *
 *   set1(a)  load(p)  store(p, v)         no alignment beyond the element's
 *   load_part(p, k)                       lanes from k on are 0
 *   store_part(p, k, v)
 *   select_part(k, yes, no)               the first k lanes of yes, the others of no
 *   add sub mul div(a, b)
 *   fma(a, b, c) = a b + c    fms(a, b, c) = a b - c    fnma(a, b, c) = c - a b
 *                                         one rounding where the ISA has FMA, else two
 *   max(a, b)  min(a, b)                  b if either is NaN, as x86's instructions have it
 *   abs(a)     with_sign(a, s)            |a|; a (not negative) with the sign of s
 *   select_eq(a, b, yes, no)              a == b ? yes : no
 *   zero_where_less(v, a, b)              a < b ? +0 : v
 *   select_bytes(p, yes, no)              byte != 0 ? yes : no, one byte a lane
 *   select_bytes_part(p, k, yes, no)      lanes from k on: no
 *   index(t)                              t, t + 1, ..., each converted exactly once
 *   scale2(p, n)                          p 2^n; NaN if p is. n is integral, from the exponent of
 *                                         the smallest normal number to that of the largest + 1,
 *                                         and the result is not subnormal
 *   cap_for_scale2(a, limit)              min(limit, a) where scale2 cannot bear what exp makes of
 *                                         huge arguments, a where it can
 *   reduce_add(v)  reduce_max(v)          over the lanes, in a fixed order
 *   keep_bit(words, bit, yes, no)         bit `bit` of words[lane] is set ? yes : no
 *   transpose(x)                          the lanes x lanes matrix of vectors x, in place
 *   sum_each(x)                           lane u: the sum of the lanes of x[u], in a fixed order
 *                                         that is the same for every u; x is used up
 *
 * and for vf32 alone, with bf16 and f16 for the last part of the name,
 *
 *   load_bf16(p)     store_bf16(p, v)     row_load and row_store of kernels.h, for a vector of
 *   load_part_bf16(p, k)                  uint16_t
 *   store_part_bf16(p, k, v)
 *
 * and without a type
 *
 *   vec_bits(p)                           bit u set where byte p[u] != 0, for 32 bytes
 *   SDPAI_TILE_UNROLL                     keys (or columns of V) that a tile kernel takes at once:
 *                                         with SDPAI_TILE_VECTORS vectors each they fill the
 *                                         registers
 *
 * Everything is static inline: a function of this name with external linkage would be one function
 * for all ISAs, and the linker might keep the AVX-512 one.
 */
#ifndef SDPAI_VEC_GENERIC_H
#define SDPAI_VEC_GENERIC_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "runtime/compiler.h"

typedef float vf32;
typedef double vf64;
enum { vf32_lanes = 1, vf64_lanes = 1 };
#define SDPAI_TILE_UNROLL 4

SDPAI_INLINE uint32_t vec_bits(const uint8_t *p) {
  uint32_t bits = 0;
  for (int u = 0; u < 32; u++) bits |= (uint32_t)(p[u] != 0) << u;
  return bits;
}

/* The operations that read the same for both types. a b + c stays two roundings: a call of libm's
 * fma() costs more than everything else here on a CPU without the instruction. */
#define SDPAI_VEC_GENERIC(v, real)                                                                 \
  SDPAI_INLINE v v##_set1(real a) {                                                                \
    return a;                                                                                      \
  }                                                                                                \
  SDPAI_INLINE v v##_load(const real *p) {                                                         \
    return *p;                                                                                     \
  }                                                                                                \
  SDPAI_INLINE void v##_store(real *p, v a) {                                                      \
    *p = a;                                                                                        \
  }                                                                                                \
  SDPAI_INLINE v v##_load_part(const real *p, int k) {                                             \
    return k > 0 ? *p : 0;                                                                         \
  }                                                                                                \
  SDPAI_INLINE void v##_store_part(real *p, int k, v a) {                                          \
    if (k > 0) *p = a;                                                                             \
  }                                                                                                \
  SDPAI_INLINE v v##_select_part(int k, v yes, v no) {                                             \
    return k > 0 ? yes : no;                                                                       \
  }                                                                                                \
  SDPAI_INLINE v v##_add(v a, v b) {                                                               \
    return a + b;                                                                                  \
  }                                                                                                \
  SDPAI_INLINE v v##_sub(v a, v b) {                                                               \
    return a - b;                                                                                  \
  }                                                                                                \
  SDPAI_INLINE v v##_mul(v a, v b) {                                                               \
    return a * b;                                                                                  \
  }                                                                                                \
  SDPAI_INLINE v v##_div(v a, v b) {                                                               \
    return a / b;                                                                                  \
  }                                                                                                \
  SDPAI_INLINE v v##_fma(v a, v b, v c) {                                                          \
    return a * b + c;                                                                              \
  }                                                                                                \
  SDPAI_INLINE v v##_fms(v a, v b, v c) {                                                          \
    return a * b - c;                                                                              \
  }                                                                                                \
  SDPAI_INLINE v v##_fnma(v a, v b, v c) {                                                         \
    return c - a * b;                                                                              \
  }                                                                                                \
  SDPAI_INLINE v v##_max(v a, v b) {                                                               \
    return a > b ? a : b;                                                                          \
  }                                                                                                \
  SDPAI_INLINE v v##_min(v a, v b) {                                                               \
    return a < b ? a : b;                                                                          \
  }                                                                                                \
  SDPAI_INLINE v v##_select_eq(v a, v b, v yes, v no) {                                            \
    return a == b ? yes : no;                                                                      \
  }                                                                                                \
  SDPAI_INLINE v v##_zero_where_less(v a, v b, v c) {                                              \
    return b < c ? 0 : a;                                                                          \
  }                                                                                                \
  SDPAI_INLINE v v##_select_bytes(const uint8_t *p, v yes, v no) {                                 \
    return *p ? yes : no;                                                                          \
  }                                                                                                \
  SDPAI_INLINE v v##_select_bytes_part(const uint8_t *p, int k, v yes, v no) {                     \
    return k > 0 && *p ? yes : no;                                                                 \
  }                                                                                                \
  SDPAI_INLINE v v##_keep_bit(const uint32_t *words, int bit, v yes, v no) {                       \
    return words[0] >> bit & 1 ? yes : no;                                                         \
  }                                                                                                \
  SDPAI_INLINE void v##_transpose(v *x) {                                                          \
    (void)x;                                                                                       \
  }                                                                                                \
  SDPAI_INLINE v v##_sum_each(const v *x) {                                                        \
    return x[0];                                                                                   \
  }                                                                                                \
  SDPAI_INLINE v v##_index(int64_t t) {                                                            \
    return (v)t;                                                                                   \
  }                                                                                                \
  SDPAI_INLINE v v##_cap_for_scale2(v a, v limit) {                                                \
    return v##_min(limit, a);                                                                      \
  }                                                                                                \
  SDPAI_INLINE real v##_reduce_add(v a) {                                                          \
    return a;                                                                                      \
  }                                                                                                \
  SDPAI_INLINE real v##_reduce_max(v a) {                                                          \
    return a;                                                                                      \
  }

SDPAI_VEC_GENERIC(vf32, float)
SDPAI_VEC_GENERIC(vf64, double)
#undef SDPAI_VEC_GENERIC

SDPAI_INLINE uint32_t vf32_bits(vf32 a) {
  uint32_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}

SDPAI_INLINE vf32 vf32_from_bits(uint32_t bits) {
  vf32 a;
  memcpy(&a, &bits, sizeof a);
  return a;
}

SDPAI_INLINE uint64_t vf64_bits(vf64 a) {
  uint64_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}

SDPAI_INLINE vf64 vf64_from_bits(uint64_t bits) {
  vf64 a;
  memcpy(&a, &bits, sizeof a);
  return a;
}

SDPAI_INLINE vf32 vf32_abs(vf32 a) {
  return vf32_from_bits(vf32_bits(a) & UINT32_C(0x7fffffff));
}
SDPAI_INLINE vf64 vf64_abs(vf64 a) {
  return vf64_from_bits(vf64_bits(a) & UINT64_C(0x7fffffffffffffff));
}

SDPAI_INLINE vf32 vf32_with_sign(vf32 a, vf32 s) {
  return vf32_from_bits(vf32_bits(a) | (vf32_bits(s) & UINT32_C(0x80000000)));
}

SDPAI_INLINE vf64 vf64_with_sign(vf64 a, vf64 s) {
  return vf64_from_bits(vf64_bits(a) | (vf64_bits(s) & UINT64_C(0x8000000000000000)));
}

SDPAI_INLINE vf32 vf32_load_bf16(const uint16_t *p) {
  return vf32_from_bits((uint32_t)*p << 16);
}

/* Adding half of the last place that stays, less one where that place is even, carries where
 * rounding goes up: into the exponent too, and from the largest number into infinity. */
SDPAI_INLINE void vf32_store_bf16(uint16_t *p, vf32 v) {
  const uint32_t bits = vf32_bits(v), magnitude = bits & UINT32_C(0x7fffffff);
  const uint32_t rounded = (bits + UINT32_C(0x7fff) + (bits >> 16 & 1)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40;
  *p = (uint16_t)(magnitude > UINT32_C(0x7f800000) ? quiet : rounded);
}

/* A subnormal number m 2^-24 is read as 2^-14 + m 2^-24, whose subtraction is exact. All three
 * kinds are computed and one is chosen, so that gcc makes vector code of it. */
SDPAI_INLINE vf32 vf32_load_f16(const uint16_t *p) {
  const uint32_t x = *p, magnitude = x & 0x7fff, fraction = magnitude << 13;
  const uint32_t rebias = UINT32_C(112) << 23, quiet = magnitude > 0x7c00 ? UINT32_C(0x400000) : 0;
  const uint32_t normal = fraction + rebias, special = (normal + rebias) | quiet;
  const vf32 shifted = vf32_from_bits(UINT32_C(0x38800000) | fraction);
  const uint32_t subnormal = vf32_bits(shifted - 0x1p-14f);
  const uint32_t finite = magnitude < 0x400 ? subnormal : normal;
  return vf32_from_bits((x & 0x8000) << 16 | (magnitude < 0x7c00 ? finite : special));
}

/* The leading bits of m, `dropped` less, to nearest even; 0 < dropped < 32. */
SDPAI_INLINE uint32_t vec_round_bits(uint32_t m, uint32_t dropped) {
  return (m + (UINT32_C(1) << (dropped - 1)) - 1 + (m >> dropped & 1)) >> dropped;
}

SDPAI_INLINE void vf32_store_f16(uint16_t *p, vf32 v) {
  const uint32_t bits = vf32_bits(v), magnitude = bits & UINT32_C(0x7fffffff);
  uint32_t half;
  if (magnitude > UINT32_C(0x7f800000)) {
    half = 0x7e00 | (magnitude >> 13 & 0x3ff);
  } else if (magnitude >= UINT32_C(0x477ff000)) { /* 65520, in the middle of 65504 and 2^16 */
    half = 0x7c00;
  } else if (magnitude >= UINT32_C(0x38800000)) { /* 2^-14 */
    half = vec_round_bits(magnitude - (UINT32_C(112) << 23), 13);
  } else if (magnitude > UINT32_C(0x33000000)) { /* 2^-25, which rounds to 0 */
    half = vec_round_bits((magnitude & 0x7fffff) | 0x800000, 126 - (magnitude >> 23));
  } else {
    half = 0;
  }
  *p = (uint16_t)(bits >> 16 & 0x8000) | (uint16_t)half;
}

/* A vector of one lane has no other part than the whole. */
SDPAI_INLINE vf32 vf32_load_part_bf16(const uint16_t *p, int k) {
  (void)k;
  return vf32_load_bf16(p);
}
SDPAI_INLINE vf32 vf32_load_part_f16(const uint16_t *p, int k) {
  (void)k;
  return vf32_load_f16(p);
}
SDPAI_INLINE void vf32_store_part_bf16(uint16_t *p, int k, vf32 v) {
  (void)k;
  vf32_store_bf16(p, v);
}
SDPAI_INLINE void vf32_store_part_f16(uint16_t *p, int k, vf32 v) {
  (void)k;
  vf32_store_f16(p, v);
}

/* 2^n as bits: n + 127 lands in the low bits of 1.5 * 2^23 + 127 + n, whose last place is 1, and
 * the shift moves it to the exponent. n = 128 has no 2^n: its second factor 2 goes to p, exactly.
 */
SDPAI_INLINE vf32 vf32_scale2(vf32 p, vf32 n) {
  vf32 low = vf32_min(n, FLT_MAX_EXP - 1);
  p = p * (n - low) + p;
  return p * vf32_from_bits(vf32_bits(low + (0x1.8p23f + 127)) << 23);
}

SDPAI_INLINE vf64 vf64_scale2(vf64 p, vf64 n) {
  vf64 low = vf64_min(n, DBL_MAX_EXP - 1);
  p = p * (n - low) + p;
  return p * vf64_from_bits(vf64_bits(low + (0x1.8p52 + 1023)) << 52);
}

#endif
