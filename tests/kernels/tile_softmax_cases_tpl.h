/* tile_softmax_cases_tpl.h - cases of tile_softmax: one step, and what several steps make of rows
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_exp_cases_tpl.h comes first.
 */
typedef void (*NAME(tile_softmax_kernel))(int64_t, int64_t, REAL, REAL *, const REAL *, REAL *,
                                          REAL *, REAL *);

/* One step: s, m and l before it. */
struct NAME(softmax_case) {
  int keys, width;
  REAL scale;
  REAL s[TILE_MOST], max[48], m[48], l[48];
};

/* Rows as they occur: scores of both signs, a quarter of them -infinity where the scale is
 * positive, lanes without any score so far or now. max is that of the scores. */
static void NAME(make_softmax)(struct NAME(softmax_case) * c, uint64_t *state) {
  NAME(fill)(c->keys * c->width, c->s, -20, 20, state);
  NAME(fill)(c->width, c->m, -20, 20, state);
  NAME(fill)(c->width, c->l, 0, 30, state);
  for (int i = 0; i < c->width; i++) {
    c->max[i] = -(REAL)INFINITY;
    if (next_bits(state) % 4 == 0) {
      c->m[i] = -(REAL)INFINITY;
      c->l[i] = 0;
    }
    const uint64_t excluded = next_bits(state) % 4 ? 4 : 1;
    for (int j = 0; j < c->keys; j++) {
      REAL *s = &c->s[j * c->width + i];
      if (c->scale > 0 && next_bits(state) % excluded == 0) *s = -(REAL)INFINITY;
      if (*s > c->max[i]) c->max[i] = *s;
    }
  }
}

/* The formula, with the roundings that kernels.h leaves no choice in. */
static void NAME(assert_softmax)(const struct NAME(softmax_case) * c, const REAL *s, const REAL *m,
                                 const REAL *l, const REAL *alpha) {
  for (int i = 0; i < c->width; i++) {
    const REAL here = c->scale * c->max[i];
    const REAL now = here > c->m[i] ? here : c->m[i];
    const REAL shift = now == -(REAL)INFINITY ? 0 : now;
    WIDE sum = (WIDE)c->l[i] * (WIDE)alpha[i];
    NAME(assert_same)(m[i], now);
    NAME(assert_exp)(alpha[i], c->m[i] - shift);
    for (int j = 0; j < c->keys; j++) {
      const REAL x = c->s[j * c->width + i], e = s[j * c->width + i];
      NAME(assert_exp)
      (e, c->scale * x - shift);
      sum += (WIDE)e;
    }
    /* two chains of additions, their sum, and a product and a sum with l */
    NAME(assert_near)(l[i], sum, (WIDE)((c->keys + 1) / 2 + 3) * ((WIDE)EPSILON / 2) * sum);
  }
}

/* The step again, one vector of queries at a time: the same bits. */
static void NAME(assert_softmax_alone)(NAME(tile_softmax_kernel) kernel, int lanes,
                                       const struct NAME(softmax_case) * c, const REAL *s,
                                       const REAL *m, const REAL *l, const REAL *alpha) {
  REAL part[TILE_KEYS * 16], pm[16], pl[16], palpha[16];
  const size_t bytes = (size_t)lanes * sizeof(REAL);
  for (int first = 0; first < c->width; first += lanes) {
    for (int j = 0; j < c->keys; j++) memcpy(part + j * lanes, c->s + j * c->width + first, bytes);
    memcpy(pm, c->m + first, bytes);
    memcpy(pl, c->l + first, bytes);
    kernel(c->keys, lanes, c->scale, part, c->max + first, pm, pl, palpha);
    for (int j = 0; j < c->keys; j++)
      assert_memory_equal(part + j * lanes, s + j * c->width + first, bytes);
    assert_memory_equal(pm, m + first, bytes);
    assert_memory_equal(pl, l + first, bytes);
    assert_memory_equal(palpha, alpha + first, bytes);
  }
}

static void NAME(check_tile_softmax)(NAME(tile_softmax_kernel) kernel, uint32_t isa) {
  static const REAL scales[] = {1, (REAL)0.37, 0, (REAL)-0.37};
  static struct NAME(softmax_case) c;
  uint64_t state = 25;
  const int lanes = lanes_of(isa, sizeof(REAL));
  for (c.keys = 0; c.keys < TILE_KEYS; c.keys++)
    for (c.width = lanes; c.width <= SDPAI_TILE_VECTORS * lanes; c.width += lanes)
      for (enum placement where = AT_END; where < PLACEMENTS; where++)
        for (int k = 0; k < (c.keys > 0 ? 4 : 2); k++) {
          const size_t width = (size_t)c.width, size = sizeof(REAL);
          c.scale = scales[k];
          NAME(make_softmax)(&c, &state);
          REAL *s = guarded_place(&guarded_tile[0], where, (size_t)c.keys * width, size, c.s);
          const REAL *max = guarded_place(&guarded_tile[1], where, width, size, c.max);
          REAL *m = guarded_place(&guarded_tile[2], where, width, size, c.m);
          REAL *l = guarded_place(&guarded_tile[3], where, width, size, c.l);
          REAL *alpha = guarded_place(&guarded_tile[4], where, width, size, NULL);
          kernel(c.keys, c.width, c.scale, s, max, m, l, alpha);
          for (int g = 0; g < 5; g++) guarded_check(&guarded_tile[g]);
          assert_memory_equal(max, c.max, width * size);
          NAME(assert_softmax)(&c, s, m, l, alpha);
          NAME(assert_softmax_alone)(kernel, lanes, &c, s, m, l, alpha);
        }
}

