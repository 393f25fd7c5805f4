/* vec_avx2.h - the vector operations in AVX2, FMA and F16C: 8 floats, 4 doubles
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Contracts: vec_generic.h. Parts of a vector go through masked loads and stores, which neither
 * fault on nor change the memory of the lanes left out.
 */
#ifndef SDPAI_VEC_AVX2_H
#define SDPAI_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "runtime/compiler.h"

typedef __m256 vf32;
typedef __m256d vf64;
enum { vf32_lanes = 8, vf64_lanes = 4 };
#define SDPAI_TILE_UNROLL 4

/* A window of 8 numbers that starts 8 - k from the front has -1 in its first k lanes; with 64-bit
 * lanes the same bits serve at 4 - k. */
static const int32_t vec_part_masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

SDPAI_INLINE __m256i vf32_part_mask(int k) {
  return _mm256_loadu_si256((const __m256i *)(const void *)(vec_part_masks + 8 - k));
}
SDPAI_INLINE __m256i vf64_part_mask(int k) {
  return _mm256_loadu_si256((const __m256i *)(const void *)(vec_part_masks + 8 - 2 * k));
}

SDPAI_INLINE vf32 vf32_set1(float a) {
  return _mm256_set1_ps(a);
}
SDPAI_INLINE vf64 vf64_set1(double a) {
  return _mm256_set1_pd(a);
}
SDPAI_INLINE vf32 vf32_load(const float *p) {
  return _mm256_loadu_ps(p);
}
SDPAI_INLINE vf64 vf64_load(const double *p) {
  return _mm256_loadu_pd(p);
}
SDPAI_INLINE void vf32_store(float *p, vf32 v) {
  _mm256_storeu_ps(p, v);
}
SDPAI_INLINE void vf64_store(double *p, vf64 v) {
  _mm256_storeu_pd(p, v);
}

SDPAI_INLINE vf32 vf32_load_part(const float *p, int k) {
  return _mm256_maskload_ps(p, vf32_part_mask(k));
}
SDPAI_INLINE vf64 vf64_load_part(const double *p, int k) {
  return _mm256_maskload_pd(p, vf64_part_mask(k));
}
SDPAI_INLINE void vf32_store_part(float *p, int k, vf32 v) {
  _mm256_maskstore_ps(p, vf32_part_mask(k), v);
}
SDPAI_INLINE void vf64_store_part(double *p, int k, vf64 v) {
  _mm256_maskstore_pd(p, vf64_part_mask(k), v);
}
SDPAI_INLINE vf32 vf32_select_part(int k, vf32 yes, vf32 no) {
  return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(vf32_part_mask(k)));
}
SDPAI_INLINE vf64 vf64_select_part(int k, vf64 yes, vf64 no) {
  return _mm256_blendv_pd(no, yes, _mm256_castsi256_pd(vf64_part_mask(k)));
}

SDPAI_INLINE vf32 vf32_add(vf32 a, vf32 b) {
  return _mm256_add_ps(a, b);
}
SDPAI_INLINE vf64 vf64_add(vf64 a, vf64 b) {
  return _mm256_add_pd(a, b);
}
SDPAI_INLINE vf32 vf32_sub(vf32 a, vf32 b) {
  return _mm256_sub_ps(a, b);
}
SDPAI_INLINE vf64 vf64_sub(vf64 a, vf64 b) {
  return _mm256_sub_pd(a, b);
}
SDPAI_INLINE vf32 vf32_mul(vf32 a, vf32 b) {
  return _mm256_mul_ps(a, b);
}
SDPAI_INLINE vf64 vf64_mul(vf64 a, vf64 b) {
  return _mm256_mul_pd(a, b);
}
SDPAI_INLINE vf32 vf32_div(vf32 a, vf32 b) {
  return _mm256_div_ps(a, b);
}
SDPAI_INLINE vf64 vf64_div(vf64 a, vf64 b) {
  return _mm256_div_pd(a, b);
}
SDPAI_INLINE vf32 vf32_fma(vf32 a, vf32 b, vf32 c) {
  return _mm256_fmadd_ps(a, b, c);
}
SDPAI_INLINE vf64 vf64_fma(vf64 a, vf64 b, vf64 c) {
  return _mm256_fmadd_pd(a, b, c);
}
SDPAI_INLINE vf32 vf32_fms(vf32 a, vf32 b, vf32 c) {
  return _mm256_fmsub_ps(a, b, c);
}
SDPAI_INLINE vf64 vf64_fms(vf64 a, vf64 b, vf64 c) {
  return _mm256_fmsub_pd(a, b, c);
}
SDPAI_INLINE vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) {
  return _mm256_fnmadd_ps(a, b, c);
}
SDPAI_INLINE vf64 vf64_fnma(vf64 a, vf64 b, vf64 c) {
  return _mm256_fnmadd_pd(a, b, c);
}
SDPAI_INLINE vf32 vf32_max(vf32 a, vf32 b) {
  return _mm256_max_ps(a, b);
}
SDPAI_INLINE vf64 vf64_max(vf64 a, vf64 b) {
  return _mm256_max_pd(a, b);
}
SDPAI_INLINE vf32 vf32_min(vf32 a, vf32 b) {
  return _mm256_min_ps(a, b);
}
SDPAI_INLINE vf64 vf64_min(vf64 a, vf64 b) {
  return _mm256_min_pd(a, b);
}

