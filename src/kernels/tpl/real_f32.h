/* real_f32.h - parameters of the templates for single precision
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Included before the templates, without a guard: real_f64.h sets the same names anew, and
 * type_kernels_tpl.h clears them. The constants of the exponential are derived in exp_tpl.h.
 */
#define real          float
#define vec           vf32
#define V(op)         vf32_##op
#define LANES         ((int)vf32_lanes)
#define SCORE         struct sdpai_score_f32
#define TILE_RULES    struct sdpai_tile_rules_f32
#define KERNEL(op)    SDPAI_KERNEL_NAME(f32, op, SDPAI_KERNEL_ISA)
#define EXP_MIN       (-0x1.5d589ep+6f) /* least argument with a normal exponential: -87.33654 */
#define EXP_CAP       89.0f             /* above the overflow at 88.72284, below n = 129 */
#define TANH_CAP      20.0f             /* of 2|y|: from 2|y| = 18.03 on tanh rounds to 1 */
#define LOG2_E        0x1.715476p+0f
#define LN2_HIGH      0x1.62e4p-1f /* 15 bits, n has 8: the product is exact */
#define LN2_LOW       0x1.7f7d1cp-20f
#define ROUND_MAGIC   0x1.8p23f
#define EXP_G_HIGHEST 0x1.6bec02p-10f
#define EXP_G_LOWER(next)                                                                          \
  next(0x1.12278ap-7f) next(0x1.555674p-5f) next(0x1.5554bp-3f) next(0x1.fffffep-2f)
