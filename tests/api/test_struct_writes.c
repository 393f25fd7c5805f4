/* test_struct_writes.c - every smaller and larger size of the structs that the library writes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api_support.h"

#include <stdlib.h>
#include <string.h>

#include "struct_copy.h"

static struct api_call call; /* a valid one */

static int set_up(void **state) {
  (void)state;
  api_call_init(&call, SDPA_F64, api_one_head(2, 3, 2, 2), SDPA_LSE | SDPA_DROPOUT,
                SDPA_ALIGN_NONE);
  call.problem.dropout = 0.5;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  api_call_free(&call);
  return 0;
}

/* The helpers that take a problem read and write within its size, too. */
static void test_problem_helpers(void **state) {
  (void)state;
  static const int64_t shape[1] = {3};
  for (uint32_t size = 0; size <= PROBLEM_0_4 + TAIL; size++) {
    struct guard_block block = struct_copy(&call.problem, PROBLEM_0_4, size);
    sdpa_status expected = size < PROBLEM_0_1 ? SDPA_ERROR_STRUCT_SIZE : SDPA_OK;
    const size_t bytes = size < sizeof size ? sizeof size : size;
    unsigned char *before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, block.data, bytes);
    sdpa_strides strides = {-7, -7, -7, -7};
    assert_int_equal(sdpa_problem_broadcast((const void *)block.data, 1, shape, &strides),
                     expected);
    assert_int_equal(strides.col, expected == SDPA_OK ? 1 : -7);
    assert_int_equal(sdpa_problem_layout((void *)block.data, SDPA_LAYOUT_BHSD), expected);
    /* The layout is the one the copy already has: nothing may change. */
    assert_memory_equal(block.data, before, bytes);
    for (size_t i = PROBLEM_0_4; i < size; i++) {
      block.data[i] = 1;
      assert_int_equal(sdpa_problem_layout((void *)block.data, SDPA_LAYOUT_BHSD),
                       SDPA_ERROR_STRUCT_SIZE);
      assert_int_equal(sdpa_problem_broadcast((const void *)block.data, 1, shape, &strides),
                       SDPA_ERROR_STRUCT_SIZE);
      block.data[i] = 0;
    }
    struct_copy_assert_intact(&block, bytes);
    free(before);
    guard_free(&block);
  }
}

typedef sdpa_status init_function(void *block, size_t size);
static sdpa_status init_problem(void *block, size_t size) {
  return sdpa_problem_init(block, size);
}
static sdpa_status init_options(void *block, size_t size) {
  return sdpa_options_init(block, size);
}
static sdpa_status init_args(void *block, size_t size) {
  return sdpa_args_init(block, size);
}
static sdpa_status init_grads(void *block, size_t size) {
  return sdpa_grads_init(block, size);
}

static void check_init(init_function *init, size_t own) {
  assert_int_equal(init(NULL, own), SDPA_ERROR_NULL);
  for (uint32_t size = 0; size <= own + TAIL; size++) {
    struct guard_block guard;
    const size_t bytes = (size + 7) / 8 * 8;
    assert_int_equal(guard_alloc(&guard, bytes ? bytes : 8, 0, 0, GUARD_END), 0);
    unsigned char *block = guard.data;
    memset(block, 0x5A, bytes);
    sdpa_status status = init(block, size);
    for (size_t i = size; i < bytes; i++) assert_int_equal(block[i], 0x5A);
    if (size < own) {
      assert_int_equal(status, SDPA_ERROR_STRUCT_SIZE);
      for (uint32_t i = 0; i < size; i++) assert_int_equal(block[i], 0x5A);
    } else {
      assert_int_equal(status, SDPA_OK);
      uint32_t stored;
      memcpy(&stored, block, sizeof stored);
      assert_int_equal(stored, size);
      for (uint32_t i = sizeof stored; i < size; i++) assert_int_equal(block[i], 0);
    }
    guard_free(&guard);
  }
}

static void test_init(void **state) {
  (void)state;
  check_init(init_problem, PROBLEM_0_1);
  check_init(init_options, OPTIONS_0_1);
  check_init(init_args, ARGS_0_1);
  check_init(init_grads, GRADS_0_4);
}

/* A size that the field cannot hold would be stored as another one. */
static void test_init_beyond_field(void **state) {
  (void)state;
#if SIZE_MAX > UINT32_MAX
  sdpa_options options;
  memset(&options, 0x5A, sizeof options);
  sdpa_options before = options;
  assert_int_equal(sdpa_options_init(&options, (size_t)UINT32_MAX + 1 + sizeof options),
                   SDPA_ERROR_STRUCT_SIZE);
  assert_memory_equal(&options, &before, sizeof options);
#else
  skip();
#endif
}

/* sdpa_plan_info is written: its size bounds what the library may write. A tail that it does not
 * know is left as it is, whatever it holds. */
static void test_plan_info(void **state) {
  (void)state;
  sdpa_options options;
  sdpa_plan *plan;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = SDPA_ENGINE_TILED; /* which every build has */
  assert_int_equal(sdpa_plan_create(&call.problem, &options, &plan), SDPA_OK);
  unsigned char filling[INFO_0_1 + TAIL];
  memset(filling, 0x5A, sizeof filling);
  for (uint32_t size = 0; size <= INFO_0_1 + TAIL; size++) {
    struct guard_block guard = struct_copy(filling, size, size);
    const unsigned char *block = guard.data;
    const size_t bytes = size < sizeof size ? sizeof size : size;
    sdpa_status status = sdpa_plan_query(plan, (void *)guard.data);
    uint32_t stored;
    memcpy(&stored, block, sizeof stored);
    assert_int_equal(stored, size);
    if (size < INFO_0_1) {
      assert_int_equal(status, SDPA_ERROR_STRUCT_SIZE);
      for (size_t i = sizeof size; i < bytes; i++) assert_int_equal(block[i], 0x5A);
    } else {
      assert_int_equal(status, SDPA_OK);
      uint32_t engine;
      memcpy(&engine, block + offsetof(sdpa_plan_info, engine), sizeof engine);
      assert_int_equal(engine, SDPA_ENGINE_TILED);
      for (size_t i = INFO_0_1; i < bytes; i++) assert_int_equal(block[i], 0x5A);
    }
    struct_copy_assert_intact(&guard, bytes);
    guard_free(&guard);
  }
  sdpa_plan_destroy(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_problem_helpers),
      cmocka_unit_test(test_init),
      cmocka_unit_test(test_init_beyond_field),
      cmocka_unit_test(test_plan_info),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
