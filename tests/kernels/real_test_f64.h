/* real_test_f64.h - parameters of the kernel test templates for double precision
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As real_test_f32.h. Where long double is no wider than double the tolerances would have to be;
 * every ISA with kernels of its own has a wider one.
 */
#define REAL         double
#define WIDE         long double
#define NAME(x)      x##_f64
#define SCORE        struct sdpai_score_f64
#define TILE_RULES   struct sdpai_tile_rules_f64
#define MEMBER       f64
#define FMA(a, b, c) fma(a, b, c)
#define WIDE_EXP     expl
#define WIDE_TANH    tanhl
#define EPSILON      DBL_EPSILON
#define LEAST        DBL_MIN
#define LARGEST      DBL_MAX
#define TINY         0x1p-1074
