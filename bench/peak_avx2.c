/* peak_avx2.c - the ceilings' loops in AVX2 with FMA
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled with flags of its own: to be called only where the machine has the ISA.
 */
#include <immintrin.h>

#include <sdpa/sdpa.h>

#include "peak_tables.h"
#include "runtime/compiler.h"

typedef __m256 f32v;
typedef __m256d f64v;
typedef __m256i u64v;
enum { f32_lanes = 8, f64_lanes = 4, u64_lanes = 4 };

SDPAI_INLINE f32v f32_set1(float a) {
  return _mm256_set1_ps(a);
}
SDPAI_INLINE f64v f64_set1(double a) {
  return _mm256_set1_pd(a);
}
SDPAI_INLINE f32v f32_load(const float *p) {
  return _mm256_load_ps(p);
}
SDPAI_INLINE f64v f64_load(const double *p) {
  return _mm256_load_pd(p);
}
SDPAI_INLINE void f32_store(float *p, f32v v) {
  _mm256_store_ps(p, v);
}
SDPAI_INLINE void f64_store(double *p, f64v v) {
  _mm256_store_pd(p, v);
}
SDPAI_INLINE f32v f32_fma(f32v a, f32v b, f32v c) {
  return _mm256_fmadd_ps(a, b, c);
}
SDPAI_INLINE f64v f64_fma(f64v a, f64v b, f64v c) {
  return _mm256_fmadd_pd(a, b, c);
}
SDPAI_INLINE u64v u64_zero(void) {
  return _mm256_setzero_si256();
}
SDPAI_INLINE u64v u64_load(const uint64_t *p) {
  return _mm256_load_si256((const __m256i *)(const void *)p);
}
SDPAI_INLINE u64v u64_add(u64v a, u64v b) {
  return _mm256_add_epi64(a, b);
}
SDPAI_INLINE void u64_store(uint64_t *p, u64v v) {
  _mm256_storeu_si256((__m256i *)(void *)p, v);
}

/* Adding 1.5 * 2^23 rounds t to the integer n that then lies in the low bits; those are added to
 * the exponent of the polynomial's value. */
SDPAI_INLINE f32v f32_exp(f32v x) {
  const f32v magic = f32_set1(0x1.8p23f), t = _mm256_mul_ps(x, f32_set1(EXP2_LOG2_E));
  const f32v n = _mm256_add_ps(t, magic);
  const f32v r = _mm256_sub_ps(t, _mm256_sub_ps(n, magic));
  f32v p = _mm256_setzero_ps();
#define HORNER(coefficient) p = f32_fma(p, r, f32_set1(coefficient));
  EXP2_NEAREST(HORNER)
#undef HORNER
  const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
}

/* 12 accumulators, the row of vectors and one broadcast are 15 or 16 registers. */
#define PEAK_SHAPES(type, real, shape) shape(type, real, 6, 2) shape(type, real, 4, 3)
#define PEAK_REGISTER(v)               "+x"(v)
#define PEAK_TABLE                     peak_loops_avx2
#define PEAK_ISA                       SDPA_ISA_AVX2
#define PEAK_NAME                      "avx2"
#include "peak_loops_tpl.h"
