/* test_reference.c - the reference itself, on cases small enough for mental arithmetic
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Scores are made logarithms of small whole numbers, or all alike, so that weights are fractions.
 */
#include "reference_fixture.h"

#include <math.h>
#include <string.h>

#include "compare.h"

static void assert_values(const struct reference_fixture *f, int64_t row, int kind,
                          const double *values, int64_t n) {
  const struct reference_values *got = &f->reference.row[row].kind[kind];
  assert_int_equal(got->count, n);
  for (int64_t i = 0; i < n; i++) {
    long double value = got->value[i];
    if (isnan(values[i])
            ? isnan(value)
            : value == (long double)values[i] || fabsl(value - (long double)values[i]) < 1e-15L)
      continue;
    fail_msg("row %d, %s[%d] is %.17Lg, not %.17g", (int)row, compare_kind_name(kind), (int)i,
             value, values[i]);
  }
}

#define VALUES(f, row, kind, ...)                                                                  \
  assert_values(f, row, kind, (const double[]){__VA_ARGS__},                                       \
                (int64_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static void test_softmax(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f64:q1:k2:d1/2:scale=1:weights:lse:scores=1");
  SET(&f, PROBLEM_QUERY, 2.0);
  SET(&f, PROBLEM_KEY, 0.0, log(3.0) / 2.0);
  SET(&f, PROBLEM_VALUE, 4.0, -4.0, 8.0, 0.0);
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_SCORES, 0.0, log(3.0));
  VALUES(&f, 0, REFERENCE_WEIGHTS, 0.25, 0.75);
  VALUES(&f, 0, REFERENCE_OUTPUT, 7.0, -1.0);
  VALUES(&f, 0, REFERENCE_LSE, log(4.0));
  fixture_end(&f);
}

static void test_default_scale(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f64:q1:k1:d4/1:scores=1");
  SET(&f, PROBLEM_QUERY, 1.0, 2.0, 3.0, 4.0);
  SET(&f, PROBLEM_KEY, 1.0, 1.0, -1.0, 2.0);
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_SCORES, 4.0);
  fixture_end(&f);
  fixture_begin(&f, "f64:q1:k3:d0/1:scores=4:lse");
  SET(&f, PROBLEM_VALUE, 1.0, 2.0, 6.0);
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_SCORES, 0.0, 0.0, 0.0);
  VALUES(&f, 0, REFERENCE_OUTPUT, 3.0);
  VALUES(&f, 0, REFERENCE_LSE, log(3.0));
  fixture_end(&f);
}

static void test_softcap_and_stages(void **state) {
  (void)state;
  static const char *const texts[] = {"f64:q1:k2:d1:scale=1:softcap=2:bias:scores=1",
                                      "f64:q1:k2:d1:scale=1:softcap=2:bias:scores=2",
                                      "f64:q1:k2:d1:scale=1:softcap=2:bias:scores=4"};
  /* tanh(log(3)) = (9 - 1) / (9 + 1) = 0.8 */
  const double expected[3][2] = {{2.0 * log(3.0), 0.0}, {1.6, 0.0}, {-(double)INFINITY, 0.5}};
  for (int stage = 0; stage < 3; stage++) {
    struct reference_fixture f;
    fixture_begin(&f, texts[stage]);
    SET(&f, PROBLEM_QUERY, 1.0);
    SET(&f, PROBLEM_KEY, 2.0 * log(3.0), 0.0);
    SET(&f, PROBLEM_BIAS, -(double)INFINITY, 0.5);
    fixture_run(&f);
    assert_values(&f, 0, REFERENCE_SCORES, expected[stage], 2);
    fixture_end(&f);
  }
}

static void test_alibi(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f64:q1:k3:d1:scale=0:alibi:align-at=1:weights");
  fixture_set_scalar(&f, BLOCK_SLOPES, log(2.0));
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_WEIGHTS, 0.25, 0.5, 0.25);
  fixture_end(&f);
}

