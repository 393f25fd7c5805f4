/* tiled_matrix_tpl.h - a tile's two products in the matrix unit, for single precision alone
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h. K and V are packed once for all panels of an item, a tile at a time;
 * queries once for an item, weights for each tile and panel.
 *
 * Numbers that do not fit the unit (matrix_kernels.h) are multiplied and added by the FMA kernels.
 * Which of the two computes a score depends on its key and its query alone, and which of them a
 * product with V goes to on that element of V alone, so that no bit of a row depends on what other
 * rows, other heads or excluded keys hold; only the time does.
 */

/* Tiles of a number of parts. */
static int64_t X(left_tiles)(int parts, int64_t rows, int64_t depth) {
  return parts * rows * depth * SDPAI_TILE_ELEMENTS;
}

/* Where the packed operands of the tile's first key lie, which is a multiple of 16. */
static uint16_t *X(packed_key)(const struct X(item) * item, int64_t at) {
  const int64_t depth = sdpai_tiles(item->plan->problem.key_dim, SDPAI_TILE_DEPTH);
  return item->scratch->matrix.key +
         X(left_tiles)(item->plan->tiled.matrix.scores.left, at / SDPAI_TILE_ROWS, depth);
}

/* The same for V, of which 32 keys share a tile. */
static uint16_t *X(packed_value)(const struct X(item) * item, int64_t at) {
  const int64_t rows = sdpai_tiles(item->plan->problem.value_dim, SDPAI_TILE_ROWS);
  return item->scratch->matrix.value +
         X(left_tiles)(item->plan->tiled.matrix.output.left, rows, at / SDPAI_TILE_DEPTH);
}

static uint16_t *X(packed_query)(const struct X(item) * item, int64_t panel) {
  const struct sdpai_tiled_plan *t = &item->plan->tiled;
  const int64_t depth = sdpai_tiles(item->plan->problem.key_dim, SDPAI_TILE_DEPTH);
  return item->scratch->matrix.query +
         panel * X(left_tiles)(t->matrix.scores.right, t->width / SDPAI_TILE_ROWS, depth);
}

/* Packs the queries of panel number `index`. */
static void X(pack_panel)(const struct X(item) * item, struct X(panel) * panel, int64_t index) {
  const struct sdpai_tiled_matrix_scratch *s = &item->scratch->matrix;
  panel->packed_query = X(packed_query)(item, index);
  panel->unfit_lanes = s->unfit_lanes + index * item->plan->tiled.width;
  panel->unfit = item->matrix->pack_queries(panel->width, item->plan->problem.key_dim, panel->query,
                                            item->plan->tiled.matrix.scores.right,
                                            panel->packed_query, panel->unfit_lanes);
}

/* Packs the keys and values of a block that the item's panels share, a tile after the other, and
 * notes of which tiles of V all elements are finite. */
static void X(pack_block)(const struct X(item) * item, struct sdpai_interval block,
                          uint8_t *known) {
  const struct sdpai_problem *p = &item->plan->problem;
  const struct sdpai_matrix_parts *parts = &item->plan->tiled.matrix;
  const struct sdpai_tiled_matrix_scratch *s = &item->scratch->matrix;
  for (int64_t j = block.begin; j < block.end; j += SDPAI_TILE_KEYS) {
    const struct sdpai_interval keys = {j, sdpai_min(block.end, j + SDPAI_TILE_KEYS)};
    const int64_t at = j - block.begin, tile = at / SDPAI_TILE_KEYS, n = keys.end - j;
    const struct X(rows) key = X(key_rows)(item, keys);
    s->unfit_key[tile] =
        item->matrix->pack_keys(n, p->key_dim, key.data, key.ld, parts->scores.left,
                                X(packed_key)(item, at), s->unfit_keys + at);
    if (!item->value) continue;
    const struct X(rows) value = X(value_rows)(item, keys);
    s->unfit_value[tile] = item->matrix->pack_values(n, p->value_dim, value.data, value.ld,
                                                     parts->output.left, X(packed_value)(item, at));
    if (known && s->unfit_value[tile] == 0) known[tile] = X(ALL_FINITE);
  }
}

