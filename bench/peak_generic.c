/* peak_generic.c - the ceilings' loops in the compiler's own 16-byte vectors, for any CPU
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * 16 bytes, since every 64-bit architecture of today has registers of that size in its baseline. No
 * FMA: the library's generic kernels multiply and add apart, and so does this.
 */
#include <stdint.h>
#include <string.h>

#include <sdpa/sdpa.h>

#include "peak_tables.h"
#include "runtime/compiler.h"

typedef float f32v __attribute__((vector_size(16)));
typedef double f64v __attribute__((vector_size(16)));
typedef uint64_t u64v __attribute__((vector_size(16)));
typedef uint32_t u32v __attribute__((vector_size(16)));
enum { f32_lanes = 4, f64_lanes = 2, u64_lanes = 2 };

SDPAI_INLINE f32v f32_set1(float a) {
  return (f32v){a, a, a, a};
}
SDPAI_INLINE f64v f64_set1(double a) {
  return (f64v){a, a};
}
SDPAI_INLINE f32v f32_load(const float *p) {
  return *(const f32v *)(const void *)p;
}
SDPAI_INLINE f64v f64_load(const double *p) {
  return *(const f64v *)(const void *)p;
}
SDPAI_INLINE void f32_store(float *p, f32v v) {
  *(f32v *)(void *)p = v;
}
SDPAI_INLINE void f64_store(double *p, f64v v) {
  *(f64v *)(void *)p = v;
}
SDPAI_INLINE f32v f32_fma(f32v a, f32v b, f32v c) {
  return a * b + c;
}
SDPAI_INLINE f64v f64_fma(f64v a, f64v b, f64v c) {
  return a * b + c;
}
SDPAI_INLINE u64v u64_zero(void) {
  return (u64v){0, 0};
}
SDPAI_INLINE u64v u64_load(const uint64_t *p) {
  return *(const u64v *)(const void *)p;
}
SDPAI_INLINE u64v u64_add(u64v a, u64v b) {
  return a + b;
}
SDPAI_INLINE void u64_store(uint64_t *p, u64v v) {
  memcpy(p, &v, sizeof v);
}

/* As in peak_avx2.c. */
SDPAI_INLINE f32v f32_exp(f32v x) {
  const f32v magic = f32_set1(0x1.8p23f), t = x * f32_set1(EXP2_LOG2_E), n = t + magic;
  const f32v r = t - (n - magic);
  f32v p = f32_set1(0.0f);
#define HORNER(coefficient) p = f32_fma(p, r, f32_set1(coefficient));
  EXP2_NEAREST(HORNER)
#undef HORNER
  return (f32v)((u32v)p + ((u32v)n << 23));
}

/* One register fewer than with FMA: the product needs a place. */
#define PEAK_SHAPES(type, real, shape) shape(type, real, 6, 2) shape(type, real, 4, 2)
#ifdef __x86_64__
#define PEAK_REGISTER(v) "+x"(v)
#elif defined(__aarch64__)
#define PEAK_REGISTER(v) "+w"(v)
#else
#define PEAK_REGISTER(v) "+m"(v)
#endif
#define PEAK_TABLE peak_loops_generic
#define PEAK_ISA   SDPA_ISA_GENERIC
#define PEAK_NAME  "generic"
#include "peak_loops_tpl.h"
