/* peak_tables.h - the tables of peak_loops.h, one a translation unit
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PEAK_TABLES_H
#define PEAK_TABLES_H

#include "peak_loops.h"

extern const struct peak_loops peak_loops_generic;
#ifdef SDPA_BENCH_X86
extern const struct peak_loops peak_loops_avx2, peak_loops_avx512;
double peak_tiles_amx(int64_t rounds, const void *a, const void *b);
#endif

/* Coefficients of a polynomial for 2^r of degree 5 with the least relative error, 7.5e-8, from r^5
 * down to 1: for 0 <= r < 1, and for |r| <= 1/2. From a Remez exchange in double precision, rounded
 * to float. */
#define EXP2_FLOOR(next)                                                                           \
  next(0x1.ec320ap-10f) next(0x1.26900cp-7f) next(0x1.c95446p-5f) next(0x1.ebd5a8p-3f)             \
      next(0x1.62e4f6p-1f) next(0x1.fffffep-1f)
#define EXP2_NEAREST(next)                                                                         \
  next(0x1.5c08e6p-10f) next(0x1.3d0c52p-7f) next(0x1.c6b6e4p-5f) next(0x1.ebf918p-3f)             \
      next(0x1.62e428p-1f) next(0x1.000002p+0f)
#define EXP2_LOG2_E 0x1.715476p+0f

#endif
