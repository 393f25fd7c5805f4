/* gradient_fixture.c - a small problem in f64 with the reference of its gradients
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "gradient_fixture.h"

#include <math.h>
#include <string.h>

#include "random_problem.h"

static void compute(struct gradient_fixture *f) {
  const struct reference_request forward = {0, 0, SDPA_PRECISION_FMA};
  const struct gradient_request request = {0, 0};
  struct reference reference;
  char message[PROBLEM_MESSAGE_MAX];
  if (problem_data_make(&f->data, &f->spec, NULL, message, sizeof message) != 0)
    fail_msg("%s", message);
  assert_int_equal(reference_compute(&reference, &f->data.problem, &f->data.args, &forward), 0);
  gradient_write_inputs(&reference, &f->data);
  reference_free(&reference);
  assert_int_equal(
      gradient_compute(&f->gradient, &f->data.problem, &f->data.args, &f->data.grads, &request), 0);
}

void gradient_begin(struct gradient_fixture *f, uint64_t seed) {
  static const int64_t edges[] = {2, 3, 5};
  static const struct random_problem_options small = {edges, 3, 60, 0};
  memset(f, 0, sizeof *f);
  random_problem_backward(seed, &small, &f->spec);
  sdpa_problem *p = &f->spec.problem;
  p->query_type = SDPA_F64;
  p->key_type = p->value_type = p->output_type = p->bias_type = 0;
  compute(f);
}

void gradient_end(struct gradient_fixture *f) {
  gradient_free(&f->gradient);
  problem_data_free(&f->data);
}

void gradient_assert_near(const struct gradient_fixture *f, int kind, long double actual,
                          long double expected, long double tolerance) {
  static char text[PROBLEM_STRING_MAX];
  if (fabsl(actual - expected) <= tolerance) return;
  problem_print(&f->spec, text, sizeof text);
  fail_msg("%s: %s is %.15Lg, expected %.15Lg", text, gradient_kind_name(kind), actual, expected);
}

void gradient_parse(struct gradient_fixture *f, const char *text) {
  char message[PROBLEM_MESSAGE_MAX];
  memset(f, 0, sizeof *f);
  if (problem_parse(text, &f->spec, message, sizeof message) != 0) fail_msg("%s", message);
  compute(f);
}

void gradient_again(struct gradient_fixture *f, int64_t rows_per_head) {
  const struct gradient_request request = {rows_per_head, 1};
  const struct reference_request forward = {0, 0, SDPA_PRECISION_FMA};
  struct reference reference;
  gradient_free(&f->gradient);
  assert_int_equal(reference_compute(&reference, &f->data.problem, &f->data.args, &forward), 0);
  gradient_write_inputs(&reference, &f->data);
  reference_free(&reference);
  assert_int_equal(
      gradient_compute(&f->gradient, &f->data.problem, &f->data.args, &f->data.grads, &request), 0);
}
