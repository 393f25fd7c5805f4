/* test_header.c - the public header in the languages it promises
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Most of the test is that header_c99.c and header_cxx11.cpp compile. Here they are called.
 */
#include "api_support.h"

int32_t header_c99(void);
int32_t header_cxx11(void);

static void test_c99(void **state) {
  (void)state;
  assert_int_equal(header_c99(), SDPA_VERSION);
}

static void test_cxx11(void **state) {
  (void)state;
#if defined(HAVE_CXX)
  assert_int_equal(header_cxx11(), SDPA_VERSION);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c99),
      cmocka_unit_test(test_cxx11),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