/* A step of one key in every lane. Lane 0 gets score x, with `max` as the largest; the others 0. */
struct NAME(lane) {
  REAL m, l, alpha, e;
};
static void NAME(step)(NAME(tile_softmax_kernel) kernel, int width, REAL x, REAL max,
                       struct NAME(lane) lanes[48]) {
  REAL s[48] = {0}, maxima[48] = {0}, m[48] = {0}, l[48] = {0}, alpha[48];
  for (int i = 0; i < width; i++) {
    s[i] = i ? 0 : x;
    maxima[i] = i ? 0 : max;
    m[i] = lanes[i].m;
    l[i] = lanes[i].l;
  }
  kernel(1, width, 1, s, maxima, m, l, alpha);
  for (int i = 0; i < width; i++) lanes[i] = (struct NAME(lane)){m[i], l[i], alpha[i], s[i]};
}

/* A NaN score, whether its maximum shows it or not, and +infinity make l NaN, also after steps
 * that are finite again; a row of -infinity stays empty until its first score; no other lane
 * notices. */
static void NAME(check_tile_softmax_special)(NAME(tile_softmax_kernel) kernel, uint32_t isa) {
  const REAL infinity = (REAL)INFINITY, nan = (REAL)NAN;
  const REAL scores[][2] = {
      {nan, nan}, {nan, -infinity}, {infinity, infinity}, {-infinity, -infinity}};
  const int width = SDPAI_TILE_VECTORS * lanes_of(isa, sizeof(REAL));
  struct NAME(lane) lanes[48];
  for (int c = 0; c < 4; c++)
    for (int started = 0; started < 2; started++) {
      for (int i = 0; i < width; i++)
        lanes[i] =
            started ? (struct NAME(lane)){.m = 1, .l = 2} : (struct NAME(lane)){.m = -infinity};
      NAME(step)(kernel, width, scores[c][0], scores[c][1], lanes);
      if (c < 3) {
        assert_true(isnan(lanes[0].l));
      } else {
        NAME(assert_same)(lanes[0].e, 0);
        NAME(assert_same)(lanes[0].alpha, started ? 1 : 0);
        NAME(assert_same)(lanes[0].l, started ? 2 : 0);
        NAME(assert_same)(lanes[0].m, started ? 1 : -infinity);
      }
      NAME(step)(kernel, width, -infinity, -infinity, lanes);
      NAME(step)(kernel, width, 3, 3, lanes);
      NAME(step)(kernel, width, 3, 3, lanes);
      if (c < 3) {
        assert_true(isnan(lanes[0].l));
      } else {
        NAME(assert_same)(lanes[0].m, 3);
        NAME(assert_same)(lanes[0].alpha, 1);
        NAME(assert_near)(lanes[0].l, 2 + (WIDE)started * 2 * WIDE_EXP(-2), 8 * (WIDE)EPSILON);
      }
      for (int i = 1; i < width; i++) {
        NAME(assert_same)(lanes[i].m, started ? 1 : 0);
        NAME(assert_near)
        (lanes[i].l, started ? 2 + 4 * WIDE_EXP(-1) : 4, 16 * (WIDE)EPSILON);
      }
    }
}

/* Tiles of one row, online, against the row at once: increasing scores rescale at every step. */
static void NAME(check_tile_softmax_online)(NAME(tile_softmax_kernel) kernel, uint32_t isa) {
  enum { TILES = 12 };
  const int width = SDPAI_TILE_VECTORS * lanes_of(isa, sizeof(REAL));
  uint64_t state = 26;
  REAL x[TILES * TILE_KEYS * 48], s[TILE_KEYS * 48], max[48], m[48], l[48], alpha[48];
  const int tile = TILE_KEYS * width;
  NAME(fill)(TILES * tile, x, -3, 3, &state);
  for (int t = 0; t < TILES * tile; t++) x[t] += (REAL)(t / tile);
  for (int i = 0; i < width; i++) {
    m[i] = -(REAL)INFINITY;
    l[i] = 0;
  }
  for (int b = 0; b < TILES; b++) {
    memcpy(s, x + b * tile, (size_t)tile * sizeof *s);
    for (int i = 0; i < width; i++) {
      max[i] = s[i];
      for (int j = 0; j < TILE_KEYS; j++)
        if (s[j * width + i] > max[i]) max[i] = s[j * width + i];
    }
    kernel(TILE_KEYS, width, 1, s, max, m, l, alpha);
  }
  for (int i = 0; i < width; i++) {
    WIDE sum = 0;
    for (int j = 0; j < TILES * TILE_KEYS; j++)
      sum += WIDE_EXP((WIDE)x[j * width + i] - (WIDE)m[i]);
    /* e^x to 2 ulp of an argument up to 17 wide, alpha to 2 ulp a step, and the chains */
    NAME(assert_near)(l[i], sum, (WIDE)(10 + 4 * TILES + TILE_KEYS + 17) * (WIDE)EPSILON * sum);
  }
}
