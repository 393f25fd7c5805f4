/* test_struct_sizes.c - every smaller and larger size of the five structs with a size field
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each struct under test is a heap block of exactly the bytes that its size field claims, so that a
 * read beyond them is an AddressSanitizer report.
 */
#include "api_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What 0.1 has. These numbers never change: they are the ABI of 64-bit platforms. */
enum { PROBLEM_0_1 = 424, OPTIONS_0_1 = 64, ARGS_0_1 = 120, INFO_0_1 = 40 };

/* What 0.4 has, likewise. */
enum { PROBLEM_0_4 = 592, ARGS_0_4 = 168, GRADS_0_4 = 88 };

/* Larger sizes are tried up to this many bytes beyond the library's own. */
enum { TAIL = 72 };

enum which { PROBLEM, OPTIONS, ARGS };

static const struct api_sizes sizes = {1, 1, 1, 2, 3, 2, 2};

/* The status of the functions that take the struct, which must agree. A block of args gets the
 * pointers of a call of its own. */
static sdpa_status status_with(enum which which, void *block) {
  struct api_call call;
  api_call_init(&call, SDPA_F64, sizes, 0, SDPA_ALIGN_NONE);
  uint32_t size;
  memcpy(&size, block, sizeof size);
  if (which == ARGS && size > offsetof(sdpa_args, query)) {
    size_t known = size < sizeof call.args ? size : sizeof call.args;
    size_t first = offsetof(sdpa_args, query);
    memcpy((char *)block + first, (char *)&call.args + first, known - first);
  }
  const sdpa_problem *problem = which == PROBLEM ? block : &call.problem;
  const sdpa_options *options = which == OPTIONS ? block : NULL;
  const sdpa_args *args = which == ARGS ? block : &call.args;
  sdpa_status status = sdpa_attention(problem, options, args);
  char text[256];
  sdpa_plan *plan = NULL;
  if (which == ARGS) {
    assert_int_equal(sdpa_plan_create(problem, options, &plan), SDPA_OK);
    assert_int_equal(sdpa_execute(plan, args, NULL, 0), status);
    assert_int_equal(sdpa_args_check(plan, args, NULL, 0, text, sizeof text), status);
  } else {
    assert_int_equal(sdpa_plan_create(problem, options, &plan), status);
    assert_int_equal(sdpa_problem_check(problem, options, text, sizeof text), status);
  }
  if (status == SDPA_OK)
    assert_string_equal(text, "");
  else {
    assert_int_equal(status, SDPA_ERROR_STRUCT_SIZE);
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)size);
    api_assert_says(text, "size", number);
    if (which != ARGS) assert_null(plan);
    api_assert_untouched(&call);
  }
  sdpa_plan_destroy(plan);
  api_call_free(&call);
  return status;
}

/* `size` bytes: what fits of the valid struct, then zeros, with the size field set. */
static unsigned char *copy_of(const void *valid, size_t own, uint32_t size) {
  unsigned char *block = calloc(size < sizeof size ? sizeof size : size, 1);
  assert_non_null(block);
  memcpy(block, valid, size < own ? size : own);
  memcpy(block, &size, sizeof size);
  return block;
}

/* `first`: the size in 0.1; `own`: today's. */
static void check_sizes(enum which which, const void *valid, size_t first, size_t own) {
  for (uint32_t size = 0; size < own; size++) {
    unsigned char *block = copy_of(valid, own, size);
    assert_int_equal(status_with(which, block), size < first ? SDPA_ERROR_STRUCT_SIZE : SDPA_OK);
    free(block);
  }
  for (uint32_t size = (uint32_t)own; size <= own + TAIL; size++) {
    unsigned char *block = copy_of(valid, own, size);
    assert_int_equal(status_with(which, block), SDPA_OK);
    for (size_t i = own; i < size; i++) {
      block[i] = 1;
      assert_int_equal(status_with(which, block), SDPA_ERROR_STRUCT_SIZE);
      block[i] = 0;
    }
    free(block);
  }
}

