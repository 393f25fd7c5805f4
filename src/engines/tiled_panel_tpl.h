/* tiled_panel_tpl.h - a panel of queries in lanes: its start, masks and end, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h.
 */

/* Up to `width` rows of an item, one a lane. Lanes without a live row hold zeros and are never
 * looked at. */
struct X(panel) {
  int64_t first, rows, width; /* rows in the numbering of tiled_segment.h; width: whole vectors */
  T *query, *output, *m, *l;
  int64_t *begin, *end;              /* [width] keys of each lane; all keys where no row is live */
  struct sdpai_interval any, every;  /* keys of some live lane; of every live lane */
  struct sdpai_dropout_state *draws; /* [width] of each lane's row, if weights are dropped */
  uint16_t *packed_query;            /* for the matrix unit: */
  uint8_t *unfit_lanes;              /* [width] 1: a number of the lane does not fit it */
  int64_t unfit;                     /* how many such lanes */
};

/* The states of a segment's rows. */
static void X(start_draws)(const struct X(item) * item, const struct sdpai_segment *s,
                           struct sdpai_dropout_state *draws) {
  const struct sdpai_dropout_state head = sdpai_dropout_head(&item->dropout, item->batch, s->head);
  for (int64_t r = 0; r < sdpai_live_rows(s, item->query_len); r++)
    draws[s->lane + r] = sdpai_dropout_row(&item->dropout, &head, s->row + r);
}

static void X(start_lanes)(const struct X(item) * item, struct X(panel) * panel) {
  const struct sdpai_problem *p = &item->plan->problem;
  for (int64_t i = 0; i < panel->width; i++) {
    panel->m[i] = -(T)INFINITY;
    panel->l[i] = 0;
    panel->begin[i] = 0;
    panel->end[i] = INT64_MAX;
  }
  panel->any = (struct sdpai_interval){INT64_MAX, 0};
  panel->every = (struct sdpai_interval){0, INT64_MAX};
  struct sdpai_mask_view view;
  sdpai_mask_view(p, item->args, item->batch, item->kv_head * p->group, &view);
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, panel->first, panel->rows, &s)) {
    if (panel->draws) X(start_draws)(item, &s, panel->draws);
    for (int64_t r = 0; r < sdpai_live_rows(&s, item->query_len); r++) {
      const struct sdpai_interval own = sdpai_mask_interval(&view, s.row + r);
      panel->begin[s.lane + r] = own.begin;
      panel->end[s.lane + r] = own.end;
      panel->every.begin = sdpai_max(panel->every.begin, own.begin);
      panel->every.end = sdpai_min(panel->every.end, own.end);
      if (own.end > own.begin) {
        panel->any.begin = sdpai_min(panel->any.begin, own.begin);
        panel->any.end = sdpai_max(panel->any.end, own.end);
      }
    }
  }
}

/* Rows of the caller's queries, times `factor`, into lanes. */
static void X(pack_queries)(const struct X(item) * item, int64_t rows, const void *query, T factor,
                            int64_t width, T *tile) {
  const struct sdpai_problem *p = &item->plan->problem;
  const uint32_t type = p->types.query;
  if (type == p->types.compute) {
    item->kernels->tile_pack(rows, p->key_dim, query, p->query.row, p->query.col, factor, width,
                             tile);
    return;
  }
  const int64_t lanes = item->kernels->lanes;
  T *copy = item->scratch->query_rows;
  for (int64_t r = 0; r < rows; r += lanes) {
    const int64_t count = sdpai_min(lanes, rows - r);
    X(load_rows)
    (item->plan->kernels, type, count, p->key_dim, sdpai_at(type, query, r * p->query.row),
     p->query.row, p->query.col, copy);
    item->kernels->tile_pack(count, p->key_dim, copy, p->key_dim, 1, factor, width, tile + r);
  }
}

/* Packs the queries with their sign: products of a negative scale are turned, so that the scale
 * that the softmax multiplies with is not negative. */
static void X(start_panel)(const struct X(item) * item, struct X(panel) * panel) {
  const struct sdpai_problem *p = &item->plan->problem;
  const T sign = p->scale < 0 ? -1 : 1;
  X(start_lanes)(item, panel);
  if (p->key_dim > 0) memset(panel->query, 0, (size_t)(p->key_dim * panel->width) * sizeof(T));
  if (p->value_dim > 0) memset(panel->output, 0, (size_t)(p->value_dim * panel->width) * sizeof(T));
  struct sdpai_segment s = {0};
  while (p->key_dim > 0 && sdpai_next_segment(p, item->kv_head, panel->first, panel->rows, &s)) {
    const void *query =
        sdpai_at(p->types.query, item->args->query,
                 item->batch * p->query.batch + s.head * p->query.head + s.row * p->query.row);
    X(pack_queries)
    (item, sdpai_live_rows(&s, item->query_len), query, sign, panel->width, panel->query + s.lane);
  }
}

