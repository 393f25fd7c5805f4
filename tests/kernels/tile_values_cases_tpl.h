/* tile_values_cases_tpl.h - cases of tile_values_1, _2, _3: tails, specials, bits of an element
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: tile_products_cases_tpl.h comes first.
 */
typedef void (*NAME(tile_values_kernel))(int64_t, int64_t, const REAL *, const REAL *, int64_t,
                                         REAL *, const REAL *);

/* One tile's operands; o is what it held before. */
struct NAME(values_case) {
  int keys, dim, width, ldv;
  const REAL *p, *v, *o, *alpha;
};

static void NAME(assert_values)(const struct NAME(values_case) * c, const REAL *got) {
  for (int d = 0; d < c->dim; d++)
    for (int i = 0; i < c->width; i++) {
      WIDE sum = (WIDE)c->o[d * c->width + i] * (WIDE)c->alpha[i], size = NAME(magnitude)(sum);
      for (int j = 0; j < c->keys; j++) {
        WIDE term = (WIDE)c->p[j * c->width + i] * (WIDE)c->v[j * c->ldv + d];
        sum += term;
        size += NAME(magnitude)(term);
      }
      /* a product and an addition for each key, and for o alpha */
      NAME(assert_near)
      (got[d * c->width + i], sum, (WIDE)(c->keys + 1) * ((WIDE)EPSILON * size + (WIDE)TINY));
    }
}

/* Every element has the bits of the narrowest kernel's for its column of V alone. */
static void NAME(assert_values_alone)(const struct NAME(values_case) * c, const REAL *got,
                                      uint32_t isa) {
  const int lanes = lanes_of(isa, sizeof(REAL));
  REAL p[TILE_KEYS * 16], o[16];
  for (int i = 0; i < c->width; i += lanes) {
    for (int j = 0; j < c->keys; j++)
      memcpy(p + j * lanes, c->p + j * c->width + i, (size_t)lanes * sizeof *p);
    for (int d = 0; d < c->dim; d++) {
      memcpy(o, c->o + d * c->width + i, (size_t)lanes * sizeof *o);
      find_table(isa)->MEMBER.tile_values_1(c->keys, 1, p, c->v + d, c->ldv, o, c->alpha + i);
      assert_memory_equal(o, got + d * c->width + i, (size_t)lanes * sizeof *o);
    }
  }
}

static void NAME(check_values_tile)(NAME(tile_values_kernel) kernel, uint32_t isa,
                                    struct NAME(values_case) c, enum placement where, int one_in,
                                    uint64_t *state) {
  REAL p[TILE_MOST], v[TILE_MOST], o[TILE_MOST], alpha[48];
  const int np = c.keys * c.width, no = c.dim * c.width;
  const int nv = c.keys > 0 && c.dim > 0 ? (c.keys - 1) * c.ldv + c.dim : 0;
  NAME(fill_tile)(np, p, 0, 1, one_in, state);
  NAME(fill_tile)(nv, v, -2, 2, one_in, state);
  NAME(fill_tile)(no, o, -9, 9, one_in, state);
  NAME(fill_tile)(c.width, alpha, 0, 1, one_in, state);
  for (int i = 0; i < c.width; i += 3) alpha[i] = 0;
  for (int t = 0; t < nv; t++)
    if (t % c.ldv >= c.dim) v[t] = (REAL)NAN;
  c.p = guarded_place(&guarded_tile[0], where, (size_t)np, sizeof *p, p);
  c.v = guarded_place(&guarded_tile[1], where, (size_t)nv, sizeof *v, v);
  c.alpha = guarded_place(&guarded_tile[3], where, (size_t)c.width, sizeof *alpha, alpha);
  c.o = o;
  REAL *got = guarded_place(&guarded_tile[2], where, (size_t)no, sizeof *o, o);
  kernel(c.keys, c.dim, c.p, c.v, c.ldv, got, c.alpha);
  for (int g = 0; g < 4; g++) guarded_check(&guarded_tile[g]);
  assert_memory_equal(c.p, p, (size_t)np * sizeof *p);
  assert_memory_equal(c.v, v, (size_t)nv * sizeof *v);
  assert_memory_equal(c.alpha, alpha, (size_t)c.width * sizeof *alpha);
  NAME(assert_values)(&c, got);
  if (!one_in) NAME(assert_values_alone)(&c, got, isa);
}

static void NAME(check_tile_values)(NAME(tile_values_kernel) kernel, int vectors, uint32_t isa) {
  uint64_t state = 21;
  const int width = vectors * lanes_of(isa, sizeof(REAL));
  for (int keys = 0; keys < TILE_KEYS; keys++)
    for (int d = 0; d < TILE_DIMS; d++)
      for (enum placement where = AT_END; where < PLACEMENTS; where++)
        for (int one_in = 0; one_in <= 40; one_in += 40) {
          const struct NAME(values_case)
              c = {.keys = keys, .dim = tile_dim(d), .width = width, .ldv = tile_dim(d) + keys % 3};
          NAME(check_values_tile)(kernel, isa, c, where, one_in, &state);
        }
}

/* The sum over a tile starts from zero and meets o alpha at its end, so that a long row's chain of
 * additions is short: 2^m + (1 + 1) is exact where (2^m + 1) + 1 is not. */
static void NAME(check_tile_values_chain)(NAME(tile_values_kernel) kernel, int vectors,
                                          uint32_t isa) {
  const int width = vectors * lanes_of(isa, sizeof(REAL));
  const REAL big = 2 / EPSILON; /* its neighbour is 2 away, and halves round to even */
  REAL p[2 * 48], o[48], alpha[48];
  const REAL v[2] = {1, 1};
  for (int i = 0; i < 2 * width; i++) p[i] = 1;
  for (int i = 0; i < width; i++) {
    o[i] = big;
    alpha[i] = 1;
  }
  kernel(2, 1, p, v, 1, o, alpha);
  for (int i = 0; i < width; i++) NAME(assert_same)(o[i], big + 2);
}
