/* vec_neon.h - the vector operations in AArch64's Advanced SIMD: 4 floats, 2 doubles
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Contracts: vec_generic.h. There are no masked loads and stores: parts of a vector go in pieces of
 * two lanes and one. FMAX and FMIN return NaN where either operand is, so max and min are a
 * comparison and a selection. Little-endian only, as the build makes sure: bytes become lanes by
 * way of integers.
 */
#ifndef SDPAI_VEC_NEON_H
#define SDPAI_VEC_NEON_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "runtime/compiler.h"

typedef float32x4_t vf32;
typedef float64x2_t vf64;
enum { vf32_lanes = 4, vf64_lanes = 2 };
#define SDPAI_TILE_UNROLL 8

SDPAI_INLINE vf32 vf32_set1(float a) {
  return vdupq_n_f32(a);
}
SDPAI_INLINE vf64 vf64_set1(double a) {
  return vdupq_n_f64(a);
}
SDPAI_INLINE vf32 vf32_load(const float *p) {
  return vld1q_f32(p);
}
SDPAI_INLINE vf64 vf64_load(const double *p) {
  return vld1q_f64(p);
}
SDPAI_INLINE void vf32_store(float *p, vf32 v) {
  vst1q_f32(p, v);
}
SDPAI_INLINE void vf64_store(double *p, vf64 v) {
  vst1q_f64(p, v);
}

SDPAI_INLINE vf32 vf32_load_part(const float *p, int k) {
  const vf32 zero = vdupq_n_f32(0);
  switch (k) {
  case 1:
    return vld1q_lane_f32(p, zero, 0);
  case 2:
    return vcombine_f32(vld1_f32(p), vget_low_f32(zero));
  case 3:
    return vld1q_lane_f32(p + 2, vcombine_f32(vld1_f32(p), vget_low_f32(zero)), 2);
  default:
    return vld1q_f32(p);
  }
}
SDPAI_INLINE vf64 vf64_load_part(const double *p, int k) {
  return k == 1 ? vld1q_lane_f64(p, vdupq_n_f64(0), 0) : vld1q_f64(p);
}
SDPAI_INLINE void vf32_store_part(float *p, int k, vf32 v) {
  switch (k) {
  case 1:
    vst1q_lane_f32(p, v, 0);
    break;
  case 2:
    vst1_f32(p, vget_low_f32(v));
    break;
  case 3:
    vst1_f32(p, vget_low_f32(v));
    vst1q_lane_f32(p + 2, v, 2);
    break;
  default:
    vst1q_f32(p, v);
    break;
  }
}
SDPAI_INLINE void vf64_store_part(double *p, int k, vf64 v) {
  if (k == 1)
    vst1q_lane_f64(p, v, 0);
  else
    vst1q_f64(p, v);
}
SDPAI_INLINE vf32 vf32_select_part(int k, vf32 yes, vf32 no) {
  static const int32_t lane[4] = {0, 1, 2, 3};
  return vbslq_f32(vcltq_s32(vld1q_s32(lane), vdupq_n_s32(k)), yes, no);
}
SDPAI_INLINE vf64 vf64_select_part(int k, vf64 yes, vf64 no) {
  static const int64_t lane[2] = {0, 1};
  return vbslq_f64(vcltq_s64(vld1q_s64(lane), vdupq_n_s64(k)), yes, no);
}

