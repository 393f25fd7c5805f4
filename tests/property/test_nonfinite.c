/* test_nonfinite.c - NaN and infinity in allowed positions spread as far as they must, no further
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Semantics rule 12, by the reference: its NaN must be NaN here, its numbers these numbers.
 * Elements that may be read get NaN or an infinity: a few, so that rows and columns without any
 * remain.
 */
#include "property_support.h"

#include <math.h>
#include <stdio.h>

#include "compare.h"
#include "nonfinite_plant.h"
#include "numpy_random.h"

enum { PROBLEMS = 6000 };

/* What came out, over all problems. */
struct tally {
  int64_t nan_values, fine_values, infinite_values;
};

static void count(const struct reference *reference, struct tally *tally) {
  for (int64_t r = 0; r < reference->rows; r++) {
    const struct reference_values *output = &reference->row[r].kind[REFERENCE_OUTPUT];
    for (int64_t d = 0; d < output->count; d++) {
      tally->nan_values += isnan(output->value[d]) != 0;
      tally->infinite_values += isinf(output->value[d]) != 0;
      tally->fine_values += isfinite(output->value[d]) != 0;
    }
  }
}

static void check(const struct problem_spec *spec, struct problem_data *data,
                  const struct property_way *ways, int n_ways, struct tally *tally) {
  struct reference reference;
  struct compare_result result;
  const struct reference_request request = {0, 0, SDPA_PRECISION_FMA};
  if (reference_compute(&reference, &data->problem, &data->args, &request) != 0)
    property_fail(spec, "", "no memory for the reference");
  count(&reference, tally);
  for (int i = 0; i < n_ways; i++) {
    problem_data_restore(data, 1);
    property_run(data, spec, ways[i]);
    property_compare(&reference, data, spec, ways[i], 0, &result);
    if (result.failed) property_fail(spec, ways[i].name, "%s", result.text);
  }
  reference_free(&reference);
}

static void test_nonfinite(void **state) {
  (void)state;
  static const enum problem_tensor inputs[] = {PROBLEM_QUERY, PROBLEM_KEY, PROBLEM_VALUE,
                                               PROBLEM_VALUE, PROBLEM_BIAS};
  struct property_way ways[PROPERTY_WAYS_MAX];
  struct tally tally = {0, 0, 0};
  int n_ways = property_ways(ways);
  int64_t problems = property_count(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    struct numpy_rng rng;
    property_problem(i, &spec);
    property_make(&data, &spec);
    numpy_rng_seed(&rng, spec.seed);
    for (uint64_t n = 1 + numpy_rng_below(&rng, 3); n > 0; n--)
      nonfinite_plant(&data, &rng, inputs[numpy_rng_below(&rng, 5)]);
    if (numpy_rng_below(&rng, 4) == 0) nonfinite_plant_sink(&data, &rng);
    check(&spec, &data, ways, n_ways, &tally);
    problem_data_free(&data);
  }
  printf("%lld problems, elements of the output: %lld NaN, %lld infinite, %lld finite\n",
         (long long)problems, (long long)tally.nan_values, (long long)tally.infinite_values,
         (long long)tally.fine_values);
  if (problems < PROBLEMS) return;
  assert_true(tally.nan_values > 1000 && tally.infinite_values > 1000 && tally.fine_values > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nonfinite)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
