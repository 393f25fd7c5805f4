/* vec_avx512.h - the vector operations in AVX-512 F, DQ, BW, VL: 16 floats, 8 doubles
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Contracts: vec_generic.h. Parts of a vector go through mask registers; lanes left out are not
 * touched in memory.
 */
#ifndef SDPAI_VEC_AVX512_H
#define SDPAI_VEC_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#include "runtime/compiler.h"

typedef __m512 vf32;
typedef __m512d vf64;
enum { vf32_lanes = 16, vf64_lanes = 8 };
#define SDPAI_TILE_UNROLL 8

SDPAI_INLINE __mmask16 vf32_part_mask(int k) {
  return (__mmask16)((1u << k) - 1);
}
SDPAI_INLINE __mmask8 vf64_part_mask(int k) {
  return (__mmask8)((1u << k) - 1);
}

SDPAI_INLINE vf32 vf32_set1(float a) {
  return _mm512_set1_ps(a);
}
SDPAI_INLINE vf64 vf64_set1(double a) {
  return _mm512_set1_pd(a);
}
SDPAI_INLINE vf32 vf32_load(const float *p) {
  return _mm512_loadu_ps(p);
}
SDPAI_INLINE vf64 vf64_load(const double *p) {
  return _mm512_loadu_pd(p);
}
SDPAI_INLINE void vf32_store(float *p, vf32 v) {
  _mm512_storeu_ps(p, v);
}
SDPAI_INLINE void vf64_store(double *p, vf64 v) {
  _mm512_storeu_pd(p, v);
}

SDPAI_INLINE vf32 vf32_load_part(const float *p, int k) {
  return _mm512_maskz_loadu_ps(vf32_part_mask(k), p);
}
SDPAI_INLINE vf64 vf64_load_part(const double *p, int k) {
  return _mm512_maskz_loadu_pd(vf64_part_mask(k), p);
}
SDPAI_INLINE void vf32_store_part(float *p, int k, vf32 v) {
  _mm512_mask_storeu_ps(p, vf32_part_mask(k), v);
}
SDPAI_INLINE void vf64_store_part(double *p, int k, vf64 v) {
  _mm512_mask_storeu_pd(p, vf64_part_mask(k), v);
}
SDPAI_INLINE vf32 vf32_select_part(int k, vf32 yes, vf32 no) {
  return _mm512_mask_mov_ps(no, vf32_part_mask(k), yes);
}
SDPAI_INLINE vf64 vf64_select_part(int k, vf64 yes, vf64 no) {
  return _mm512_mask_mov_pd(no, vf64_part_mask(k), yes);
}

SDPAI_INLINE vf32 vf32_add(vf32 a, vf32 b) {
  return _mm512_add_ps(a, b);
}
SDPAI_INLINE vf64 vf64_add(vf64 a, vf64 b) {
  return _mm512_add_pd(a, b);
}
SDPAI_INLINE vf32 vf32_sub(vf32 a, vf32 b) {
  return _mm512_sub_ps(a, b);
}
SDPAI_INLINE vf64 vf64_sub(vf64 a, vf64 b) {
  return _mm512_sub_pd(a, b);
}
SDPAI_INLINE vf32 vf32_mul(vf32 a, vf32 b) {
  return _mm512_mul_ps(a, b);
}
SDPAI_INLINE vf64 vf64_mul(vf64 a, vf64 b) {
  return _mm512_mul_pd(a, b);
}
SDPAI_INLINE vf32 vf32_div(vf32 a, vf32 b) {
  return _mm512_div_ps(a, b);
}
SDPAI_INLINE vf64 vf64_div(vf64 a, vf64 b) {
  return _mm512_div_pd(a, b);
}
SDPAI_INLINE vf32 vf32_fma(vf32 a, vf32 b, vf32 c) {
  return _mm512_fmadd_ps(a, b, c);
}
SDPAI_INLINE vf64 vf64_fma(vf64 a, vf64 b, vf64 c) {
  return _mm512_fmadd_pd(a, b, c);
}
SDPAI_INLINE vf32 vf32_fms(vf32 a, vf32 b, vf32 c) {
  return _mm512_fmsub_ps(a, b, c);
}
SDPAI_INLINE vf64 vf64_fms(vf64 a, vf64 b, vf64 c) {
  return _mm512_fmsub_pd(a, b, c);
}
SDPAI_INLINE vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) {
  return _mm512_fnmadd_ps(a, b, c);
}
SDPAI_INLINE vf64 vf64_fnma(vf64 a, vf64 b, vf64 c) {
  return _mm512_fnmadd_pd(a, b, c);
}
SDPAI_INLINE vf32 vf32_max(vf32 a, vf32 b) {
  return _mm512_max_ps(a, b);
}
SDPAI_INLINE vf64 vf64_max(vf64 a, vf64 b) {
  return _mm512_max_pd(a, b);
}
SDPAI_INLINE vf32 vf32_min(vf32 a, vf32 b) {
  return _mm512_min_ps(a, b);
}
SDPAI_INLINE vf64 vf64_min(vf64 a, vf64 b) {
  return _mm512_min_pd(a, b);
}

