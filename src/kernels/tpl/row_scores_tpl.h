/* row_scores_tpl.h - products of a row turned into scores: softcap, ALiBi, bias, mask
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: exp_tpl.h comes first. The terms that are off cost one predicted branch a vector.
 * softcap divides by its constant, since 1 / softcap overflows for tiny ones; s / softcap may
 * overflow, and tanh of infinity is the right answer then.
 */

/* Scale, softcap and slope of the products x at t, t + 1, ... */
SDPAI_INLINE vec V(score_terms)(vec x, int64_t t, const SCORE *score) {
  vec s = V(mul)(V(set1)(score->scale), x);
  if (score->softcap != 0) {
    vec cap = V(set1)(score->softcap);
    s = V(mul)(cap, V(tanh)(V(div)(s, cap)));
  }
  if (score->slope != 0) {
    vec away = V(abs)(V(sub)(V(set1)(score->distance), V(index)(t)));
    s = V(fnma)(V(set1)(score->slope), away, s);
  }
  return s;
}

/* s + bias, and -infinity, whatever s is, where the bias is. */
SDPAI_INLINE vec V(score_bias)(vec s, vec bias) {
  const vec excluded = V(set1)(-(real)INFINITY);
  return V(select_eq)(bias, excluded, excluded, V(add)(s, bias));
}

real KERNEL(row_scores)(int64_t n, real *x, const SCORE *score) {
  const SCORE by_value = *score; /* x may not be seen to change it */
  const real *bias = by_value.bias;
  const uint8_t *mask = by_value.mask;
  const vec excluded = V(set1)(-(real)INFINITY);
  vec max0 = excluded, max1 = excluded, max2 = excluded, max3 = excluded;
  int64_t t = 0;
#define STEP(acc, at)                                                                              \
  do {                                                                                             \
    vec s = V(score_terms)(V(load)(x + (at)), at, &by_value);                                      \
    if (bias) s = V(score_bias)(s, V(load)(bias + (at)));                                          \
    if (mask) s = V(select_bytes)(mask + (at), s, excluded);                                       \
    V(store)(x + (at), s);                                                                         \
    acc = V(max)(s, acc);                                                                          \
  } while (0)
  for (; n - t >= 4 * LANES; t += 4 * LANES) {
    STEP(max0, t);
    STEP(max1, t + LANES);
    STEP(max2, t + 2 * LANES);
    STEP(max3, t + 3 * LANES);
  }
  for (; n - t >= LANES; t += LANES) STEP(max0, t);
#undef STEP
  if (t < n) {
    int k = (int)(n - t);
    vec s = V(score_terms)(V(load_part)(x + t, k), t, &by_value);
    if (bias) s = V(score_bias)(s, V(load_part)(bias + t, k));
    if (mask) s = V(select_bytes_part)(mask + t, k, s, excluded);
    V(store_part)(x + t, k, s);
    max1 = V(max)(V(select_part)(k, s, excluded), max1);
  }
  return V(reduce_max)(V(max)(V(max)(max0, max1), V(max)(max2, max3)));
}
