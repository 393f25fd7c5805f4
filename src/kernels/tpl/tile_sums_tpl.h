/* tile_sums_tpl.h - sums over a panel's queries for a tile of keys, dimensions in lanes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first. The product of the backward pass
 * that contracts over queries: weights are broadcast from the tile, rows of dO or Q are read as
 * they lie. SDPAI_SUM_KEYS x SUM_VECTORS accumulators stay in registers over the whole contraction:
 * 6 x 4 of AVX-512's 32 registers, 6 x 2 of AVX2's 16.
 */
#ifndef SDPAI_SUM_KEYS
#define SDPAI_SUM_KEYS    6
#define SDPAI_SUM_VECTORS (SDPAI_TILE_UNROLL / 2)
#endif

/* `part`: 0, or the lanes that the only vector has. As in tile_products_group, constants make loops
 * registers. */
SDPAI_INLINE void V(tile_sums_group)(const int keys, const int vectors, int part, int64_t rows,
                                     const real *p, int64_t ldp, const real *x, int64_t ldx,
                                     real *sum, int64_t lds) {
  vec acc[SDPAI_SUM_KEYS][SDPAI_SUM_VECTORS];
  SDPAI_UNROLL(SDPAI_SUM_KEYS)
  for (int u = 0; u < keys; u++) {
    SDPAI_UNROLL(SDPAI_SUM_VECTORS)
    for (int c = 0; c < vectors; c++) acc[u][c] = V(set1)(0);
  }
  for (int64_t i = 0; i < rows; i++, p++, x += ldx) {
    vec row[SDPAI_SUM_VECTORS];
    SDPAI_UNROLL(SDPAI_SUM_VECTORS)
    for (int c = 0; c < vectors; c++)
      row[c] = part ? V(load_part)(x, part) : V(load)(x + c * LANES);
    SDPAI_UNROLL(SDPAI_SUM_KEYS)
    for (int u = 0; u < keys; u++) {
      const vec b = V(set1)(p[u * ldp]);
      SDPAI_UNROLL(SDPAI_SUM_VECTORS)
      for (int c = 0; c < vectors; c++) acc[u][c] = V(fma)(b, row[c], acc[u][c]);
    }
  }
  SDPAI_UNROLL(SDPAI_SUM_KEYS)
  for (int u = 0; u < keys; u++) {
    SDPAI_UNROLL(SDPAI_SUM_VECTORS)
    for (int c = 0; c < vectors; c++) {
      real *at = sum + u * lds + c * LANES;
      if (part) {
        V(store_part)(at, part, V(add)(V(load_part)(at, part), acc[u][c]));
      } else {
        V(store)(at, V(add)(V(load)(at), acc[u][c]));
      }
    }
  }
}

/* All columns of some keys. */
SDPAI_INLINE void V(tile_sums_keys)(const int keys, int64_t rows, int64_t dim, const real *p,
                                    int64_t ldp, const real *x, int64_t ldx, real *sum,
                                    int64_t lds) {
  int64_t d = 0;
  for (; dim - d >= SDPAI_SUM_VECTORS * LANES; d += SDPAI_SUM_VECTORS * LANES)
    V(tile_sums_group)(keys, SDPAI_SUM_VECTORS, 0, rows, p, ldp, x + d, ldx, sum + d, lds);
  for (; SDPAI_SUM_VECTORS > 2 && dim - d >= 2 * LANES; d += 2 * LANES)
    V(tile_sums_group)(keys, 2, 0, rows, p, ldp, x + d, ldx, sum + d, lds);
  for (; dim - d >= LANES; d += LANES)
    V(tile_sums_group)(keys, 1, 0, rows, p, ldp, x + d, ldx, sum + d, lds);
  if (d < dim) V(tile_sums_group)(keys, 1, (int)(dim - d), rows, p, ldp, x + d, ldx, sum + d, lds);
}

void KERNEL(tile_sums)(int64_t keys, int64_t rows, int64_t dim, const real *p, int64_t ldp,
                       const real *x, int64_t ldx, real *sum, int64_t lds) {
  int64_t j = 0;
  for (; keys - j >= SDPAI_SUM_KEYS; j += SDPAI_SUM_KEYS)
    V(tile_sums_keys)(SDPAI_SUM_KEYS, rows, dim, p + j * ldp, ldp, x, ldx, sum + j * lds, lds);
  for (; keys - j >= 2; j += 2)
    V(tile_sums_keys)(2, rows, dim, p + j * ldp, ldp, x, ldx, sum + j * lds, lds);
  if (j < keys) V(tile_sums_keys)(1, rows, dim, p + j * ldp, ldp, x, ldx, sum + j * lds, lds);
}
