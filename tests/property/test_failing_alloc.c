/* test_failing_alloc.c - every allocation fails once; a given workspace means none
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For each problem the k-th allocation fails, k = 1, 2, ... until the call succeeds: a status,
 * outputs untouched, nothing leaked.
 */
#include "property_support.h"

#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "failing_alloc.h"

enum { PROBLEMS = 1000, MOST_ALLOCATIONS = 100 };

static void check_books(const struct problem_spec *spec, const struct failing_alloc *state) {
  if (state->live != 0) property_fail(spec, "", "%d blocks are not released", (int)state->live);
  if (state->bad_free != 0) property_fail(spec, "", "a block was released with another size");
  if (state->bad_size != 0) property_fail(spec, "", "an alignment is no power of two");
}

static void check_failed(const struct problem_spec *spec, const struct problem_data *data,
                         sdpa_status status, const struct failing_alloc *state) {
  char message[PROBLEM_MESSAGE_MAX];
  if (status != SDPA_ERROR_MEMORY)
    property_fail(spec, "", "allocation %d failed: %s", (int)state->fail_at,
                  sdpa_status_string(status));
  if (problem_data_untouched(data, 1, message, sizeof message) != 0)
    property_fail(spec, "", "allocation %d failed: %s", (int)state->fail_at, message);
}

static void check_result(const struct problem_spec *spec, const struct problem_data *data) {
  struct reference reference;
  struct compare_result result;
  const struct reference_request request = {0, 0, SDPA_PRECISION_FMA};
  char message[PROBLEM_MESSAGE_MAX];
  assert_int_equal(reference_compute(&reference, &data->problem, &data->args, &request), 0);
  compare_with_reference(&reference, &data->problem, &data->args, 0, &result);
  if (result.failed) property_fail(spec, "", "%s", result.text);
  if (problem_data_untouched(data, 0, message, sizeof message) != 0)
    property_fail(spec, "", "%s", message);
  reference_free(&reference);
}

/* The 0.1 promise: after a failed allocation nothing is written, after success all is right.
 * Returns how many allocations the call makes. */
static int64_t fail_one_call(const struct problem_spec *spec, struct problem_data *data) {
  for (int64_t k = 1; k <= MOST_ALLOCATIONS; k++) {
    struct failing_alloc state = {.fail_at = k};
    sdpa_options options;
    sdpa_options_init(&options, sizeof options);
    failing_alloc_install(&state, &options);
    sdpa_status status = sdpa_attention(&data->problem, &options, &data->args);
    check_books(spec, &state);
    if (state.calls < k) {
      if (status != SDPA_OK) property_fail(spec, "", "%s", sdpa_status_string(status));
      check_result(spec, data);
      problem_data_restore(data, 1);
      return state.calls;
    }
    check_failed(spec, data, status, &state);
  }
  property_fail(spec, "", "one call makes over %d allocations", MOST_ALLOCATIONS);
}

/* The same for a plan, and for its execution without a workspace. Returns how many allocations the
 * execution makes. */
static int64_t fail_plan(const struct problem_spec *spec, struct problem_data *data) {
  int64_t of_plan = -1;
  for (int64_t k = 1; k <= MOST_ALLOCATIONS; k++) {
    struct failing_alloc state = {.fail_at = k};
    sdpa_options options;
    sdpa_plan *plan = (sdpa_plan *)data;
    sdpa_options_init(&options, sizeof options);
    failing_alloc_install(&state, &options);
    sdpa_status status = sdpa_plan_create(&data->problem, &options, &plan);
    if (status == SDPA_OK) {
      if (of_plan < 0) of_plan = state.calls;
      status = sdpa_execute(plan, &data->args, NULL, 0);
      sdpa_plan_destroy(plan);
    } else {
      assert_null(plan);
    }
    check_books(spec, &state);
    if (state.calls < k) {
      check_result(spec, data);
      problem_data_restore(data, 1);
      if (of_plan < 1) property_fail(spec, "", "the plan is not made by the caller's allocator");
      return state.calls - of_plan;
    }
    check_failed(spec, data, status, &state);
  }
  property_fail(spec, "", "a plan makes over %d allocations", MOST_ALLOCATIONS);
}

/* Executes in a workspace of exactly the size asked for, with a page that cannot be touched behind
 * it. */
static void give_workspace(const struct problem_spec *spec, struct problem_data *data) {
  struct failing_alloc state = {0};
  struct guard_block block;
  sdpa_options options;
  sdpa_plan *plan;
  size_t bytes, alignment;
  sdpa_options_init(&options, sizeof options);
  failing_alloc_install(&state, &options);
  assert_int_equal(sdpa_plan_create(&data->problem, &options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  size_t whole = (bytes + alignment - 1) / alignment * alignment;
  assert_int_equal(guard_alloc(&block, whole, 0, 0, GUARD_END), 0);
  memset(block.data, 0xFF, whole);
  int64_t calls = state.calls;
  sdpa_status status = sdpa_execute(plan, &data->args, block.data, bytes);
  if (status != SDPA_OK) property_fail(spec, "", "in a workspace: %s", sdpa_status_string(status));
  if (state.calls != calls) property_fail(spec, "", "allocates although it has a workspace");
  for (size_t i = bytes; i < whole; i++)
    if (block.data[i] != 0xFF) property_fail(spec, "", "writes behind its workspace");
  check_result(spec, data);
  sdpa_plan_destroy(plan);
  check_books(spec, &state);
  guard_free(&block);
  problem_data_restore(data, 1);
}

static void test_failing_alloc(void **state) {
  (void)state;
  int64_t calls = 0, executions = 0, problems = property_count(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    property_problem(i, &spec);
    property_make(&data, &spec);
    calls += fail_one_call(&spec, &data);
    executions += fail_plan(&spec, &data);
    give_workspace(&spec, &data);
    problem_data_free(&data);
  }
  printf("failed in %lld problems: %lld allocations of one-shot calls, %lld of executions\n",
         (long long)problems, (long long)calls, (long long)executions);
  if (problems >= PROBLEMS) assert_true(calls > 0 && executions > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_failing_alloc)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