/* The rows of a tile of K and V of which the FMA kernels need some. */
static void X(find_unfit_rows)(const struct X(item) * item, const struct X(panel) * panel,
                               struct X(tile) * tile) {
  const struct sdpai_tiled_matrix_scratch *s = &item->scratch->matrix;
  const int64_t number = tile->at / SDPAI_TILE_KEYS;
  if (panel->unfit > 0 || s->unfit_key[number] > 0) tile->key = X(key_rows)(item, tile->keys);
  if (item->value && s->unfit_value[number] > 0) tile->value = X(value_rows)(item, tile->keys);
}

/* The scores of keys and lanes that do not fit come from the FMA kernel, in scratch->scores; the
 * others from the unit, in `fitting`. */
static void X(merge_scores)(const struct X(item) * item, const struct X(panel) * panel,
                            const struct X(tile) * tile, const T *fitting) {
  const uint8_t *unfit_keys = item->scratch->matrix.unfit_keys + tile->at;
  const int64_t n = tile->keys.end - tile->keys.begin, width = panel->width;
  T *s = item->scratch->scores;
  for (int64_t j = 0; j < n; j++) {
    if (unfit_keys[j]) continue;
    for (int64_t i = 0; i < width; i++)
      if (!panel->unfit_lanes[i]) s[j * width + i] = fitting[j * width + i];
  }
}

static void X(matrix_products)(const struct X(item) * item, const struct X(panel) * panel,
                               const struct X(tile) * tile, const uint32_t *words) {
  const struct sdpai_tiled_matrix_scratch *s = &item->scratch->matrix;
  const int64_t n = tile->keys.end - tile->keys.begin, width = panel->width;
  const int64_t unfit_keys = s->unfit_key[tile->at / SDPAI_TILE_KEYS];
  const int mixed = panel->unfit > 0 || unfit_keys > 0;
  T *scores = item->scratch->scores;
  if (mixed) X(fma_products)(item, panel, tile, NULL);
  if (panel->unfit < width && unfit_keys < SDPAI_TILE_KEYS) {
    item->matrix->products(n, width, item->plan->problem.key_dim, X(packed_key)(item, tile->at),
                           panel->packed_query, item->plan->tiled.matrix.scores,
                           mixed ? s->fitting : scores);
    if (mixed) X(merge_scores)(item, panel, tile, s->fitting);
  }
  item->matrix->mask_max(n, width, scores, words, item->scratch->max);
}

/* The elements of a tile of V that do not fit, between zeros. */
static struct X(rows)
    X(unfit_values)(const struct X(item) * item, int64_t keys, struct X(rows) value) {
  const int64_t dim = item->plan->problem.value_dim;
  T *copy = item->scratch->matrix.unfit_rows;
  for (int64_t j = 0; j < keys; j++)
    for (int64_t d = 0; d < dim; d++) {
      const T v = value.data[j * value.ld + d];
      copy[j * dim + d] = sdpai_matrix_fits(v) ? 0 : v;
    }
  return (struct X(rows)){copy, dim};
}

/* Where elements of V do not fit, the FMA kernel goes first: it multiplies what was accumulated
 * before with alpha, and adds their share. */
static void X(matrix_values)(const struct X(item) * item, const struct X(panel) * panel,
                             const struct X(tile) * tile, struct X(rows) value) {
  const struct sdpai_tiled_matrix_scratch *s = &item->scratch->matrix;
  const struct sdpai_parts parts = item->plan->tiled.matrix.output;
  const int64_t n = tile->keys.end - tile->keys.begin, dim = item->plan->problem.value_dim;
  const int64_t lead = tile->at % SDPAI_TILE_DEPTH;
  T *alpha = item->scratch->alpha;
  if (s->unfit_value[tile->at / SDPAI_TILE_KEYS] > 0) {
    X(fma_values)(item, panel, n, X(unfit_values)(item, n, value));
    X(fill)(panel->width, 1, alpha, 1);
  }
  item->matrix->pack_weights(n, panel->width, lead, item->scratch->scores, parts.right, s->weights);
  item->matrix->values(lead + n, panel->width, dim, X(packed_value)(item, tile->at - lead),
                       s->weights, parts, panel->output, alpha);
}
