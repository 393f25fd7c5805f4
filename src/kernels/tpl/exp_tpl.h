/* exp_tpl.h - exponential and hyperbolic tangent of a vector
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first.
 *
 * e^a = 2^n e^r, n = a / ln 2 rounded to an integer, r = a - n ln 2 in two steps (Cody and Waite)
 * whose first is exact with and without FMA, so |r| <= ln(2)/2 and a little. There
 *
 *     e^r = 1 + r + r^2 g(r),   g(r) ~ (e^r - 1 - r) / r^2,
 *
 * with g the polynomial that minimises the largest error relative to e^r - 1 (Remez in 60 digits on
 * |r| <= 0.34666, then rounded to the type), so that one g serves both e^a and e^a - 1:
 *
 *     type   degree of g   error, relative to e^r - 1   relative to e^r   half an ulp of 1
 *     f32         4                  1.71e-8                6.0e-9           6.0e-8
 *     f64        10                  8.8e-19                3.5e-19          1.1e-16
 *
 * The first two coefficients being exactly 1, e^0 is exactly 1, and the error is that of the last
 * addition and a fraction of an ulp: below 1 ulp with FMA and below 1.25 ulp without, which the
 * tests assert (largest for f32, over every argument: 0.920 and 1.216). The even degree of the
 * whole also makes the polynomial positive for all r, so that a huge argument, whose r means
 * nothing, still ends at +infinity.
 */

/* g(r), by Horner's rule. */
#define EXP_G_STEP(c) g = V(fma)(g, r, V(set1)(c));
SDPAI_INLINE vec V(exp_g)(vec r) {
  vec g = V(set1)(EXP_G_HIGHEST);
  EXP_G_LOWER(EXP_G_STEP)
  return g;
}
#undef EXP_G_STEP

/* r = a - n ln 2, and n through the pointer. Adding 1.5 * 2^p, where the last place is 1, rounds to
 * an integer in the current rounding, which is to nearest. */
SDPAI_INLINE vec V(exp_reduce)(vec a, vec *n) {
  *n = V(sub)(V(fma)(a, V(set1)(LOG2_E), V(set1)(ROUND_MAGIC)), V(set1)(ROUND_MAGIC));
  vec r = V(fnma)(*n, V(set1)(LN2_HIGH), a);
  return V(fnma)(*n, V(set1)(LN2_LOW), r);
}

/* e^a as row_exp promises it: +0 below the smallest normal number, +infinity above the largest, NaN
 * kept. Where e^a is normal the scaled polynomial is, too: the first argument from EXP_MIN on
 * lies 4.5e-6 (f32) or 2.7e-14 (f64), relative, above the smallest normal number. */
SDPAI_INLINE vec V(exp)(vec a) {
  vec n;
  vec r = V(exp_reduce)(V(cap_for_scale2)(a, V(set1)(EXP_CAP)), &n);
  vec p = V(fma)(V(exp_g)(r), r, V(set1)(1));
  p = V(fma)(p, r, V(set1)(1));
  return V(zero_where_less)(V(scale2)(p, n), a, V(set1)(EXP_MIN));
}

/* tanh y = m / (m + 2) with the sign of y, m = e^(2|y|) - 1 = 2^n (e^r - 1) + (2^n - 1): for small
 * y n = 0 and m = r + r^2 g(r) has a relative error of its own size, and so has the quotient. Below
 * 2.75 ulp, which the tests assert (largest for f32, over every argument: 2.606 without FMA, 2.566
 * with). At the cap m + 2 rounds to m, so the quotient is exactly 1 from there on. */
SDPAI_INLINE vec V(tanh)(vec y) {
  vec n;
  vec doubled = V(abs)(y);
  doubled = V(min)(V(set1)(TANH_CAP), V(add)(doubled, doubled));
  vec r = V(exp_reduce)(doubled, &n);
  vec m = V(fma)(V(mul)(r, r), V(exp_g)(r), r);
  vec power = V(scale2)(V(set1)(1), n);
  m = V(fma)(power, m, V(sub)(power, V(set1)(1)));
  return V(with_sign)(V(div)(m, V(add)(m, V(set1)(2))), y);
}
