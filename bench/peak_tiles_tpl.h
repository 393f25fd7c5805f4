/* peak_tiles_tpl.h - the ceilings' loop of a unit that multiplies tiles
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template. The includer defines PEAK_TILES, the function's name, after the tile operations of
 * amx_tiles.h. Two by two tiles of sums, with four operands read anew for each round, as the inner
 * loop of a product of matrices in L1 does.
 */
double PEAK_TILES(int64_t rounds, const void *a, const void *b) {
  const char *left = a, *right = b;
  float sums[4][16][16] __attribute__((aligned(PEAK_LINE)));
  double total = 0.0;
  TILES_CONFIGURE();
  TILE_ZERO(0);
  TILE_ZERO(1);
  TILE_ZERO(2);
  TILE_ZERO(3);
  for (int64_t r = 0; r < rounds; r++) {
    TILE_LOAD(4, left, 64);
    TILE_LOAD(6, right, 64);
    TILE_DP(0, 4, 6);
    TILE_LOAD(7, right + 1024, 64);
    TILE_DP(1, 4, 7);
    TILE_LOAD(5, left + 1024, 64);
    TILE_DP(2, 5, 6);
    TILE_DP(3, 5, 7);
  }
  TILE_STORE(0, sums[0], 64);
  TILE_STORE(1, sums[1], 64);
  TILE_STORE(2, sums[2], 64);
  TILE_STORE(3, sums[3], 64);
  TILES_RELEASE();
  for (int i = 0; i < 4 * 16 * 16; i++) total += (double)sums[i / 256][i / 16 % 16][i % 16];
  return total;
}
