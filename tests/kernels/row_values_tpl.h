/* row_values_tpl.h - values of rows and their comparison, for one type
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_test_f32.h or real_test_f64.h comes first.
 */

/* Equal in value and sign, or both NaN. */
static void NAME(assert_same)(REAL got, REAL expected) {
  if (isnan(expected)) {
    assert_true(isnan(got));
    return;
  }
  if (got != expected || !signbit(got) != !signbit(expected))
    print_error("got %.17g, expected %.17g\n", (double)got, (double)expected);
  assert_true(got == expected && !signbit(got) == !signbit(expected));
}

static WIDE NAME(magnitude)(WIDE a) {
  return a < 0 ? -a : a;
}

/* Within `tolerance`; infinities are equal to themselves only. */
static void NAME(assert_near)(REAL got, WIDE expected, WIDE tolerance) {
  if (isnan(expected)) {
    assert_true(isnan(got));
    return;
  }
  if (isinf(expected)) {
    assert_true((WIDE)got == expected);
    return;
  }
  WIDE error = NAME(magnitude)((WIDE)got - expected);
  if (!(error <= tolerance))
    print_error("got %.17g, expected %.17g, tolerance %.3g\n", (double)got, (double)expected,
                (double)tolerance);
  assert_true(error <= tolerance);
}

/* The largest number that is not NaN, -infinity if there is none; whether there is a NaN. */
static REAL NAME(largest)(int n, const REAL *x, int *any_nan) {
  REAL largest = -(REAL)INFINITY;
  *any_nan = 0;
  for (int t = 0; t < n; t++) {
    if (isnan(x[t])) *any_nan = 1;
    if (x[t] > largest) largest = x[t];
  }
  return largest;
}

/* A maximum as row_max and row_scores return it: a NaN may be lost or returned. */
static void NAME(assert_max)(REAL got, int n, const REAL *x) {
  int any_nan;
  REAL expected = NAME(largest)(n, x, &any_nan);
  if (any_nan && isnan(got)) return;
  assert_true(got == expected);
}

static void NAME(fill)(int n, REAL *x, REAL low, REAL high, uint64_t *state) {
  for (int t = 0; t < n; t++) x[t] = (REAL)next_between(state, (double)low, (double)high);
}

/* The numbers that go wrong. */
static const REAL NAME(special)[] = {
    (REAL)NAN, (REAL)INFINITY, -(REAL)INFINITY, 0,       -(REAL)0.0, TINY, -TINY,
    LEAST / 4, LEAST,          -LEAST,          LARGEST, -LARGEST,   1,    -1};
enum { NAME(specials) = sizeof NAME(special) / sizeof *NAME(special) };
