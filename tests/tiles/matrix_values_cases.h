/* matrix_values_cases.h - cases of the packed products with V of the matrix unit
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Part of test_matrix_kernels.c.
 */

struct weighted {
  int64_t keys, dim, width, lead, ldv; /* keys: those with weights, behind `lead` */
  const float *v, *p, *o, *alpha;
  struct sdpai_parts parts;
};

/* Packs and accumulates in guarded memory. Returns o. */
static float *accumulate(const struct weighted *c, enum placement where) {
  const int64_t all = c->lead + c->keys, steps = tiles(all, 32);
  const size_t left = (size_t)(steps * c->parts.left * tiles(c->dim, 16) * 512);
  const size_t right = (size_t)(steps * c->parts.right * c->width / 16 * 512);
  uint16_t *v = guarded_place(&memory[3], where, left, sizeof *v, NULL);
  uint16_t *p = guarded_place(&memory[4], where, right, sizeof *p, NULL);
  float *o = guarded_place(&memory[5], where, (size_t)(c->dim * c->width), sizeof *o, c->o);
  unit->pack_values(all, c->dim, c->v, c->ldv, c->parts.left, v);
  unit->pack_weights(c->keys, c->width, c->lead, c->p, c->parts.right, p);
  unit->configure();
  unit->values(all, c->width, c->dim, v, p, c->parts, o, c->alpha);
  unit->release();
  for (int g = 0; g < 6; g++) guarded_check(&memory[g]);
  return o;
}

static void assert_weighted(const struct weighted *c, const float *o, double most) {
  for (int64_t d = 0; d < c->dim; d++)
    for (int64_t i = 0; i < c->width; i++) {
      long double sum = (long double)c->o[d * c->width + i] * c->alpha[i], size = fabsl(sum);
      for (int64_t j = 0; j < c->keys; j++) {
        const long double term =
            (long double)c->p[j * c->width + i] * c->v[(c->lead + j) * c->ldv + d];
        sum += term;
        size += fabsl(term);
      }
      /* the sum is stored without the weights' scale: it may become subnormal there */
      assert_true(fabsl((long double)o[d * c->width + i] - sum) <= most * size + 0x1p-149L);
    }
}

/* Weights of one part are rounded to bf16. */
static void check_values(struct weighted c, enum placement where, double low, double high,
                         double least_weight, uint64_t *state) {
  static float v[KEYS * (DIM + 3)], p[KEYS * WIDTH], o[DIM * WIDTH], alpha[WIDTH];
  const int64_t all = c.lead + c.keys, nv = all > 0 ? (all - 1) * c.ldv + c.dim : 0;
  fill(nv, v, low, high, bits_of(c.parts.left, c.parts.order), state);
  for (int64_t t = 0; t < nv; t++)
    if (t % c.ldv >= c.dim) v[t] = NAN;
  for (int64_t t = 0; t < c.keys * c.width; t++)
    p[t] = (float)exp2(next_between(state, log2(least_weight), 0));
  for (int64_t t = 0; t < c.keys * c.width; t += 7) p[t] = t % 2 ? 0 : 1;
  fill(c.dim * c.width, o, low, high, 24, state);
  fill(c.width, alpha, 0, 1, 24, state);
  c.v = guarded_place(&memory[0], where, (size_t)nv, sizeof *v, v);
  c.p = guarded_place(&memory[1], where, (size_t)(c.keys * c.width), sizeof *p, p);
  c.alpha = guarded_place(&memory[2], where, (size_t)c.width, sizeof *alpha, alpha);
  c.o = o;
  const double rounded = c.parts.right == 1 ? 0x1p-8 : 0;
  assert_weighted(&c, accumulate(&c, where), parts_error(c.parts, c.keys) + rounded);
}

/* Parts of V and of the weights, for the types above. */
static const struct sdpai_parts value_parts[] = {{1, 1, 0}, {2, 2, 1}, {3, 3, 2}, {1, 3, 2}};
enum { VALUE_PARTS = sizeof value_parts / sizeof *value_parts };

static void test_values(void **unused) {
  (void)unused;
  uint64_t state = 6;
  for (int n = 0; n < SOME_KEYS; n++)
    for (int d = 0; d < SOME_DIMS; d++)
      for (int p = 0; p < VALUE_PARTS; p++) {
        struct weighted c = {.keys = some_keys[n],
                             .dim = some_dims[d],
                             .width = 16 * (1 + (n + d + p) % 3),
                             .lead = 16 * ((d + p) % 2),
                             .ldv = some_dims[d] + n % 3,
                             .parts = value_parts[p]};
        if (c.lead + c.keys > KEYS) c.lead = 0;
        check_values(c, (enum placement)((n + p) % PLACEMENTS), -2, 2, 0x1p-20, &state);
      }
}

