/* test_gradient_alloc.c - memory of the backward pass: every allocation fails once; workspaces suffice
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As test_failing_alloc.c: after a failed allocation a status and nothing written, after success the
 * bits of a call that had its way; and in a given workspace nothing is allocated, or written behind
 * it.
 */
#include "gradient_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_alloc.h"

enum { PROBLEMS = 600, MOST_ALLOCATIONS = 100 };

static void check_books(const struct problem_spec *spec, const char *name,
                        const struct failing_alloc *state) {
  if (state->live != 0) property_fail(spec, name, "%d blocks are not released", (int)state->live);
  if (state->bad_free != 0) property_fail(spec, name, "a block was released with another size");
  if (state->bad_size != 0) property_fail(spec, name, "an alignment is no power of two");
}

static void check_bits(const struct problem_data *data, const struct problem_spec *spec,
                       const char *name, const unsigned char *expected, const char *what) {
  unsigned char *bits;
  property_output_bits(data, &bits);
  property_same_bits(data, spec, name, expected, bits, what);
  free(bits);
}

/* Returns how many allocations plan and call make. */
static int64_t fail_each(const struct problem_spec *spec, struct problem_data *data,
                         struct property_way way, const unsigned char *expected) {
  const sdpa_args args = problem_data_backward_args(data);
  for (int64_t k = 1; k <= MOST_ALLOCATIONS; k++) {
    struct failing_alloc state = {.fail_at = k};
    char message[PROBLEM_MESSAGE_MAX];
    sdpa_options options;
    sdpa_plan *plan = NULL;
    property_options(&options, way);
    failing_alloc_install(&state, &options);
    problem_data_restore(data, 1);
    sdpa_status status = sdpa_plan_create_backward(&data->problem, &options, &plan);
    if (status == SDPA_OK) status = sdpa_backward(plan, &args, &data->grads, NULL, 0);
    sdpa_plan_destroy(plan);
    check_books(spec, way.name, &state);
    if (state.calls < k) {
      if (status != SDPA_OK) property_fail(spec, way.name, "%s", sdpa_status_string(status));
      check_bits(data, spec, way.name, expected, "another allocator");
      return state.calls;
    }
    if (status != SDPA_ERROR_MEMORY)
      property_fail(spec, way.name, "allocation %d failed: %s", (int)k, sdpa_status_string(status));
    if (problem_data_untouched(data, 1, message, sizeof message) != 0)
      property_fail(spec, way.name, "allocation %d failed: %s", (int)k, message);
  }
  property_fail(spec, way.name, "plan and call make over %d allocations", MOST_ALLOCATIONS);
}

/* A workspace of exactly the size asked for, with a page that cannot be touched behind it. */
static void give_workspace(const struct problem_spec *spec, struct problem_data *data,
                           struct property_way way, const unsigned char *expected) {
  const sdpa_args args = problem_data_backward_args(data);
  struct failing_alloc state = {0};
  struct guard_block block;
  sdpa_options options;
  sdpa_plan *plan;
  size_t bytes, alignment;
  property_options(&options, way);
  failing_alloc_install(&state, &options);
  problem_data_restore(data, 1);
  assert_int_equal(sdpa_plan_create_backward(&data->problem, &options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  const size_t whole = (bytes + alignment - 1) / alignment * alignment;
  assert_int_equal(guard_alloc(&block, whole, 0, 0, GUARD_END), 0);
  memset(block.data, 0xFF, whole);
  const int64_t calls = state.calls;
  const sdpa_status status = sdpa_backward(plan, &args, &data->grads, block.data, bytes);
  if (status != SDPA_OK)
    property_fail(spec, way.name, "in a workspace: %s", sdpa_status_string(status));
  if (state.calls != calls) property_fail(spec, way.name, "allocates although it has a workspace");
  for (size_t i = bytes; i < whole; i++)
    if (block.data[i] != 0xFF) property_fail(spec, way.name, "writes behind its workspace");
  check_bits(data, spec, way.name, expected, "another workspace");
  if (bytes > 0 &&
      sdpa_backward(plan, &args, &data->grads, block.data, bytes - 1) != SDPA_ERROR_WORKSPACE)
    property_fail(spec, way.name, "takes a workspace that is too small");
  sdpa_plan_destroy(plan);
  check_books(spec, way.name, &state);
  guard_free(&block);
}

static void test_gradient_alloc(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = property_ways(ways);
  int64_t allocations = 0, problems = property_count(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    unsigned char *expected;
    gradient_problem(i, &spec);
    gradient_make(&data, &spec);
    const struct property_way way = ways[i % n_ways];
    gradient_run(&data, &spec, way);
    property_output_bits(&data, &expected);
    allocations += fail_each(&spec, &data, way, expected);
    give_workspace(&spec, &data, way, expected);
    free(expected);
    problem_data_free(&data);
  }
  printf("%lld allocations failed in %lld problems\n", (long long)allocations, (long long)problems);
  assert_true(allocations >= problems); /* the plan at least */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradient_alloc)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
