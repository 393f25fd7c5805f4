/* row_exp_cases_tpl.h - cases of row_exp: tails, in place, the sum's order, special numbers
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: row_values_tpl.h comes first. How exact exp itself is, test_kernel_exp_f32.c and
 * test_kernel_exp_f64.c measure.
 */
typedef REAL (*NAME(row_exp_kernel))(int64_t, const REAL *, REAL, REAL, REAL *);

/* One element: `a` is the argument as the kernel must have rounded it. */
static void NAME(assert_exp)(REAL got, REAL a) {
  WIDE expected = WIDE_EXP((WIDE)a);
  if (expected < (WIDE)LEAST) {
    NAME(assert_same)(got, 0);
  } else if (expected > (WIDE)LARGEST) {
    NAME(assert_same)(got, (REAL)INFINITY);
  } else {
    int exponent = 0;
    if (expected > 0) exponent = ilogb((double)expected);
    NAME(assert_near)(got, expected, 2 * (WIDE)EPSILON * (WIDE)ldexp(1, exponent));
  }
}

static void NAME(assert_sum)(REAL got, int n, const REAL *out) {
  WIDE sum = 0;
  for (int t = 0; t < n; t++) sum += (WIDE)out[t];
  NAME(assert_near)(got, sum, (WIDE)n * ((WIDE)EPSILON / 2) * sum);
}

static void NAME(check_row_exp)(NAME(row_exp_kernel) kernel) {
  static const REAL scales[] = {1, (REAL)-0.37};
  uint64_t state = 6;
  REAL x[ROW_MOST];
  const REAL range = sizeof(REAL) == 4 ? 90 : 720;
  FOR_EACH_ROW(n, where) {
    for (int c = 0; c < 2; c++) {
      /* mostly around the overflow-free range, and rows like those of a softmax */
      NAME(fill)(n, x, c ? -9 : -range, c ? 9 : range - 10, &state);
      const REAL max = c ? (REAL)3.33 : (REAL)5.5;
      const REAL *row = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
      REAL *out = guarded_place(&guarded_y, where, (size_t)n, sizeof *x, NULL);
      REAL sum = kernel(n, row, scales[c], max, out);
      guarded_check(&guarded_y);
      assert_memory_equal(row, x, (size_t)n * sizeof *x);
      for (int t = 0; t < n; t++) NAME(assert_exp)
      (out[t], scales[c] * x[t] - max);
      NAME(assert_sum)(sum, n, out);

      REAL *in_place = guarded_place(&guarded_z, where, (size_t)n, sizeof *x, x);
      NAME(assert_same)(kernel(n, in_place, scales[c], max, in_place), sum);
      guarded_check(&guarded_z);
      assert_memory_equal(in_place, out, (size_t)n * sizeof *x);
    }
  }
}

/* The sum's bits depend on the numbers and n alone, not on where the rows lie. */
static void NAME(check_row_exp_order)(NAME(row_exp_kernel) kernel) {
  uint64_t state = 7;
  REAL x[ROW_MOST], sums[16];
  for (int s = 0; s < ROW_SIZES; s++) {
    int n = row_sizes[s];
    NAME(fill)(n, x, -20, 0, &state);
    for (int shift = 0; shift < 16; shift++) {
      REAL *row = (REAL *)(void *)guarded_x.pages + shift;
      REAL *out = (REAL *)(void *)guarded_y.pages + (shift * 5) % 16;
      memcpy(row, x, (size_t)n * sizeof *x);
      sums[shift] = kernel(n, row, 1, 0, out);
      assert_memory_equal(&sums[shift], &sums[0], sizeof *sums);
    }
  }
}

/* Every special number at every position of a row; the others must not notice, nor its sum's type.
 */
static void NAME(check_row_exp_special)(NAME(row_exp_kernel) kernel) {
  enum { N = 67 };
  REAL x[N];
  for (int c = 0; c < NAME(specials); c++) {
    REAL a = NAME(special)[c];
    for (int at = 0; at < N; at++) {
      for (int t = 0; t < N; t++) x[t] = (REAL)-0.5;
      x[at] = a;
      const REAL *row = guarded_place(&guarded_x, AT_END, N, sizeof *x, x);
      REAL *out = guarded_place(&guarded_y, AT_END, N, sizeof *x, NULL);
      REAL sum = kernel(N, row, 1, 0, out);
      for (int t = 0; t < N; t++) NAME(assert_exp)(out[t], x[t]);
      if (a == 0 || a == TINY || a == -TINY) NAME(assert_same)(out[at], 1);
      NAME(assert_sum)(sum, N, out);
    }
  }
  REAL none = kernel(0, x, 1, 0, x);
  NAME(assert_same)(none, 0);
}
