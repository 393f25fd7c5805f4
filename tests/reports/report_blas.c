/* report_blas.c - reported failures of matrix products: leading dimensions, old contents, core
 * types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_list.h"

/* Runs the case and compares it with the plain loop; magnitude: of its values. */
static void check_plain(const struct report_case *c, double magnitude, const char *what) {
  const sdpa_problem *p = &c->problem;
  const int64_t n = p->batch * p->query_heads * p->query_len * p->value_dim;
  double *expected = malloc((size_t)n * sizeof *expected);
  assert_non_null(expected);
  report_plain_loop(c, expected);
  struct report_path path;
  for (int i = 0; report_path(i, 0, &path); i++) {
    struct report_outputs out;
    report_run(c, &path, &out);
    for (int64_t k = 0; k < n; k++)
      if (!report_near(path.type, out.output[k], expected[k], REPORT_ROUNDOFFS, magnitude))
        fail_msg("output[%lld] is %.17g, not %.17g, %s, on %s", (long long)k, out.output[k],
                 expected[k], what, report_path_text(&path));
    report_outputs_free(&out);
  }
  free(expected);
}

/* Rows of tensor `which` (Q, K, V, bias, mask) lie `row` numbers apart, fewer than they have. */
static void check_short_rows(int which, int64_t rows, int64_t keys, int64_t dim, int64_t row) {
  static const char *const names[] = {"Q", "K", "V", "bias", "mask"};
  char what[80];
  snprintf(what, sizeof what, "%s rows of %lld %lld apart", names[which],
           (long long)(which >= 3 ? keys : dim), (long long)row);
  struct report_case c;
  report_case_init(&c, report_one_head(rows, keys, dim, dim), 0);
  c.problem.features |= SDPA_BIAS | SDPA_MASK;
  struct report_input *inputs[] = {&c.query, &c.key, &c.value, &c.bias};
  sdpa_strides *strides[] = {&c.problem.query, &c.problem.key, &c.problem.value, &c.problem.bias,
                             &c.problem.mask};
  strides[which]->row = row;
  const int64_t counts[] = {rows * dim, keys * dim, keys * dim, rows * keys};
  double *numbers[5];
  for (int t = 0; t < 4; t++) {
    numbers[t] = report_numbers(counts[t], t);
    *inputs[t] = (struct report_input){numbers[t], counts[t], 0};
  }
  numbers[4] = report_numbers(rows * keys, 4);
  uint8_t *mask = malloc((size_t)(rows * keys));
  assert_non_null(mask);
  for (int64_t i = 0; i < rows * keys; i++) mask[i] = numbers[4][i] > -0.5;
  c.mask = mask;
  check_plain(&c, 1, what);
  for (int t = 0; t < 5; t++) free(numbers[t]);
  free(mask);
}

/* OpenMathLib/OpenBLAS#1014, OpenMathLib/OpenBLAS#5345: a leading dimension below the row's length
 * makes a BLAS print a line and return without computing. */
void test_C6_leading_dimension_below_row(void **state) {
  (void)state;
  report_watch_stderr = 1;
  static const double query[] = {1, 0}, keys[] = {1, 2, 3}, value[] = {10, 20};
  struct report_case c;
  report_case_init(&c, report_one_head(1, 2, 2, 1), 1);
  c.query = REPORT_INPUT(query);
  c.key = REPORT_INPUT(keys);
  c.value = REPORT_INPUT(value);
  for (c.problem.key.row = 1; c.problem.key.row >= 0; c.problem.key.row--) {
    const double expected[] = {c.problem.key.row ? 10 + 10 / (1 + exp(-1.0)) : 15};
    check_plain(&c, 20, "K rows of 2");
    report_check_output(&c, expected);
  }
  for (int which = 0; which < 5; which++) {
    const int64_t length = which >= 3 ? 71 : 65; /* products that go to the BLAS */
    const int64_t apart[] = {0, 1, 2, length - 1, -1, 1 - length};
    for (int k = 0; k < 4; k++) check_short_rows(which, 66, 71, 65, apart[k]);
    for (int k = 0; k < 3; k++) check_short_rows(which, 3, 4, 5, apart[k]);
  }
  report_watch_stderr = 0;
}

/* Both fills must give the same bits. */
static void check_fills(struct report_case *c) {
  struct report_path path;
  for (int i = 0; report_path(i, 0, &path); i++) {
    struct report_outputs nans, zeros;
    report_run(c, &path, &nans);
    report_memory_fill = 0;
    report_run(c, &path, &zeros);
    report_memory_fill = 0xFF;
    for (int64_t k = 0; k < nans.n_output; k++) assert_true(isfinite(nans.output[k]));
    assert_memory_equal(nans.output, zeros.output, (size_t)nans.n_output * sizeof(double));
    if (path.extras) {
      assert_memory_equal(nans.weights, zeros.weights, (size_t)nans.n_weights * sizeof(double));
      assert_memory_equal(nans.lse, zeros.lse, (size_t)nans.n_lse * sizeof(double));
    }
    report_outputs_free(&nans);
    report_outputs_free(&zeros);
  }
}

/* Random numbers; `how`: contiguous; every tensor of rows by columns, so that all is packed; with
 * causal. */
static void check_fresh_memory(int64_t rows, int64_t keys, int64_t dim, int how) {
  struct report_case c;
  report_case_init(&c, report_one_head(rows, keys, dim, dim), 0);
  double *q = report_numbers(rows * dim, 1), *k = report_numbers(keys * dim, 2);
  double *v = report_numbers(keys * dim, 3);
  c.query = (struct report_input){q, rows * dim, 0};
  c.key = (struct report_input){k, keys * dim, 0};
  c.value = (struct report_input){v, keys * dim, 0};
  if (how == 1) {
    c.problem.query = c.problem.output = (sdpa_strides){0, 0, 2, 2 * rows};
    c.problem.query = (sdpa_strides){0, 0, 1, rows};
    c.problem.key = c.problem.value = (sdpa_strides){0, 0, 1, keys};
    c.problem.weights = (sdpa_strides){0, 0, 1, rows};
  } else if (how == 2) {
    c.problem.features |= SDPA_CAUSAL;
    c.problem.alignment = SDPA_ALIGN_BOTTOM_RIGHT;
  }
  check_fills(&c);
  free(q);
  free(k);
  free(v);
}

/* Reference-LAPACK/lapack#1077, robertknight/rten#81: with beta = 0 the output's old contents took
 * part, often on edge tiles only. */
void test_C7_nan_in_fresh_memory(void **state) {
  (void)state;
  static const double zeros[21] = {0};
  double value[21], expected[15];
  for (int i = 0; i < 21; i++) value[i] = i / 3 + i % 3;
  for (int i = 0; i < 15; i++) expected[i] = 3 + i % 3;
  struct report_case c;
  report_case_init(&c, report_one_head(5, 7, 3, 3), 0);
  c.query = (struct report_input){zeros, 15, 0};
  c.key = REPORT_INPUT(zeros);
  c.value = REPORT_INPUT(value);
  report_check_output(&c, expected);
  static const int64_t sizes[][3] = {{17, 33, 9},   {1, 1, 1},    {2, 3, 4},     {1, 300, 64},
                                     {64, 65, 66},  {7, 129, 31}, {257, 15, 17}, {33, 64, 128},
                                     {300, 300, 5}, {1, 2, 700}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    for (int how = 0; how < 3; how++)
      check_fresh_memory(sizes[k][0], sizes[k][1], sizes[k][2], how);
}
