/* row_reduce_cases_tpl.h - cases of row_max, row_finite, row_dot, row_scale, row_softmax_backward
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_values_tpl.h comes first. Each check_<op> runs one kernel over every size of
 * row_sizes, at every placement between guard pages.
 */

static void NAME(check_row_max)(REAL (*kernel)(int64_t, const REAL *, REAL)) {
  static const REAL scales[] = {1, (REAL)0.17, (REAL)-2.5, 0};
  uint64_t state = 1;
  REAL x[ROW_MOST], products[ROW_MOST];
  FOR_EACH_ROW(n, where) {
    for (int c = 0; c < 4; c++) {
      NAME(fill)(n, x, -9, 9, &state);
      for (int t = 0; t < n; t++) {
        if (next_bits(&state) % 16 == 0) x[t] = NAME(special)[next_bits(&state) % NAME(specials)];
        products[t] = scales[c] * x[t];
      }
      const REAL *row = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
      NAME(assert_max)(kernel(n, row, scales[c]), n, products);
      assert_memory_equal(row, x, (size_t)n * sizeof *x);
    }
  }
}

/* The largest element at every position in turn. */
static void NAME(check_row_max_position)(REAL (*kernel)(int64_t, const REAL *, REAL)) {
  REAL x[ROW_MOST];
  for (int n = 1; n <= 140; n++) {
    for (int t = 0; t < n; t++) x[t] = -3;
    for (int t = 0; t < n; t++) {
      x[t] = -2;
      const REAL *row = guarded_place(&guarded_x, AT_END, (size_t)n, sizeof *x, x);
      NAME(assert_same)(kernel(n, row, 1), -2);
      x[t] = -3;
    }
  }
}

/* One bad element at every place of matrices with and without gaps, whose gaps are NaN. */
static void NAME(check_rows_finite)(int (*kernel)(int64_t, int64_t, const REAL *, int64_t)) {
  static const REAL bad[] = {(REAL)NAN, (REAL)INFINITY, -(REAL)INFINITY};
  uint64_t state = 3;
  REAL x[5 * 75];
  for (int rows = 0; rows <= 5; rows++)
    for (int cols = 0; cols <= 72; cols++)
      for (int gap = 0; gap <= 3; gap += 3) {
        const int ld = cols + gap, count = rows > 0 && cols > 0 ? (rows - 1) * ld + cols : 0;
        NAME(fill)(count, x, -9, 9, &state);
        for (int t = 0; t < count; t++)
          if (t % ld >= cols) x[t] = (REAL)NAN;
        const REAL *at = guarded_place(&guarded_x, AT_END, (size_t)count, sizeof *x, x);
        assert_int_equal(kernel(rows, cols, at, ld), 1);
        for (int t = 0; t < count; t++) {
          const REAL kept = x[t];
          if (t % ld >= cols) continue;
          x[t] = bad[next_bits(&state) % 3];
          at = guarded_place(&guarded_x, AT_END, (size_t)count, sizeof *x, x);
          assert_int_equal(kernel(rows, cols, at, ld), 0);
          x[t] = kept;
        }
      }
}

static void NAME(check_row_finite)(int (*kernel)(int64_t, const REAL *)) {
  static const REAL bad[] = {(REAL)NAN, (REAL)INFINITY, -(REAL)INFINITY};
  static const REAL good[] = {LARGEST, -LARGEST, TINY, -TINY, 0, -(REAL)0.0, LEAST};
  uint64_t state = 2;
  REAL x[ROW_MOST];
  FOR_EACH_ROW(n, where) {
    NAME(fill)(n, x, -9, 9, &state);
    for (int t = 0; t < n; t++)
      if (next_bits(&state) % 2) x[t] = good[next_bits(&state) % 7];
    REAL *row = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
    assert_int_equal(kernel(n, row), 1);
    for (int t = 0; t < n; t++) {
      row[t] = bad[(t + n) % 3];
      assert_int_equal(kernel(n, row), 0);
      row[t] = x[t];
    }
    guarded_check(&guarded_x);
  }
}

