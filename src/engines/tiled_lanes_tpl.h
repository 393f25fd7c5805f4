/* tiled_lanes_tpl.h - the loop over tiles for queries in lanes, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h, and HAS_MATRIX: 1 if the matrix unit may do the products. The one way
 * of a tile: products, rules, online softmax, values.
 */

/* s[j][i] = k_j . q_i, -inf where `words`, unless NULL, excludes the key; and the maxima. */
static void X(tile_products)(const struct X(item) * item, const struct X(panel) * panel,
                             const struct X(tile) * tile, const uint32_t *words) {
#if HAS_MATRIX
  if (item->plan->tiled.matrix.scores.left > 0) {
    X(matrix_products)(item, panel, tile, words);
    return;
  }
#endif
  X(fma_products)(item, panel, tile, words);
}

/* Adds the tile's weighted values, from `value`: those of the tile, or a copy. */
static void X(tile_values)(const struct X(item) * item, const struct X(panel) * panel,
                           const struct X(tile) * tile, struct X(rows) value) {
#if HAS_MATRIX
  if (item->plan->tiled.matrix.output.left > 0) {
    X(matrix_values)(item, panel, tile, value);
    return;
  }
#endif
  X(fma_values)(item, panel, tile->keys.end - tile->keys.begin, value);
}

/* Products become scores: the rules, and what is stored on the way. */
static void X(tile_scores)(const struct X(item) * item, const struct X(panel) * panel,
                           const struct X(tile) * tile, struct X(sdpai_tile_rules) * rules) {
  const struct sdpai_problem *p = &item->plan->problem;
  const struct sdpai_args *a = item->args;
  const int64_t n = tile->keys.end - tile->keys.begin, width = panel->width;
  T *s = item->scratch->scores, *max = item->scratch->max;
  const T scale = item->plan->tiled.ruled ? (T)fabs(p->scale) : 1;
  rules->scale = scale;
  rules->softcap = (T)p->softcap;
  if (X(wants_all_scores)(p)) {
    struct X(sdpai_tile_rules) stage = {.scale = scale};
    if (p->score_stage == SDPA_STAGE_SOFTCAPPED) stage.softcap = rules->softcap;
    item->kernels->tile_rules(n, width, s, &stage, max);
    X(store_tile)(item, panel, tile->keys, 1, a->scores, &p->scores);
    rules->scale = 1;
    if (p->score_stage == SDPA_STAGE_SOFTCAPPED) rules->softcap = 0;
  }
  if (item->plan->tiled.ruled) X(fill_rules)(item, panel, tile->keys, rules);
  if (item->plan->tiled.ruled) item->kernels->tile_rules(n, width, s, rules, max);
  if (a->scores && p->score_stage == SDPA_STAGE_BIASED)
    X(store_tile)(item, panel, tile->keys, 1, a->scores, &p->scores);
  if (a->weights) X(store_tile)(item, panel, tile->keys, 1, a->weights, &p->weights);
}

static void X(run_tile)(const struct X(item) * item, const struct X(panel) * panel,
                        struct X(tile) tile) {
  const struct sdpai_tiled_scratch *scratch = item->scratch;
  const int stores = item->args->scores || item->args->weights;
#if HAS_MATRIX
  if (item->plan->tiled.matrix.scores.left > 0) X(find_unfit_rows)(item, panel, &tile);
#endif
  const struct X(tile) whole = tile;
  if (!stores) tile = X(trim_tile)(panel, item->args->alibi_slopes != NULL, tile);
  const int64_t n = tile.keys.end - tile.keys.begin;
  if (n <= 0 || (!stores && panel->any.begin >= tile.keys.end)) return;
  const enum X(tile_class) class = X(classify_tile)(item, panel, tile.keys);
  if (class == X(TILE_SKIP) && !stores) return;
  struct X(sdpai_tile_rules) rules = {.scale = 1};
  if (class != X(TILE_FULL)) rules.words = scratch->words;
  /* Rules come before masks: softcap makes a number of -inf. */
  X(tile_products)(item, panel, &tile, item->plan->tiled.ruled ? NULL : rules.words);
  X(tile_scores)(item, panel, &tile, &rules);
  item->kernels->tile_softmax(n, panel->width, item->scale, scratch->scores, scratch->max, panel->m,
                              panel->l, scratch->alpha);
  if (!item->value) return;
  if (panel->draws) X(drop_lanes)(item, panel, tile.keys);
  int nonfinite = 0;
  struct X(rows) finite = tile.value;
  if (rules.words || rules.bias) {
    if (*whole.known == X(UNKNOWN)) {
      const int64_t dim = item->plan->problem.value_dim, all = whole.keys.end - whole.keys.begin;
      const int is_finite = item->kernels->rows_finite(all, dim, whole.value.data, whole.value.ld);
      *whole.known = is_finite ? X(ALL_FINITE) : X(SOME_NOT_FINITE);
    }
    finite = X(finite_values)(item, n, tile.value, whole.known, &nonfinite);
  }
  X(tile_values)(item, panel, &tile, finite);
  if (nonfinite) X(add_nonfinite_lanes)(item, panel, n, tile.value, &rules);
}

