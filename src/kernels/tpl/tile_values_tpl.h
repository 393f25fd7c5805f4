/* tile_values_tpl.h - weighted sum of a tile of values for a panel of queries in lanes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: as tile_products_tpl.h, whose shape of accumulators this shares: here they are columns
 * of V by queries, and elements of V are broadcast from its rows.
 */

/* Some columns of V: o = o * alpha + sum over the keys of v p. The sum starts from zero, so that
 * its chain of additions is as long as a tile, not as the row. */
SDPAI_INLINE void V(tile_values_group)(const int cols, const int vectors, int64_t keys,
                                       const real *p, const real *v, int64_t ldv, real *o,
                                       const real *alpha) {
  vec acc[SDPAI_TILE_UNROLL][SDPAI_TILE_VECTORS];
  SDPAI_UNROLL(SDPAI_TILE_UNROLL)
  for (int u = 0; u < cols; u++) {
    SDPAI_UNROLL(SDPAI_TILE_VECTORS)
    for (int c = 0; c < vectors; c++) acc[u][c] = V(set1)(0);
  }
  for (int64_t j = 0; j < keys; j++, p += vectors * LANES, v += ldv) {
    vec x[SDPAI_TILE_VECTORS];
    SDPAI_UNROLL(SDPAI_TILE_VECTORS)
    for (int c = 0; c < vectors; c++) x[c] = V(load)(p + c * LANES);
    SDPAI_UNROLL(SDPAI_TILE_UNROLL)
    for (int u = 0; u < cols; u++) {
      const vec b = V(set1)(v[u]);
      SDPAI_UNROLL(SDPAI_TILE_VECTORS)
      for (int c = 0; c < vectors; c++) acc[u][c] = V(fma)(b, x[c], acc[u][c]);
    }
  }
  SDPAI_UNROLL(SDPAI_TILE_UNROLL)
  for (int u = 0; u < cols; u++) {
    SDPAI_UNROLL(SDPAI_TILE_VECTORS)
    for (int c = 0; c < vectors; c++) {
      real *at = o + (u * vectors + c) * LANES;
      V(store)(at, V(fma)(V(load)(at), V(load)(alpha + c * LANES), acc[u][c]));
    }
  }
}

SDPAI_INLINE void V(tile_values)(const int vectors, int64_t keys, int64_t dim, const real *p,
                                 const real *v, int64_t ldv, real *o, const real *alpha) {
  const int64_t width = vectors * LANES;
  int64_t d = 0;
  for (; dim - d >= SDPAI_TILE_UNROLL; d += SDPAI_TILE_UNROLL)
    V(tile_values_group)(SDPAI_TILE_UNROLL, vectors, keys, p, v + d, ldv, o + d * width, alpha);
  for (; dim - d >= 2; d += 2)
    V(tile_values_group)(2, vectors, keys, p, v + d, ldv, o + d * width, alpha);
  if (d < dim) V(tile_values_group)(1, vectors, keys, p, v + d, ldv, o + d * width, alpha);
}

void KERNEL(tile_values_1)(int64_t keys, int64_t dim, const real *p, const real *v, int64_t ldv,
                           real *o, const real *alpha) {
  V(tile_values)(1, keys, dim, p, v, ldv, o, alpha);
}
void KERNEL(tile_values_2)(int64_t keys, int64_t dim, const real *p, const real *v, int64_t ldv,
                           real *o, const real *alpha) {
  V(tile_values)(2, keys, dim, p, v, ldv, o, alpha);
}
void KERNEL(tile_values_3)(int64_t keys, int64_t dim, const real *p, const real *v, int64_t ldv,
                           real *o, const real *alpha) {
  V(tile_values)(3, keys, dim, p, v, ldv, o, alpha);
}
