/* row_exp_tpl.h - exponentials of a row and their sum
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: exp_tpl.h comes first. The sum runs in four vectors, added as (0 + 1) + (2 + 3); whole
 * vectors after the last four go to the first of them, a part to the second. Each group of four is
 * loaded before it is stored, so that plain C's lanes can become one vector whether or not x is
 * out.
 */
real KERNEL(row_exp)(int64_t n, const real *x, real scale, real max, real *out) {
  const vec vscale = V(set1)(scale), vmax = V(set1)(max);
  vec sum0 = V(set1)(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  int64_t t = 0;
  for (; n - t >= 4 * LANES; t += 4 * LANES) {
    vec e0 = V(exp)(V(sub)(V(mul)(V(load)(x + t), vscale), vmax));
    vec e1 = V(exp)(V(sub)(V(mul)(V(load)(x + t + LANES), vscale), vmax));
    vec e2 = V(exp)(V(sub)(V(mul)(V(load)(x + t + 2 * LANES), vscale), vmax));
    vec e3 = V(exp)(V(sub)(V(mul)(V(load)(x + t + 3 * LANES), vscale), vmax));
    V(store)(out + t, e0);
    V(store)(out + t + LANES, e1);
    V(store)(out + t + 2 * LANES, e2);
    V(store)(out + t + 3 * LANES, e3);
    sum0 = V(add)(sum0, e0);
    sum1 = V(add)(sum1, e1);
    sum2 = V(add)(sum2, e2);
    sum3 = V(add)(sum3, e3);
  }
  for (; n - t >= LANES; t += LANES) {
    vec e = V(exp)(V(sub)(V(mul)(V(load)(x + t), vscale), vmax));
    V(store)(out + t, e);
    sum0 = V(add)(sum0, e);
  }
  if (t < n) {
    int k = (int)(n - t);
    vec e = V(exp)(V(sub)(V(mul)(V(load_part)(x + t, k), vscale), vmax));
    V(store_part)(out + t, k, e);
    sum1 = V(add)(sum1, V(select_part)(k, e, V(set1)(0)));
  }
  return V(reduce_add)(V(add)(V(add)(sum0, sum1), V(add)(sum2, sum3)));
}