/* Where the memory of panel number `index` of the item lies. */
static struct X(panel) X(panel_at)(const struct X(item) * item, int64_t index) {
  const struct sdpai_problem *p = &item->plan->problem;
  const struct sdpai_tiled_scratch *s = item->scratch;
  const int64_t width = item->plan->tiled.width, lanes = item->kernels->lanes, at = index * width;
  struct X(panel) panel = {.first = item->first + at,
                           .rows = sdpai_min(width, item->rows - at),
                           .query = X(out_at)(s->query, at * p->key_dim),
                           .output = X(out_at)(s->output, at * p->value_dim),
                           .m = (T *)s->m + at,
                           .l = (T *)s->l + at,
                           .draws = s->draws ? s->draws + at : NULL,
                           .begin = s->begin + at,
                           .end = s->end + at};
  panel.width = (panel.rows + lanes - 1) / lanes * lanes;
  return panel;
}

/* Asks for K and V of the tile from key `begin` on, which the item's first panel reads from memory.
 * A tile's rows are many short streams to the hardware's prefetcher: where few queries share a kv
 * head it left the kernels waiting for most of the time. */
SDPAI_INLINE void X(ask_tile)(const struct X(item) * item, int64_t begin, int64_t end) {
  const struct sdpai_problem *p = &item->plan->problem;
  const int64_t rows = sdpai_min(SDPAI_TILE_KEYS, end - begin);
  ask_rows(p->types.key, item->args->key, &p->key, item->batch, item->kv_head, begin, rows,
           p->key_dim);
  if (item->value)
    ask_rows(p->types.value, item->args->value, &p->value, item->batch, item->kv_head, begin, rows,
             p->value_dim);
}

/* All rows of the item over its keys: finished, or into `part`. */
static void X(run_in_lanes)(const struct X(item) * item, const struct sdpai_part *part) {
  struct X(panel) panels[SDPAI_TILED_PANELS];
  const int64_t width = item->plan->tiled.width, super = item->plan->tiled.super_keys;
  const int64_t count = (item->rows + width - 1) / width;
  struct sdpai_interval some = {INT64_MAX, 0};
  for (int64_t i = 0; i < count; i++) {
    panels[i] = X(panel_at)(item, i);
    X(start_panel)(item, &panels[i]);
#if HAS_MATRIX
    if (item->plan->tiled.matrix.scores.left > 0) X(pack_panel)(item, &panels[i], i);
#endif
    some.begin = sdpai_min(some.begin, panels[i].any.begin);
    some.end = sdpai_max(some.end, panels[i].any.end);
  }
  if (item->args->scores || item->args->weights) some = item->keys;
  const int64_t last = sdpai_min(item->keys.end, some.end);
  const int64_t late =
      sdpai_max(0, some.begin - item->keys.begin) / SDPAI_TILE_KEYS * SDPAI_TILE_KEYS;
  const int packed = item->plan->tiled.matrix.scores.left > 0 || item->plan->tiled.packs_key;
  uint8_t *known = item->scratch->finite;
  for (int64_t k = sdpai_min(item->keys.begin + late, last); k < last; k += super) {
    const struct sdpai_interval keys = {k, sdpai_min(last, k + super)};
    struct X(rows) key = {NULL, 0}, value = {NULL, 0};
    if (known) memset(known, X(UNKNOWN), (size_t)(super / SDPAI_TILE_KEYS));
#if HAS_MATRIX
    if (item->plan->tiled.matrix.scores.left > 0) X(pack_block)(item, keys, known);
#endif
    if (item->plan->tiled.matrix.scores.left == 0) {
      key = X(key_rows)(item, keys);
      value = X(value_rows)(item, keys);
    }
    for (int64_t i = 0; i < count; i++) {
      for (int64_t j = keys.begin; j < keys.end; j += SDPAI_TILE_KEYS) {
        const struct X(tile) tile = {.keys = {j, sdpai_min(keys.end, j + SDPAI_TILE_KEYS)},
                                     .at = j - k,
                                     .key = X(rows_on)(key, j - k),
                                     .value = X(rows_on)(value, j - k),
                                     .known = known ? known + (j - k) / SDPAI_TILE_KEYS : NULL};
        if (i == 0 && !packed) X(ask_tile)(item, tile.keys.end, last);
        X(run_tile)(item, &panels[i], tile);
      }
    }
  }
  for (int64_t i = 0; i < count; i++) {
    if (part) {
      X(export_panel)(item, &panels[i], part);
    } else {
      X(finish_panel)(item, &panels[i]);
    }
  }
}
