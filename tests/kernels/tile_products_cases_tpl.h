/* tile_products_cases_tpl.h - cases of tile_products_1, _2, _3: tails, specials, bits of an element
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_values_tpl.h comes first. What lies between the rows of K reads as NaN, and so do
 * the old contents of the scores and maxima.
 */
typedef void (*NAME(tile_products_kernel))(int64_t, int64_t, const REAL *, const REAL *, int64_t,
                                           const uint32_t *, REAL *, REAL *);

/* One tile's operands. */
struct NAME(products_case) {
  int keys, dim, width, ldk;
  const REAL *q, *k;
};

/* Finite numbers, and a `one_in`-th of NaN, infinities, zeros and subnormal numbers (0: none). */
static void NAME(fill_tile)(int count, REAL *x, REAL low, REAL high, int one_in, uint64_t *state) {
  NAME(fill)(count, x, low, high, state);
  for (int t = 0; one_in && t < count; t++)
    if (next_bits(state) % (uint64_t)one_in == 0) x[t] = NAME(special)[next_bits(state) % 7];
}

static void NAME(assert_products)(const struct NAME(products_case) * c, const REAL *s,
                                  const REAL *max) {
  REAL column[TILE_KEYS];
  for (int i = 0; i < c->width; i++) {
    for (int j = 0; j < c->keys; j++) {
      WIDE sum = 0, size = 0;
      for (int t = 0; t < c->dim; t++) {
        WIDE term = (WIDE)c->q[t * c->width + i] * (WIDE)c->k[j * c->ldk + t];
        sum += term;
        size += NAME(magnitude)(term);
      }
      column[j] = s[j * c->width + i];
      NAME(assert_near)
      (column[j], sum, (WIDE)c->dim * ((WIDE)EPSILON * size + (WIDE)TINY));
    }
    NAME(assert_max)(max[i], c->keys, column);
  }
}

/* Every element has the bits of the narrowest kernel's for its key alone: neither the width of the
 * panel nor the other keys of the tile count. */
static void NAME(assert_products_alone)(const struct NAME(products_case) * c, const REAL *s,
                                        uint32_t isa) {
  const int lanes = lanes_of(isa, sizeof(REAL));
  REAL panel[TILE_DIM * 16], alone[16], max[16];
  for (int i = 0; i < c->width; i += lanes) {
    for (int t = 0; t < c->dim; t++)
      memcpy(panel + t * lanes, c->q + t * c->width + i, (size_t)lanes * sizeof *panel);
    for (int j = 0; j < c->keys; j++) {
      find_table(isa)->MEMBER.tile_products_1(1, c->dim, panel, c->k + j * c->ldk, c->ldk, NULL,
                                              alone, max);
      assert_memory_equal(alone, s + j * c->width + i, (size_t)lanes * sizeof *alone);
    }
  }
}

static void NAME(check_products_tile)(NAME(tile_products_kernel) kernel, uint32_t isa,
                                      struct NAME(products_case) c, enum placement where,
                                      int one_in, uint64_t *state) {
  REAL q[TILE_MOST], k[TILE_MOST];
  const int nq = c.dim * c.width, ns = c.keys * c.width;
  const int nk = c.keys > 0 && c.dim > 0 ? (c.keys - 1) * c.ldk + c.dim : 0;
  NAME(fill_tile)(nq, q, -2, 2, one_in, state);
  NAME(fill_tile)(nk, k, -2, 2, one_in, state);
  for (int t = 0; t < nk; t++)
    if (t % c.ldk >= c.dim) k[t] = (REAL)NAN;
  c.q = guarded_place(&guarded_tile[0], where, (size_t)nq, sizeof *q, q);
  c.k = guarded_place(&guarded_tile[1], where, (size_t)nk, sizeof *k, k);
  REAL *s = guarded_place(&guarded_tile[2], where, (size_t)ns, sizeof *s, NULL);
  REAL *max = guarded_place(&guarded_tile[3], where, (size_t)c.width, sizeof *max, NULL);
  kernel(c.keys, c.dim, c.q, c.k, c.ldk, NULL, s, max);
  for (int g = 0; g < 4; g++) guarded_check(&guarded_tile[g]);
  assert_memory_equal(c.q, q, (size_t)nq * sizeof *q);
  assert_memory_equal(c.k, k, (size_t)nk * sizeof *k);
  NAME(assert_products)(&c, s, max);
  /* a NaN's bits may depend on the order of an operation's operands */
  if (!one_in) NAME(assert_products_alone)(&c, s, isa);
}

