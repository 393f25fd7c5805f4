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
