/* tile_rules_cases_tpl.h - cases of tile_rules: every combination of its terms, every bit of a word
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_scores_cases_tpl.h comes first. A lane obeys the formula of row_scores with a
 * slope, distance, bias and mask of its own, so its reference is that of a row.
 */
typedef void (*NAME(tile_rules_kernel))(int64_t, int64_t, REAL *, const TILE_RULES *, REAL *);

/* Operands of one tile; what is off is left unset in `rules`. */
struct NAME(rules_case) {
  int keys, width;
  TILE_RULES rules;
  REAL x[TILE_MOST], bias[TILE_MOST], slope[48], distance[48];
  uint32_t words[3 * 48];
};

static int NAME(word_count)(const struct NAME(rules_case) * c) {
  return (c->keys + 31) / 32 * c->width;
}

/* Terms by the bits of `terms`: softcap, slope, bias, words; a sixteenth of the numbers special. */
static void NAME(make_rules)(struct NAME(rules_case) * c, int terms, uint64_t *state) {
  const int count = c->keys * c->width;
  NAME(fill)(count, c->x, -40, 40, state);
  NAME(fill)(count, c->bias, -5, 5, state);
  NAME(fill)(c->width, c->slope, -1, 1, state);
  for (int t = 0; t < count; t++) {
    if (next_bits(state) % 8 == 0) c->bias[t] = -(REAL)INFINITY;
    if (next_bits(state) % 16 == 0) c->x[t] = NAME(special)[next_bits(state) % 7];
    if (next_bits(state) % 16 == 0) c->bias[t] = NAME(special)[next_bits(state) % NAME(specials)];
  }
  for (int i = 0; i < c->width; i++) c->distance[i] = (REAL)((int)(next_bits(state) % 40) - 10);
  c->slope[0] = 0; /* a head without ALiBi beside heads with it */
  for (int w = 0; w < NAME(word_count)(c); w++)
    c->words[w] = (uint32_t)(next_bits(state) | next_bits(state));
  c->rules = (TILE_RULES){.scale = (REAL)0.37, .softcap = terms & 1 ? 5 : 0};
}

/* Every element against the formula, and the maxima of the lanes. */
static void NAME(assert_rules)(const struct NAME(rules_case) * c, const REAL *got,
                               const REAL *max) {
  REAL bias[TILE_RULES_KEYS], column[TILE_RULES_KEYS];
  uint8_t mask[TILE_RULES_KEYS];
  for (int i = 0; i < c->width; i++) {
    SCORE score = {.scale = c->rules.scale, .softcap = c->rules.softcap};
    if (c->rules.slope) score.slope = c->slope[i];
    if (c->rules.slope) score.distance = c->distance[i];
    if (c->rules.bias) score.bias = bias;
    if (c->rules.words) score.mask = mask;
    for (int j = 0; j < c->keys; j++) {
      const int at = j * c->width + i;
      bias[j] = c->bias[at];
      mask[j] = c->words[j / 32 * c->width + i] >> j % 32 & 1;
      column[j] = got[at];
      WIDE tolerance;
      const WIDE expected = NAME(expected_score)(&score, c->x[at], j, &tolerance);
      NAME(assert_near)(got[at], expected, tolerance);
      if (expected == -(WIDE)INFINITY) NAME(assert_same)(got[at], -(REAL)INFINITY);
    }
    NAME(assert_max)(max[i], c->keys, column);
  }
}

/* The tile again, one vector of queries at a time: the same numbers. */
static void NAME(assert_rules_alone)(NAME(tile_rules_kernel) kernel, int lanes,
                                     const struct NAME(rules_case) * c, const REAL *got,
                                     const REAL *max) {
  static struct NAME(rules_case) part;
  REAL part_max[16];
  for (int first = 0; first < c->width; first += lanes) {
    part.keys = c->keys;
    part.width = lanes;
    for (int i = 0; i < lanes; i++) {
      for (int j = 0; j < c->keys; j++) {
        part.x[j * lanes + i] = c->x[j * c->width + first + i];
        part.bias[j * lanes + i] = c->bias[j * c->width + first + i];
        part.words[j / 32 * lanes + i] = c->words[j / 32 * c->width + first + i];
      }
    }
    part.rules = c->rules;
    if (c->rules.slope) part.rules.slope = c->slope + first;
    if (c->rules.slope) part.rules.distance = c->distance + first;
    if (c->rules.bias) part.rules.bias = part.bias;
    if (c->rules.words) part.rules.words = part.words;
    kernel(c->keys, lanes, part.x, &part.rules, part_max);
    for (int i = 0; i < lanes; i++) {
      for (int j = 0; j < c->keys; j++)
        NAME(assert_same)(part.x[j * lanes + i], got[j * c->width + first + i]);
      NAME(assert_same)(part_max[i], max[first + i]);
    }
  }
}

