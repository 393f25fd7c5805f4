/* real_test_end.h - clears the parameters of real_test_f32.h and real_test_f64.h
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#undef REAL
#undef WIDE
#undef NAME
#undef SCORE
#undef TILE_RULES
#undef MEMBER
#undef FMA
#undef WIDE_EXP
#undef WIDE_TANH
#undef EPSILON
#undef LEAST
#undef LARGEST
#undef TINY