static void NAME(check_tile_products)(NAME(tile_products_kernel) kernel, int vectors,
                                      uint32_t isa) {
  uint64_t state = 20;
  const int width = vectors * lanes_of(isa, sizeof(REAL));
  for (int keys = 0; keys < TILE_KEYS; keys++)
    for (int d = 0; d < TILE_DIMS; d++)
      for (enum placement where = AT_END; where < PLACEMENTS; where++)
        for (int one_in = 0; one_in <= 12; one_in += 12) {
          const struct NAME(products_case)
              c = {.keys = keys, .dim = tile_dim(d), .width = width, .ldk = tile_dim(d) + keys % 3};
          NAME(check_products_tile)(kernel, isa, c, where, one_in, &state);
        }
}

/* The largest score at every key in turn, NaN in another lane, and all scores -infinity. */
static void NAME(check_tile_products_max)(NAME(tile_products_kernel) kernel, int vectors,
                                          uint32_t isa) {
  const int width = vectors * lanes_of(isa, sizeof(REAL));
  REAL q[48], k[TILE_KEYS], s[TILE_KEYS * 48], max[48];
  for (int at = 0; at < TILE_KEYS; at++) {
    for (int i = 0; i < width; i++) q[i] = i == at % width && width > 1 ? (REAL)NAN : (REAL)(i + 1);
    for (int j = 0; j < TILE_KEYS; j++) k[j] = j == at ? -2 : -3;
    kernel(TILE_KEYS, 1, q, k, 1, NULL, s, max);
    for (int i = 0; i < width; i++)
      if (!isnan(q[i])) NAME(assert_same)(max[i], -2 * q[i]);
  }
  for (int i = 0; i < width; i++) q[i] = -(REAL)INFINITY;
  for (int j = 0; j < TILE_KEYS; j++) k[j] = 1;
  kernel(TILE_KEYS, 1, q, k, 1, NULL, s, max);
  for (int i = 0; i < width; i++) NAME(assert_same)(max[i], -(REAL)INFINITY);
}

/* Words exclude any pattern of keys: -infinity there whatever the product is, its own bits
 * elsewhere, and the maximum is that of what is left. */
static void NAME(check_tile_products_words)(NAME(tile_products_kernel) kernel, int vectors,
                                            uint32_t isa) {
  enum { KEYS = 70, DIM = 3, WORDS = (KEYS + 31) / 32 };
  const int width = vectors * lanes_of(isa, sizeof(REAL));
  static REAL q[DIM * 48], k[KEYS * DIM], free_s[KEYS * 48], s[KEYS * 48];
  REAL max[48], column[KEYS];
  uint64_t state = 21;
  for (int round = 0; round < 8; round++) {
    NAME(fill_tile)(DIM * width, q, -2, 2, round % 2 ? 9 : 0, &state);
    NAME(fill_tile)(KEYS * DIM, k, -2, 2, round % 2 ? 9 : 0, &state);
    uint32_t *words =
        guarded_place(&guarded_tile[0], AT_END, (size_t)(WORDS * width), sizeof *words, NULL);
    for (int w = 0; w < WORDS * width; w++) words[w] = (uint32_t)next_bits(&state);
    kernel(KEYS, DIM, q, k, DIM, NULL, free_s, max);
    kernel(KEYS, DIM, q, k, DIM, words, s, max);
    for (int i = 0; i < width; i++) {
      for (int j = 0; j < KEYS; j++) {
        const int kept = words[j / 32 * width + i] >> (j % 32) & 1;
        column[j] = s[j * width + i];
        NAME(assert_same)(column[j], kept ? free_s[j * width + i] : -(REAL)INFINITY);
      }
      NAME(assert_max)(max[i], KEYS, column);
    }
  }
}