/* From the smallest weights there are, at both ends of the numbers that fit. */
static void test_values_range(void **unused) {
  (void)unused;
  uint64_t state = 7;
  for (int p = 0; p < VALUE_PARTS; p++) {
    const struct weighted c = {
        .keys = 40, .dim = 48, .width = 32, .ldv = 48, .parts = value_parts[p]};
    check_values(c, AT_END, 0x1p-40, 0x1.8p-40, 0x1p-126, &state);
    check_values(c, AT_END, 0x1p32, 0x1.fep32, 0x1p-126, &state);
    check_values(c, AT_END, -1, 1, 0x1p-126, &state);
  }
  /* A weight of 2^-126 alone: its parts are not flushed. */
  static float v[1], p[16], o[16], alpha[16];
  v[0] = 0x1.fffffep32f;
  for (int i = 0; i < 16; i++) p[i] = 0x1p-126f * (1 + (float)i * 0x1p-23f);
  const struct weighted one = {.keys = 1,
                               .dim = 1,
                               .width = 16,
                               .ldv = 1,
                               .v = v,
                               .p = p,
                               .o = o,
                               .alpha = alpha,
                               .parts = {3, 3, 2}};
  assert_weighted(&one, accumulate(&one, AT_END), 0x1p-23);
}

/* Neither the other columns of V, nor the width, nor keys without weight change a bit. */
static void test_values_alone(void **unused) {
  (void)unused;
  static float v[KEYS * DIM], p[KEYS * WIDTH], o[DIM * WIDTH], all[DIM * WIDTH], alpha[WIDTH];
  static float narrow[KEYS * 16], late[KEYS * WIDTH];
  uint64_t state = 8;
  struct weighted c = {.keys = 90, .dim = 37, .width = 48, .ldv = DIM, .v = v, .p = p, .o = o};
  c.alpha = alpha;
  fill(KEYS * DIM, v, -2, 2, 24, &state);
  fill(KEYS * WIDTH, p, 0, 1, 24, &state);
  fill(DIM * WIDTH, o, -2, 2, 24, &state);
  fill(WIDTH, alpha, 0, 1, 24, &state);
  memset(p, 0, (size_t)(16 * c.width) * sizeof *p);
  memcpy(late, p + 16 * c.width, (size_t)(74 * c.width) * sizeof *p);
  for (int i = 0; i < VALUE_PARTS; i++) {
    c.parts = value_parts[i];
    memcpy(all, accumulate(&c, AT_END), (size_t)(c.dim * c.width) * sizeof *all);
    struct weighted other = c; /* without the keys before, and with some more behind */
    other.keys = 74, other.lead = 16, other.p = late;
    assert_memory_equal(accumulate(&other, AT_END), all, (size_t)(c.dim * c.width) * sizeof *all);
    for (int64_t x = 0; x < c.width; x += 16) {
      for (int64_t j = 0; j < c.keys; j++)
        memcpy(narrow + j * 16, p + j * c.width + x, 16 * sizeof *narrow);
      for (int64_t d = 0; d < c.dim; d++) {
        other = c;
        other.dim = 1, other.width = 16, other.p = narrow, other.v = v + d;
        other.o = o + d * c.width + x, other.alpha = alpha + x;
        assert_memory_equal(accumulate(&other, AT_END), all + d * c.width + x, 16 * sizeof *all);
      }
    }
  }
}

/* Elements that do not fit are counted, and stand for 0 whatever they are. With nothing but such o
 * keeps its numbers. */
static void test_values_unfit(void **unused) {
  (void)unused;
  static const float odd[] = {NAN, -INFINITY, 0x1p33f, 0x1p-41f, -0x1p-149f, 0x1p-126f};
  enum { ODD = sizeof odd / sizeof *odd, N = 50, D = 20 };
  static float v[N * D], p[N * 16], o[D * 16], alpha[16];
  static uint16_t clean[2 * 3 * 2 * 512], packed[2 * 3 * 2 * 512];
  uint64_t state = 9;
  fill(N * D, v, -2, 2, 24, &state);
  for (int i = 0; i < ODD; i++) v[i * 7 * D + 3 * i] = i % 2 ? 0 : -0.0f;
  assert_int_equal(unit->pack_values(N, D, v, D, 3, clean), 0);
  for (int i = 0; i < ODD; i++) v[i * 7 * D + 3 * i] = 0;
  assert_int_equal(unit->pack_values(N, D, v, D, 3, clean), 0);
  for (int i = 0; i < ODD; i++) v[i * 7 * D + 3 * i] = odd[i];
  assert_int_equal(unit->pack_values(N, D, v, D, 3, packed), ODD);
  assert_memory_equal(packed, clean, sizeof clean);
  for (int t = 0; t < N * D; t++) v[t] = odd[t % ODD];
  assert_int_equal(unit->pack_values(N, D, v, D, 3, packed), N * D);
  fill(N * 16, p, 0, 1, 24, &state);
  fill(D * 16, o, -2, 2, 24, &state);
  for (int i = 0; i < 16; i++) alpha[i] = 1;
  const struct weighted c = {.keys = N,
                             .dim = D,
                             .width = 16,
                             .ldv = D,
                             .v = v,
                             .p = p,
                             .o = o,
                             .alpha = alpha,
                             .parts = {3, 3, 2}};
  assert_memory_equal(accumulate(&c, AT_END), o, sizeof o);
}