static void test_bias_and_sink(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f64:q1:k3:d1:scale=0:bias:sink:weights:lse");
  SET(&f, PROBLEM_BIAS, log(5.0), -(double)INFINITY, 0.0);
  SET(&f, PROBLEM_VALUE, 1.0, NAN, 2.0);
  fixture_set_scalar(&f, BLOCK_SINKS, log(2.0));
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_WEIGHTS, 0.625, 0.0, 0.125);
  VALUES(&f, 0, REFERENCE_OUTPUT, 0.875);
  VALUES(&f, 0, REFERENCE_LSE, log(8.0));
  SET(&f, PROBLEM_BIAS, -1.7976931348623157e308, -1.7976931348623157e308, 0.0);
  SET(&f, PROBLEM_VALUE, 1.0, 1.0, 2.0);
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_WEIGHTS, 0.0, 0.0, 1.0 / 3.0);
  fixture_end(&f);
}

/* All scores alike: the weights tell which keys are allowed. */
static void assert_allowed(const char *text, int64_t rows, int64_t keys,
                           const char *const *expected) {
  struct reference_fixture f;
  fixture_begin(&f, text);
  fixture_run(&f);
  for (int64_t i = 0; i < rows; i++) {
    int allowed = 0;
    for (int64_t j = 0; j < keys; j++) allowed += expected[i][j] == 'x';
    for (int64_t j = 0; j < keys; j++) {
      long double weight = f.reference.row[i].kind[REFERENCE_WEIGHTS].value[j];
      long double right = expected[i][j] == 'x' ? 1.0L / allowed : 0.0L;
      if (fabsl(weight - right) > 1e-15L) fail_msg("%s: row %d, key %d", text, (int)i, (int)j);
    }
  }
  fixture_end(&f);
}

static void test_allowed(void **state) {
  (void)state;
  assert_allowed("f64:q2:k4:d1:scale=0:weights:causal-tl", 2, 4, (const char *[]){"x...", "xx.."});
  assert_allowed("f64:q2:k4:d1:scale=0:weights:causal-br", 2, 4, (const char *[]){"xxx.", "xxxx"});
  assert_allowed("f64:q4:k2:d1:scale=0:weights:causal-br", 4, 2,
                 (const char *[]){"..", "..", "x.", "xx"});
  assert_allowed("f64:q2:k4:d1:scale=0:weights:causal-at=1", 2, 4,
                 (const char *[]){"xx..", "xxx."});
  assert_allowed("f64:q2:k4:d1:scale=0:weights:causal-at=-1", 2, 4,
                 (const char *[]){"....", "x..."});
  assert_allowed("f64:q3:k4:d1:scale=0:weights:win=1,0:align-tl", 3, 4,
                 (const char *[]){"x...", "xx..", ".xx."});
  assert_allowed("f64:q3:k4:d1:scale=0:weights:win=0,-1:align-at=1", 3, 4,
                 (const char *[]){".xxx", "..xx", "...x"});
  assert_allowed("f64:q2:k4:d1:scale=0:weights:win=-1,1:align-tl", 2, 4,
                 (const char *[]){"xx..", "xxx."});
  assert_allowed("f64:q1:k3:d1:scale=0:weights:win=9223372036854775807,9223372036854775807:"
                 "align-at=-9223372036854775808",
                 1, 3, (const char *[]){"..."});
  assert_allowed("f64:q1:k3:d1:scale=0:weights:win=9223372036854775807,9223372036854775807:"
                 "align-at=9223372036854775807",
                 1, 3, (const char *[]){"xxx"});
  assert_allowed("f64:q2:k3:d1:scale=0:weights:win=9223372036854775806,-1:"
                 "align-at=9223372036854775807",
                 2, 3, (const char *[]){".xx", "..x"});
  assert_allowed("f64:b2:q3:k4:d1:scale=0:weights:causal-br:lens=[3,1]:qlens=[2,3]", 6, 4,
                 (const char *[]){"xx..", "xxx.", "....", "....", "....", "x..."});
  assert_allowed("f64:b2:q2:k3:d1:scale=0:weights:causal-at=[1,0]", 4, 3,
                 (const char *[]){"xx.", "xxx", "x..", "xx."});
}