SDPAI_INLINE vf32 vf32_abs(vf32 a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
SDPAI_INLINE vf64 vf64_abs(vf64 a) {
  return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
}
SDPAI_INLINE vf32 vf32_with_sign(vf32 a, vf32 s) {
  return _mm256_or_ps(a, _mm256_and_ps(_mm256_set1_ps(-0.0f), s));
}
SDPAI_INLINE vf64 vf64_with_sign(vf64 a, vf64 s) {
  return _mm256_or_pd(a, _mm256_and_pd(_mm256_set1_pd(-0.0), s));
}

SDPAI_INLINE vf32 vf32_select_eq(vf32 a, vf32 b, vf32 yes, vf32 no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}
SDPAI_INLINE vf64 vf64_select_eq(vf64 a, vf64 b, vf64 yes, vf64 no) {
  return _mm256_blendv_pd(no, yes, _mm256_cmp_pd(a, b, _CMP_EQ_OQ));
}
SDPAI_INLINE vf32 vf32_zero_where_less(vf32 v, vf32 a, vf32 b) {
  return _mm256_andnot_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ), v);
}
SDPAI_INLINE vf64 vf64_zero_where_less(vf64 v, vf64 a, vf64 b) {
  return _mm256_andnot_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ), v);
}

/* The first k bytes at p, zeros after them. There is no masked load of bytes. */
SDPAI_INLINE uint64_t vec_bytes_part(const uint8_t *p, int k) {
  uint64_t bytes = 0;
  for (int i = 0; i < k; i++) bytes |= (uint64_t)p[i] << (8 * i);
  return bytes;
}

/* Zero bytes become lanes of all ones, which choose `no`. */
SDPAI_INLINE vf32 vf32_select_word(__m128i bytes, vf32 yes, vf32 no) {
  __m128i zero = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());
  return _mm256_blendv_ps(yes, no, _mm256_castsi256_ps(_mm256_cvtepi8_epi32(zero)));
}
SDPAI_INLINE vf64 vf64_select_word(__m128i bytes, vf64 yes, vf64 no) {
  __m128i zero = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());
  return _mm256_blendv_pd(yes, no, _mm256_castsi256_pd(_mm256_cvtepi8_epi64(zero)));
}
SDPAI_INLINE vf32 vf32_select_bytes(const uint8_t *p, vf32 yes, vf32 no) {
  return vf32_select_word(_mm_loadl_epi64((const __m128i *)(const void *)p), yes, no);
}
SDPAI_INLINE vf64 vf64_select_bytes(const uint8_t *p, vf64 yes, vf64 no) {
  int32_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  return vf64_select_word(_mm_cvtsi32_si128(bytes), yes, no);
}
SDPAI_INLINE vf32 vf32_select_bytes_part(const uint8_t *p, int k, vf32 yes, vf32 no) {
  return vf32_select_word(_mm_cvtsi64_si128((int64_t)vec_bytes_part(p, k)), yes, no);
}
SDPAI_INLINE vf64 vf64_select_bytes_part(const uint8_t *p, int k, vf64 yes, vf64 no) {
  return vf64_select_word(_mm_cvtsi64_si128((int64_t)vec_bytes_part(p, k)), yes, no);
}

