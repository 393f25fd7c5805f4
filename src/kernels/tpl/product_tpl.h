/* product_tpl.h - products of a few rows with many, dimensions in lanes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first. Parameters, cleared by who sets
 * them: B_TYPE the type that B's elements have in memory, B(op) names with its suffix, of the
 * vector operations that read it and of what is defined here, B_KERNEL(op) the kernels' names. For
 * few rows of A, as in decoding and in problems too small for a BLAS call: nothing is packed, and B
 * is read from its rows once, a block at a time that stays in L1 for all rows of A and all passes
 * over its columns.
 *
 * B often comes from memory, and the groups of rows and columns that the registers take are no
 * stream that the hardware's prefetcher follows well. So each block is asked for while the one
 * before is worked on, line after line in the order of memory and a few in each step, so that
 * arithmetic and memory overlap. In bursts, one a group, memory idled: decoding took 1.1 times as
 * long; with the lines asked into L2 instead of L1, 1.1 times (Zen 5).
 */
#define PRODUCT_BLOCK 8192 /* bytes of B; with the next one and the scores it leaves room in L1 */
#define PRODUCT_LINE  (64 / (int64_t)sizeof(B_TYPE))

/* What is still to be asked for: `rows` rows of `cols` columns, of the first from `col` on. */
struct B(ahead) {
  const B_TYPE *row;
  int64_t rows, col, cols, ld;
};

/* Asks for the lines that `count` elements take. */
SDPAI_INLINE void B(ask)(struct B(ahead) * ahead, const int count) {
  SDPAI_UNROLL(16)
  for (int t = 0; t < count; t += (int)PRODUCT_LINE) {
    if (ahead->rows <= 0) return;
    SDPAI_PREFETCH(ahead->row + ahead->col);
    ahead->col += PRODUCT_LINE;
    if (ahead->col < ahead->cols) continue;
    ahead->col = 0;
    ahead->row += ahead->ld;
    ahead->rows--;
  }
}

/* The block after the `some` rows of a block, `left` rows before B's end. */
SDPAI_INLINE struct B(ahead)
    B(block_after)(const B_TYPE *b, int64_t some, int64_t left, int64_t cols, int64_t ldb) {
  const int64_t rows = left - some < some ? left - some : some;
  return (struct B(ahead)){rows > 0 ? b + some * ldb : b, rows, 0, cols, ldb};
}

/* rows x keys elements of A B^T, rows * keys <= LANES. Their accumulators are added up together.
 * Rows and keys beyond m and n repeat the last one and are not stored: every element is computed
 * alike, whatever stands beside it, so its bits do not depend on m. cppcheck does not see that the
 * calls with more rows than LANES are not made. */
SDPAI_INLINE void B(product_nt_group)(const int rows, const int keys, int64_t n, int64_t k,
                                      const real *a, int64_t lda, const B_TYPE *b, int64_t ldb,
                                      real *c, int64_t ldc, struct B(ahead) * ahead) {
  const real *a_row[LANES];
  const B_TYPE *b_row[LANES];
  /* cppcheck-suppress arrayIndexOutOfBounds */
  for (int u = 0; u < rows; u++) a_row[u] = a + u * lda;
  for (int v = 0; v < keys; v++) b_row[v] = b + (v < n ? v : n - 1) * ldb;
  vec acc[LANES];
  SDPAI_UNROLL(16)
  for (int u = 0; u < LANES; u++) acc[u] = V(set1)(0);
  int64_t t = 0;
  for (; k - t >= LANES; t += LANES) {
    B(ask)(ahead, keys * LANES);
    vec x[LANES];
    SDPAI_UNROLL(16)
    /* cppcheck-suppress arrayIndexOutOfBounds */
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
                                     real *c, int64_t ldc, struct B(ahead) * ahead) {
  for (int64_t j = 0; j < n; j += keys)
    B(product_nt_group)(rows, keys, n - j, k, a, lda, b + j * ldb, ldb, c + j, ldc, ahead);
}

/* All m rows with the keys of a block. */
SDPAI_INLINE void B(product_nt_block)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda,
                                      const B_TYPE *b, int64_t ldb, real *c, int64_t ldc,
                                      struct B(ahead) * ahead) {
  enum { KEYS = LANES >= 8 ? 4 : LANES >= 4 ? 2 : 1, ROWS = LANES / KEYS };
  int64_t i = 0;
  for (; m - i >= ROWS; i += ROWS)
    B(product_nt_rows)(ROWS, KEYS, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc, ahead);
  if (ROWS > 3 && m - i == 3) {
    B(product_nt_rows)(3, LANES / 4, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc, ahead);
  } else if (ROWS > 2 && m - i == 2) {
    B(product_nt_rows)(2, LANES / 2, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc, ahead);
  } else if (m - i == 1) {
    B(product_nt_rows)(1, LANES, n, k, a + i * lda, lda, b, ldb, c + i * ldc, ldc, ahead);
  }
}

