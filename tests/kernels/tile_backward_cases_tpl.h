/* tile_backward_cases_tpl.h - cases of the backward pass's steps between its products
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_exp_cases_tpl.h and tile_products_cases_tpl.h come first. Every number of keys that
 * a kernel may take differently, beyond a word of `kept`; a quarter of the weights 0 beside numbers
 * that go wrong.
 */
struct NAME(backward_case) {
  int keys, width;
  const uint32_t *kept; /* NULL or words */
  REAL factor;
  REAL p[TILE_MOST], g[TILE_MOST], lane[48], sum[48];
  uint32_t words[2 * 48];
};

enum { NAME(BACKWARD_KEYS) = TILE_KEYS + 4 };

/* 0 to TILE_KEYS - 1, and around the 32 of a word. */
static int NAME(backward_keys)(int k) {
  static const int more[] = {31, 32, 33, 40};
  return k < TILE_KEYS ? k : more[k - TILE_KEYS];
}

static void NAME(make_backward)(struct NAME(backward_case) * c, int drops, uint64_t *state) {
  const int count = c->keys * c->width;
  NAME(fill)(count, c->p, 0, 1, state);
  NAME(fill)(count, c->g, -9, 9, state);
  NAME(fill)(c->width, c->lane, -3, 3, state);
  NAME(fill)(c->width, c->sum, -3, 3, state);
  for (int t = 0; t < count; t++) {
    if (next_bits(state) % 16 == 0) c->g[t] = NAME(special)[next_bits(state) % 7];
    if (next_bits(state) % 4 == 0) c->p[t] = 0;
  }
  for (int w = 0; w < 2 * 48; w++) c->words[w] = (uint32_t)next_bits(state);
  c->kept = drops ? c->words : NULL;
  c->factor = drops ? (REAL)1.375 : 1;
}

/* The factor of key j for lane i. */
static REAL NAME(backward_factor)(const struct NAME(backward_case) * c, int j, int i) {
  if (!c->kept) return 1;
  return c->words[j / 32 * c->width + i] >> j % 32 & 1 ? c->factor : 0;
}

/* Places the operands; returns the words, or NULL. */
static const uint32_t *NAME(place_backward)(const struct NAME(backward_case) * c,
                                            enum placement where, REAL **p, REAL **g, REAL **lane,
                                            REAL **sum) {
  const size_t count = (size_t)(c->keys * c->width), width = (size_t)c->width, size = sizeof(REAL);
  *p = guarded_place(&guarded_tile[0], where, count, size, c->p);
  *g = guarded_place(&guarded_tile[1], where, count, size, c->g);
  *lane = guarded_place(&guarded_tile[2], where, width, size, c->lane);
  *sum = guarded_place(&guarded_tile[3], where, width, size, c->sum);
  const size_t words = (size_t)((c->keys + 31) / 32) * width;
  const uint32_t *kept = guarded_place(&guarded_tile[4], where, words, sizeof *c->words, c->words);
  return c->kept ? kept : NULL;
}

static void NAME(check_backward_guards)(void) {
  for (int g = 0; g < 5; g++) guarded_check(&guarded_tile[g]);
}

#define FOR_EACH_BACKWARD(c, where, drops, isa)                                                    \
  for (int k_ = 0; k_ < NAME(BACKWARD_KEYS); k_++)                                                 \
    for (int v_ = 1; v_ <= SDPAI_TILE_VECTORS; v_++)                                               \
      for (enum placement where = AT_END; where < PLACEMENTS; where++)                             \
        for (int drops = 0; (c).keys = NAME(backward_keys)(k_),                                    \
                 (c).width = v_ * lanes_of(isa, sizeof(REAL)), drops < 2;                          \
             drops++)

static void NAME(check_tile_weights)(void (*kernel)(int64_t, int64_t, REAL, REAL *, const REAL *),
                                     uint32_t isa) {
  static struct NAME(backward_case) c;
  uint64_t state = 31;
  REAL *p, *s, *shift, *sum;
  FOR_EACH_BACKWARD(c, where, turned, isa) {
    const REAL scale = turned ? 1 : (REAL)0.37;
    NAME(make_backward)(&c, 0, &state);
    for (int i = 0; i < c.width; i++)
      if (next_bits(&state) % 4 == 0) c.lane[i] = (REAL)INFINITY;
    for (int t = 0; t < c.keys * c.width; t++)
      if (c.p[t] == 0) c.g[t] = -(REAL)INFINITY;
    if (turned) c.lane[0] = (REAL)NAN;
    NAME(place_backward)(&c, where, &p, &s, &shift, &sum);
    kernel(c.keys, c.width, scale, s, shift);
    NAME(check_backward_guards)();
    assert_memory_equal(shift, c.lane, (size_t)c.width * sizeof *shift);
    for (int t = 0; t < c.keys * c.width; t++) {
      const REAL from = c.lane[t % c.width], x = c.g[t];
      if (x == -(REAL)INFINITY || from == (REAL)INFINITY) {
        NAME(assert_same)(s[t], 0);
      } else {
        NAME(assert_exp)(s[t], scale * x - from);
      }
    }
  }
}

static void NAME(check_tile_gradient)(void (*kernel)(int64_t, int64_t, REAL *, REAL *, const REAL *,
                                                     const uint32_t *, REAL),
                                      uint32_t isa) {
  static struct NAME(backward_case) c;
  uint64_t state = 32;
  REAL *p, *g, *delta, *sum;
  FOR_EACH_BACKWARD(c, where, drops, isa) {
    NAME(make_backward)(&c, drops, &state);
    c.lane[0] = (REAL)NAN;
    const uint32_t *kept = NAME(place_backward)(&c, where, &p, &g, &delta, &sum);
    kernel(c.keys, c.width, p, g, delta, kept, c.factor);
    NAME(check_backward_guards)();
    assert_memory_equal(delta, c.lane, (size_t)c.width * sizeof *delta);
    for (int t = 0; t < c.keys * c.width; t++) {
      const REAL z = NAME(backward_factor)(&c, t / c.width, t % c.width);
      const REAL x = z * c.g[t] - c.lane[t % c.width];
      NAME(assert_same)(p[t], z * c.p[t]);
      NAME(assert_same)(g[t], c.p[t] == 0 ? 0 : c.p[t] * x);
    }
  }
}

