/* tiled_backward_bias_tpl.h - the gradient of the bias, once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: as head_tpl.h. A pass of its own, which forms ds again (two of the five products):
 * its items are the tiles of dbias, so that what is summed where the bias is broadcast needs a tile
 * of sums and not a copy of dbias, and every element is written once, in its own type.
 */

/* How dbias is cut: along a dimension that the bias has, or all of a dimension in every item. */
struct X(bias_cut) {
  int64_t batches, heads, row_blocks, tiles; /* items along each */
  int rows_apart, keys_apart;
};

static struct X(bias_cut) X(cut_bias)(const struct sdpa_plan *plan) {
  const struct sdpai_problem *p = &plan->problem;
  const int64_t width = plan->tiled.width;
  struct X(bias_cut) cut = {.batches = p->bias.batch ? p->batch : sdpai_min(p->batch, 1),
                            .heads = p->bias.head ? p->query_heads : sdpai_min(p->query_heads, 1),
                            .rows_apart = p->bias.row != 0,
                            .keys_apart = p->bias.col != 0 && p->key_len > 1};
  cut.row_blocks = cut.rows_apart ? sdpai_tiles(p->query_len, width) : sdpai_min(p->query_len, 1);
  cut.tiles = cut.rows_apart || !cut.keys_apart ? sdpai_min(p->key_len, 1)
                                                : sdpai_tiles(p->key_len, SDPAI_TILE_KEYS);
  return cut;
}

/* One item, and the rows that bi holds. */
struct X(bias_item) {
  const struct X(bias_cut) * cut;
  int64_t batch, head, block, tile; /* numbers along each dimension */
  int64_t held_batch, held_head, held_block;
};

/* Makes bi hold the rows block * width ... of a head. */
static void X(hold_bias_rows)(struct X(backward_item) * bi, struct X(bias_item) * bias,
                              int64_t batch, int64_t head, int64_t block) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const int64_t width = bi->item.plan->tiled.width;
  if (bias->held_batch == batch && bias->held_head == head && bias->held_block == block) return;
  const struct tiled_index at = {.batch = batch, .kv_head = head / p->group};
  X(start_backward_item)(bi->run, bi->item.scratch, bi->scratch, &at, X(USE_BIAS), bi);
  bi->item.first = head % p->group * p->query_len + block * width;
  bi->item.rows = sdpai_min(width, p->query_len - block * width);
  X(start_backward_panels)(bi);
  bias->held_batch = batch;
  bias->held_head = head;
  bias->held_block = block;
}

/* Adds ds of a tile of keys over everything that the item sums. */
static void X(add_bias_tile)(struct X(backward_item) * bi, struct X(bias_item) * bias,
                             struct sdpai_interval keys) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const int64_t blocks = sdpai_tiles(p->query_len, bi->item.plan->tiled.width);
  const int64_t b_end = p->bias.batch ? bias->batch + 1 : p->batch;
  const int64_t h_end = p->bias.head ? bias->head + 1 : p->query_heads;
  const int64_t i_end = bias->cut->rows_apart ? bias->block + 1 : blocks;
  for (int64_t b = bias->batch; b < b_end; b++)
    for (int64_t h = bias->head; h < h_end; h++)
      for (int64_t i = bias->block; i < i_end; i++) {
        X(hold_bias_rows)(bi, bias, b, h, i);
        if (keys.begin < bi->item.key_len) X(run_backward_keys)(bi, keys);
      }
}

/* The sums of `keys` (one: of all keys) to dbias. */
static void X(store_bias_tile)(const struct X(backward_item) * bi, const struct X(bias_item) * bias,
                               struct sdpai_interval keys) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  const int64_t width = bi->item.plan->tiled.width, n = keys.end - keys.begin;
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an item has pairs, so rows were held */
  const int64_t lanes = bi->item.kernels->lanes, first = bias->block * width;
  const uint32_t type = p->types.bias;
  T *sums = bi->scratch->bias_sums, *copy = bi->item.scratch->bias_rows;
  int64_t rows = bias->cut->rows_apart ? bi->panels[0].lanes.rows : 1;
  void *to = sdpai_out_at(type, bi->run->grads->grad_bias,
                          bias->batch * p->grad_bias.batch + bias->head * p->grad_bias.head +
                              first * p->grad_bias.row + keys.begin * p->grad_bias.col);
  for (int64_t j = 1; !bias->cut->keys_apart && j < SDPAI_TILE_KEYS; j++)
    X(add_row)(width, 1, sums + j * width, sums, 1);
  for (int64_t j = 0; !bias->cut->rows_apart && j < n; j++)
    for (int64_t i = 1; i < width; i++) sums[j * width] += sums[j * width + i];
  for (int64_t r = 0; r < rows; r += lanes) {
    const int64_t count = sdpai_min(lanes, rows - r);
    bi->item.kernels->tile_unpack(count, n, sums + r, width, (T *)bi->scratch->ones + r, copy,
                                  SDPAI_TILE_KEYS, 1);
    for (int64_t i = 0; i < count; i++) X(store_row)
    (bi->item.plan->kernels, type, n, copy + i * SDPAI_TILE_KEYS,
     sdpai_out_at(type, to, (r + i) * p->grad_bias.row), p->grad_bias.col);
  }
}

static void X(run_bias_item)(struct X(backward_item) * bi, const struct X(bias_cut) * cut,
                             int64_t number) {
  const struct sdpai_problem *p = &bi->item.plan->problem;
  struct X(bias_item) bias = {.cut = cut, .held_batch = -1};
  bias.tile = number % cut->tiles;
  number /= cut->tiles;
  bias.block = number % cut->row_blocks;
  number /= cut->row_blocks;
  bias.head = number % cut->heads;
  bias.batch = number / cut->heads;
  const size_t bytes = (size_t)(SDPAI_TILE_KEYS * bi->item.plan->tiled.width) * sizeof(T);
  const int64_t begin = bias.tile * SDPAI_TILE_KEYS;
  const int64_t end = cut->tiles > 1 ? sdpai_min(p->key_len, begin + SDPAI_TILE_KEYS) : p->key_len;
  memset(bi->scratch->bias_sums, 0, bytes);
  for (int64_t j = begin; j < end; j += SDPAI_TILE_KEYS) {
    const struct sdpai_interval keys = {j, sdpai_min(p->key_len, j + SDPAI_TILE_KEYS)};
    X(add_bias_tile)(bi, &bias, keys);
    if (!cut->keys_apart) continue;
    X(store_bias_tile)(bi, &bias, keys);
    memset(bi->scratch->bias_sums, 0, bytes);
  }
  if (!cut->keys_apart) X(store_bias_tile)(bi, &bias, (struct sdpai_interval){0, 1});
}
