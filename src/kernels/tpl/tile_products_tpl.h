/* tile_products_tpl.h - scores of a tile of keys for a panel of queries in lanes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first, which also gives
 * SDPAI_TILE_UNROLL.
 *
 * S^T = K Q^T: a vector holds one key's scores for LANES queries, so elements of K are broadcast
 * straight from their rows, whatever the row stride, and only Q is packed. `keys` x `vectors`
 * accumulators stay in registers over the whole contraction: 8 x 3 of AVX-512's 32 registers and 4
 * x 3 of AVX2's 16, the rest holding the queries and one broadcast.
 */

/* One group of keys, `first` the tile's number of the first. keys and vectors are constants at
 * every call, so the loops unroll and acc is registers. */
SDPAI_INLINE void V(tile_products_group)(const int keys, const int vectors, int64_t dim,
                                         const real *q, const real *k, int64_t ldk,
                                         const uint32_t *words, int64_t first, real *s, vec *max) {
  vec acc[SDPAI_TILE_UNROLL][SDPAI_TILE_VECTORS];
  SDPAI_UNROLL(SDPAI_TILE_UNROLL)
  for (int u = 0; u < keys; u++) {
    SDPAI_UNROLL(SDPAI_TILE_VECTORS)
    for (int c = 0; c < vectors; c++) acc[u][c] = V(set1)(0);
  }
  for (int64_t t = 0; t < dim; t++, q += vectors * LANES, k++) {
    vec x[SDPAI_TILE_VECTORS];
    SDPAI_UNROLL(SDPAI_TILE_VECTORS)
    for (int c = 0; c < vectors; c++) x[c] = V(load)(q + c * LANES);
    SDPAI_UNROLL(SDPAI_TILE_UNROLL)
    for (int u = 0; u < keys; u++) {
      const vec b = V(set1)(k[u * ldk]);
      SDPAI_UNROLL(SDPAI_TILE_VECTORS)
      for (int c = 0; c < vectors; c++) acc[u][c] = V(fma)(b, x[c], acc[u][c]);
    }
  }
  SDPAI_UNROLL(SDPAI_TILE_UNROLL)
  for (int u = 0; u < keys; u++) {
    SDPAI_UNROLL(SDPAI_TILE_VECTORS)
    for (int c = 0; c < vectors; c++) {
      if (words)
        acc[u][c] = V(keep_bit)(words + (first + u) / 32 * vectors * LANES + c * LANES,
                                (int)((first + u) % 32), acc[u][c], V(set1)(-(real)INFINITY));
      V(store)(s + (u * vectors + c) * LANES, acc[u][c]);
      max[c] = V(max)(acc[u][c], max[c]);
    }
  }
}

SDPAI_INLINE void V(tile_products)(const int vectors, int64_t keys, int64_t dim, const real *q,
                                   const real *k, int64_t ldk, const uint32_t *words, real *s,
                                   real *max) {
  const int64_t width = vectors * LANES;
  vec largest[SDPAI_TILE_VECTORS];
  for (int c = 0; c < vectors; c++) largest[c] = V(set1)(-(real)INFINITY);
  int64_t j = 0;
  for (; keys - j >= SDPAI_TILE_UNROLL; j += SDPAI_TILE_UNROLL) V(tile_products_group)
  (SDPAI_TILE_UNROLL, vectors, dim, q, k + j * ldk, ldk, words, j, s + j * width, largest);
  for (; keys - j >= 2; j += 2)
    V(tile_products_group)(2, vectors, dim, q, k + j * ldk, ldk, words, j, s + j * width, largest);
  if (j < keys)
    V(tile_products_group)(1, vectors, dim, q, k + j * ldk, ldk, words, j, s + j * width, largest);
  for (int c = 0; c < vectors; c++) V(store)(max + c * LANES, largest[c]);
}

void KERNEL(tile_products_1)(int64_t keys, int64_t dim, const real *q, const real *k, int64_t ldk,
                             const uint32_t *words, real *s, real *max) {
  V(tile_products)(1, keys, dim, q, k, ldk, words, s, max);
}
void KERNEL(tile_products_2)(int64_t keys, int64_t dim, const real *q, const real *k, int64_t ldk,
                             const uint32_t *words, real *s, real *max) {
  V(tile_products)(2, keys, dim, q, k, ldk, words, s, max);
}
void KERNEL(tile_products_3)(int64_t keys, int64_t dim, const real *q, const real *k, int64_t ldk,
                             const uint32_t *words, real *s, real *max) {
  V(tile_products)(3, keys, dim, q, k, ldk, words, s, max);
}
