/* peak_avx512.c - the ceilings' loops in AVX-512
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled with flags of its own: to be called only where the machine has the ISA.
 */
#include <immintrin.h>

#include <sdpa/sdpa.h>

#include "peak_tables.h"
#include "runtime/compiler.h"

typedef __m512 f32v;
typedef __m512d f64v;
typedef __m512i u64v;
enum { f32_lanes = 16, f64_lanes = 8, u64_lanes = 8 };

SDPAI_INLINE f32v f32_set1(float a) {
  return _mm512_set1_ps(a);
}
SDPAI_INLINE f64v f64_set1(double a) {
  return _mm512_set1_pd(a);
}
SDPAI_INLINE f32v f32_load(const float *p) {
  return _mm512_load_ps(p);
}
SDPAI_INLINE f64v f64_load(const double *p) {
  return _mm512_load_pd(p);
}
SDPAI_INLINE void f32_store(float *p, f32v v) {
  _mm512_store_ps(p, v);
}
SDPAI_INLINE void f64_store(double *p, f64v v) {
  _mm512_store_pd(p, v);
}
SDPAI_INLINE f32v f32_fma(f32v a, f32v b, f32v c) {
  return _mm512_fmadd_ps(a, b, c);
}
SDPAI_INLINE f64v f64_fma(f64v a, f64v b, f64v c) {
  return _mm512_fmadd_pd(a, b, c);
}
SDPAI_INLINE u64v u64_zero(void) {
  return _mm512_setzero_si512();
}
SDPAI_INLINE u64v u64_load(const uint64_t *p) {
  return _mm512_load_si512(p);
}
SDPAI_INLINE u64v u64_add(u64v a, u64v b) {
  return _mm512_add_epi64(a, b);
}
SDPAI_INLINE void u64_store(uint64_t *p, u64v v) {
  _mm512_storeu_si512(p, v);
}

/* VREDUCE with rounding towards minus infinity leaves t - floor(t), VSCALEF multiplies by
 * 2^floor(t): no integral part is ever formed. */
SDPAI_INLINE f32v f32_exp(f32v x) {
  const f32v t = _mm512_mul_ps(x, f32_set1(EXP2_LOG2_E));
  const f32v r = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  f32v p = _mm512_setzero_ps();
#define HORNER(coefficient) p = f32_fma(p, r, f32_set1(coefficient));
  EXP2_FLOOR(HORNER)
#undef HORNER
  return _mm512_scalef_ps(p, t);
}

/* 24 accumulators of 32 registers. 8x3 divides the usual head sizes. */
#define PEAK_SHAPES(type, real, shape)                                                             \
  shape(type, real, 8, 3) shape(type, real, 12, 2) shape(type, real, 6, 4)
#define PEAK_REGISTER(v) "+v"(v)
#define PEAK_TABLE       peak_loops_avx512
#define PEAK_ISA         SDPA_ISA_AVX512
#define PEAK_NAME        "avx512"
#include "peak_loops_tpl.h"
