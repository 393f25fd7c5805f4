/* row_scores_cases_tpl.h - cases of row_scores: every combination of its terms, and what they
 * exclude
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_values_tpl.h comes first.
 */
typedef REAL (*NAME(row_scores_kernel))(int64_t, REAL *, const SCORE *);

/* One score by the formula, in the wider type, and how far the kernel may be from it: u for each
 * rounding, relative to what is rounded, or half the least subnormal number. */
static WIDE NAME(expected_score)(const SCORE *score, REAL x, int t, WIDE *tolerance) {
  const WIDE u = (WIDE)EPSILON / 2, least = (WIDE)TINY / 2;
  const WIDE softcap = (WIDE)score->softcap, bias = score->bias ? (WIDE)score->bias[t] : 0;
  WIDE s = (WIDE)score->scale * (WIDE)x;
  *tolerance = least;
  if (score->softcap != 0) {
    /* scale x, the quotient, tanh to 3 ulp = 6 u, the product */
    s = softcap * WIDE_TANH(s / softcap);
    *tolerance += 9 * u * NAME(magnitude)(s) + least * (1 + softcap);
  } else {
    *tolerance += u * NAME(magnitude)(s);
  }
  if (score->slope != 0) {
    WIDE away = (WIDE)score->slope * NAME(magnitude)((WIDE)score->distance - t);
    s -= away; /* the difference, the product, the subtraction */
    *tolerance += 2 * u * NAME(magnitude)(away) + u * NAME(magnitude)(s) + least;
  }
  if ((score->mask && !score->mask[t]) || bias == -(WIDE)INFINITY) {
    *tolerance = 0;
    return -(WIDE)INFINITY;
  }
  s += bias;
  *tolerance = (*tolerance + u * NAME(magnitude)(s)) * (1 + 16 * u); /* products of errors */
  return s;
}

/* Terms by the bits of `terms`: softcap, slope, bias, mask. A sixteenth of the numbers are special.
 */
static void NAME(check_scores_row)(NAME(row_scores_kernel) kernel, int n, enum placement where,
                                   int terms, REAL softcap, uint64_t *state) {
  REAL x[ROW_MOST], bias[ROW_MOST];
  uint8_t mask[ROW_MOST];
  static const uint8_t attend[] = {1, 2, 0x80, 0xff};
  NAME(fill)(n, x, -40, 40, state);
  NAME(fill)(n, bias, -5, 5, state);
  for (int t = 0; t < n; t++) {
    mask[t] = next_bits(state) % 4 ? attend[next_bits(state) % 4] : 0;
    if (next_bits(state) % 8 == 0) bias[t] = -(REAL)INFINITY;
    if (next_bits(state) % 16 == 0) x[t] = NAME(special)[next_bits(state) % 7];
    if (next_bits(state) % 16 == 0) bias[t] = NAME(special)[next_bits(state) % NAME(specials)];
  }
  SCORE score = {.scale = (REAL)0.37};
  if (terms & 1) score.softcap = softcap;
  if (terms & 2) score.slope = (REAL)(n % 2 ? 0.25 : -0.7);
  score.distance = (REAL)(n / 2 - 3);
  if (terms & 4) score.bias = guarded_place(&guarded_y, where, (size_t)n, sizeof *x, bias);
  if (terms & 8) score.mask = guarded_place(&guarded_m, where, (size_t)n, 1, mask);
  REAL *row = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
  REAL max = kernel(n, row, &score);
  guarded_check(&guarded_x);
  for (int t = 0; t < n; t++) {
    WIDE tolerance;
    WIDE expected = NAME(expected_score)(&score, x[t], t, &tolerance);
    NAME(assert_near)(row[t], expected, tolerance);
  }
  NAME(assert_max)(max, n, row);
}

static void NAME(check_row_scores)(NAME(row_scores_kernel) kernel) {
  uint64_t state = 8;
  FOR_EACH_ROW(n, where)
  for (int terms = 0; terms < 16; terms++)
    NAME(check_scores_row)(kernel, n, where, terms, n % 3 ? 5 : (REAL)0.75, &state);
}

/* A softcap so small that score / softcap overflows, and so large that it changes nothing much. */
static void NAME(check_row_scores_softcaps)(NAME(row_scores_kernel) kernel) {
  static const REAL softcaps[] = {TINY, LEAST / 2, LEAST, (REAL)1e-20, (REAL)1e4, LARGEST};
  static const REAL x[] = {3, -3, (REAL)INFINITY, -(REAL)INFINITY, 0, -(REAL)0.0, (REAL)NAN, 1};
  for (int c = 0; c < 6; c++) {
    SCORE score = {.scale = 1, .softcap = softcaps[c]};
    REAL *row = guarded_place(&guarded_x, AT_END, 8, sizeof *x, x);
    kernel(8, row, &score);
    for (int t = 0; t < 8; t++) {
      WIDE tolerance;
      WIDE expected = NAME(expected_score)(&score, x[t], t, &tolerance);
      NAME(assert_near)(row[t], expected, tolerance);
      if (x[t] == 0) NAME(assert_same)(row[t], x[t]);
    }
  }
}

/* An infinite product is a score of +-softcap exactly; an excluded key leaves nothing of itself. */
static void NAME(check_row_scores_excluded)(NAME(row_scores_kernel) kernel) {
  enum { N = 67 };
  REAL x[N], bias[N], clean[N];
  uint8_t mask[N];
  for (int terms = 0; terms < 4; terms++) {
    for (int c = 0; c < NAME(specials); c++) {
      for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < N; t++) {
          x[t] = (REAL)0.5 * (REAL)t - 9;
          bias[t] = (REAL)0.125 * (REAL)(t % 5);
          mask[t] = t % 3 != 0;
          if (t % 7 == 1) bias[t] = -(REAL)INFINITY;
          if (pass == 1 && (t % 3 == 0 || t % 7 == 1)) x[t] = NAME(special)[c];
          if (pass == 1 && t % 3 == 0) bias[t] = NAME(special)[(c + t) % NAME(specials)];
        }
        SCORE score = {.scale = 1, .bias = bias, .mask = mask};
        if (terms & 1) score.softcap = 4;
        if (terms & 2) score.slope = (REAL)0.5;
        REAL *row = guarded_place(&guarded_x, AT_END, N, sizeof *x, x);
        REAL max = kernel(N, row, &score);
        NAME(assert_max)(max, N, row);
        if (pass == 0) memcpy(clean, row, sizeof clean);
        assert_memory_equal(row, clean, sizeof clean);
        for (int t = 0; t < N; t++)
          assert_int_equal(row[t] == -(REAL)INFINITY, t % 3 == 0 || t % 7 == 1);
      }
    }
  }
  SCORE none = {.scale = 1};
  NAME(assert_same)(kernel(0, x, &none), -(REAL)INFINITY);
}
