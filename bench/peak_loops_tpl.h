/* peak_loops_tpl.h - the loops of peak_loops.h for one ISA
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template. The includer defines PEAK_TABLE (the table's name), PEAK_ISA, PEAK_NAME and, as static
 * inline functions, the vocabulary: types f32v, f64v and u64v; f32_lanes, f64_lanes, u64_lanes;
 * f32_set1, f32_load, f32_store, f32_fma(a, b, c) = a b + c, the same for f64; u64_zero, u64_load,
 * u64_add, u64_store; f32_exp(x), the exponential of peak_loops.h. Loads and stores are aligned to
 * the vector except for u64_store. And the lists of shapes PEAK_SHAPES(type, real, shape), each
 * `shape(type, real, rows, vectors)`. An array of accumulators stays in registers only if every
 * loop over it is unrolled, that after the work too: one index that is not a constant, and gcc
 * stores the whole array in every round.
 */
#include <stddef.h>

#include "runtime/compiler.h"

#define PEAK_FMA(type, real)                                                                       \
  static double fma_##type(int64_t rounds) {                                                       \
    type##v chain[PEAK_CHAINS];                                                                    \
    real lane[type##_lanes] __attribute__((aligned(PEAK_LINE)));                                   \
    double sum = 0.0;                                                                              \
    const type##v half = type##_set1((real)0.5), one = type##_set1((real)1);                       \
    SDPAI_UNROLL(12)                                                                               \
    for (int i = 0; i < PEAK_CHAINS; i++) chain[i] = type##_set1((real)0);                         \
    for (int64_t r = 0; r < rounds; r++) {                                                         \
      SDPAI_UNROLL(4)                                                                              \
      for (int step = 0; step < PEAK_CHAIN_STEPS; step++) {                                        \
        SDPAI_UNROLL(12)                                                                           \
        for (int i = 0; i < PEAK_CHAINS; i++) chain[i] = type##_fma(chain[i], half, one);          \
        /* Twelve equal chains are one to an optimiser; it must not know that they are equal. */   \
        SDPAI_UNROLL(12)                                                                           \
        for (int i = 0; i < PEAK_CHAINS; i++) __asm__("" : PEAK_REGISTER(chain[i]));               \
      }                                                                                            \
    }                                                                                              \
    SDPAI_UNROLL(12)                                                                               \
    for (int i = 0; i < PEAK_CHAINS; i++) {                                                        \
      type##_store(lane, chain[i]);                                                                \
      for (int j = 0; j < (int)type##_lanes; j++) sum += (double)lane[j];                          \
    }                                                                                              \
    return sum;                                                                                    \
  }

#define PEAK_KERNEL(type, real, mr, nv)                                                            \
  static void kernel_##type##_##mr##x##nv(int64_t depth, const void *a, const void *b, void *c) {  \
    const real *row = b, *column = a;                                                              \
    real *out = c;                                                                                 \
    type##v acc[mr][nv];                                                                           \
    SDPAI_UNROLL(16)                                                                               \
    for (int i = 0; i < mr; i++) {                                                                 \
      SDPAI_UNROLL(8)                                                                              \
      for (int x = 0; x < nv; x++) acc[i][x] = type##_set1((real)0);                               \
    }                                                                                              \
    SDPAI_UNROLL(2)                                                                                \
    for (int64_t k = 0; k < depth; k++) {                                                          \
      type##v factor[nv];                                                                          \
      SDPAI_UNROLL(8)                                                                              \
      for (int x = 0; x < nv; x++) factor[x] = type##_load(row + x * type##_lanes);                \
      SDPAI_UNROLL(16)                                                                             \
      for (int i = 0; i < mr; i++) {                                                               \
        const type##v broadcast = type##_set1(column[i]);                                          \
        SDPAI_UNROLL(8)                                                                            \
        for (int x = 0; x < nv; x++) acc[i][x] = type##_fma(broadcast, factor[x], acc[i][x]);      \
      }                                                                                            \
      row += nv * type##_lanes;                                                                    \
      column += mr;                                                                                \
    }                                                                                              \
    SDPAI_UNROLL(16)                                                                               \
    for (int i = 0; i < mr; i++) {                                                                 \
      SDPAI_UNROLL(8)                                                                              \
      for (int x = 0; x < nv; x++) type##_store(out + (i * nv + x) * type##_lanes, acc[i][x]);     \
    }                                                                                              \
  }

#define PEAK_ENTRY(type, real, mr, nv)                                                             \
  {#mr "x" #nv, mr, nv * type##_lanes, kernel_##type##_##mr##x##nv},

PEAK_FMA(f32, float)
PEAK_FMA(f64, double)
PEAK_SHAPES(f32, float, PEAK_KERNEL)
PEAK_SHAPES(f64, double, PEAK_KERNEL)

static void exp_f32(const float *x, float *y, int64_t n) {
  SDPAI_UNROLL(4)
  for (int64_t i = 0; i < n; i += f32_lanes) f32_store(y + i, f32_exp(f32_load(x + i)));
}

/* Four lines at a time into as many sums as fill a line, so that no addition waits for another. */
SDPAI_INLINE uint64_t read_words(const void *data, int64_t bytes, int64_t ahead) {
  enum { PER_LINE = PEAK_LINE / 8 / u64_lanes };
  const uint64_t *word = data;
  const int64_t words = bytes / 8, last = words - PEAK_LINE / 8;
  u64v sum[PER_LINE];
  uint64_t lane[u64_lanes], total = 0;
  for (int i = 0; i < PER_LINE; i++) sum[i] = u64_zero();
  SDPAI_UNROLL(4)
  for (int64_t w = 0; w < words; w += PEAK_LINE / 8) {
    if (ahead > 0) __builtin_prefetch(word + (w + ahead < last ? w + ahead : last), 0, 2);
    SDPAI_UNROLL(8)
    for (int i = 0; i < PER_LINE; i++) sum[i] = u64_add(sum[i], u64_load(word + w + i * u64_lanes));
  }
  for (int i = 0; i < PER_LINE; i++) {
    u64_store(lane, sum[i]);
    for (int j = 0; j < (int)u64_lanes; j++) total += lane[j];
  }
  return total;
}

static uint64_t read_plain(const void *data, int64_t bytes) {
  return read_words(data, bytes, 0);
}

static uint64_t read_ahead(const void *data, int64_t bytes) {
  return read_words(data, bytes, 8192 / 8);
}

const struct peak_loops PEAK_TABLE = {
    .isa = PEAK_ISA,
    .name = PEAK_NAME,
    .f32_lanes = f32_lanes,
    .f64_lanes = f64_lanes,
    .fma_f32 = fma_f32,
    .fma_f64 = fma_f64,
    .exp_f32 = exp_f32,
    .read_plain = read_plain,
    .read_ahead = read_ahead,
    .kernel_f32 = {PEAK_SHAPES(f32, float, PEAK_ENTRY){NULL, 0, 0, NULL}},
    .kernel_f64 = {PEAK_SHAPES(f64, double, PEAK_ENTRY){NULL, 0, 0, NULL}}};