/* By way of doubles, which hold every index exactly; a float is short of digits from 2^24 on. */
SDPAI_INLINE vf64 vf64_index(int64_t t) {
  return _mm256_add_pd(_mm256_set1_pd((double)t), _mm256_setr_pd(0, 1, 2, 3));
}
SDPAI_INLINE vf32 vf32_index(int64_t t) {
  __m128 low = _mm256_cvtpd_ps(vf64_index(t));
  __m128 high = _mm256_cvtpd_ps(vf64_index(t + 4));
  return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

/* As in vec_generic.h. */
SDPAI_INLINE vf32 vf32_scale2(vf32 p, vf32 n) {
  vf32 low = vf32_min(n, vf32_set1(127));
  __m256i biased = _mm256_castps_si256(vf32_add(low, vf32_set1(0x1.8p23f + 127)));
  p = vf32_fma(p, vf32_sub(n, low), p);
  return vf32_mul(p, _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23)));
}
SDPAI_INLINE vf64 vf64_scale2(vf64 p, vf64 n) {
  vf64 low = vf64_min(n, vf64_set1(1023));
  __m256i biased = _mm256_castpd_si256(vf64_add(low, vf64_set1(0x1.8p52 + 1023)));
  p = vf64_fma(p, vf64_sub(n, low), p);
  return vf64_mul(p, _mm256_castsi256_pd(_mm256_slli_epi64(biased, 52)));
}
SDPAI_INLINE vf32 vf32_cap_for_scale2(vf32 a, vf32 limit) {
  return vf32_min(limit, a);
}
SDPAI_INLINE vf64 vf64_cap_for_scale2(vf64 a, vf64 limit) {
  return vf64_min(limit, a);
}

SDPAI_INLINE float vf32_reduce_add(vf32 v) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}
SDPAI_INLINE double vf64_reduce_add(vf64 v) {
  __m128d half = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}
SDPAI_INLINE float vf32_reduce_max(vf32 v) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
SDPAI_INLINE double vf64_reduce_max(vf64 v) {
  __m128d half = _mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
  return _mm_cvtsd_f64(_mm_max_sd(half, _mm_unpackhi_pd(half, half)));
}

SDPAI_INLINE uint32_t vec_bits(const uint8_t *p) {
  const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)p);
  return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
}

SDPAI_INLINE vf32 vf32_keep_bit(const uint32_t *words, int bit, vf32 yes, vf32 no) {
  const __m256i one = _mm256_set1_epi32((int)(1u << bit));
  const __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)words);
  return _mm256_blendv_ps(no, yes,
                          _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(w, one), one)));
}
SDPAI_INLINE vf64 vf64_keep_bit(const uint32_t *words, int bit, vf64 yes, vf64 no) {
  const __m128i one = _mm_set1_epi32((int)(1u << bit));
  const __m128i w = _mm_loadu_si128((const __m128i *)(const void *)words);
  const __m128i set = _mm_cmpeq_epi32(_mm_and_si128(w, one), one);
  return _mm256_blendv_pd(no, yes, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(set)));
}