SDPAI_INLINE vf32 vf32_add(vf32 a, vf32 b) {
  return vaddq_f32(a, b);
}
SDPAI_INLINE vf64 vf64_add(vf64 a, vf64 b) {
  return vaddq_f64(a, b);
}
SDPAI_INLINE vf32 vf32_sub(vf32 a, vf32 b) {
  return vsubq_f32(a, b);
}
SDPAI_INLINE vf64 vf64_sub(vf64 a, vf64 b) {
  return vsubq_f64(a, b);
}
SDPAI_INLINE vf32 vf32_mul(vf32 a, vf32 b) {
  return vmulq_f32(a, b);
}
SDPAI_INLINE vf64 vf64_mul(vf64 a, vf64 b) {
  return vmulq_f64(a, b);
}
SDPAI_INLINE vf32 vf32_div(vf32 a, vf32 b) {
  return vdivq_f32(a, b);
}
SDPAI_INLINE vf64 vf64_div(vf64 a, vf64 b) {
  return vdivq_f64(a, b);
}
SDPAI_INLINE vf32 vf32_fma(vf32 a, vf32 b, vf32 c) {
  return vfmaq_f32(c, a, b);
}
SDPAI_INLINE vf64 vf64_fma(vf64 a, vf64 b, vf64 c) {
  return vfmaq_f64(c, a, b);
}
SDPAI_INLINE vf32 vf32_fms(vf32 a, vf32 b, vf32 c) {
  return vfmaq_f32(vnegq_f32(c), a, b);
}
SDPAI_INLINE vf64 vf64_fms(vf64 a, vf64 b, vf64 c) {
  return vfmaq_f64(vnegq_f64(c), a, b);
}
SDPAI_INLINE vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) {
  return vfmsq_f32(c, a, b);
}
SDPAI_INLINE vf64 vf64_fnma(vf64 a, vf64 b, vf64 c) {
  return vfmsq_f64(c, a, b);
}
SDPAI_INLINE vf32 vf32_max(vf32 a, vf32 b) {
  return vbslq_f32(vcgtq_f32(a, b), a, b);
}
SDPAI_INLINE vf64 vf64_max(vf64 a, vf64 b) {
  return vbslq_f64(vcgtq_f64(a, b), a, b);
}
SDPAI_INLINE vf32 vf32_min(vf32 a, vf32 b) {
  return vbslq_f32(vcltq_f32(a, b), a, b);
}
SDPAI_INLINE vf64 vf64_min(vf64 a, vf64 b) {
  return vbslq_f64(vcltq_f64(a, b), a, b);
}

SDPAI_INLINE vf32 vf32_abs(vf32 a) {
  return vabsq_f32(a);
}
SDPAI_INLINE vf64 vf64_abs(vf64 a) {
  return vabsq_f64(a);
}
SDPAI_INLINE vf32 vf32_with_sign(vf32 a, vf32 s) {
  return vbslq_f32(vdupq_n_u32(UINT32_C(1) << 31), s, a);
}
SDPAI_INLINE vf64 vf64_with_sign(vf64 a, vf64 s) {
  return vbslq_f64(vdupq_n_u64(UINT64_C(1) << 63), s, a);
}

SDPAI_INLINE vf32 vf32_select_eq(vf32 a, vf32 b, vf32 yes, vf32 no) {
  return vbslq_f32(vceqq_f32(a, b), yes, no);
}
SDPAI_INLINE vf64 vf64_select_eq(vf64 a, vf64 b, vf64 yes, vf64 no) {
  return vbslq_f64(vceqq_f64(a, b), yes, no);
}
SDPAI_INLINE vf32 vf32_zero_where_less(vf32 v, vf32 a, vf32 b) {
  return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), vcltq_f32(a, b)));
}
SDPAI_INLINE vf64 vf64_zero_where_less(vf64 v, vf64 a, vf64 b) {
  return vreinterpretq_f64_u64(vbicq_u64(vreinterpretq_u64_f64(v), vcltq_f64(a, b)));
}

/* The low 4 or 2 bytes of `bytes`, one a lane. */
SDPAI_INLINE vf32 vf32_select_word(uint64_t bytes, vf32 yes, vf32 no) {
  const uint32x4_t wide = vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes))));
  return vbslq_f32(vtstq_u32(wide, wide), yes, no);
}
SDPAI_INLINE vf64 vf64_select_word(uint64_t bytes, vf64 yes, vf64 no) {
  const uint32x4_t half = vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes))));
  const uint64x2_t wide = vmovl_u32(vget_low_u32(half));
  return vbslq_f64(vtstq_u64(wide, wide), yes, no);
}
/* The first k bytes at p, zeros after them. */
SDPAI_INLINE uint64_t vec_bytes_part(const uint8_t *p, int k) {
  uint64_t bytes = 0;
  for (int i = 0; i < k; i++) bytes |= (uint64_t)p[i] << (8 * i);
  return bytes;
}
SDPAI_INLINE vf32 vf32_select_bytes(const uint8_t *p, vf32 yes, vf32 no) {
  uint32_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  return vf32_select_word(bytes, yes, no);
}
SDPAI_INLINE vf64 vf64_select_bytes(const uint8_t *p, vf64 yes, vf64 no) {
  uint16_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  return vf64_select_word(bytes, yes, no);
}
SDPAI_INLINE vf32 vf32_select_bytes_part(const uint8_t *p, int k, vf32 yes, vf32 no) {
  return vf32_select_word(vec_bytes_part(p, k), yes, no);
}
SDPAI_INLINE vf64 vf64_select_bytes_part(const uint8_t *p, int k, vf64 yes, vf64 no) {
  return vf64_select_word(vec_bytes_part(p, k), yes, no);
}

