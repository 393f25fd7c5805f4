/* test_nonfinite_gradients.c - NaN and infinity in what the backward pass reads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Semantics rule 26 by the reference: its NaN must be NaN here, its numbers these numbers. Elements
 * that may be read get NaN or an infinity, a few, dO and dlse among them; output and log-sum-exp are
 * what the forward pass makes of that.
 */
#include "gradient_support.h"

#include <math.h>
#include <stdio.h>

#include "nonfinite_plant.h"
#include "numpy_random.h"

enum { PROBLEMS = 3000 };

/* Elements of the gradients, over all problems. */
struct tally {
  int64_t nan_values, strict, fine_values;
};

static void count(const struct gradient_reference *reference, struct tally *tally) {
  for (int kind = 0; kind < GRADIENT_KINDS; kind++) {
    const struct gradient_values *values = &reference->kind[kind];
    for (int64_t n = 0; n < gradient_count(values); n++) {
      const int is_nan = isnan(values->value[n]) != 0;
      tally->nan_values += is_nan;
      tally->strict += is_nan && values->bound[n] == 0.0L;
      tally->fine_values += isfinite(values->value[n]) && isfinite(values->bound[n]);
    }
  }
}

static void check(const struct problem_spec *spec, struct problem_data *data,
                  const struct property_way *ways, int n_ways, struct tally *tally) {
  const struct gradient_request request = {0, 0};
  struct gradient_reference reference;
  struct gradient_result result;
  gradient_believe(data, spec);
  if (gradient_compute(&reference, &data->problem, &data->args, &data->grads, &request) != 0)
    property_fail(spec, "", "no memory for the reference");
  count(&reference, tally);
  for (int i = 0; i < n_ways; i++) {
    problem_data_restore(data, 1);
    gradient_run(data, spec, ways[i]);
    gradient_compare(&reference, &data->problem, &data->grads, 0, &result);
    if (result.failed) property_fail(spec, ways[i].name, "%s", result.text);
  }
  gradient_free(&reference);
}

static void test_nonfinite(void **state) {
  (void)state;
  static const enum problem_tensor inputs[] = {PROBLEM_QUERY,       PROBLEM_KEY,
                                               PROBLEM_VALUE,       PROBLEM_BIAS,
                                               PROBLEM_GRAD_OUTPUT, PROBLEM_GRAD_LSE};
  struct property_way ways[PROPERTY_WAYS_MAX];
  struct tally tally = {0, 0, 0};
  const int n_ways = property_ways(ways);
  const int64_t problems = property_count(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    struct numpy_rng rng;
    gradient_problem(i, &spec);
    gradient_make(&data, &spec);
    numpy_rng_seed(&rng, spec.seed);
    for (uint64_t n = 1 + numpy_rng_below(&rng, 2); n > 0; n--)
      nonfinite_plant(&data, &rng, inputs[numpy_rng_below(&rng, 6)]);
    if (numpy_rng_below(&rng, 4) == 0) nonfinite_plant_sink(&data, &rng);
    check(&spec, &data, ways, n_ways, &tally);
    problem_data_free(&data);
  }
  printf("%lld problems, elements of the gradients: %lld NaN, %lld of them demanded, %lld finite\n",
         (long long)problems, (long long)tally.nan_values, (long long)tally.strict,
         (long long)tally.fine_values);
  if (problems < PROBLEMS) return;
  assert_true(tally.strict > 1000 && tally.fine_values > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nonfinite)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
