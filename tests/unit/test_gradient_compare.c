/* test_gradient_compare.c - the reference of the backward pass by hand, and what it lets pass
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "gradient_fixture.h"

#include <math.h>
#include <string.h>

enum { PROBLEMS = 400 };

static void set(struct gradient_fixture *f, enum problem_tensor tensor, const double *values,
                int64_t n) {
  memcpy(f->data.block[tensor].origin, values, (size_t)n * sizeof *values);
}

/* Weights 1/4 and 3/4: ds = p (dP - 3/4 + dlse). */
static void test_by_hand(void **state) {
  (void)state;
  struct gradient_fixture f;
  const double log3 = log(3.0), values[] = {0.0, 1.0};
  gradient_parse(&f, "f64:q1:k2:d1:scale=1:bias:sink:bwd");
  set(&f, PROBLEM_QUERY, (const double[]){1.0}, 1);
  set(&f, PROBLEM_KEY, (const double[]){0.0, log3}, 2);
  set(&f, PROBLEM_VALUE, values, 2);
  set(&f, PROBLEM_BIAS, (const double[]){0.0, 0.0}, 2);
  set(&f, PROBLEM_GRAD_OUTPUT, (const double[]){1.0}, 1);
  set(&f, PROBLEM_GRAD_LSE, (const double[]){2.0}, 1);
  *(double *)(void *)f.data.block[BLOCK_SINKS].origin = -(double)INFINITY;
  gradient_again(&f, 0);
  const double expected[GRADIENT_KINDS][2] = {
      {1.6875 * log3, 0.0}, {0.3125, 1.6875}, {0.25, 0.75}, {0.3125, 1.6875}, {0.0, 0.0}};
  for (int kind = 0; kind < GRADIENT_SLOPES; kind++)
    for (int64_t n = 0; n < gradient_count(&f.gradient.kind[kind]); n++)
      gradient_assert_near(&f, kind, f.gradient.kind[kind].value[n], (long double)expected[kind][n],
                           1e-15L);
  /* A sink of log 4 takes half: weights 1/8 and 3/8, D = 3/8. */
  *(double *)(void *)f.data.block[BLOCK_SINKS].origin = log(4.0);
  gradient_again(&f, 0);
  gradient_assert_near(&f, GRADIENT_SINKS, f.gradient.kind[GRADIENT_SINKS].value[0],
                       0.5L * (2.0L - 0.375L), 1e-15L);
  gradient_assert_near(&f, GRADIENT_KEY, f.gradient.kind[GRADIENT_KEY].value[1],
                       0.375L * (1.0L - 0.375L + 2.0L), 1e-15L);
  f.data.grads.grad_lse = NULL;
  gradient_again(&f, 0);
  gradient_assert_near(&f, GRADIENT_SINKS, f.gradient.kind[GRADIENT_SINKS].value[0], -0.1875L,
                       1e-15L);
  gradient_end(&f);
}

/* Rule 26: row 1 is NaN, key 2 is not among its keys; and rule 24 for a row without keys. */
static void test_nan_and_zero(void **state) {
  (void)state;
  struct gradient_fixture f;
  const double nan_value = NAN;
  gradient_parse(&f, "f64:q3:k4:d2:causal-at=0:qlens=[2]:bwd:seed=3");
  set(&f, PROBLEM_QUERY, (const double[]){1.0, 1.0, nan_value, 1.0}, 4);
  gradient_again(&f, 0);
  const struct gradient_values *kind = f.gradient.kind;
  for (int64_t n = 0; n < 6; n++) {
    const long double value = kind[GRADIENT_QUERY].value[n], bound = kind[GRADIENT_QUERY].bound[n];
    if (n / 2 == 0) assert_true(isfinite(value) && isfinite(bound) && bound > 0.0L);
    if (n / 2 == 1) assert_true(isnan(value) && bound == 0.0L);
    if (n / 2 == 2) assert_true(value == 0.0L && bound == 0.0L);
  }
  for (int64_t n = 0; n < 8; n++) {
    for (int k = GRADIENT_KEY; k <= GRADIENT_VALUE; k++) {
      if (n / 2 < 2) assert_true(isnan(kind[k].value[n]) && kind[k].bound[n] == 0.0L);
      if (n / 2 >= 2) assert_true(kind[k].value[n] == 0.0L && kind[k].bound[n] == 0.0L);
    }
  }
  gradient_end(&f);
}

