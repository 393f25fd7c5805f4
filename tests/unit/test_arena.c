/* test_arena.c - size arithmetic at its ends, and the parts of a workspace
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/arena.h"
#include "runtime/checked_math.h"

static void test_checked(void **state) {
  (void)state;
  int64_t r = 7;
  assert_int_equal(sdpai_checked_mul(INT64_MAX, 2, &r), 0);
  assert_int_equal(sdpai_checked_mul(INT64_MIN, -1, &r), 0);
  assert_int_equal(sdpai_checked_add(INT64_MAX, 1, &r), 0);
  assert_int_equal(sdpai_checked_add(INT64_MIN, -1, &r), 0);
  assert_int_equal(r, 7); /* left alone */
  assert_int_equal(sdpai_checked_mul(INT64_MAX / 2, -2, &r), 1);
  assert_true(r == -(INT64_MAX - 1));
  assert_int_equal(sdpai_checked_add(INT64_MAX, INT64_MIN, &r), 1);
  assert_true(r == -1);
}

static void test_saturating(void **state) {
  (void)state;
  assert_true(sdpai_saturating_add(INT64_MAX, 1) == INT64_MAX);
  assert_true(sdpai_saturating_add(INT64_MIN, -1) == INT64_MIN);
  assert_true(sdpai_saturating_add(INT64_MAX, INT64_MIN) == -1);
  assert_true(sdpai_saturating_sub(INT64_MIN, 1) == INT64_MIN);
  assert_true(sdpai_saturating_sub(INT64_MAX, -1) == INT64_MAX);
  assert_true(sdpai_saturating_sub(-1, INT64_MIN) == INT64_MAX);
  assert_true(sdpai_saturating_mul(INT64_MAX, 2) == INT64_MAX);
  assert_true(sdpai_saturating_mul(INT64_MAX / 2, 2) == INT64_MAX - 1);
}

/* Counting and placing agree; each part is aligned and has its bytes before the next one. */
static void test_parts(void **state) {
  (void)state;
  enum { PARTS = 5 };
  static const int64_t counts[PARTS] = {1, 64, 65, 0, 3};
  static _Alignas(SDPAI_ARENA_ALIGNMENT) char block[1024];
  struct sdpai_arena counting = {0}, placing = {.base = block};
  char *end = block;
  for (int i = 0; i < PARTS; i++) {
    assert_null(sdpai_arena_take(&counting, counts[i], 2));
    char *part = sdpai_arena_take(&placing, counts[i], 2);
    assert_int_equal(placing.used, counting.used);
    if (counts[i] == 0) {
      assert_null(part);
      continue;
    }
    assert_true((uintptr_t)part % SDPAI_ARENA_ALIGNMENT == 0);
    assert_true(part >= end);
    end = part + 2 * counts[i];
    assert_true(end <= block + placing.used);
  }
  assert_int_equal(counting.used, 64 + 128 + 192 + 64); /* bytes, up to whole lines */
  assert_false(counting.overflow || placing.overflow);
}

/* Each way in which the bytes do not fit is noted, and stays so. */
static void test_overflow(void **state) {
  (void)state;
  static const int64_t counts[] = {INT64_MAX, INT64_MAX / 8 + 1, INT64_MAX / 8};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    struct sdpai_arena arena = {0};
    assert_null(sdpai_arena_take(&arena, 8, 8));
    assert_false(arena.overflow);
    assert_null(sdpai_arena_take(&arena, counts[i], 8));
    assert_true(arena.overflow);
    assert_int_equal(arena.used, 64);
    assert_null(sdpai_arena_take(&arena, 8, 8));
    assert_true(arena.overflow);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_checked),
      cmocka_unit_test(test_saturating),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