SDPAI_INLINE vf32 vf32_abs(vf32 a) {
  return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a);
}
SDPAI_INLINE vf64 vf64_abs(vf64 a) {
  return _mm512_andnot_pd(_mm512_set1_pd(-0.0), a);
}
SDPAI_INLINE vf32 vf32_with_sign(vf32 a, vf32 s) {
  return _mm512_or_ps(a, _mm512_and_ps(_mm512_set1_ps(-0.0f), s));
}
SDPAI_INLINE vf64 vf64_with_sign(vf64 a, vf64 s) {
  return _mm512_or_pd(a, _mm512_and_pd(_mm512_set1_pd(-0.0), s));
}

SDPAI_INLINE vf32 vf32_select_eq(vf32 a, vf32 b, vf32 yes, vf32 no) {
  return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), yes);
}
SDPAI_INLINE vf64 vf64_select_eq(vf64 a, vf64 b, vf64 yes, vf64 no) {
  return _mm512_mask_mov_pd(no, _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ), yes);
}
SDPAI_INLINE vf32 vf32_zero_where_less(vf32 v, vf32 a, vf32 b) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ), v);
}
SDPAI_INLINE vf64 vf64_zero_where_less(vf64 v, vf64 a, vf64 b) {
  return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a, b, _CMP_NLT_UQ), v);
}

SDPAI_INLINE vf32 vf32_select_bytes(const uint8_t *p, vf32 yes, vf32 no) {
  __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
  return _mm512_mask_mov_ps(no, _mm_test_epi8_mask(bytes, bytes), yes);
}
SDPAI_INLINE vf64 vf64_select_bytes(const uint8_t *p, vf64 yes, vf64 no) {
  __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
  return _mm512_mask_mov_pd(no, (__mmask8)_mm_test_epi8_mask(bytes, bytes), yes);
}
SDPAI_INLINE vf32 vf32_select_bytes_part(const uint8_t *p, int k, vf32 yes, vf32 no) {
  __m128i bytes = _mm_maskz_loadu_epi8(vf32_part_mask(k), p);
  return _mm512_mask_mov_ps(no, _mm_test_epi8_mask(bytes, bytes), yes);
}
SDPAI_INLINE vf64 vf64_select_bytes_part(const uint8_t *p, int k, vf64 yes, vf64 no) {
  __m128i bytes = _mm_maskz_loadu_epi8(vf64_part_mask(k), p);
  return _mm512_mask_mov_pd(no, (__mmask8)_mm_test_epi8_mask(bytes, bytes), yes);
}

/* By way of doubles, which hold every index exactly; a float is short of digits from 2^24 on. */
SDPAI_INLINE vf64 vf64_index(int64_t t) {
  return _mm512_add_pd(_mm512_set1_pd((double)t), _mm512_setr_pd(0, 1, 2, 3, 4, 5, 6, 7));
}
SDPAI_INLINE vf32 vf32_index(int64_t t) {
  __m256 low = _mm512_cvtpd_ps(vf64_index(t));
  __m256 high = _mm512_cvtpd_ps(vf64_index(t + 8));
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/* VSCALEF takes any n, and gives +infinity for n = +infinity even where p is NaN (Intel's manual,
 * table of its special cases), so the argument of an exponential needs no cap. */
SDPAI_INLINE vf32 vf32_scale2(vf32 p, vf32 n) {
  return _mm512_scalef_ps(p, n);
}
SDPAI_INLINE vf64 vf64_scale2(vf64 p, vf64 n) {
  return _mm512_scalef_pd(p, n);
}
SDPAI_INLINE vf32 vf32_cap_for_scale2(vf32 a, vf32 limit) {
  (void)limit;
  return a;
}
SDPAI_INLINE vf64 vf64_cap_for_scale2(vf64 a, vf64 limit) {
  (void)limit;
  return a;
}

SDPAI_INLINE float vf32_reduce_add(vf32 v) {
  __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 part = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  part = _mm_add_ps(part, _mm_movehl_ps(part, part));
  return _mm_cvtss_f32(_mm_add_ss(part, _mm_movehdup_ps(part)));
}
SDPAI_INLINE double vf64_reduce_add(vf64 v) {
  __m256d half = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
  __m128d part = _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
  return _mm_cvtsd_f64(_mm_add_sd(part, _mm_unpackhi_pd(part, part)));
}
SDPAI_INLINE float vf32_reduce_max(vf32 v) {
  __m256 half = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 part = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  part = _mm_max_ps(part, _mm_movehl_ps(part, part));
  return _mm_cvtss_f32(_mm_max_ss(part, _mm_movehdup_ps(part)));
}
SDPAI_INLINE double vf64_reduce_max(vf64 v) {
  __m256d half = _mm256_max_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
  __m128d part = _mm_max_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
  return _mm_cvtsd_f64(_mm_max_sd(part, _mm_unpackhi_pd(part, part)));
}

SDPAI_INLINE uint32_t vec_bits(const uint8_t *p) {
  const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)p);
  return _mm256_test_epi8_mask(bytes, bytes);
}

