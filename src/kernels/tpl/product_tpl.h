/* product_tpl.h - products of small matrices
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first. Made for a handful of rows and
 * columns, as at n = 3: nothing is packed and no block is kept in registers from one row to the
 * next.
 */

/* Two accumulators: rows are short, and adding up the lanes costs more than a third would save. */
void KERNEL(product_nt)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                        int64_t ldb, real *c, int64_t ldc) {
  for (int64_t i = 0; i < m; i++, a += lda, c += ldc) {
    const real *row = b;
    for (int64_t j = 0; j < n; j++, row += ldb) {
      vec acc0 = V(set1)(0), acc1 = acc0;
      int64_t t = 0;
      for (; k - t >= 2 * LANES; t += 2 * LANES) {
        acc0 = V(fma)(V(load)(a + t), V(load)(row + t), acc0);
        acc1 = V(fma)(V(load)(a + t + LANES), V(load)(row + t + LANES), acc1);
      }
      for (; k - t >= LANES; t += LANES) acc0 = V(fma)(V(load)(a + t), V(load)(row + t), acc0);
      if (t < k) {
        const int rest = (int)(k - t);
        acc1 = V(fma)(V(load_part)(a + t, rest), V(load_part)(row + t, rest), acc1);
      }
      c[j] = V(reduce_add)(V(add)(acc0, acc1));
    }
  }
}

/* Four vectors of a row of C at a time stay in registers while the rows of B pass. */
void KERNEL(product_nn)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda, const real *b,
                        int64_t ldb, real *c, int64_t ldc) {
  for (int64_t i = 0; i < m; i++, a += lda, c += ldc) {
    int64_t j = 0;
    for (; n - j >= 4 * LANES; j += 4 * LANES) {
      vec acc0 = V(set1)(0), acc1 = acc0, acc2 = acc0, acc3 = acc0;
      const real *row = b + j;
      for (int64_t t = 0; t < k; t++, row += ldb) {
        const vec factor = V(set1)(a[t]);
        acc0 = V(fma)(factor, V(load)(row), acc0);
        acc1 = V(fma)(factor, V(load)(row + LANES), acc1);
        acc2 = V(fma)(factor, V(load)(row + 2 * LANES), acc2);
        acc3 = V(fma)(factor, V(load)(row + 3 * LANES), acc3);
      }
      V(store)(c + j, acc0);
      V(store)(c + j + LANES, acc1);
      V(store)(c + j + 2 * LANES, acc2);
      V(store)(c + j + 3 * LANES, acc3);
    }
    for (; n - j >= LANES; j += LANES) {
      vec acc = V(set1)(0);
      for (int64_t t = 0; t < k; t++) acc = V(fma)(V(set1)(a[t]), V(load)(b + t * ldb + j), acc);
      V(store)(c + j, acc);
    }
    if (j < n) {
      const int rest = (int)(n - j);
      vec acc = V(set1)(0);
      for (int64_t t = 0; t < k; t++)
        acc = V(fma)(V(set1)(a[t]), V(load_part)(b + t * ldb + j, rest), acc);
      V(store_part)(c + j, rest, acc);
    }
  }
}
