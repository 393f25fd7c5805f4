/* test_adapter_openmp.c - the OpenMP adapter of docs/threading.md, as the page prints it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adapter_check.h"
#include "parallel_support.h"

#include "adapter_openmp.inc" /* from the page */

static void test_adapter(void **state) {
  (void)state;
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  omp_set_num_threads(3);
  omp_set_dynamic(0);
  use_openmp(&options);
  assert_int_equal(options.threads, 3);
  adapter_check(&options, 3);
}

/* Called inside a parallel region, with one thread each. */
static void test_inside_a_region(void **state) {
  (void)state;
  int right = 0;
#pragma omp parallel for num_threads(3) reduction(+ : right)
  for (int i = 0; i < 30; i++) right += counted_run(1, 100);
  assert_int_equal(right, 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_adapter),
      cmocka_unit_test(test_inside_a_region),
  };
  return cmocka_run_group_tests_name("adapter_openmp", tests, NULL, NULL);
}
