/* row_reduce_tpl.h - one number from a row: largest element, finiteness, dot product
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first. Four accumulators each, since a
 * vector operation takes about four cycles and one or two start in each.
 */

/* ONE(acc, at) for whole vectors and PART(acc, at, k) for the rest of a row of n, over acc0 to
 * acc3. */
#define OVER_ROW(ONE, PART)                                                                        \
  do {                                                                                             \
    int64_t t = 0;                                                                                 \
    for (; n - t >= 4 * LANES; t += 4 * LANES) {                                                   \
      ONE(acc0, t);                                                                                \
      ONE(acc1, t + LANES);                                                                        \
      ONE(acc2, t + 2 * LANES);                                                                    \
      ONE(acc3, t + 3 * LANES);                                                                    \
    }                                                                                              \
    for (; n - t >= LANES; t += LANES) ONE(acc0, t);                                               \
    if (t < n) PART(acc1, t, (int)(n - t));                                                        \
  } while (0)

real KERNEL(row_max)(int64_t n, const real *x, real scale) {
  const vec vscale = V(set1)(scale), least = V(set1)(-(real)INFINITY);
  vec acc0 = least, acc1 = least, acc2 = least, acc3 = least;
#define ONE(acc, at) acc = V(max)(V(mul)(vscale, V(load)(x + (at))), acc)
#define PART(acc, at, k)                                                                           \
  acc = V(max)(V(select_part)(k, V(mul)(vscale, V(load_part)(x + (at), k)), least), acc)
  OVER_ROW(ONE, PART);
#undef ONE
#undef PART
  return V(reduce_max)(V(max)(V(max)(acc0, acc1), V(max)(acc2, acc3)));
}

/* 0 x is 0 for finite x, and NaN, which no addition removes, for any other. */
int KERNEL(row_finite)(int64_t n, const real *x) {
  const vec zero = V(set1)(0);
  vec acc0 = zero, acc1 = zero, acc2 = zero, acc3 = zero;
#define ONE(acc, at)     acc = V(fma)(V(load)(x + (at)), zero, acc)
#define PART(acc, at, k) acc = V(fma)(V(load_part)(x + (at), k), zero, acc)
  OVER_ROW(ONE, PART);
#undef ONE
#undef PART
  return V(reduce_add)(V(add)(V(add)(acc0, acc1), V(add)(acc2, acc3))) == 0;
}

/* Where x is 0 its partner becomes 0 before the product: NaN and infinity stay out. */
real KERNEL(row_dot)(int64_t n, const real *x, const real *y) {
  const vec zero = V(set1)(0);
  vec acc0 = zero, acc1 = zero, acc2 = zero, acc3 = zero;
#define ONE(acc, at)                                                                               \
  do {                                                                                             \
    vec vx = V(load)(x + (at));                                                                    \
    acc = V(fma)(vx, V(select_eq)(vx, zero, zero, V(load)(y + (at))), acc);                        \
  } while (0)
#define PART(acc, at, k)                                                                           \
  do {                                                                                             \
    vec vx = V(load_part)(x + (at), k);                                                            \
    acc = V(fma)(vx, V(select_eq)(vx, zero, zero, V(load_part)(y + (at), k)), acc);                \
  } while (0)
  OVER_ROW(ONE, PART);
#undef ONE
#undef PART
  return V(reduce_add)(V(add)(V(add)(acc0, acc1), V(add)(acc2, acc3)));
}
#undef OVER_ROW
