/* narrow_matrix_cases.h - cases of products with a matrix of a 16-bit type, and of rows_finite
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Included by test_kernel_rows.c alone, after row_convert_cases.h. A product has the bits of the
 * same ISA's product of floats with the matrix converted, which product_cases_tpl.h holds to the
 * formula.
 */
typedef void (*narrow_product_kernel)(int64_t, int64_t, int64_t, const float *, int64_t,
                                      const uint16_t *, int64_t, float *, int64_t);

/* As fill_matrix(); one number in eight is subnormal. */
static int fill_narrow(const struct narrow *type, int rows, int cols, int ld, uint16_t *x,
                       uint64_t *state) {
  const int count = rows > 0 && cols > 0 ? (rows - 1) * ld + cols : 0;
  for (int t = 0; t < count; t++) {
    x[t] = stored_bits(type, (float)next_between(state, -2, 2));
    if (next_bits(state) % 8 == 0) x[t] = x[t] & (uint16_t)(0x8000 | ((1 << type->fraction) - 1));
    if (t % ld >= cols) x[t] = 0xffff;
  }
  return count;
}

static void check_narrow_product(narrow_product_kernel kernel, product_kernel_f32 reference,
                                 const struct narrow *type, int transposed, int m, int n, int k,
                                 int gap, enum placement where, uint64_t *state) {
  static float a[TILE_MOST], b[TILE_MOST], c[TILE_MOST], expected[TILE_MOST];
  static uint16_t stored[TILE_MOST];
  const int lda = k + gap, ldb = (transposed ? k : n) + gap, ldc = n + gap;
  const int na = fill_matrix_f32(m, k, lda, a, state);
  const int nb = fill_narrow(type, transposed ? n : k, transposed ? k : n, ldb, stored, state);
  const int nc = m > 0 && n > 0 ? (m - 1) * ldc + n : 0;
  for (int t = 0; t < nb; t++) b[t] = float_of_bits(loaded_bits(type, stored[t]));
  for (int t = 0; t < nc; t++) c[t] = expected[t] = NAN;
  const float *va = guarded_place(&guarded_tile[0], where, (size_t)na, sizeof *a, a);
  const uint16_t *vb = guarded_place(&guarded_tile[1], where, (size_t)nb, sizeof *stored, stored);
  float *vc = guarded_place(&guarded_tile[2], where, (size_t)nc, sizeof *c, c);
  kernel(m, n, k, va, lda, vb, ldb, vc, ldc);
  for (int g = 0; g < 3; g++) guarded_check(&guarded_tile[g]);
  reference(m, n, k, a, lda, b, ldb, expected, ldc);
  assert_memory_equal(vc, expected, (size_t)nc * sizeof *expected);
}

/* The sizes of check_products(), but for larger ones at the end, since more of B is a block. */
static void check_narrow_products(narrow_product_kernel kernel, product_kernel_f32 reference,
                                  const struct narrow *type, int transposed) {
  static const int rows[] = {0, 1, 2, 3, 4, 5, 7, 9}, others[] = {0, 1, 2, 3, 5, 17};
  uint64_t state = 34;
  for (int along = 0; along < ROW_TAILS + 2; along++)
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 6; j++)
        for (enum placement where = AT_END; where < PLACEMENTS; where++) {
          const int n = transposed ? others[j] : along, k = transposed ? along : others[j];
          check_narrow_product(kernel, reference, type, transposed, rows[i], n, k, (i + along) % 3,
                               where, &state);
        }
  for (int i = 0; i < 8; i++)
    for (enum placement where = AT_END; where < PLACEMENTS; where++)
      check_narrow_product(kernel, reference, type, transposed, rows[i], transposed ? 70 : 20,
                           transposed ? 66 : 250, i % 2, where, &state);
}

/* One bad element at every place of matrices with and without gaps, whose gaps are NaN; the largest
 * number is none. */
static void check_narrow_rows_finite(int (*kernel)(int64_t, int64_t, const uint16_t *, int64_t),
                                     const struct narrow *type) {
  const uint16_t infinity = (uint16_t)narrow_infinity(type), most = (uint16_t)(infinity - 1);
  const uint16_t bad[] = {infinity, infinity | 0x8000, infinity + 1, 0xffff};
  uint64_t state = 35;
  uint16_t x[3 * 75];
  for (int rows = 0; rows <= 3; rows++)
    for (int cols = 0; cols <= 72; cols++)
      for (int gap = 0; gap <= 3; gap += 3) {
        const int ld = cols + gap, count = fill_narrow(type, rows, cols, ld, x, &state);
        for (int t = 0; t < count; t++) {
          if (t % ld >= cols) continue;
          x[t] = next_bits(&state) % 2 ? most : most | 0x8000;
          const uint16_t *at = guarded_place(&guarded_x, AT_END, (size_t)count, sizeof *x, x);
          assert_int_equal(kernel(rows, cols, at, ld), 1);
          const uint16_t kept = x[t];
          x[t] = bad[next_bits(&state) % 4];
          at = guarded_place(&guarded_x, AT_END, (size_t)count, sizeof *x, x);
          assert_int_equal(kernel(rows, cols, at, ld), 0);
          x[t] = kept;
        }
        if (count == 0) assert_int_equal(kernel(rows, cols, x, ld), 1);
      }
}
