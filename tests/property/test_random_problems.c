/* test_random_problems.c - 20,000 random problems over the whole option space, on every ISA
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference is computed once a problem and every ISA is compared with it: each element with its
 * error bound, each tensor with twice the error of the plain implementation (semantics rule 18). No
 * byte but the outputs' elements may change. A failure prints the problem string; replay it with
 * SDPA_PROPERTY_PROBLEM (property_support.h).
 */
#include "property_support.h"

#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "option_counts.h"

enum { PROBLEMS = 20000, LEAST_PAIRS = 50 };

/* The worst that was seen, relative to what is allowed. */
struct worst {
  long double bound[REFERENCE_KINDS], plain[REFERENCE_KINDS];
};

static void raise_to(long double *worst, const long double *seen) {
  for (int kind = 0; kind < REFERENCE_KINDS; kind++)
    if (seen[kind] > worst[kind]) worst[kind] = seen[kind];
}

static void check_problem(const struct problem_spec *spec, const struct property_way *ways,
                          int n_ways, struct option_counts *counts, struct worst *worst) {
  struct problem_data data;
  struct reference reference;
  struct compare_result result;
  const struct reference_request request = {0, 1, SDPA_PRECISION_FMA};
  char message[PROBLEM_MESSAGE_MAX];
  property_make(&data, spec);
  if (reference_compute(&reference, &data.problem, &data.args, &request) != 0)
    property_fail(spec, "", "no memory for the reference");
  for (int i = 0; i < n_ways; i++) {
    problem_data_restore(&data, 1);
    property_run(&data, spec, ways[i]);
    property_compare(&reference, &data, spec, ways[i], 1, &result);
    if (result.failed) property_fail(spec, ways[i].name, "%s", result.text);
    if (problem_data_untouched(&data, 0, message, sizeof message) != 0)
      property_fail(spec, ways[i].name, "%s", message);
    raise_to(worst[i].bound, result.worst);
    raise_to(worst[i].plain, result.plain);
  }
  if (!data.block[PROBLEM_QUERY].guard.map) option_counts_add(counts, &data, &reference);
  reference_free(&reference);
  problem_data_free(&data);
}

static void test_random_problems(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  struct worst worst[PROPERTY_WAYS_MAX];
  static struct option_counts counts;
  const char *first = "", *second = "";
  int n_ways = property_ways(ways);
  int64_t problems = property_count(PROBLEMS);
  memset(worst, 0, sizeof worst);
  memset(&counts, 0, sizeof counts);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    property_problem(i, &spec);
    check_problem(&spec, ways, n_ways, &counts, worst);
  }
  option_counts_print(&counts);
  for (int i = 0; i < n_ways; i++) {
    printf("%s: %lld problems; worst error / bound, and / (2 x the larger of plain and floor):",
           ways[i].name, (long long)problems);
    for (int kind = 0; kind < REFERENCE_KINDS; kind++)
      printf(" %s %.2Lf %.2Lf;", compare_kind_name(kind), worst[i].bound[kind],
             worst[i].plain[kind]);
    printf("\n");
  }
  if (problems < PROBLEMS) return; /* a shorter run says nothing about pairs */
  int64_t least = option_counts_least(&counts, &first, &second);
  if (least < LEAST_PAIRS)
    fail_msg("%s with %s occurred only %lld times", first, second, (long long)least);
  assert_true(2 * counts.not_contiguous >= counts.tensors);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_problems)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
