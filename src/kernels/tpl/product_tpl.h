/* product_tpl.h - products of a few rows with many, dimensions in lanes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first. Parameters, cleared by who sets
 * them: B_TYPE the type that B's elements have in memory, B(op) names with its suffix, of the vector
 * operations that read it and of what is defined here, B_KERNEL(op) the kernels' names. For few rows of A, as in
 * decoding and in problems too small for a BLAS call: nothing is packed, both matrices are read
 * from their rows once per four rows of A. Rows of B often come from memory, where the hardware's prefetcher
 * loses them, so they are asked for PRODUCT_AHEAD bytes before they are read.
 */
#define PRODUCT_AHEAD  16384
#define PRODUCT_PASSES 2 /* over B by product_nn at the usual dimensions */

/* rows x keys elements of A B^T, rows * keys <= LANES. Their accumulators are added up together.
 * Rows and keys beyond m and n repeat the last one and are not stored: every element is computed
 * alike, whatever stands beside it, so its bits do not depend on m. */
SDPAI_INLINE void B(product_nt_group)(const int rows, const int keys, int64_t n, int64_t ahead,
                                      int64_t k, const real *a, int64_t lda, const B_TYPE *b,
                                      int64_t ldb, real *c, int64_t ldc) {
  const real *a_row[LANES];
  const B_TYPE *b_row[LANES];
  for (int u = 0; u < rows; u++) a_row[u] = a + u * lda;
  for (int v = 0; v < keys; v++) b_row[v] = b + (v < n ? v : n - 1) * ldb;
  for (int64_t v = ahead; v < ahead + keys && v < n; v++)
    for (int64_t t = 0; t < k; t += 64 / (int64_t)sizeof(B_TYPE))
      SDPAI_PREFETCH_L2(b + v * ldb + t);
  vec acc[LANES];
  SDPAI_UNROLL(16)
  for (int u = 0; u < LANES; u++) acc[u] = V(set1)(0);
  int64_t t = 0;
  for (; k - t >= LANES; t += LANES) {
    vec x[LANES];
    SDPAI_UNROLL(16)
    for (int u = 0; u < rows; u++) x[u] = V(load)(a_row[u] + t);
    SDPAI_UNROLL(16)
    for (int v = 0; v < keys; v++) {
      const vec y = B(load)(b_row[v] + t);
      SDPAI_UNROLL(16)
      for (int u = 0; u < rows; u++) acc[u * keys + v] = V(fma)(x[u], y, acc[u * keys + v]);
    }
  }
  if (t < k) {
    const int rest = (int)(k - t);
    SDPAI_UNROLL(16)
    for (int v = 0; v < keys; v++) {
      const vec y = B(load_part)(b_row[v] + t, rest);
      SDPAI_UNROLL(16)
      for (int u = 0; u < rows; u++)
        acc[u * keys + v] = V(fma)(V(load_part)(a_row[u] + t, rest), y, acc[u * keys + v]);
    }
  }
  real sums[LANES];
  V(store)(sums, V(sum_each)(acc));
  for (int u = 0; u < rows; u++)
    for (int v = 0; v < keys && v < n; v++) c[u * ldc + v] = sums[u * keys + v];
}

/* `rows` rows with all n keys, `keys` of them at a time. */
SDPAI_INLINE void B(product_nt_rows)(const int rows, const int keys, int64_t n, int64_t k,
                                     const real *a, int64_t lda, const B_TYPE *b, int64_t ldb,
                                     real *c, int64_t ldc) {
  const int64_t ahead = PRODUCT_AHEAD / (k * (int64_t)sizeof(B_TYPE)) + 1; /* rows */
  for (int64_t j = 0; j < n; j += keys)
    B(product_nt_group)(rows, keys, n - j, ahead, k, a, lda, b + j * ldb, ldb, c + j, ldc);
}