/* Bits of the keys of [begin, end) within the 32 keys from `from` on. */
static inline uint32_t X(interval_word)(int64_t begin, int64_t end, int64_t from) {
  const int64_t low = begin <= from ? 0 : begin - from, high = end - from;
  if (end <= from || low >= 32 || high <= low) return 0;
  const uint32_t below_high = high >= 32 ? UINT32_MAX : (UINT32_C(1) << high) - 1;
  return below_high & ~((UINT32_C(1) << low) - 1);
}

/* Asks for the next tile's part of rows of mask or bias: each row is a stream of its own, too many
 * and too short for the hardware's prefetcher. */
SDPAI_INLINE void X(prefetch_rows)(const char *at, int64_t rows, int64_t row_bytes, int64_t bytes) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < bytes; i += 64) SDPAI_PREFETCH(at + r * row_bytes + i);
}

/* Keys of the tile after `keys`, as far as the item goes. */
static int64_t X(keys_ahead)(const struct X(item) * item, struct sdpai_interval keys) {
  return sdpai_min(SDPAI_TILE_KEYS, item->keys.end - keys.end);
}

/* Clears the bits that the boolean mask excludes. */
static void X(mask_tile_words)(const struct X(item) * item, const struct X(panel) * panel,
                               struct sdpai_interval keys) {
  const struct sdpai_problem *p = &item->plan->problem;
  const int64_t n = keys.end - keys.begin;
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, panel->first, panel->rows, &s)) {
    const uint8_t *mask = item->args->mask + item->batch * p->mask.batch + s.head * p->mask.head +
                          s.row * p->mask.row + keys.begin * p->mask.col;
    const int64_t live = sdpai_live_rows(&s, item->query_len);
    if (p->mask.col == 1)
      X(prefetch_rows)((const char *)mask + n, live, p->mask.row, X(keys_ahead)(item, keys));
    for (int64_t r = 0; r < live; r++) {
      const uint8_t *row = mask + r * p->mask.row;
      uint8_t *copy = item->scratch->rows.mask;
      for (int64_t t = 0; copy && t < n; t++) copy[t] = row[t * p->mask.col];
      item->kernels->mask_words(n, copy ? copy : row, panel->width,
                                item->scratch->words + s.lane + r);
    }
  }
}

enum X(tile_class) { X(TILE_SKIP), X(TILE_FULL), X(TILE_PARTIAL) };

/* What the masks say of a tile; scratch->words of a partial one. */
static enum X(tile_class)
    X(classify_tile)(const struct X(item) * item, const struct X(panel) * panel,
                     struct sdpai_interval keys) {
  const int masked = item->args->mask != NULL;
  const int inside = keys.begin >= panel->every.begin && keys.end <= panel->every.end;
  if (inside && !masked) return X(TILE_FULL);
  const int64_t width = panel->width, n = keys.end - keys.begin;
  uint32_t *words = item->scratch->words;
  if (inside) {
    memset(words, 0xff, (size_t)((n + 31) / 32 * width) * sizeof *words);
  } else {
    for (int64_t j = 0; j < n; j += 32)
      for (int64_t i = 0; i < width; i++)
        words[j / 32 * width + i] =
            X(interval_word)(panel->begin[i], panel->end[i], keys.begin + j);
  }
  if (masked) X(mask_tile_words)(item, panel, keys);
  uint32_t some = 0, missing = 0;
  for (int64_t j = 0; j < n; j += 32) {
    const uint32_t whole = X(interval_word)(0, keys.end, keys.begin + j);
    for (int64_t i = 0; i < panel->rows; i++) {
      some |= words[j / 32 * width + i];
      missing |= whole & ~words[j / 32 * width + i];
    }
  }
  return missing == 0 ? X(TILE_FULL) : some == 0 ? X(TILE_SKIP) : X(TILE_PARTIAL);
}

/* Rows of bias into lanes, some at a time by way of a contiguous copy: rows a power of two apart,
 * as they mostly are, would push each other out of L1 while they are transposed. */