static void NAME(check_rules_tile)(NAME(tile_rules_kernel) kernel, int lanes,
                                   struct NAME(rules_case) * c, enum placement where, int terms,
                                   uint64_t *state) {
  const size_t count = (size_t)(c->keys * c->width), width = (size_t)c->width, size = sizeof(REAL);
  NAME(make_rules)(c, terms, state);
  if (terms & 2) {
    c->rules.slope = guarded_place(&guarded_tile[0], where, width, size, c->slope);
    c->rules.distance = guarded_place(&guarded_tile[1], where, width, size, c->distance);
  }
  if (terms & 4) c->rules.bias = guarded_place(&guarded_tile[2], where, count, size, c->bias);
  if (terms & 8)
    c->rules.words = guarded_place(&guarded_tile[3], where, (size_t)NAME(word_count)(c),
                                   sizeof *c->words, c->words);
  REAL *got = guarded_place(&guarded_tile[4], where, count, size, c->x);
  REAL *max = guarded_place(&guarded_tile[5], where, width, size, NULL);
  kernel(c->keys, c->width, got, &c->rules, max);
  for (int g = 0; g < 6; g++) guarded_check(&guarded_tile[g]);
  NAME(assert_rules)(c, got, max);
  NAME(assert_rules_alone)(kernel, lanes, c, got, max);
}

static void NAME(check_tile_rules)(NAME(tile_rules_kernel) kernel, uint32_t isa) {
  static const int more[] = {31, 32, 33, 63, 64, 65, TILE_RULES_KEYS};
  static struct NAME(rules_case) c;
  uint64_t state = 24;
  const int lanes = lanes_of(isa, sizeof(REAL));
  for (int k = 0; k < TILE_KEYS + 7; k++)
    for (int vectors = 1; vectors <= SDPAI_TILE_VECTORS; vectors++)
      for (enum placement where = AT_END; where < PLACEMENTS; where++)
        for (int terms = 0; terms < 16; terms++) {
          c.keys = k < TILE_KEYS ? k : more[k - TILE_KEYS];
          c.width = vectors * lanes;
          NAME(check_rules_tile)(kernel, lanes, &c, where, terms, &state);
        }
}

/* Each bit of each word alone is 0, and alone is 1. Scores are NaN: nothing of an excluded one
 * stays, and no other is touched. */
static void NAME(check_tile_rules_bits)(NAME(tile_rules_kernel) kernel, uint32_t isa) {
  static struct NAME(rules_case) c;
  REAL max[48];
  c.keys = TILE_RULES_KEYS;
  c.width = SDPAI_TILE_VECTORS * lanes_of(isa, sizeof(REAL));
  c.rules = (TILE_RULES){.scale = 1, .words = c.words};
  for (int at = 0; at < c.keys * c.width; at++)
    for (int one = 0; one < 2; one++) {
      const int key = at / c.width, lane = at % c.width;
      for (int w = 0; w < NAME(word_count)(&c); w++) c.words[w] = one ? 0 : UINT32_MAX;
      c.words[key / 32 * c.width + lane] ^= UINT32_C(1) << key % 32;
      for (int t = 0; t < c.keys * c.width; t++) c.x[t] = (REAL)NAN;
      kernel(c.keys, c.width, c.x, &c.rules, max);
      int wrong = 0;
      for (int t = 0; t < c.keys * c.width; t++)
        wrong |= (t == at) == one ? !isnan(c.x[t]) : c.x[t] != -(REAL)INFINITY;
      assert_false(wrong);
    }
}
