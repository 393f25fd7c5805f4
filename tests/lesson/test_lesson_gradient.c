/* test_lesson_gradient.c - what reaches the query, against the formula and against differences
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "lesson_gradient.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

/* The first weight of a case whose query is q. */
static long double first_weight(const struct lesson_case *c, const long double q[lesson_dims]) {
  long double score[lesson_keys] = {0, 0};
  for (int k = 0; k < lesson_keys; k++)
    for (int d = 0; d < lesson_dims; d++) score[k] += q[d] * (long double)lesson_example_keys[k][d];
  return 1 / (1 + expl((score[1] - score[0]) / (c->scaled ? 2 : 1)));
}

/* The second weight's derivatives are those of the first with the other sign. */
static long double largest_by_differences(const struct lesson_case *c) {
  const long double step = 1e-6L;
  long double largest = 0;
  for (int d = 0; d < lesson_dims; d++) {
    long double q[lesson_dims];
    for (int i = 0; i < lesson_dims; i++) q[i] = (long double)c->query[i];
    q[d] += step;
    const long double above = first_weight(c, q);
    q[d] -= 2 * step;
    largest = fmaxl(largest, fabsl(above - first_weight(c, q)) / (2 * step));
  }
  return largest;
}

static void check(const struct lesson_case *c, double expected) {
  double largest = -1;
  assert_int_equal(lesson_query_gradient(c, &largest), SDPA_OK);
  /* scale * p_0 p_1 * (k_0 - k_1), whose components are 1 or -1 */
  const double formula = (c->scaled ? 0.5 : 1) * c->weights[0] * c->weights[1];
  if (!(fabs(largest - formula) <= 4e-16 * (1 + fabs(formula))))
    fail_msg("%s: %.17g, the formula says %.17g", c->name, largest, formula);
  if (!(fabsl((long double)largest - largest_by_differences(c)) <= 1e-10L))
    fail_msg("%s: %.17g, differences say %.17Lg", c->name, largest, largest_by_differences(c));
  assert_true(fabs(largest - expected) <= 5e-7);
}

static void of_the_three_cases(void **state) {
  static const double expected[lesson_cases] = {0.104994, 0.098306, 0.000123};
  struct lesson_case cases[lesson_cases];
  (void)state;
  assert_int_equal(lesson_compute_cases(cases), 0);
  for (int i = 0; i < lesson_cases; i++) check(&cases[i], expected[i]);
}

/* Not every fault would show in keys of zeros and ones that the lesson's queries meet. */
static void of_another_query(void **state) {
  struct lesson_case c = {.name = "another", .query = {0.25, -1, 0.5, 2}};
  (void)state;
  for (c.scaled = 0; c.scaled < 2; c.scaled++) {
    /* scores 0.75 and 1, or half of them */
    c.weights[0] = 1 / (1 + exp(c.scaled ? 0.125 : 0.25));
    c.weights[1] = 1 - c.weights[0];
    check(&c, c.scaled ? 0.124513 : 0.246134);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_the_three_cases),
      cmocka_unit_test(of_another_query),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