/* By way of doubles, which hold every index exactly; a float is short of digits from 2^24 on. */
SDPAI_INLINE vf64 vf64_index(int64_t t) {
  static const double lane[2] = {0, 1};
  return vaddq_f64(vdupq_n_f64((double)t), vld1q_f64(lane));
}
SDPAI_INLINE vf32 vf32_index(int64_t t) {
  return vcombine_f32(vcvt_f32_f64(vf64_index(t)), vcvt_f32_f64(vf64_index(t + 2)));
}

/* As in vec_generic.h. */
SDPAI_INLINE vf32 vf32_scale2(vf32 p, vf32 n) {
  const vf32 low = vf32_min(n, vf32_set1(127));
  const uint32x4_t biased = vreinterpretq_u32_f32(vf32_add(low, vf32_set1(0x1.8p23f + 127)));
  p = vf32_fma(p, vf32_sub(n, low), p);
  return vf32_mul(p, vreinterpretq_f32_u32(vshlq_n_u32(biased, 23)));
}
SDPAI_INLINE vf64 vf64_scale2(vf64 p, vf64 n) {
  const vf64 low = vf64_min(n, vf64_set1(1023));
  const uint64x2_t biased = vreinterpretq_u64_f64(vf64_add(low, vf64_set1(0x1.8p52 + 1023)));
  p = vf64_fma(p, vf64_sub(n, low), p);
  return vf64_mul(p, vreinterpretq_f64_u64(vshlq_n_u64(biased, 52)));
}
SDPAI_INLINE vf32 vf32_cap_for_scale2(vf32 a, vf32 limit) {
  return vf32_min(limit, a);
}
SDPAI_INLINE vf64 vf64_cap_for_scale2(vf64 a, vf64 limit) {
  return vf64_min(limit, a);
}

/* Both of these add neighbours, then the sums. */
SDPAI_INLINE float vf32_reduce_add(vf32 v) {
  return vaddvq_f32(v);
}
SDPAI_INLINE double vf64_reduce_add(vf64 v) {
  return vaddvq_f64(v);
}
SDPAI_INLINE float vf32_reduce_max(vf32 v) {
  return vmaxvq_f32(v);
}
SDPAI_INLINE double vf64_reduce_max(vf64 v) {
  return vmaxvq_f64(v);
}

/* Each byte keeps the bit of its place among eight; three rounds of sums of neighbours join them.
 */
