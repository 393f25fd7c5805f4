/* test_accuracy_judge.c - errors of outputs that are known, and the set of problems
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "accuracy_judge.h"
#include "accuracy_set.h"

enum { CHAIN = 16 };

struct fixture {
  struct problem_data data;
  struct reference reference;
};

/* scale = 0: each of the two keys has the weight 1/2. The values are 3 and -1, so the output is 1,
 * its S 2, and the log-sum-exp log 2. */
static void fixture_begin(struct fixture *f, const char *text) {
  struct problem_spec spec;
  char message[PROBLEM_MESSAGE_MAX];
  assert_int_equal(problem_parse(text, &spec, message, sizeof message), 0);
  assert_int_equal(problem_data_make(&f->data, &spec, NULL, message, sizeof message), 0);
  const uint32_t type = problem_type(&f->data.problem, PROBLEM_VALUE);
  problem_store(type, problem_data_at(&f->data, PROBLEM_VALUE, 0, 0, 0, 0), 3.0);
  problem_store(type, problem_data_at(&f->data, PROBLEM_VALUE, 0, 0, 1, 0), -1.0);
  sdpa_problem with_scores = f->data.problem;
  with_scores.features |= SDPA_SCORES;
  with_scores.score_stage = SDPA_STAGE_SCALED;
  const struct reference_request request = {0};
  assert_int_equal(reference_compute(&f->reference, &with_scores, &f->data.args, &request), 0);
}

static void fixture_end(struct fixture *f) {
  reference_free(&f->reference);
  problem_data_free(&f->data);
}

static void put(const struct fixture *f, enum problem_tensor tensor, double value) {
  problem_store(problem_type(&f->data.problem, tensor),
                problem_data_at(&f->data, tensor, 0, 0, 0, 0), value);
}

static struct accuracy_figures judge_with(const struct fixture *f,
                                          struct reference_allowance allowance) {
  const struct accuracy_terms terms = {
      .roundoff = 0x1p-24L, .chain = CHAIN, .allowance = allowance};
  struct accuracy_figures figures;
  accuracy_judge(&f->reference, &f->data, &terms, &figures);
  return figures;
}

static struct accuracy_figures judge(const struct fixture *f) {
  return judge_with(f, (struct reference_allowance){0});
}

static void is_near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
    fail_msg("%.9g, expected %.9g", value, expected);
}

static void an_exact_output_has_no_error(void **state) {
  struct fixture f;
  (void)state;
  fixture_begin(&f, "f32:q1:k2:d1:scale=0");
  put(&f, PROBLEM_OUTPUT, 1.0);
  const struct accuracy_figures figures = judge(&f);
  assert_int_equal(figures.rows, 1);
  assert_true(figures.largest == 0.0 && figures.mean == 0.0 && figures.bound_c == 0.0);
  assert_true(isnan(figures.lse_largest) && isnan(figures.lse_c));
  assert_true(figures.score_size == 0.0);
  assert_true(accuracy_within_bound(&figures));
  fixture_end(&f);
}

/* 2^-20 off: 2^-21 of S; and 8 of c's units eps L S = 2^-24 16 2, an eighth of an error a unit. */
static void errors_are_in_the_units_of_the_bound(void **state) {
  struct fixture f;
  (void)state;
  fixture_begin(&f, "f32:q1:k2:d1:scale=0:lse");
  put(&f, PROBLEM_OUTPUT, 1.0 - 0x1p-20);
  put(&f, PROBLEM_LSE, (double)(float)(log(2.0) + 0x1p-18));
  struct accuracy_figures figures = judge(&f);
  is_near(figures.largest, 0x1p-21);
  is_near(figures.mean, 0x1p-21);
  is_near(figures.bound_c, 0x1p-20 / (0x1p-24 * CHAIN * 2.0));
  const double lse_error = fabs((double)(float)(log(2.0) + 0x1p-18) - log(2.0));
  is_near(figures.lse_largest, lse_error);
  is_near(figures.lse_c, lse_error / (0x1p-24 * (CHAIN + log(2.0))));
  assert_true(accuracy_within_bound(&figures));
  put(&f, PROBLEM_OUTPUT, 1.0 - 0x1p-16); /* c = 8 */
  figures = judge(&f);
  is_near(figures.bound_c, 8.0);
  assert_false(accuracy_within_bound(&figures));
  put(&f, PROBLEM_OUTPUT, 1.0);
  put(&f, PROBLEM_LSE, 0.7); /* about 7e-3 off, some 7,000 units */
  figures = judge(&f);
  assert_false(accuracy_within_bound(&figures));
  fixture_end(&f);
}