static void test_mask_and_heads(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f32:h4/2:q1:k2:d1:scale=0:mask:weights:mask@hd");
  SET(&f, PROBLEM_MASK, 1.0, 255.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0);
  SET(&f, PROBLEM_VALUE, 1.0, 2.0, 10.0, 20.0);
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_OUTPUT, 1.5);
  VALUES(&f, 1, REFERENCE_OUTPUT, 2.0);
  VALUES(&f, 2, REFERENCE_OUTPUT, 10.0);
  VALUES(&f, 3, REFERENCE_OUTPUT, 0.0);
  fixture_end(&f);
}

static void test_empty_rows(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f64:q1:k2:d1:sink:weights:lse:scores=4:lens=[0]");
  fixture_set_scalar(&f, BLOCK_SINKS, 0.75);
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_OUTPUT, 0.0);
  VALUES(&f, 0, REFERENCE_WEIGHTS, 0.0, 0.0);
  VALUES(&f, 0, REFERENCE_LSE, 0.75);
  VALUES(&f, 0, REFERENCE_SCORES, -(double)INFINITY, -(double)INFINITY);
  for (int kind = 0; kind < REFERENCE_KINDS; kind++)
    assert_true(f.reference.row[0].kind[kind].bound[0] == 0.0L);
  fixture_end(&f);
  fixture_begin(&f, "f64:q1:k2:d1:lse"); /* both scores -inf by the data */
  SET(&f, PROBLEM_QUERY, 1.0);
  SET(&f, PROBLEM_KEY, -(double)INFINITY, -(double)INFINITY);
  SET(&f, PROBLEM_VALUE, NAN, INFINITY);
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_OUTPUT, 0.0);
  VALUES(&f, 0, REFERENCE_LSE, -(double)INFINITY);
  fixture_end(&f);
}

static void test_nan_and_infinity(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f64:q2:k2:d1/2:scale=1:causal:weights:lse:scores=2:softcap=3");
  SET(&f, PROBLEM_QUERY, 1.0, 0.0);
  SET(&f, PROBLEM_KEY, 0.0, INFINITY); /* the second row's product 0 * inf is NaN */
  SET(&f, PROBLEM_VALUE, 1.0, 2.0, 3.0, 4.0);
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_SCORES, 0.0, 3.0);
  VALUES(&f, 0, REFERENCE_OUTPUT, 1.0, 2.0);
  VALUES(&f, 1, REFERENCE_SCORES, 0.0, NAN);
  VALUES(&f, 1, REFERENCE_OUTPUT, NAN, NAN);
  VALUES(&f, 1, REFERENCE_WEIGHTS, NAN, NAN);
  VALUES(&f, 1, REFERENCE_LSE, NAN);
  SET(&f, PROBLEM_KEY, 0.0, 0.0);
  SET(&f, PROBLEM_VALUE, 1.0, INFINITY, NAN, 4.0);
  fixture_run(&f);
  VALUES(&f, 0, REFERENCE_OUTPUT, 1.0, INFINITY);
  VALUES(&f, 1, REFERENCE_OUTPUT, NAN, INFINITY);
  VALUES(&f, 1, REFERENCE_WEIGHTS, 0.5, 0.5);
  assert_true(isinf(f.reference.row[1].kind[REFERENCE_OUTPUT].bound[1]));
  assert_true(f.reference.row[1].kind[REFERENCE_OUTPUT].bound[0] == 0.0L);
  fixture_end(&f);
}

