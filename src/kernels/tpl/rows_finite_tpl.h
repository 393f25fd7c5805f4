/* rows_finite_tpl.h - whether a matrix by rows is finite
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first; parameters as product_tpl.h. As
 * row_finite: 0 x is 0 for finite x, and NaN, which no addition removes, for any other.
 */
int B_KERNEL(rows_finite)(int64_t rows, int64_t cols, const B_TYPE *x, int64_t ld) {
  const vec zero = V(set1)(0);
  vec acc0 = zero, acc1 = zero, acc2 = zero, acc3 = zero;
  if (ld == cols) { /* one long row */
    cols *= rows;
    rows = rows > 0;
  }
  for (int64_t i = 0; i < rows; i++, x += ld) {
    int64_t t = 0;
    for (; cols - t >= 4 * LANES; t += 4 * LANES) {
      acc0 = V(fma)(B(load)(x + t), zero, acc0);
      acc1 = V(fma)(B(load)(x + t + LANES), zero, acc1);
      acc2 = V(fma)(B(load)(x + t + 2 * LANES), zero, acc2);
      acc3 = V(fma)(B(load)(x + t + 3 * LANES), zero, acc3);
    }
    for (; cols - t >= LANES; t += LANES) acc0 = V(fma)(B(load)(x + t), zero, acc0);
    if (t < cols) acc1 = V(fma)(B(load_part)(x + t, (int)(cols - t)), zero, acc1);
  }
  return V(reduce_add)(V(add)(V(add)(acc0, acc1), V(add)(acc2, acc3))) == 0;
}
