/* keep_cases_tpl.h - cases of row_keep and tile_keep: every length, every bit, gaps of no word
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_values_tpl.h comes first. What is kept stays to the bit, NaN and infinity too; what
 * is not becomes +0, whatever it held.
 */
static void NAME(fill_for_keep)(int n, REAL *x, uint64_t *state) {
  NAME(fill)(n, x, -9, 9, state);
  for (int t = 0; t < n; t++)
    if (next_bits(state) % 8 == 0) x[t] = NAME(special)[next_bits(state) % NAME(specials)];
}

static void NAME(assert_kept)(REAL got, REAL before, int kept) {
  const REAL zero = 0;
  assert_memory_equal(&got, kept ? &before : &zero, sizeof got);
}

static void NAME(check_row_keep)(void (*kernel)(int64_t, REAL *, const uint32_t *)) {
  uint64_t state = 41;
  REAL x[ROW_MOST];
  uint32_t words[ROW_MOST / 32 + 1];
  FOR_EACH_ROW(n, where) {
    const int count = (n + 31) / 32;
    NAME(fill_for_keep)(n, x, &state);
    for (int w = 0; w < count; w++) words[w] = (uint32_t)next_bits(&state);
    REAL *row = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
    const uint32_t *bits = guarded_place(&guarded_y, where, (size_t)count, sizeof *words, words);
    kernel(n, row, bits);
    guarded_check(&guarded_x);
    guarded_check(&guarded_y);
    for (int t = 0; t < n; t++) NAME(assert_kept)(row[t], x[t], words[t / 32] >> t % 32 & 1);
  }
}

static void NAME(check_keep_tile)(void (*kernel)(int64_t, int64_t, REAL *, const uint32_t *),
                                  int keys, int width, enum placement where, uint64_t *state) {
  static REAL x[TILE_MOST];
  uint32_t words[3 * 48];
  const int count = (keys + 31) / 32 * width;
  NAME(fill_for_keep)(keys * width, x, state);
  for (int w = 0; w < count; w++) words[w] = (uint32_t)next_bits(state);
  REAL *s = guarded_place(&guarded_tile[0], where, (size_t)(keys * width), sizeof *x, x);
  const uint32_t *bits =
      guarded_place(&guarded_tile[1], where, (size_t)count, sizeof *words, words);
  kernel(keys, width, s, bits);
  guarded_check(&guarded_tile[0]);
  guarded_check(&guarded_tile[1]);
  for (int j = 0; j < keys; j++)
    for (int i = 0; i < width; i++) NAME(assert_kept)
  (s[j * width + i], x[j * width + i], words[j / 32 * width + i] >> j % 32 & 1);
}

static void NAME(check_tile_keep)(void (*kernel)(int64_t, int64_t, REAL *, const uint32_t *),
                                  uint32_t isa) {
  static const int keys[] = {0, 1, 2, 31, 32, 33, 64, TILE_RULES_KEYS};
  uint64_t state = 42;
  const int lanes = lanes_of(isa, sizeof(REAL));
  for (int k = 0; k < 8; k++)
    for (int vectors = 1; vectors <= SDPAI_TILE_VECTORS; vectors++)
      for (enum placement where = AT_END; where < PLACEMENTS; where++)
        NAME(check_keep_tile)(kernel, keys[k], vectors * lanes, where, &state);
}
