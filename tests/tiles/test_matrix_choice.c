/* test_matrix_choice.c - which problems the matrix unit is chosen for
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * By the model of matrix_choice.c; no unit is needed for that.
 */
#include "kernel_tests.h"

#include "engines/matrix_choice.h"

static int pays(uint32_t type, uint32_t precision, int64_t key_dim, int64_t value_dim,
                int64_t rows) {
  const struct sdpai_options options = {.precision = precision};
  const struct sdpai_problem problem = {.types = {type, type, type, type, type, SDPA_F32},
                                        .features = value_dim ? 0 : SDPA_NO_OUTPUT,
                                        .key_dim = key_dim,
                                        .value_dim = value_dim};
  const struct sdpai_matrix_parts parts = sdpai_matrix_parts(&problem, &options);
  assert_true(parts.scores.left > 0);
  return sdpai_matrix_pays(&problem, &parts, rows);
}

static void test_rows(void **state) {
  (void)state;
  enum { FULL = SDPA_PRECISION_FULL, REDUCED = SDPA_PRECISION_REDUCED };
  /* many rows share the packing of K and V */
  assert_true(pays(SDPA_F32, FULL, 64, 64, 1024));
  assert_true(pays(SDPA_F32, FULL, 128, 128, 1024));
  assert_true(pays(SDPA_F32, FULL, 64, 64, 64));
  assert_false(pays(SDPA_F32, FULL, 64, 64, 32));
  assert_true(pays(SDPA_F32, REDUCED, 64, 64, 32));
  assert_false(pays(SDPA_F32, REDUCED, 64, 64, 16));
  assert_true(pays(SDPA_BF16, FULL, 64, 64, 16));
  assert_true(pays(SDPA_F16, FULL, 64, 64, 32));
  assert_true(pays(SDPA_F32, FULL, 64, 64, INT64_MAX));
}

/* A tile is 32 deep whatever is in it. */
static void test_dimensions(void **state) {
  (void)state;
  enum { FULL = SDPA_PRECISION_FULL };
  assert_false(pays(SDPA_F32, FULL, 8, 8, 4096));
  assert_false(pays(SDPA_F32, FULL, 16, 16, 4096));
  assert_true(pays(SDPA_F32, FULL, 32, 32, 4096));
  assert_false(pays(SDPA_F32, FULL, 33, 1, 4096));
  assert_false(pays(SDPA_BF16, FULL, 1, 1, 4096));
  assert_true(pays(SDPA_BF16, FULL, 16, 16, 4096));
  assert_true(pays(SDPA_F32, FULL, 256, 0, 4096));
  assert_true(pays(SDPA_F32, FULL, INT64_MAX, INT64_MAX, 4096)); /* no overflow */
}

static void assert_parts(const struct sdpai_parts *parts, int left, int right, int order,
                         int products) {
  assert_int_equal(parts->left, left);
  assert_int_equal(parts->right, right);
  assert_int_equal(parts->order, order);
  assert_int_equal(sdpai_matrix_products(*parts), products);
}

static void test_parts(void **state) {
  (void)state;
  static const struct {
    uint32_t query, key, value, output, precision;
    int scores[4], values[4]; /* left, right, order, products */
  } cases[] = {
      {SDPA_F32, SDPA_F32, SDPA_F32, SDPA_F32, SDPA_PRECISION_FULL, {3, 3, 2, 6}, {3, 3, 2, 6}},
      {SDPA_F32, SDPA_F32, SDPA_F32, SDPA_F32, SDPA_PRECISION_REDUCED, {2, 2, 1, 3}, {2, 2, 1, 3}},
      {SDPA_F32, SDPA_F32, SDPA_F32, SDPA_F32, SDPA_PRECISION_FMA, {0, 0, 0, 0}, {0, 0, 0, 0}},
      {SDPA_BF16, SDPA_BF16, SDPA_BF16, SDPA_BF16, SDPA_PRECISION_FULL, {1, 1, 0, 1}, {1, 1, 0, 1}},
      {SDPA_F16, SDPA_F16, SDPA_F16, SDPA_F16, SDPA_PRECISION_FULL, {2, 2, 2, 4}, {2, 2, 1, 3}},
      {SDPA_F16, SDPA_F16, SDPA_F16, SDPA_F16, SDPA_PRECISION_REDUCED, {2, 2, 2, 4}, {2, 2, 1, 3}},
      {SDPA_F32, SDPA_BF16, SDPA_BF16, SDPA_F32, SDPA_PRECISION_FULL, {1, 3, 2, 3}, {1, 3, 2, 3}},
      {SDPA_F32, SDPA_F16, SDPA_F16, SDPA_F32, SDPA_PRECISION_FULL, {2, 3, 2, 5}, {2, 3, 2, 5}},
      {SDPA_F16, SDPA_F32, SDPA_F32, SDPA_F16, SDPA_PRECISION_REDUCED, {2, 2, 1, 3}, {2, 2, 1, 3}},
      {SDPA_BF16, SDPA_BF16, SDPA_BF16, SDPA_F16, SDPA_PRECISION_FULL, {1, 1, 0, 1}, {1, 2, 1, 2}},
      {SDPA_BF16, SDPA_BF16, SDPA_F32, SDPA_BF16, SDPA_PRECISION_FULL, {1, 1, 0, 1}, {3, 3, 2, 6}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct sdpai_options options = {.precision = cases[i].precision};
    const struct sdpai_problem problem = {.types = {.query = cases[i].query,
                                                    .key = cases[i].key,
                                                    .value = cases[i].value,
                                                    .output = cases[i].output,
                                                    .compute = SDPA_F32},
                                          .key_dim = 64};
    const struct sdpai_matrix_parts parts = sdpai_matrix_parts(&problem, &options);
    const int *s = cases[i].scores, *v = cases[i].values;
    assert_parts(&parts.scores, s[0], s[1], s[2], s[3]);
    assert_parts(&parts.output, v[0], v[1], v[2], v[3]);
  }
}

/* No unit for f64, nor for scores of no dimensions. */
static void test_none(void **state) {
  (void)state;
  const struct sdpai_options options = {.precision = SDPA_PRECISION_REDUCED};
  struct sdpai_problem problem = {
      .types = {SDPA_F64, SDPA_F64, SDPA_F64, SDPA_F64, SDPA_F64, SDPA_F64}, .key_dim = 64};
  assert_int_equal(sdpai_matrix_parts(&problem, &options).scores.left, 0);
  problem.types = (struct sdpai_types){SDPA_F32, SDPA_F32, SDPA_F32, SDPA_F32, SDPA_F32, SDPA_F32};
  assert_int_equal(sdpai_matrix_parts(&problem, &options).scores.left, 2);
  problem.key_dim = 0;
  assert_int_equal(sdpai_matrix_parts(&problem, &options).scores.left, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_dimensions),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