/* `got` against what it was and the sum of terms of sizes that add up to `size`. */
static void NAME(assert_lane_sum)(REAL got, REAL was, int keys, WIDE sum, WIDE size) {
  NAME(assert_near)
  (got, (WIDE)was + sum,
   (WIDE)(keys + 4) * (WIDE)EPSILON * (size + NAME(magnitude)((WIDE)was)) + (WIDE)TINY);
}

static void NAME(check_tile_dot)(void (*kernel)(int64_t, int64_t, const REAL *, const REAL *,
                                                const uint32_t *, REAL, REAL *),
                                 uint32_t isa) {
  static struct NAME(backward_case) c;
  uint64_t state = 33;
  REAL *p, *g, *lane, *sum;
  FOR_EACH_BACKWARD(c, where, drops, isa) {
    NAME(make_backward)(&c, drops, &state);
    const uint32_t *kept = NAME(place_backward)(&c, where, &p, &g, &lane, &sum);
    kernel(c.keys, c.width, p, g, kept, c.factor, sum);
    NAME(check_backward_guards)();
    assert_memory_equal(p, c.p, (size_t)(c.keys * c.width) * sizeof *p);
    assert_memory_equal(g, c.g, (size_t)(c.keys * c.width) * sizeof *g);
    for (int i = 0; i < c.width; i++) {
      WIDE total = 0, size = 0;
      for (int j = 0; j < c.keys; j++) {
        const int at = j * c.width + i;
        if (c.p[at] == 0) continue;
        const WIDE term = (WIDE)c.p[at] * (WIDE)NAME(backward_factor)(&c, j, i) * (WIDE)c.g[at];
        total += term;
        size += NAME(magnitude)(term);
      }
      NAME(assert_lane_sum)(sum[i], c.sum[i], c.keys, total, size);
    }
  }
}

static void NAME(check_tile_slopes)(void (*kernel)(int64_t, int64_t, const REAL *, const REAL *,
                                                   REAL *),
                                    uint32_t isa) {
  static struct NAME(backward_case) c;
  uint64_t state = 34;
  REAL *p, *g, *distance, *sum;
  FOR_EACH_BACKWARD(c, where, whole, isa) {
    NAME(make_backward)(&c, 0, &state);
    for (int i = 0; whole && i < c.width; i++) c.lane[i] = (REAL)(i * 3 - 20);
    NAME(place_backward)(&c, where, &p, &g, &distance, &sum);
    kernel(c.keys, c.width, g, distance, sum);
    NAME(check_backward_guards)();
    assert_memory_equal(g, c.g, (size_t)(c.keys * c.width) * sizeof *g);
    assert_memory_equal(distance, c.lane, (size_t)c.width * sizeof *distance);
    for (int i = 0; i < c.width; i++) {
      WIDE total = 0, size = 0;
      for (int j = 0; j < c.keys; j++) {
        const WIDE far = NAME(magnitude)((WIDE)c.lane[i] - (WIDE)j);
        const WIDE term = (WIDE)c.g[j * c.width + i] * far;
        total += term;
        size += NAME(magnitude)(term);
      }
      NAME(assert_lane_sum)(sum[i], c.sum[i], c.keys, total, size);
    }
  }
}

/* The factor against 1 - tanh^2 of a wider type, where that has digits left; beyond it falls as 4
 * e^-2|y|. */
static void NAME(check_row_softcap_backward)(void (*kernel)(int64_t, const REAL *, REAL, REAL,
                                                            REAL *)) {
  uint64_t state = 35;
  REAL x[ROW_MOST], g[ROW_MOST];
  const REAL scale = (REAL)0.75, cap = (REAL)1.5;
  FOR_EACH_ROW(n, where) {
    NAME(fill)(n, x, -9, 9, &state);
    NAME(fill)(n, g, -9, 9, &state);
    for (int t = 0; t < n; t++) {
      if (next_bits(&state) % 8 == 0) x[t] = NAME(special)[next_bits(&state) % 7];
      if (next_bits(&state) % 8 == 0) x[t] *= 8;
      if (next_bits(&state) % 8 == 0) g[t] = 0;
    }
    const REAL *row = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
    REAL *got = guarded_place(&guarded_y, where, (size_t)n, sizeof *g, g);
    kernel(n, row, scale, cap, got);
    guarded_check(&guarded_y);
    assert_memory_equal(row, x, (size_t)n * sizeof *x);
    for (int t = 0; t < n; t++) {
      if (g[t] == 0) {
        assert_true(got[t] == 0);
        continue;
      }
      const WIDE y = NAME(magnitude)((WIDE)(scale * x[t]) / (WIDE)cap), e = WIDE_EXP(-2 * y);
      const WIDE expected = (WIDE)g[t] * (4 * e / ((1 + e) * (1 + e)));
      const WIDE spread =
          12 + 4 * (isfinite(y) ? y : 0); /* of exp's argument, and eight roundings */
      NAME(assert_near)
      (got[t], expected, spread * (WIDE)EPSILON * NAME(magnitude)(expected) + 16 * (WIDE)LEAST);
      if (isinf(x[t])) assert_true(got[t] == 0);
    }
  }
}
#undef FOR_EACH_BACKWARD