/* A sample holds the numbers of the whole, within what lse and output are rounded. */
static void test_sample(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    struct gradient_fixture f;
    struct gradient_reference whole;
    gradient_begin(&f, seed);
    whole = f.gradient;
    memset(&f.gradient, 0, sizeof f.gradient);
    gradient_again(&f, 2);
    for (int kind = 0; kind < GRADIENT_KINDS; kind++) {
      const struct gradient_values *some = &f.gradient.kind[kind], *all = &whole.kind[kind];
      for (int64_t n = 0; n < gradient_count(some); n++) {
        const int64_t d = n % some->shape[3], r = n / some->shape[3] % some->shape[2];
        const int64_t outer = n / some->shape[3] / some->shape[2];
        const int64_t i = gradient_row_number(some, r);
        const int64_t at = (outer * all->shape[2] + i) * all->shape[3] + d;
        if (some->bound[n] < 0.0L) continue;
        gradient_assert_near(&f, kind, some->value[n], all->value[at], some->bound[n]);
      }
    }
    gradient_free(&whole);
    gradient_end(&f);
  }
}

/* What lies in the tensors passes where it is the reference's, rounded, and fails where it is not. */
static void test_compare(void **state) {
  (void)state;
  struct gradient_fixture f;
  struct gradient_result result;
  gradient_parse(&f, "q=f32,kv=bf16,o=f32:b2:h4/2:q5:k7:d3/2:bias:bias@hsd:alibi:align-tl:sink:bwd:"
                     "grad_key@sbhd:grad_query@120,-30,6,2:seed=5");
  gradient_again(&f, 0);
  gradient_compare(&f.gradient, &f.data.problem, &f.data.grads, 1, &result);
  assert_true(result.failed); /* nothing has been written */
  for (int kind = 0; kind < GRADIENT_KINDS; kind++) {
    static const int block[GRADIENT_KINDS] = {PROBLEM_GRAD_QUERY, PROBLEM_GRAD_KEY,
                                              PROBLEM_GRAD_VALUE, PROBLEM_GRAD_BIAS,
                                              BLOCK_GRAD_SINKS,   BLOCK_GRAD_SLOPES};
    const struct gradient_values *v = &f.gradient.kind[kind];
    const int is_array = kind > GRADIENT_BIAS;
    const uint32_t type =
        is_array ? SDPA_F32 : problem_type(&f.data.problem, (enum problem_tensor)block[kind]);
    for (int64_t n = 0; n < gradient_count(v); n++) {
      const int64_t d = n % v->shape[3], i = n / v->shape[3] % v->shape[2],
                    h = n / v->shape[3] / v->shape[2] % v->shape[1],
                    b = n / v->shape[3] / v->shape[2] / v->shape[1];
      void *element = is_array
                          ? (void *)(f.data.block[block[kind]].origin + 4 * h)
                          : problem_data_at(&f.data, (enum problem_tensor)block[kind], b, h, i, d);
      problem_store(type, element, (double)v->value[n]);
    }
    assert_true(gradient_count(v) > 0);
  }
  gradient_compare(&f.gradient, &f.data.problem, &f.data.grads, 1, &result);
  if (result.failed) fail_msg("%s", result.text);
  for (int64_t h = 0; h < 4; h++) {
    float *element = problem_data_at(&f.data, PROBLEM_GRAD_QUERY, 1, h, h, 1);
    const float kept = *element;
    *element += 1e-3f;
    gradient_compare(&f.gradient, &f.data.problem, &f.data.grads, 0, &result);
    assert_true(result.failed && strstr(result.text, "grad_query[batch 1"));
    *element = kept;
  }
  gradient_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand),
                                     cmocka_unit_test(test_nan_and_zero),
                                     cmocka_unit_test(test_sample), cmocka_unit_test(test_compare)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