static void X(pack_bias)(const struct X(item) * item, int64_t rows, int64_t keys, const void *bias,
                         int64_t width, T *tile) {
  const sdpa_strides *strides = &item->plan->problem.bias;
  const uint32_t type = item->plan->problem.types.bias;
  const int64_t lanes = item->kernels->lanes;
  T *copy = item->scratch->bias_rows;
  for (int64_t r = 0; r < rows; r += lanes) {
    const int64_t count = sdpai_min(lanes, rows - r);
    for (int64_t i = 0; i < count; i++) X(load_row)
    (item->plan->kernels, type, keys, sdpai_at(type, bias, (r + i) * strides->row), strides->col,
     copy + i * SDPAI_TILE_KEYS);
    item->kernels->tile_pack(count, keys, copy, SDPAI_TILE_KEYS, 1, 1, width, tile + r);
  }
}

/* Which weights of the tile the lanes keep: scratch->kept_words. */
static const uint32_t *X(keep_lanes)(const struct X(item) * item, const struct X(panel) * panel,
                                     struct sdpai_interval keys) {
  const int64_t n = keys.end - keys.begin, width = panel->width;
  uint32_t *words = item->scratch->kept_words;
  memset(words, 0, (size_t)((n + 31) / 32 * width) * sizeof *words);
  struct sdpai_segment at = {0};
  while (sdpai_next_segment(&item->plan->problem, item->kv_head, panel->first, panel->rows, &at))
    for (int64_t r = at.lane; r < at.lane + sdpai_live_rows(&at, item->query_len); r++)
      sdpai_dropout_words(item->plan->kernels, &item->dropout, &panel->draws[r], keys.begin, n,
                          width, words + r);
  return words;
}

/* Weights that lanes drop become 0. */
static void X(drop_lanes)(const struct X(item) * item, const struct X(panel) * panel,
                          struct sdpai_interval keys) {
  item->kernels->tile_keep(keys.end - keys.begin, panel->width, item->scratch->scores,
                           X(keep_lanes)(item, panel, keys));
}

/* Lanes of padding: whatever they hold is computed with, so they hold something. */
static void X(clear_bias)(T *tile, int64_t keys, int64_t width, int64_t begin, int64_t end) {
  for (int64_t j = 0; begin < end && j < keys; j++)
    X(fill)(end - begin, 0, tile + j * width + begin, 1);
}

/* Bias of the tile in lanes, slopes and distances: what tile_rules needs beside words. */
static void X(fill_rules)(const struct X(item) * item, const struct X(panel) * panel,
                          struct sdpai_interval keys, struct X(sdpai_tile_rules) * rules) {
  const struct sdpai_problem *p = &item->plan->problem;
  const struct sdpai_tiled_scratch *scratch = item->scratch;
  const T *slopes = item->args->alibi_slopes;
  T *bias_tile = scratch->bias, *slope = scratch->slope, *distance = scratch->distance;
  if (slopes) {
    X(fill)(panel->width, 0, slope, 1);
    X(fill)(panel->width, 0, distance, 1);
    rules->slope = slope;
    rules->distance = distance;
  }
  if (bias_tile) rules->bias = bias_tile;
  const int64_t offset = sdpai_alignment_offset(p, item->args, item->batch);
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, panel->first, panel->rows, &s)) {
    const int64_t live = sdpai_live_rows(&s, item->query_len);
    for (int64_t r = 0; slopes && r < live; r++) {
      const int64_t aligned = sdpai_saturating_add(s.row + r, offset);
      slope[s.lane + r] = slopes[s.head];
      distance[s.lane + r] = (T)sdpai_saturating_add(aligned, -keys.begin);
    }
    if (bias_tile) {
      const int64_t n = keys.end - keys.begin, element = sdpai_element(p->types.bias);
      const void *bias = sdpai_at(p->types.bias, item->args->bias,
                                  item->batch * p->bias.batch + s.head * p->bias.head +
                                      s.row * p->bias.row + keys.begin * p->bias.col);
      if (p->bias.col == 1) X(prefetch_rows)
      ((const char *)bias + n * element, live, p->bias.row * element,
       X(keys_ahead)(item, keys) * element);
      X(pack_bias)(item, live, n, bias, panel->width, bias_tile + s.lane);
      X(clear_bias)(bias_tile, n, panel->width, s.lane + live, s.lane + s.rows);
    }
  }
  if (bias_tile)
    X(clear_bias)(bias_tile, keys.end - keys.begin, panel->width, panel->rows, panel->width);
}