static void test_baselines(void **state) {
  (void)state;
  assert_int_equal(sizeof(sdpa_problem), PROBLEM_0_4);
  assert_int_equal(offsetof(sdpa_problem, dropout), PROBLEM_0_1);
  assert_int_equal(sizeof(sdpa_options), OPTIONS_0_1);
  assert_int_equal(sizeof(sdpa_args), ARGS_0_4);
  assert_int_equal(offsetof(sdpa_args, dropout_seed), ARGS_0_1);
  assert_int_equal(sizeof(sdpa_grads), GRADS_0_4);
  assert_int_equal(sizeof(sdpa_plan_info), INFO_0_1);
  assert_int_equal(sizeof(sdpa_strides), 32);
}

static void test_problem(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_F64, sizes, 0, SDPA_ALIGN_NONE);
  check_sizes(PROBLEM, &call.problem, PROBLEM_0_1, PROBLEM_0_4);
  api_call_free(&call);
}

static void test_options(void **state) {
  (void)state;
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  check_sizes(OPTIONS, &options, OPTIONS_0_1, OPTIONS_0_1);
}

static void test_args(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_F64, sizes, 0, SDPA_ALIGN_NONE);
  check_sizes(ARGS, &call.args, ARGS_0_1, ARGS_0_4);
  api_call_free(&call);
}

/* The helpers that take a problem read and write within its size, too. */
static void test_problem_helpers(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_F64, sizes, 0, SDPA_ALIGN_NONE);
  static const int64_t shape[1] = {3};
  for (uint32_t size = 0; size <= PROBLEM_0_4 + TAIL; size++) {
    unsigned char *block = copy_of(&call.problem, PROBLEM_0_4, size);
    sdpa_status expected = size < PROBLEM_0_1 ? SDPA_ERROR_STRUCT_SIZE : SDPA_OK;
    unsigned char *before = malloc(size < 4 ? 4 : size);
    assert_non_null(before);
    memcpy(before, block, size < 4 ? 4 : size);
    sdpa_strides strides = {-7, -7, -7, -7};
    assert_int_equal(sdpa_problem_broadcast((const void *)block, 1, shape, &strides), expected);
    assert_int_equal(strides.col, expected == SDPA_OK ? 1 : -7);
    assert_int_equal(sdpa_problem_layout((void *)block, SDPA_LAYOUT_BHSD), expected);
    /* The layout is the one the copy already has: nothing may change. */
    assert_memory_equal(block, before, size < 4 ? 4 : size);
    free(before);
    free(block);
  }
  api_call_free(&call);
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
    unsigned char *block = malloc(size ? size : 1);
    assert_non_null(block);
    memset(block, 0x5A, size ? size : 1);
    sdpa_status status = init(block, size);
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
    free(block);
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

/* sdpa_plan_info is written: its size bounds what the library may write. */
static void test_plan_info(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_F64, sizes, 0, SDPA_ALIGN_NONE);
  sdpa_options options;
  sdpa_plan *plan;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = SDPA_ENGINE_TILED; /* which every build has */
  assert_int_equal(sdpa_plan_create(&call.problem, &options, &plan), SDPA_OK);
  for (uint32_t size = 0; size <= INFO_0_1 + TAIL; size++) {
    size_t bytes = size < sizeof size ? sizeof size : size;
    unsigned char *block = malloc(bytes);
    assert_non_null(block);
    memset(block, 0x5A, bytes);
    memcpy(block, &size, sizeof size);
    sdpa_status status = sdpa_plan_query(plan, (void *)block);
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
    free(block);
  }
  sdpa_plan_destroy(plan);
  api_call_free(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_baselines),         cmocka_unit_test(test_problem),
      cmocka_unit_test(test_options),           cmocka_unit_test(test_args),
      cmocka_unit_test(test_problem_helpers),   cmocka_unit_test(test_init),
      cmocka_unit_test(test_init_beyond_field), cmocka_unit_test(test_plan_info),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