static void what_is_not_a_number_is_infinitely_wrong(void **state) {
  static const double wrong[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
  struct fixture f;
  (void)state;
  fixture_begin(&f, "f32:q1:k2:d1:scale=0:lse");
  for (int i = 0; i < 3; i++) {
    put(&f, PROBLEM_OUTPUT, wrong[i]);
    put(&f, PROBLEM_LSE, (double)(float)log(2.0));
    struct accuracy_figures figures = judge(&f);
    assert_true(isinf(figures.largest) && isinf(figures.mean) && isinf(figures.bound_c));
    assert_false(accuracy_within_bound(&figures));
    put(&f, PROBLEM_OUTPUT, 1.0);
    put(&f, PROBLEM_LSE, wrong[i]);
    figures = judge(&f);
    assert_true(isinf(figures.lse_largest) && isinf(figures.lse_c));
    assert_false(accuracy_within_bound(&figures));
  }
  fixture_end(&f);
}

/* bf16 below 1 has steps of 2^-8: of an error of one step half belongs to the type. */
static void half_a_step_is_not_the_computation_s(void **state) {
  struct fixture f;
  (void)state;
  fixture_begin(&f, "bf16:q1:k2:d1:scale=0");
  put(&f, PROBLEM_OUTPUT, 1.0 - 0x1p-8);
  struct accuracy_figures figures = judge(&f);
  is_near(figures.largest, 0x1p-9);
  assert_true(figures.bound_c == 0.0); /* at the power of two the larger step counts */
  put(&f, PROBLEM_OUTPUT, 1.0 + 0x1p-7);
  figures = judge(&f);
  is_near(figures.largest, 0x1p-8);
  is_near(figures.bound_c, 0x1p-8 / (0x1p-24 * CHAIN * 2.0));
  fixture_end(&f);
}

static void what_the_precision_allows_counts(void **state) {
  const struct reference_allowance rounded = {.weights = 0x1p-8L};
  const struct reference_allowance reduced = {.products = 0x1p-16L};
  struct fixture f;
  (void)state;
  fixture_begin(&f, "f32:q1:k2:d1:scale=0");
  put(&f, PROBLEM_OUTPUT, 1.0 - 0x1p-8);
  struct accuracy_figures figures = judge_with(&f, rounded);
  is_near(figures.largest, 0x1p-9);
  assert_true(figures.bound_c == 0.0);
  put(&f, PROBLEM_OUTPUT, 1.0 - 0x1p-6);
  figures = judge_with(&f, rounded);
  is_near(figures.bound_c, (0x1p-6 - 0x1p-7) / (0x1p-24 * CHAIN * 2.0));
  figures = judge_with(&f, reduced);
  is_near(figures.bound_c, 0x1p-6 / ((0x1p-24 * CHAIN + 0x1p-16) * 2.0));
  fixture_end(&f);
}

/* A row without a key has to be 0. */
static void only_zero_will_do_for_an_empty_row(void **state) {
  struct fixture f;
  (void)state;
  fixture_begin(&f, "f32:q1:k2:d1:lens=[0]:lse");
  put(&f, PROBLEM_OUTPUT, 0.0);
  put(&f, PROBLEM_LSE, -(double)INFINITY);
  struct accuracy_figures figures = judge(&f);
  assert_true(figures.largest == 0.0 && figures.lse_largest == 0.0);
  assert_true(isnan(figures.score_size));
  assert_true(accuracy_within_bound(&figures));
  put(&f, PROBLEM_OUTPUT, 0x1p-100);
  figures = judge(&f);
  assert_true(isinf(figures.largest));
  assert_false(accuracy_within_bound(&figures));
  fixture_end(&f);
}

/* q . k = 2 and -4 with scale 1/2: scores 1 and -2 of standard deviation 3/2. */
static void the_size_of_the_scores_is_measured(void **state) {
  struct fixture f;
  struct problem_data *data = &f.data;
  (void)state;
  fixture_begin(&f, "f64:q1:k2:d1:scale=0.5");
  problem_store(SDPA_F64, problem_data_at(data, PROBLEM_QUERY, 0, 0, 0, 0), 2.0);
  problem_store(SDPA_F64, problem_data_at(data, PROBLEM_KEY, 0, 0, 0, 0), 1.0);
  problem_store(SDPA_F64, problem_data_at(data, PROBLEM_KEY, 0, 0, 1, 0), -2.0);
  reference_free(&f.reference);
  sdpa_problem with_scores = data->problem;
  with_scores.features |= SDPA_SCORES;
  with_scores.score_stage = SDPA_STAGE_SCALED;
  const struct reference_request request = {0};
  assert_int_equal(reference_compute(&f.reference, &with_scores, &data->args, &request), 0);
  is_near(judge(&f).score_size, 1.5);
  fixture_end(&f);
}

/* What docs/numerics.md says of it: every type, scores of size 1, 10 and 100, up to 16,384 keys. */
static void the_set_is_as_promised(void **state) {
  static struct problem_spec spec, before;
  int sizes[3] = {0}, types[5] = {0}, mixed = 0, few = 0;
  int64_t most = 0;
  (void)state;
  for (int i = 0; i < accuracy_set_count(); i++) {
    char text[128], message[PROBLEM_MESSAGE_MAX];
    accuracy_set_print(i, text, sizeof text);
    assert_int_equal(problem_parse(text, &spec, message, sizeof message), 0);
    assert_true(i == 0 || memcmp(&spec, &before, sizeof spec) != 0);
    before = spec;
    assert_true(spec.problem.features & SDPA_SCALE && spec.problem.features & SDPA_LSE);
    const double size = spec.problem.scale * sqrt((double)spec.problem.key_dim);
    assert_true(size == 1.0 || size == 10.0 || size == 100.0);
    sizes[size == 1.0 ? 0 : size == 10.0 ? 1 : 2]++;
    types[problem_type(&spec.problem, PROBLEM_QUERY)]++;
    mixed += problem_type(&spec.problem, PROBLEM_KEY) == SDPA_BF16 &&
             problem_type(&spec.problem, PROBLEM_QUERY) == SDPA_F32;
    few += spec.problem.query_len < 4;
    if (spec.problem.key_len > most) most = spec.problem.key_len;
  }
  assert_true(sizes[0] > 0 && sizes[0] == sizes[1] && sizes[1] == sizes[2]);
  assert_true(types[SDPA_F64] && types[SDPA_F32] && types[SDPA_BF16] && types[SDPA_F16]);
  assert_true(mixed && few);
  assert_int_equal(most, 16384);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_exact_output_has_no_error),
      cmocka_unit_test(errors_are_in_the_units_of_the_bound),
      cmocka_unit_test(what_is_not_a_number_is_infinitely_wrong),
      cmocka_unit_test(half_a_step_is_not_the_computation_s),
      cmocka_unit_test(what_the_precision_allows_counts),
      cmocka_unit_test(only_zero_will_do_for_an_empty_row),
      cmocka_unit_test(the_size_of_the_scores_is_measured),
      cmocka_unit_test(the_set_is_as_promised),
  };
  return cmocka_run_group_tests_name("accuracy_judge", tests, NULL, NULL);
}
