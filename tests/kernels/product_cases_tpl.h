/* product_cases_tpl.h - cases of product_nt and product_nn: tails, gaps, bits of an element
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_values_tpl.h comes first. What lies between the rows of A and B reads as NaN, and
 * what lies between the rows of C must stay as it was.
 */
typedef void (*NAME(product_kernel))(int64_t, int64_t, int64_t, const REAL *, int64_t, const REAL *,
                                     int64_t, REAL *, int64_t);

/* rows x cols random numbers with leading dimension ld, NaN between; returns the elements up to the
 * last one. */
static int NAME(fill_matrix)(int rows, int cols, int ld, REAL *x, uint64_t *state) {
  const int count = rows > 0 && cols > 0 ? (rows - 1) * ld + cols : 0;
  for (int t = 0; t < count; t++)
    x[t] = t % ld < cols ? (REAL)next_between(state, -2, 2) : (REAL)NAN;
  return count;
}

/* One product; `transposed`: B is n x k, else k x n. */
static void NAME(check_product)(NAME(product_kernel) kernel, int transposed, int m, int n, int k,
                                int gap, enum placement where, uint64_t *state) {
  REAL a[TILE_MOST], b[TILE_MOST], c[TILE_MOST];
  const int lda = k + gap, ldb = (transposed ? k : n) + gap, ldc = n + gap;
  const int na = NAME(fill_matrix)(m, k, lda, a, state);
  const int nb = NAME(fill_matrix)(transposed ? n : k, transposed ? k : n, ldb, b, state);
  const int nc = NAME(fill_matrix)(m, n, ldc, c, state);
  for (int t = 0; t < nc; t++) c[t] = (REAL)NAN; /* old contents are not read */
  const REAL *va = guarded_place(&guarded_tile[0], where, (size_t)na, sizeof *a, a);
  const REAL *vb = guarded_place(&guarded_tile[1], where, (size_t)nb, sizeof *b, b);
  REAL *vc = guarded_place(&guarded_tile[2], where, (size_t)nc, sizeof *c, c);
  kernel(m, n, k, va, lda, vb, ldb, vc, ldc);
  for (int g = 0; g < 3; g++) guarded_check(&guarded_tile[g]);
  for (int t = 0; t < nc; t++) {
    const int i = t / ldc, j = t % ldc;
    if (j >= n) {
      assert_memory_equal(&vc[t], &c[t], sizeof *c);
      continue;
    }
    WIDE sum = 0, size = 0;
    for (int l = 0; l < k; l++) {
      WIDE term = (WIDE)a[i * lda + l] * (WIDE)b[transposed ? j * ldb + l : l * ldb + j];
      sum += term;
      size += NAME(magnitude)(term);
    }
    /* any order of k products and k additions */
    NAME(assert_near)(vc[t], sum, (WIDE)k * (WIDE)EPSILON * size);
    /* its bits are those of a product without the other rows and columns */
    REAL alone = (REAL)NAN;
    kernel(1, 1, k, va + i * lda, lda, vb + (transposed ? j * ldb : j), ldb, &alone, 1);
    assert_memory_equal(&alone, &vc[t], sizeof alone);
  }
}

/* The dimension that runs along a vector takes every tail, the others what fills and overfills a
 * group; at the end a B of several blocks (product_tpl.h). */
static void NAME(check_products)(NAME(product_kernel) kernel, int transposed) {
  static const int rows[] = {0, 1, 2, 3, 4, 5, 7, 9}, others[] = {0, 1, 2, 3, 5, 17};
  uint64_t state = 12;
  for (int along = 0; along < ROW_TAILS + 2; along++)
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 6; j++)
        for (enum placement where = AT_END; where < PLACEMENTS; where++) {
          const int n = transposed ? others[j] : along, k = transposed ? along : others[j];
          NAME(check_product)(kernel, transposed, rows[i], n, k, (i + along) % 3, where, &state);
        }
  for (int i = 0; i < 8; i++)
    for (enum placement where = AT_END; where < PLACEMENTS; where++) NAME(check_product)
  (kernel, transposed, rows[i], transposed ? 40 : 20, transposed ? 66 : 130, i % 2, where, &state);
}
