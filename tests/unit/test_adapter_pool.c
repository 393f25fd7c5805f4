/* test_adapter_pool.c - the adapter of docs/threading.md for a foreign pool, as the page prints it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adapter_check.h"
#include "foreign_pool.h"
#include "parallel_support.h"

#include "adapter_pool.inc" /* from the page */

static void test_adapter(void **state) {
  (void)state;
  sdpa_options options;
  void *pool = pool_start(3);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.parallel_for = pool_for;
  options.parallel_ctx = pool;
  options.threads = 4;
  adapter_check(&options, 4);
  pool_stop(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_adapter)};
  return cmocka_run_group_tests_name("adapter_pool", tests, NULL, NULL);
}
