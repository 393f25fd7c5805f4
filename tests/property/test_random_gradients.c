/* test_random_gradients.c - the gradients of random problems over the whole option space
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As test_random_problems.c, for sdpa_backward(): every engine and ISA against the reference, each
 * element with its bound, each gradient with twice the error of the plain implementation, and no
 * byte changed but those of the gradients that were asked for. What the call writes to holds NaN, or
 * for half of the problems some number, before.
 */
#include "gradient_support.h"

#include <stdio.h>
#include <string.h>

enum { PROBLEMS = 6000, LEAST_OF_EACH = 500 };

/* Over all problems: the worst that was seen, relative to what is allowed. */
struct worst {
  long double bound[GRADIENT_KINDS], plain[GRADIENT_KINDS];
};

/* Elements that were compared, by gradient: exact zeros, and others. */
struct tally {
  int64_t zeros[GRADIENT_KINDS], others[GRADIENT_KINDS], dropouts;
};

static void raise_to(long double *worst, const long double *seen) {
  for (int kind = 0; kind < GRADIENT_KINDS; kind++)
    if (seen[kind] > worst[kind]) worst[kind] = seen[kind];
}

static void count(const struct gradient_reference *reference, const struct problem_data *data,
                  struct tally *tally) {
  const sdpa_grads *g = &data->grads;
  const void *const wanted[GRADIENT_KINDS] = {g->grad_query, g->grad_key,   g->grad_value,
                                              g->grad_bias,  g->grad_sinks, g->grad_alibi_slopes};
  tally->dropouts += data->problem.dropout > 0.0;
  for (int kind = 0; kind < GRADIENT_KINDS; kind++) {
    const struct gradient_values *values = &reference->kind[kind];
    for (int64_t n = 0; n < gradient_count(values) && wanted[kind]; n++) {
      tally->zeros[kind] += values->value[n] == 0.0L && values->bound[n] == 0.0L;
      tally->others[kind] += values->bound[n] > 0.0L;
    }
  }
}

static void check_problem(const struct problem_spec *spec, const struct property_way *ways,
                          int n_ways, struct worst *worst, struct tally *tally) {
  struct problem_data data;
  struct gradient_reference reference;
  struct gradient_result result;
  const struct gradient_request request = {0, 1};
  char message[PROBLEM_MESSAGE_MAX];
  gradient_make(&data, spec);
  if (gradient_compute(&reference, &data.problem, &data.args, &data.grads, &request) != 0)
    property_fail(spec, "", "no memory for the reference");
  for (int i = 0; i < n_ways; i++) {
    problem_data_restore(&data, 1);
    gradient_run(&data, spec, ways[i]);
    gradient_compare(&reference, &data.problem, &data.grads, 1, &result);
    if (result.failed) property_fail(spec, ways[i].name, "%s", result.text);
    if (problem_data_untouched(&data, 0, message, sizeof message) != 0)
      property_fail(spec, ways[i].name, "%s", message);
    raise_to(worst[i].bound, result.worst);
    raise_to(worst[i].plain, result.plain);
  }
  count(&reference, &data, tally);
  gradient_free(&reference);
  problem_data_free(&data);
}

static void test_random_gradients(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  struct worst worst[PROPERTY_WAYS_MAX];
  struct tally tally;
  const int n_ways = property_ways(ways);
  const int64_t problems = property_count(PROBLEMS);
  memset(worst, 0, sizeof worst);
  memset(&tally, 0, sizeof tally);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    gradient_problem(i, &spec);
    check_problem(&spec, ways, n_ways, worst, &tally);
  }
  for (int kind = 0; kind < GRADIENT_KINDS; kind++)
    printf("%s: %lld elements, %lld exact zeros\n", gradient_kind_name(kind),
           (long long)tally.others[kind], (long long)tally.zeros[kind]);
  for (int i = 0; i < n_ways; i++) {
    printf("%s: %lld problems; worst error / bound, and / (2 x the larger of plain and floor):",
           ways[i].name, (long long)problems);
    for (int kind = 0; kind < GRADIENT_KINDS; kind++)
      printf(" %s %.2Lf %.2Lf;", gradient_kind_name(kind), worst[i].bound[kind],
             worst[i].plain[kind]);
    printf("\n");
  }
  if (problems < PROBLEMS) return;
  assert_true(tally.dropouts >= LEAST_OF_EACH);
  for (int kind = 0; kind < GRADIENT_KINDS; kind++)
    assert_true(tally.zeros[kind] >= LEAST_OF_EACH && tally.others[kind] >= LEAST_OF_EACH);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_gradients)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