SDPAI_INLINE vf32 vf32_keep_bit(const uint32_t *words, int bit, vf32 yes, vf32 no) {
  const __m512i w = _mm512_loadu_si512(words);
  return _mm512_mask_mov_ps(no, _mm512_test_epi32_mask(w, _mm512_set1_epi32((int)(1u << bit))),
                            yes);
}
SDPAI_INLINE vf64 vf64_keep_bit(const uint32_t *words, int bit, vf64 yes, vf64 no) {
  const __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)words);
  return _mm512_mask_mov_pd(no, _mm256_test_epi32_mask(w, _mm256_set1_epi32((int)(1u << bit))),
                            yes);
}

/* Pairs, then quadruples within 128 bits, then two rounds over the quarters of the vector. */
SDPAI_INLINE void vf32_transpose(vf32 *x) {
  vf32 y[16];
  SDPAI_UNROLL(8)
  for (int u = 0; u < 16; u += 2) {
    y[u] = _mm512_unpacklo_ps(x[u], x[u + 1]);
    y[u + 1] = _mm512_unpackhi_ps(x[u], x[u + 1]);
  }
  SDPAI_UNROLL(4)
  for (int u = 0; u < 16; u += 4) {
    const __m512d lo0 = _mm512_castps_pd(y[u]), lo1 = _mm512_castps_pd(y[u + 2]);
    const __m512d hi0 = _mm512_castps_pd(y[u + 1]), hi1 = _mm512_castps_pd(y[u + 3]);
    x[u] = _mm512_castpd_ps(_mm512_unpacklo_pd(lo0, lo1));
    x[u + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lo0, lo1));
    x[u + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(hi0, hi1));
    x[u + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(hi0, hi1));
  }
  SDPAI_UNROLL(4)
  for (int u = 0; u < 4; u++) {
    y[u] = _mm512_shuffle_f32x4(x[u], x[u + 4], 0x88);
    y[u + 4] = _mm512_shuffle_f32x4(x[u], x[u + 4], 0xdd);
    y[u + 8] = _mm512_shuffle_f32x4(x[u + 8], x[u + 12], 0x88);
    y[u + 12] = _mm512_shuffle_f32x4(x[u + 8], x[u + 12], 0xdd);
  }
  SDPAI_UNROLL(4)
  for (int u = 0; u < 4; u++) {
    x[u] = _mm512_shuffle_f32x4(y[u], y[u + 8], 0x88);
    x[u + 8] = _mm512_shuffle_f32x4(y[u], y[u + 8], 0xdd);
    x[u + 4] = _mm512_shuffle_f32x4(y[u + 4], y[u + 12], 0x88);
    x[u + 12] = _mm512_shuffle_f32x4(y[u + 4], y[u + 12], 0xdd);
  }
}
SDPAI_INLINE void vf64_transpose(vf64 *x) {
  vf64 y[8];
  SDPAI_UNROLL(4)
  for (int u = 0; u < 8; u += 2) {
    y[u] = _mm512_unpacklo_pd(x[u], x[u + 1]);
    y[u + 1] = _mm512_unpackhi_pd(x[u], x[u + 1]);
  }
  SDPAI_UNROLL(2)
  for (int u = 0; u < 2; u++) {
    x[u] = _mm512_shuffle_f64x2(y[u], y[u + 2], 0x88);
    x[u + 2] = _mm512_shuffle_f64x2(y[u], y[u + 2], 0xdd);
    x[u + 4] = _mm512_shuffle_f64x2(y[u + 4], y[u + 6], 0x88);
    x[u + 6] = _mm512_shuffle_f64x2(y[u + 4], y[u + 6], 0xdd);
  }
  SDPAI_UNROLL(2)
  for (int u = 0; u < 2; u++) {
    y[u] = _mm512_shuffle_f64x2(x[u], x[u + 4], 0x88);
    y[u + 4] = _mm512_shuffle_f64x2(x[u], x[u + 4], 0xdd);
    y[u + 2] = _mm512_shuffle_f64x2(x[u + 2], x[u + 6], 0x88);
    y[u + 6] = _mm512_shuffle_f64x2(x[u + 2], x[u + 6], 0xdd);
  }
  SDPAI_UNROLL(8)
  for (int u = 0; u < 8; u++) x[u] = y[u];
}