SDPAI_INLINE uint32_t vec_bits(const uint8_t *p) {
  static const uint8_t place[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bit = vld1q_u8(place), low = vld1q_u8(p), high = vld1q_u8(p + 16);
  uint8x16_t sums =
      vpaddq_u8(vandq_u8(vtstq_u8(low, low), bit), vandq_u8(vtstq_u8(high, high), bit));
  sums = vpaddq_u8(sums, sums);
  sums = vpaddq_u8(sums, sums);
  return vgetq_lane_u32(vreinterpretq_u32_u8(sums), 0);
}

SDPAI_INLINE vf32 vf32_keep_bit(const uint32_t *words, int bit, vf32 yes, vf32 no) {
  return vbslq_f32(vtstq_u32(vld1q_u32(words), vdupq_n_u32(UINT32_C(1) << bit)), yes, no);
}
SDPAI_INLINE vf64 vf64_keep_bit(const uint32_t *words, int bit, vf64 yes, vf64 no) {
  const uint64x2_t wide = vmovl_u32(vld1_u32(words));
  return vbslq_f64(vtstq_u64(wide, vdupq_n_u64(UINT64_C(1) << bit)), yes, no);
}

SDPAI_INLINE void vf64_transpose(vf64 *x) {
  const vf64 low = vtrn1q_f64(x[0], x[1]), high = vtrn2q_f64(x[0], x[1]);
  x[0] = low;
  x[1] = high;
}
/* Pairs, then pairs of pairs, which travel as doubles. */
SDPAI_INLINE void vf32_transpose(vf32 *x) {
  vf64 even[2] = {vreinterpretq_f64_f32(vtrn1q_f32(x[0], x[1])),
                  vreinterpretq_f64_f32(vtrn1q_f32(x[2], x[3]))};
  vf64 odd[2] = {vreinterpretq_f64_f32(vtrn2q_f32(x[0], x[1])),
                 vreinterpretq_f64_f32(vtrn2q_f32(x[2], x[3]))};
  vf64_transpose(even);
  vf64_transpose(odd);
  x[0] = vreinterpretq_f32_f64(even[0]);
  x[1] = vreinterpretq_f32_f64(odd[0]);
  x[2] = vreinterpretq_f32_f64(even[1]);
  x[3] = vreinterpretq_f32_f64(odd[1]);
}

SDPAI_INLINE vf32 vf32_sum_each(const vf32 *x) {
  return vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3]));
}
SDPAI_INLINE vf64 vf64_sum_each(const vf64 *x) {
  return vpaddq_f64(x[0], x[1]);
}

/* The first k of 4 elements of 16 bits, zeros after them. */
SDPAI_INLINE uint16x4_t vec_load_part_16(const uint16_t *p, int k) {
  uint16_t part[4] = {0};
  for (int i = 0; i < k; i++) part[i] = p[i];
  return vld1_u16(part);
}
SDPAI_INLINE void vec_store_part_16(uint16_t *p, int k, uint16x4_t x) {
  uint16_t part[4];
  vst1_u16(part, x);
  for (int i = 0; i < k; i++) p[i] = part[i];
}

SDPAI_INLINE vf32 vf32_from_bf16(uint16x4_t x) {
  return vreinterpretq_f32_u32(vshll_n_u16(x, 16));
}
/* The sum of vec_generic.h; quiet for NaN. */
SDPAI_INLINE uint16x4_t vf32_to_bf16(vf32 v) {
  const uint32x4_t bits = vreinterpretq_u32_f32(v);
  const uint32x4_t even = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(even, vdupq_n_u32(0x7fff)));
  const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(UINT32_C(0x400000)));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), rounded, quiet), 16);
}
SDPAI_INLINE vf32 vf32_load_bf16(const uint16_t *p) {
  return vf32_from_bf16(vld1_u16(p));
}
SDPAI_INLINE vf32 vf32_load_part_bf16(const uint16_t *p, int k) {
  return vf32_from_bf16(vec_load_part_16(p, k));
}
SDPAI_INLINE void vf32_store_bf16(uint16_t *p, vf32 v) {
  vst1_u16(p, vf32_to_bf16(v));
}
SDPAI_INLINE void vf32_store_part_bf16(uint16_t *p, int k, vf32 v) {
  vec_store_part_16(p, k, vf32_to_bf16(v));
}

/* FCVTL and FCVTN round by the control register, which the api layer has reset. */
SDPAI_INLINE vf32 vf32_from_f16(uint16x4_t x) {
  return vcvt_f32_f16(vreinterpret_f16_u16(x));
}
SDPAI_INLINE uint16x4_t vf32_to_f16(vf32 v) {
  return vreinterpret_u16_f16(vcvt_f16_f32(v));
}
SDPAI_INLINE vf32 vf32_load_f16(const uint16_t *p) {
  return vf32_from_f16(vld1_u16(p));
}
SDPAI_INLINE vf32 vf32_load_part_f16(const uint16_t *p, int k) {
  return vf32_from_f16(vec_load_part_16(p, k));
}
SDPAI_INLINE void vf32_store_f16(uint16_t *p, vf32 v) {
  vst1_u16(p, vf32_to_f16(v));
}
SDPAI_INLINE void vf32_store_part_f16(uint16_t *p, int k, vf32 v) {
  vec_store_part_16(p, k, vf32_to_f16(v));
}

#endif
