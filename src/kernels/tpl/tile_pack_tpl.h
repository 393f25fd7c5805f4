/* tile_pack_tpl.h - rows into lanes and back
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first. Blocks of LANES x LANES are
 * transposed in registers; what is left over goes one by one.
 */

void KERNEL(tile_pack)(int64_t rows, int64_t cols, const real *x, int64_t row_stride,
                       int64_t col_stride, real factor, int64_t width, real *tile) {
  const vec vfactor = V(set1)(factor);
  int64_t i = 0;
  for (; col_stride == 1 && rows - i >= LANES; i += LANES) {
    int64_t t = 0;
    for (; cols - t >= LANES; t += LANES) {
      vec block[LANES];
      SDPAI_UNROLL(16)
      for (int u = 0; u < LANES; u++) block[u] = V(load)(x + (i + u) * row_stride + t);
      V(transpose)(block);
      SDPAI_UNROLL(16)
      for (int u = 0; u < LANES; u++)
        V(store)(tile + (t + u) * width + i, V(mul)(vfactor, block[u]));
    }
    for (; t < cols; t++)
      for (int64_t u = i; u < i + LANES; u++) tile[t * width + u] = factor * x[u * row_stride + t];
  }
  for (; i < rows; i++)
    for (int64_t t = 0; t < cols; t++)
      tile[t * width + i] = factor * x[i * row_stride + t * col_stride];
}

/* A factor of 0 means a row of zeros, whatever the tile holds; every zero is +0. */
SDPAI_INLINE real V(times)(real o, real factor) {
  return factor == 0 ? 0 : o * factor + 0;
}

void KERNEL(tile_unpack)(int64_t rows, int64_t cols, const real *tile, int64_t width,
                         const real *factor, real *x, int64_t row_stride, int64_t col_stride) {
  int64_t i = 0;
  for (; col_stride == 1 && rows - i >= LANES; i += LANES) {
    const vec vfactor = V(load)(factor + i);
    int64_t t = 0;
    for (; cols - t >= LANES; t += LANES) {
      vec block[LANES];
      SDPAI_UNROLL(16)
      for (int u = 0; u < LANES; u++) {
        const vec o = V(load)(tile + (t + u) * width + i);
        block[u] =
            V(select_eq)(vfactor, V(set1)(0), V(set1)(0), V(add)(V(mul)(vfactor, o), V(set1)(0)));
      }
      V(transpose)(block);
      SDPAI_UNROLL(16)
      for (int u = 0; u < LANES; u++) V(store)(x + (i + u) * row_stride + t, block[u]);
    }
    for (; t < cols; t++)
      for (int64_t u = i; u < i + LANES; u++)
        x[u * row_stride + t] = V(times)(tile[t * width + u], factor[u]);
  }
  for (; i < rows; i++)
    for (int64_t t = 0; t < cols; t++)
      x[i * row_stride + t * col_stride] = V(times)(tile[t * width + i], factor[i]);
}
