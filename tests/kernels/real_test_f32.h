/* real_test_f32.h - parameters of the kernel test templates for single precision
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Included before a template, without a guard. `wide` is the type of the reference.
 */
#define REAL         float
#define WIDE         double
#define NAME(x)      x##_f32
#define SCORE        struct sdpai_score_f32
#define TILE_RULES   struct sdpai_tile_rules_f32
#define MEMBER       f32
#define FMA(a, b, c) fmaf(a, b, c)
#define WIDE_EXP     exp
#define WIDE_TANH    tanh
#define EPSILON      FLT_EPSILON
#define LEAST        FLT_MIN
#define LARGEST      FLT_MAX
#define TINY         0x1p-149f
