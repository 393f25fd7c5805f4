/* test_struct_read.c - the size-field rule of public structs, with sizes of a later version
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A struct that has grown from 16 to 40 bytes, as any of the public ones may; those as they are:
 * tests/api/test_struct_sizes.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "problem/problem.h"

enum { BASELINE = 16, FULL = 40, MOST = 64 };

/* A caller's struct, on the heap so that a read beyond its bytes is seen; none of them is 0 up to
 * `used`, the others are. */
static unsigned char *make_source(uint32_t size, uint32_t used) {
  unsigned char *source = calloc(size > 0 ? size : 1, 1);
  assert_non_null(source);
  for (uint32_t i = 0; i < size && i < used; i++) source[i] = (unsigned char)(i + 1);
  return source;
}

static sdpa_status read_size(uint32_t size, uint32_t used, unsigned char copy[FULL], char *text,
                             size_t bytes) {
  struct sdpai_report report = {text, bytes};
  unsigned char *source = make_source(size, used);
  const void *view = NULL;
  memset(copy, 0xEE, FULL); /* what a stack holds */
  sdpa_status status =
      sdpai_struct_read("sdpa_thing", source, size, BASELINE, FULL, copy, &view, &report);
  if (status == SDPA_OK) {
    const unsigned char *bytes_read = view;
    assert_ptr_equal(view, size < FULL ? copy : source);
    for (uint32_t i = 0; i < FULL; i++)
      assert_int_equal(bytes_read[i], i < size && i < used ? i + 1 : 0);
  } else {
    assert_null(view);
    for (uint32_t i = 0; i < FULL; i++) assert_int_equal(copy[i], 0xEE);
  }
  free(source);
  return status;
}

static void test_below_baseline(void **state) {
  (void)state;
  unsigned char copy[FULL];
  char text[160];
  for (uint32_t size = 0; size < BASELINE; size++)
    assert_int_equal(read_size(size, size, copy, text, sizeof text), SDPA_ERROR_STRUCT_SIZE);
  assert_string_equal(text, "sdpa_thing.size is 15; expected at least 16, its first size");
}

/* The fields that an older caller does not have count as 0. */
static void test_between(void **state) {
  (void)state;
  unsigned char copy[FULL];
  for (uint32_t size = BASELINE; size <= FULL; size++)
    assert_int_equal(read_size(size, size, copy, NULL, 0), SDPA_OK);
}

static void test_above_full(void **state) {
  (void)state;
  unsigned char copy[FULL];
  char text[160];
  for (uint32_t size = FULL + 1; size <= MOST; size++) {
    assert_int_equal(read_size(size, FULL, copy, NULL, 0), SDPA_OK);
    assert_int_equal(read_size(size, FULL + 1, copy, text, sizeof text), SDPA_ERROR_STRUCT_SIZE);
  }
  assert_string_equal(text, "sdpa_thing.size is 64, and byte 40, which this version does not know, "
                            "is not 0; expected zeros from byte 40 on");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_below_baseline),
      cmocka_unit_test(test_between),
      cmocka_unit_test(test_above_full),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