/* Pairs, then quadruples within 128 bits, then the halves of the vector. */
SDPAI_INLINE void vf32_transpose(vf32 *x) {
  vf32 y[8];
  SDPAI_UNROLL(4)
  for (int u = 0; u < 8; u += 2) {
    y[u] = _mm256_unpacklo_ps(x[u], x[u + 1]);
    y[u + 1] = _mm256_unpackhi_ps(x[u], x[u + 1]);
  }
  SDPAI_UNROLL(2)
  for (int u = 0; u < 8; u += 4) {
    x[u] = _mm256_shuffle_ps(y[u], y[u + 2], 0x44);
    x[u + 1] = _mm256_shuffle_ps(y[u], y[u + 2], 0xee);
    x[u + 2] = _mm256_shuffle_ps(y[u + 1], y[u + 3], 0x44);
    x[u + 3] = _mm256_shuffle_ps(y[u + 1], y[u + 3], 0xee);
  }
  SDPAI_UNROLL(4)
  for (int u = 0; u < 4; u++) {
    y[u] = _mm256_permute2f128_ps(x[u], x[u + 4], 0x20);
    y[u + 4] = _mm256_permute2f128_ps(x[u], x[u + 4], 0x31);
  }
  SDPAI_UNROLL(8)
  for (int u = 0; u < 8; u++) x[u] = y[u];
}
SDPAI_INLINE void vf64_transpose(vf64 *x) {
  const vf64 lo01 = _mm256_unpacklo_pd(x[0], x[1]), hi01 = _mm256_unpackhi_pd(x[0], x[1]);
  const vf64 lo23 = _mm256_unpacklo_pd(x[2], x[3]), hi23 = _mm256_unpackhi_pd(x[2], x[3]);
  x[0] = _mm256_permute2f128_pd(lo01, lo23, 0x20);
  x[1] = _mm256_permute2f128_pd(hi01, hi23, 0x20);
  x[2] = _mm256_permute2f128_pd(lo01, lo23, 0x31);
  x[3] = _mm256_permute2f128_pd(hi01, hi23, 0x31);
}

/* Horizontal additions within 128 bits, then one across. */
SDPAI_INLINE vf32 vf32_sum_each(const vf32 *x) {
  const vf32 a = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
  const vf32 b = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
  return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}
SDPAI_INLINE vf64 vf64_sum_each(const vf64 *x) {
  const vf64 a = _mm256_hadd_pd(x[0], x[1]), b = _mm256_hadd_pd(x[2], x[3]);
  return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
}

/* The first k of 8 elements of 16 bits, zeros after them; there are no masked accesses to such. */
SDPAI_INLINE __m128i vec_load_part_16(const uint16_t *p, int k) {
  uint16_t part[8] = {0};
  for (int i = 0; i < k; i++) part[i] = p[i];
  return _mm_loadu_si128((const __m128i *)(const void *)part);
}
SDPAI_INLINE void vec_store_part_16(uint16_t *p, int k, __m128i x) {
  uint16_t part[8];
  _mm_storeu_si128((__m128i *)(void *)part, x);
  for (int i = 0; i < k; i++) p[i] = part[i];
}

SDPAI_INLINE vf32 vf32_from_bf16(__m128i x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
/* The sum of vec_generic.h; quiet for NaN. */
SDPAI_INLINE __m128i vf32_to_bf16(vf32 v) {
  const __m256i bits = _mm256_castps_si256(v), high = _mm256_srli_epi32(bits, 16);
  const __m256i even = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i half = _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  const __m256i wide = _mm256_blendv_epi8(rounded, quiet, nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
}
SDPAI_INLINE vf32 vf32_load_bf16(const uint16_t *p) {
  return vf32_from_bf16(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SDPAI_INLINE vf32 vf32_load_part_bf16(const uint16_t *p, int k) {
  return vf32_from_bf16(vec_load_part_16(p, k));
}
SDPAI_INLINE void vf32_store_bf16(uint16_t *p, vf32 v) {
  _mm_storeu_si128((__m128i *)(void *)p, vf32_to_bf16(v));
}
SDPAI_INLINE void vf32_store_part_bf16(uint16_t *p, int k, vf32 v) {
  vec_store_part_16(p, k, vf32_to_bf16(v));
}

SDPAI_INLINE __m128i vf32_to_f16(vf32 v) {
  return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
SDPAI_INLINE vf32 vf32_load_f16(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SDPAI_INLINE vf32 vf32_load_part_f16(const uint16_t *p, int k) {
  return _mm256_cvtph_ps(vec_load_part_16(p, k));
}
SDPAI_INLINE void vf32_store_f16(uint16_t *p, vf32 v) {
  _mm_storeu_si128((__m128i *)(void *)p, vf32_to_f16(v));
}
SDPAI_INLINE void vf32_store_part_f16(uint16_t *p, int k, vf32 v) {
  vec_store_part_16(p, k, vf32_to_f16(v));
}

#endif