static void NAME(check_row_dot)(REAL (*kernel)(int64_t, const REAL *, const REAL *)) {
  uint64_t state = 3;
  REAL x[ROW_MOST], y[ROW_MOST];
  FOR_EACH_ROW(n, where) {
    NAME(fill)(n, x, -1, 1, &state);
    NAME(fill)(n, y, -9, 9, &state);
    WIDE sum = 0, magnitude = 0;
    for (int t = 0; t < n; t++) {
      if (next_bits(&state) % 3 == 0) {
        x[t] = next_bits(&state) % 2 ? 0 : -(REAL)0.0;
        y[t] = NAME(special)[next_bits(&state) % 3];
        continue;
      }
      WIDE product = (WIDE)x[t] * (WIDE)y[t];
      sum += product;
      magnitude += NAME(magnitude)(product);
    }
    const REAL *vx = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
    REAL *vy = guarded_place(&guarded_y, where, (size_t)n, sizeof *y, y);
    REAL got = kernel(n, vx, vy);
    /* any order of n products and n additions */
    NAME(assert_near)(got, sum, (WIDE)n * (WIDE)EPSILON * magnitude);
    for (int t = 0; t < n; t++) {
      if (x[t] == 0) continue;
      vy[t] = (REAL)NAN;
      assert_true(isnan(kernel(n, vx, vy)));
      vy[t] = y[t];
      break;
    }
    NAME(assert_same)(kernel(n, vx, vy), got);
  }
}

static void NAME(check_row_scale)(void (*kernel)(int64_t, REAL *, REAL)) {
  static const REAL factors[] = {(REAL)1.7, (REAL)-0.3, 0, LARGEST, (REAL)INFINITY};
  uint64_t state = 4;
  REAL x[ROW_MOST];
  FOR_EACH_ROW(n, where) {
    for (int c = 0; c < 5; c++) {
      NAME(fill)(n, x, -9, 9, &state);
      for (int t = 0; t < n; t++)
        if (next_bits(&state) % 8 == 0) x[t] = NAME(special)[next_bits(&state) % NAME(specials)];
      REAL *row = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
      kernel(n, row, factors[c]);
      guarded_check(&guarded_x);
      for (int t = 0; t < n; t++) NAME(assert_same)(row[t], x[t] * factors[c] + 0);
    }
  }
}

static void NAME(check_row_softmax_backward)(void (*kernel)(int64_t, const REAL *, const REAL *,
                                                            REAL, REAL *)) {
  uint64_t state = 5;
  REAL w[ROW_MOST], g[ROW_MOST];
  const REAL dot = (REAL)0.625;
  FOR_EACH_ROW(n, where) {
    NAME(fill)(n, w, 0, 1, &state);
    NAME(fill)(n, g, -9, 9, &state);
    for (int t = 0; t < n; t++) {
      if (next_bits(&state) % 4 == 0) w[t] = next_bits(&state) % 2 ? 0 : -(REAL)0.0;
      if (next_bits(&state) % 4 == 0) g[t] = NAME(special)[next_bits(&state) % NAME(specials)];
    }
    for (int out_is = 0; out_is < 3; out_is++) { /* a row of its own, g, w */
      REAL *vw = guarded_place(&guarded_x, where, (size_t)n, sizeof *w, w);
      REAL *vg = guarded_place(&guarded_y, where, (size_t)n, sizeof *g, g);
      REAL *own = guarded_place(&guarded_z, where, (size_t)n, sizeof *w, NULL);
      REAL *out = out_is == 0 ? own : out_is == 1 ? vg : vw;
      kernel(n, vw, vg, dot, out);
      guarded_check(&guarded_x);
      guarded_check(&guarded_y);
      guarded_check(&guarded_z);
      for (int t = 0; t < n; t++) NAME(assert_same)(out[t], w[t] == 0 ? 0 : w[t] * (g[t] - dot));
      if (out != vw) assert_memory_equal(vw, w, (size_t)n * sizeof *w);
      if (out != vg) assert_memory_equal(vg, g, (size_t)n * sizeof *g);
    }
  }
}
