/* tiled_tile_tpl.h - one tile of keys by one panel of queries, and its products by multiply-adds,
 * once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h.
 */

/* K's and V's rows of a tile. */
struct X(tile) {
  struct sdpai_interval keys;
  int64_t at; /* its first key's number in the block that the item's panels share */
  struct X(rows) key, value;
  uint8_t *known; /* of the whole tile's V, see finite_values; NULL where nothing excludes a key */
};

/* The part of a tile that some lane attends. It begins a multiple of 16 keys after the tile, so
 * that the softmax's sums over even and odd keys stay the same whatever rows share the panel. */
static struct X(tile) X(trim_tile)(const struct X(panel) * panel, int slopes, struct X(tile) tile) {
  const int64_t late = slopes ? 0 : sdpai_max(0, panel->any.begin - tile.keys.begin) & ~(int64_t)15;
  if (panel->any.end < tile.keys.end) tile.keys.end = panel->any.end;
  if (late > 0 && tile.keys.begin + late < tile.keys.end) {
    tile.keys.begin += late;
    tile.at += late;
    tile.key = X(rows_on)(tile.key, late);
    tile.value = X(rows_on)(tile.value, late);
  }
  return tile;
}

/* s[j][i] = k_j . q_i, -inf where `words`, unless NULL, excludes the key. */
static void X(fma_products)(const struct X(item) * item, const struct X(panel) * panel,
                            const struct X(tile) * tile, const uint32_t *words) {
  const int64_t n = tile->keys.end - tile->keys.begin, dim = item->plan->problem.key_dim;
  const T *key = X(rows_begin)(item, tile->key);
  T *s = item->scratch->scores, *max = item->scratch->max;
  switch (panel->width / item->kernels->lanes) {
  case 1:
    item->kernels->tile_products_1(n, dim, panel->query, key, tile->key.ld, words, s, max);
    break;
  case 2:
    item->kernels->tile_products_2(n, dim, panel->query, key, tile->key.ld, words, s, max);
    break;
  default:
    item->kernels->tile_products_3(n, dim, panel->query, key, tile->key.ld, words, s, max);
  }
}

static void X(fma_values)(const struct X(item) * item, const struct X(panel) * panel, int64_t n,
                          struct X(rows) value) {
  const int64_t dim = item->plan->problem.value_dim;
  const T *s = item->scratch->scores, *alpha = item->scratch->alpha;
  switch (panel->width / item->kernels->lanes) {
  case 1:
    item->kernels->tile_values_1(n, dim, s, value.data, value.ld, panel->output, alpha);
    break;
  case 2:
    item->kernels->tile_values_2(n, dim, s, value.data, value.ld, panel->output, alpha);
    break;
  default:
    item->kernels->tile_values_3(n, dim, s, value.data, value.ld, panel->output, alpha);
  }
}