static void test_bounds(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f32:q1:k2:d1:scale=1:bias:weights:lse:scores=4");
  SET(&f, PROBLEM_QUERY, -2.0);
  SET(&f, PROBLEM_KEY, 1.0, 2.0); /* scores -2 + 2 and -4 + 4: terms 4 and 8, weights 1/2 each */
  SET(&f, PROBLEM_BIAS, 2.0, 4.0);
  SET(&f, PROBLEM_VALUE, -1.0, 3.0);
  fixture_run(&f);
  const struct reference_row *row = &f.reference.row[0];
  const long double eps = 0x1p-24L, small = 1e-22L;
  assert_true(fabsl(row->kind[REFERENCE_OUTPUT].bound[0] - eps * (4 * (2 + 8) * 2)) < small);
  assert_true(fabsl(row->kind[REFERENCE_WEIGHTS].bound[0] - eps * 4 * (2 + 8) / 2) < small);
  assert_true(fabsl(row->kind[REFERENCE_SCORES].bound[0] - eps * (4 * 4 + 2)) < small);
  assert_true(fabsl(row->kind[REFERENCE_SCORES].bound[1] - eps * (4 * 8 + 4)) < small);
  assert_true(fabsl(row->kind[REFERENCE_LSE].bound[0] - eps * 4 * (2 + 8 + logl(2.0L))) < small);
  /* roundings of the scores: 2 + 4 and 4 + 8; of the differences from the maximum: log 2 each */
  const long double half = logl(2.0L), *floor = f.reference.plain_floor;
  assert_true(fabsl(floor[REFERENCE_OUTPUT] - eps * (4 * 2 + (6 + 3 * 12 + 4 * half) / 2)) < small);
  assert_true(fabsl(floor[REFERENCE_WEIGHTS] - eps * (3 + 12 + half) / 2) < small);
  assert_true(fabsl(floor[REFERENCE_SCORES] - eps * 12) < small);
  assert_true(fabsl(floor[REFERENCE_LSE] - eps * (2 + 9 + half + half)) < small);
  fixture_end(&f);

  /* A sink is one more term of the sum, and its size one of a score. */
  fixture_begin(&f, "f32:q1:k1:d1:scale=0:sink:weights");
  SET(&f, PROBLEM_VALUE, 3.0);
  fixture_set_scalar(&f, BLOCK_SINKS, 50.0);
  fixture_run(&f);
  const long double weight = f.reference.row[0].kind[REFERENCE_WEIGHTS].value[0];
  assert_true(fabsl(f.reference.row[0].kind[REFERENCE_OUTPUT].bound[0] -
                    eps * 4 * (2 + 50) * 3 * weight) < small);
  fixture_end(&f);
}

static void test_differs(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f64:q2:k2:d1:causal:seed=3");
  fixture_run(&f);
  sdpa_problem other = f.data.problem;
  assert_false(reference_differs(&f.reference, &other, &f.data.args));
  other.features = 0;
  assert_true(reference_differs(&f.reference, &other, &f.data.args));
  other = f.data.problem;
  other.alignment = SDPA_ALIGN_OFFSET;
  other.offset = 1;
  assert_true(reference_differs(&f.reference, &other, &f.data.args));
  fixture_end(&f);
}

static void test_subset(void **state) {
  (void)state;
  struct reference_fixture f;
  struct reference_request request = {3, 0, SDPA_PRECISION_FMA};
  fixture_begin(&f, "f64:h2:q10:k2:d1");
  assert_int_equal(reference_compute(&f.reference, &f.data.problem, &f.data.args, &request), 0);
  assert_int_equal(f.reference.rows, 6);
  assert_int_equal(f.reference.row[0].row, 0);
  assert_int_equal(f.reference.row[1].row, 4);
  assert_int_equal(f.reference.row[2].row, 9);
  assert_int_equal(f.reference.row[3].head, 1);
  fixture_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_default_scale),
      cmocka_unit_test(test_softcap_and_stages),
      cmocka_unit_test(test_alibi),
      cmocka_unit_test(test_bias_and_sink),
      cmocka_unit_test(test_allowed),
      cmocka_unit_test(test_mask_and_heads),
      cmocka_unit_test(test_empty_rows),
      cmocka_unit_test(test_nan_and_infinity),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_differs),
      cmocka_unit_test(test_subset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