/* Stores a tile of scores in lanes, times `factor`, to rows of the caller's scores or weights. */
static void X(store_tile)(const struct X(item) * item, const struct X(panel) * panel,
                          struct sdpai_interval keys, T factor, void *tensor,
                          const sdpa_strides *strides) {
  const struct sdpai_problem *p = &item->plan->problem;
  X(fill)(panel->width, factor, item->scratch->factor, 1);
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, panel->first, panel->rows, &s)) {
    T *to = (T *)tensor + item->batch * strides->batch + s.head * strides->head +
            s.row * strides->row + keys.begin * strides->col;
    item->kernels->tile_unpack(sdpai_live_rows(&s, item->query_len), keys.end - keys.begin,
                               (const T *)item->scratch->scores + s.lane, panel->width,
                               item->scratch->factor, to, strides->row, strides->col);
  }
}

/* Adds the products with the non-finite elements of V, for the lanes that attend them. Lanes of
 * padding have no bias to look at. */
static void X(add_nonfinite_lanes)(const struct X(item) * item, const struct X(panel) * panel,
                                   int64_t keys, struct X(rows) value,
                                   const struct X(sdpai_tile_rules) * rules) {
  const struct sdpai_problem *p = &item->plan->problem;
  const int64_t dim = p->value_dim, width = panel->width;
  const T *weights = item->scratch->scores;
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, panel->first, panel->rows, &s)) {
    const int64_t end = s.lane + sdpai_live_rows(&s, item->query_len);
    for (int64_t j = 0; j < keys; j++) {
      if (!item->scratch->nonfinite[j]) continue;
      const T *v = value.data + j * value.ld;
      for (int64_t i = s.lane; i < end; i++) {
        if (rules->words && !(rules->words[j / 32 * width + i] >> (j % 32) & 1)) continue;
        if (rules->bias && rules->bias[j * width + i] == -(T)INFINITY) continue;
        for (int64_t d = 0; d < dim; d++)
          if (!isfinite(v[d])) panel->output[d * width + i] += weights[j * width + i] * v[d];
      }
    }
  }
}

/* Lanes, times their factors, to rows of the caller's `to`, of `dim` elements of `type`. */
static void X(unpack_rows)(const struct X(item) * item, int64_t rows, int64_t dim, const T *tile,
                           int64_t width, const T *factor, uint32_t type, void *to,
                           const sdpa_strides *strides) {
  if (type == item->plan->problem.types.compute) {
    item->kernels->tile_unpack(rows, dim, tile, width, factor, to, strides->row, strides->col);
    return;
  }
  const int64_t lanes = item->kernels->lanes;
  T *copy = item->scratch->output_rows;
  for (int64_t r = 0; r < rows; r += lanes) {
    const int64_t count = sdpai_min(lanes, rows - r);
    item->kernels->tile_unpack(count, dim, tile + r, width, factor + r, copy, dim, 1);
    for (int64_t i = 0; i < count; i++) X(store_row)
    (item->plan->kernels, type, dim, copy + i * dim, sdpai_out_at(type, to, (r + i) * strides->row),
     strides->col);
  }
}

/* The rows' ends, and their outputs. */
static void X(finish_panel)(const struct X(item) * item, const struct X(panel) * panel) {
  const struct sdpai_problem *p = &item->plan->problem;
  T *factor = item->scratch->factor;
  struct sdpai_segment s = {0};
  while (sdpai_next_segment(p, item->kv_head, panel->first, panel->rows, &s)) {
    struct X(head) head;
    X(item_head)(item, s.head, &head);
    for (int64_t r = 0; r < s.rows; r++)
      factor[s.lane + r] =
          X(finish_row_tiled)(item, &head, s.row + r, panel->m[s.lane + r], panel->l[s.lane + r]);
    if (head.output && p->value_dim > 0) X(unpack_rows)
    (item, s.rows, p->value_dim, panel->output + s.lane, panel->width, factor + s.lane,
     p->types.output, sdpai_out_at(p->types.output, head.output, s.row * p->output.row),
     &p->output);
  }
}

/* The panel's state as a part, from row `panel->first - item->first` on. */
static void X(export_panel)(const struct X(item) * item, const struct X(panel) * panel,
                            const struct sdpai_part *part) {
  const int64_t at = panel->first - item->first, dim = item->plan->problem.value_dim;
  memcpy((T *)part->m + at, panel->m, (size_t)panel->rows * sizeof(T));
  memcpy((T *)part->l + at, panel->l, (size_t)panel->rows * sizeof(T));
  X(fill)(panel->width, 1, item->scratch->factor, 1);
  if (dim > 0)
    item->kernels->tile_unpack(panel->rows, dim, panel->output, panel->width, item->scratch->factor,
                               (T *)part->o + at * dim, dim, 1);
}