void B_KERNEL(product_nt)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda,
                          const B_TYPE *b, int64_t ldb, real *c, int64_t ldc) {
  enum { KEYS = LANES >= 8 ? 4 : LANES >= 4 ? 2 : 1, ROWS = LANES / KEYS };
  int64_t i = 0;
  if (k == 0) { /* a and b may be NULL */
    for (; i < m; i++)
      for (int64_t j = 0; j < n; j++) c[i * ldc + j] = 0;
  }
  for (; m - i >= ROWS; i += ROWS)
    B(product_nt_rows)(ROWS, KEYS, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  if (ROWS > 3 && m - i == 3) {
    B(product_nt_rows)(3, LANES / 4, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  } else if (ROWS > 2 && m - i == 2) {
    B(product_nt_rows)(2, LANES / 2, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  } else if (ROWS > 1 && m - i == 1) {
    B(product_nt_rows)(1, LANES, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  }
}

/* rows rows of `vectors` vectors of columns of A B. */
SDPAI_INLINE void B(product_nn_group)(const int rows, const int vectors, int64_t k, const real *a,
                                      int64_t lda, const B_TYPE *b, int64_t ldb, real *c,
                                      int64_t ldc) {
  vec acc[4][4];
  SDPAI_UNROLL(4)
  for (int u = 0; u < rows; u++) {
    SDPAI_UNROLL(4)
    for (int v = 0; v < vectors; v++) acc[u][v] = V(set1)(0);
  }
  const int64_t ahead =
      PRODUCT_AHEAD / (vectors * LANES * (int64_t)sizeof(B_TYPE) + 1) / PRODUCT_PASSES;
  for (int64_t t = 0; t < k; t++, b += ldb, a++) {
    if (t + ahead < k) {
      SDPAI_UNROLL(4)
      for (int v = 0; v < vectors * LANES; v += 64 / (int)sizeof(B_TYPE))
        SDPAI_PREFETCH_L2(b + ahead * ldb + v);
    }
    vec y[4];
    SDPAI_UNROLL(4)
    for (int v = 0; v < vectors; v++) y[v] = B(load)(b + v * LANES);
    SDPAI_UNROLL(4)
    for (int u = 0; u < rows; u++) {
      const vec x = V(set1)(a[u * lda]);
      SDPAI_UNROLL(4)
      for (int v = 0; v < vectors; v++) acc[u][v] = V(fma)(x, y[v], acc[u][v]);
    }
  }
  SDPAI_UNROLL(4)
  for (int u = 0; u < rows; u++) {
    SDPAI_UNROLL(4)
    for (int v = 0; v < vectors; v++) V(store)(c + u * ldc + v * LANES, acc[u][v]);
  }
}

/* Columns that fill no vector. */
static void B(product_nn_part)(int64_t m, int rest, int64_t k, const real *a, int64_t lda,
                               const B_TYPE *b, int64_t ldb, real *c, int64_t ldc) {
  for (int64_t i = 0; i < m; i++) {
    vec acc = V(set1)(0);
    for (int64_t t = 0; t < k; t++)
      acc = V(fma)(V(set1)(a[i * lda + t]), B(load_part)(b + t * ldb, rest), acc);
    V(store_part)(c + i * ldc, rest, acc);
  }
}

SDPAI_INLINE void B(product_nn_rows)(const int rows, int64_t n, int64_t k, const real *a,
                                     int64_t lda, const B_TYPE *b, int64_t ldb, real *c,
                                     int64_t ldc) {
  enum { VECTORS = SDPAI_TILE_UNROLL / 2 };
  int64_t j = 0;
  for (; n - j >= VECTORS * LANES; j += VECTORS * LANES)
    B(product_nn_group)(rows, VECTORS, k, a, lda, b + j, ldb, c + j, ldc);
  for (; n - j >= LANES; j += LANES)
    B(product_nn_group)(rows, 1, k, a, lda, b + j, ldb, c + j, ldc);
  if (j < n) B(product_nn_part)(rows, (int)(n - j), k, a, lda, b + j, ldb, c + j, ldc);
}

void B_KERNEL(product_nn)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda,
                          const B_TYPE *b, int64_t ldb, real *c, int64_t ldc) {
  int64_t i = 0;
  if (k == 0) { /* b may be NULL */
    for (; i < m; i++)
      for (int64_t j = 0; j < n; j++) c[i * ldc + j] = 0;
  }
  for (; m - i >= 4; i += 4)
    B(product_nn_rows)(4, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  if (m - i == 3) {
    B(product_nn_rows)(3, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  } else if (m - i == 2) {
    B(product_nn_rows)(2, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  } else if (m - i == 1) {
    B(product_nn_rows)(1, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc);
  }
}
#undef PRODUCT_AHEAD
#undef PRODUCT_PASSES