void B_KERNEL(product_nt)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda,
                          const B_TYPE *b, int64_t ldb, real *c, int64_t ldc) {
  if (k == 0) { /* a and b may be NULL */
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) c[i * ldc + j] = 0;
    return;
  }
  /* Whole groups of the most keys that some number of rows takes. */
  const int64_t groups = PRODUCT_BLOCK / (int64_t)sizeof(B_TYPE) / k / LANES;
  const int64_t block = (groups > 0 ? groups : 1) * LANES;
  for (int64_t j = 0; j < n; j += block) {
    const int64_t some = n - j < block ? n - j : block;
    struct B(ahead) ahead = B(block_after)(b + j * ldb, some, n - j, k, ldb);
    B(product_nt_block)(m, some, k, a, lda, b + j * ldb, ldb, c + j, ldc, &ahead);
  }
}

/* rows rows of `vectors` vectors of columns of A B, added to C unless `first`. */
SDPAI_INLINE void B(product_nn_group)(const int rows, const int vectors, int64_t k, const real *a,
                                      int64_t lda, const B_TYPE *b, int64_t ldb, int first, real *c,
                                      int64_t ldc, struct B(ahead) * ahead) {
  vec acc[4][4];
  SDPAI_UNROLL(4)
  for (int u = 0; u < rows; u++) {
    SDPAI_UNROLL(4)
    for (int v = 0; v < vectors; v++)
      acc[u][v] = first ? V(set1)(0) : V(load)(c + u * ldc + v * LANES);
  }
  for (int64_t t = 0; t < k; t++, b += ldb, a++) {
    B(ask)(ahead, vectors * LANES);
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
                               const B_TYPE *b, int64_t ldb, int first, real *c, int64_t ldc) {
  for (int64_t i = 0; i < m; i++) {
    vec acc = first ? V(set1)(0) : V(load_part)(c + i * ldc, rest);
    for (int64_t t = 0; t < k; t++)
      acc = V(fma)(V(set1)(a[i * lda + t]), B(load_part)(b + t * ldb, rest), acc);
    V(store_part)(c + i * ldc, rest, acc);
  }
}

SDPAI_INLINE void B(product_nn_rows)(const int rows, int64_t n, int64_t k, const real *a,
                                     int64_t lda, const B_TYPE *b, int64_t ldb, int first, real *c,
                                     int64_t ldc, struct B(ahead) * ahead) {
  enum { VECTORS = SDPAI_TILE_UNROLL / 2 };
  int64_t j = 0;
  for (; n - j >= VECTORS * LANES; j += VECTORS * LANES) {
    B(product_nn_group)(rows, VECTORS, k, a, lda, b + j, ldb, first, c + j, ldc, ahead);
  }
  for (; n - j >= LANES; j += LANES) {
    B(product_nn_group)(rows, 1, k, a, lda, b + j, ldb, first, c + j, ldc, ahead);
  }
  if (j < n) B(product_nn_part)(rows, (int)(n - j), k, a, lda, b + j, ldb, first, c + j, ldc);
}

/* All m rows with the k rows of a block. */
SDPAI_INLINE void B(product_nn_block)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda,
                                      const B_TYPE *b, int64_t ldb, int first, real *c, int64_t ldc,
                                      struct B(ahead) * ahead) {
  int64_t i = 0;
  for (; m - i >= 4; i += 4)
    B(product_nn_rows)(4, n, k, a + i * lda, lda, b, ldb, first, c + i * ldc, ldc, ahead);
  if (m - i == 3) {
    B(product_nn_rows)(3, n, k, a + i * lda, lda, b, ldb, first, c + i * ldc, ldc, ahead);
  } else if (m - i == 2) {
    B(product_nn_rows)(2, n, k, a + i * lda, lda, b, ldb, first, c + i * ldc, ldc, ahead);
  } else if (m - i == 1) {
    B(product_nn_rows)(1, n, k, a + i * lda, lda, b, ldb, first, c + i * ldc, ldc, ahead);
  }
}

void B_KERNEL(product_nn)(int64_t m, int64_t n, int64_t k, const real *a, int64_t lda,
                          const B_TYPE *b, int64_t ldb, real *c, int64_t ldc) {
  if (k == 0) { /* b may be NULL */
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) c[i * ldc + j] = 0;
    return;
  }
  const int64_t fit = PRODUCT_BLOCK / (int64_t)sizeof(B_TYPE) / (n + 1);
  const int64_t block =
      fit > 16 ? fit : 16; /* rows that the passage of C through registers costs */
  for (int64_t t = 0; t < k; t += block) {
    const int64_t some = k - t < block ? k - t : block;
    struct B(ahead) ahead = B(block_after)(b + t * ldb, some, k - t, n, ldb);
    B(product_nn_block)(m, n, some, a + t, lda, b + t * ldb, ldb, t == 0, c, ldc, &ahead);
  }
}
#undef PRODUCT_BLOCK
#undef PRODUCT_LINE
