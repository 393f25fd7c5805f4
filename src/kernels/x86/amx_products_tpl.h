/* amx_products_tpl.h - products of packed tiles in the tile unit
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: the tile operations (amx_tiles.h, or their emulation in the tests) and amx_pack_tpl.h
 * come first. Contracts: matrix_kernels.h.
 *
 * Two by two tiles of sums stay in registers 0 to 3 over the whole contraction, with two left
 * operands in 4 and 5 and two right ones in 6 and 7: one load a multiplication. A multiplication
 * occupies the unit for 16 cycles and a load 8, so that loads never wait for each other and reusing
 * operands between products of parts would gain nothing (measured in prototypes).
 */

/* An operand's packed tiles; distances in elements between its 16 rows (or columns), its parts and
 * its steps of the contraction. */
struct tiles {
  const uint16_t *at;
  int64_t next, part, step;
};

/* rows x cols tiles of sums, each 1 or 2; a row, column of sums are 16 rows of the left operand, 16
 * columns of the right one. */
SDPAI_INLINE void multiply_tiles(const int rows, const int cols, int64_t steps, struct tiles left,
                                 struct tiles right, struct sdpai_parts parts) {
  TILE_ZERO(0);
  TILE_ZERO(1);
  TILE_ZERO(2);
  TILE_ZERO(3);
  for (int64_t t = 0; t < steps; t++, left.at += left.step, right.at += right.step)
    for (int sum = parts.order; sum >= 0; sum--)
      for (int i = (int)at_most(sum, parts.left - 1); i >= 0 && sum - i < parts.right; i--) {
        const uint16_t *a = left.at + i * left.part, *b = right.at + (sum - i) * right.part;
        TILE_LOAD(4, a, 64);
        TILE_LOAD(6, b, 64);
        TILE_DP(0, 4, 6);
        if (cols == 2) {
          TILE_LOAD(7, b + right.next, 64);
          TILE_DP(1, 4, 7);
        }
        if (rows == 2) {
          TILE_LOAD(5, a + left.next, 64);
          TILE_DP(2, 5, 6);
          if (cols == 2) TILE_DP(3, 5, 7);
        }
      }
}

/* The sums' tiles, side by side in a matrix of floats. */
SDPAI_INLINE void store_tiles(const int rows, const int cols, float *to, int64_t ld) {
  const int64_t bytes = ld * (int64_t)sizeof(float);
  TILE_STORE(0, to, bytes);
  if (cols == 2) TILE_STORE(1, to + LANES_16, bytes);
  if (rows == 2) {
    TILE_STORE(2, to + LANES_16 * ld, bytes);
    if (cols == 2) TILE_STORE(3, to + LANES_16 * ld + LANES_16, bytes);
  }
}

/* One or two tiles each way. */
SDPAI_INLINE void multiply_block(int64_t rows, int64_t cols, int64_t steps, struct tiles left,
                                 struct tiles right, struct sdpai_parts parts, float *to,
                                 int64_t ld) {
  if (rows > LANES_16 && cols > LANES_16) {
    multiply_tiles(2, 2, steps, left, right, parts);
    store_tiles(2, 2, to, ld);
  } else if (rows > LANES_16) {
    multiply_tiles(2, 1, steps, left, right, parts);
    store_tiles(2, 1, to, ld);
  } else if (cols > LANES_16) {
    multiply_tiles(1, 2, steps, left, right, parts);
    store_tiles(1, 2, to, ld);
  } else {
    multiply_tiles(1, 1, steps, left, right, parts);
    store_tiles(1, 1, to, ld);
  }
}

void MATRIX_KERNEL(configure)(void) {
  TILES_CONFIGURE();
}

void MATRIX_KERNEL(release)(void) {
  TILES_RELEASE();
}

void MATRIX_KERNEL(products)(int64_t keys, int64_t width, int64_t dim, const uint16_t *k,
                             const uint16_t *q, struct sdpai_parts parts, float *s) {
  const int64_t steps = sdpai_tiles(dim, DEPTH), part = steps * TILE;
  struct tiles left = {.at = k, .next = parts.left * part, .part = part, .step = TILE};
  for (int64_t j = 0; j < keys; j += 2 * LANES_16, left.at += 2 * left.next) {
    struct tiles right = {.at = q, .next = parts.right * part, .part = part, .step = TILE};
    for (int64_t i = 0; i < width; i += 2 * LANES_16, right.at += 2 * right.next)
      multiply_block(keys - j, width - i, steps, left, right, parts, s + j * width + i, width);
  }
}

/* Sums meet what was accumulated before: o = o * alpha + sum, the weights' scale taken off. */
SDPAI_INLINE void add_sums(int64_t rows, int64_t cols, const float *sums, float *o, int64_t ld,
                           const float *alpha) {
  const vf32 scale = vf32_set1(1 / WEIGHT_SCALE);
  for (int64_t i = 0; i < cols; i += LANES_16) {
    const vf32 factor = vf32_load(alpha + i);
    for (int64_t d = 0; d < rows; d++) {
      const vf32 old = vf32_mul(vf32_load(o + d * ld + i), factor);
      vf32_store(o + d * ld + i, vf32_fma(vf32_load(sums + d * 2 * LANES_16 + i), scale, old));
    }
  }
}

void MATRIX_KERNEL(values)(int64_t keys, int64_t width, int64_t dim, const uint16_t *v,
                           const uint16_t *p, struct sdpai_parts parts, float *o,
                           const float *alpha) {
  const int64_t steps = sdpai_tiles(keys, DEPTH);
  const int64_t rows = sdpai_tiles(dim, LANES_16), cols = width / LANES_16;
  _Alignas(64) float sums[4 * LANES_16 * LANES_16];
  for (int64_t d = 0; d < dim; d += 2 * LANES_16)
    for (int64_t i = 0; i < width; i += 2 * LANES_16) {
      const struct tiles left = {.at = v + d / LANES_16 * TILE,
                                 .next = TILE,
                                 .part = rows * TILE,
                                 .step = parts.left * rows * TILE};
      const struct tiles right = {.at = p + i / LANES_16 * TILE,
                                  .next = TILE,
                                  .part = cols * TILE,
                                  .step = parts.right * cols * TILE};
      multiply_block(dim - d, width - i, steps, left, right, parts, sums, 2 * LANES_16);
      add_sums(at_most(dim - d, 2 * LANES_16), at_most(width - i, 2 * LANES_16), sums,
               o + d * width + i, width, alpha + i);
    }
}