/* The same network with an addition after each round halves the vectors instead. */
SDPAI_INLINE vf32 vf32_sum_each(const vf32 *x) {
  vf32 quads[4];
  SDPAI_UNROLL(4)
  for (int u = 0; u < 4; u++) {
    const vf32 *v = x + 4 * u;
    const vf32 s01 = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
    const vf32 s23 = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
    quads[u] = _mm512_add_ps(_mm512_shuffle_ps(s01, s23, 0x44), _mm512_shuffle_ps(s01, s23, 0xee));
  }
  const vf32 a = _mm512_add_ps(_mm512_shuffle_f32x4(quads[0], quads[1], 0x88),
                               _mm512_shuffle_f32x4(quads[0], quads[1], 0xdd));
  const vf32 b = _mm512_add_ps(_mm512_shuffle_f32x4(quads[2], quads[3], 0x88),
                               _mm512_shuffle_f32x4(quads[2], quads[3], 0xdd));
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}
SDPAI_INLINE vf64 vf64_sum_each(const vf64 *x) {
  vf64 pairs[4];
  SDPAI_UNROLL(4)
  for (int u = 0; u < 4; u++)
    pairs[u] = _mm512_add_pd(_mm512_unpacklo_pd(x[2 * u], x[2 * u + 1]),
                             _mm512_unpackhi_pd(x[2 * u], x[2 * u + 1]));
  const vf64 a = _mm512_add_pd(_mm512_shuffle_f64x2(pairs[0], pairs[1], 0x88),
                               _mm512_shuffle_f64x2(pairs[0], pairs[1], 0xdd));
  const vf64 b = _mm512_add_pd(_mm512_shuffle_f64x2(pairs[2], pairs[3], 0x88),
                               _mm512_shuffle_f64x2(pairs[2], pairs[3], 0xdd));
  return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x88), _mm512_shuffle_f64x2(a, b, 0xdd));
}

SDPAI_INLINE vf32 vf32_from_bf16(__m256i x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
/* The sum of vec_generic.h; quiet for NaN. VCVTNEPS2BF16 of AVX512-BF16 takes subnormal numbers for
 * zeros, so it does not serve. */
SDPAI_INLINE __m256i vf32_to_bf16(vf32 v) {
  const __m512i bits = _mm512_castps_si512(v), high = _mm512_srli_epi32(bits, 16);
  const __m512i even = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i half = _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(rounded, nan, high, _mm512_set1_epi32(0x40)));
}
SDPAI_INLINE vf32 vf32_load_bf16(const uint16_t *p) {
  return vf32_from_bf16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
SDPAI_INLINE vf32 vf32_load_part_bf16(const uint16_t *p, int k) {
  return vf32_from_bf16(_mm256_maskz_loadu_epi16(vf32_part_mask(k), p));
}
SDPAI_INLINE void vf32_store_bf16(uint16_t *p, vf32 v) {
  _mm256_storeu_si256((__m256i *)(void *)p, vf32_to_bf16(v));
}
SDPAI_INLINE void vf32_store_part_bf16(uint16_t *p, int k, vf32 v) {
  _mm256_mask_storeu_epi16(p, vf32_part_mask(k), vf32_to_bf16(v));
}

SDPAI_INLINE __m256i vf32_to_f16(vf32 v) {
  return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
SDPAI_INLINE vf32 vf32_load_f16(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
SDPAI_INLINE vf32 vf32_load_part_f16(const uint16_t *p, int k) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(vf32_part_mask(k), p));
}
SDPAI_INLINE void vf32_store_f16(uint16_t *p, vf32 v) {
  _mm256_storeu_si256((__m256i *)(void *)p, vf32_to_f16(v));
}
SDPAI_INLINE void vf32_store_part_f16(uint16_t *p, int k, vf32 v) {
  _mm256_mask_storeu_epi16(p, vf32_part_mask(k), vf32_to_f16(v));
}

#endif
