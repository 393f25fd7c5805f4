/* real_f64.h - parameters of the templates for double precision
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As real_f32.h.
 */
#define real          double
#define vec           vf64
#define V(op)         vf64_##op
#define LANES         ((int)vf64_lanes)
#define SCORE         struct sdpai_score_f64
#define TILE_RULES    struct sdpai_tile_rules_f64
#define KERNEL(op)    SDPAI_KERNEL_NAME(f64, op, SDPAI_KERNEL_ISA)
#define EXP_MIN       (-0x1.6232bdd7abcd2p+9) /* least with a normal exponential: -708.39642 */
#define EXP_CAP       710.0                   /* above the overflow at 709.78271, below n = 1025 */
#define TANH_CAP      40.0                    /* of 2|y|: from 2|y| = 38.13 on tanh rounds to 1 */
#define LOG2_E        0x1.71547652b82fep+0
#define LN2_HIGH      0x1.62e42fefa38p-1 /* 42 bits, n has 11: the product is exact */
#define LN2_LOW       0x1.ef35793c7673p-45
#define ROUND_MAGIC   0x1.8p52
#define EXP_G_HIGHEST 0x1.1ee888ead2902p-29
#define EXP_G_LOWER(next)                                                                          \
  next(0x1.af5e87788753p-26) next(0x1.27e53633d56bcp-22) next(0x1.71ddf87504de3p-19)               \
      next(0x1.a01a017bbede5p-16) next(0x1.a01a01afd75aep-13) next(0x1.6c16c16c1f09ep-10)          \
          next(0x1.111111110f6d2p-7) next(0x1.555555555553fp-5) next(0x1.5555555555559p-3)         \
              next(0x1p-1)
