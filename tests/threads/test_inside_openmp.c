/* test_inside_openmp.c - calls from within an application's own OpenMP regions
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each thread of the region calls one common plan, which asks for threads itself: calls that find
 * the library's pool at work go on alone, so nothing waits for anything.
 */
#include "parallel_support.h"
#include "threaded_call.h"

#include <omp.h>

enum { TEAM = 4, ROUNDS = 40 };

static int run_region(int32_t threads) {
  static struct threaded_output out[TEAM];
  int wrong = 0, team = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : wrong) reduction(max : team)
  {
    team = omp_get_num_threads();
    for (int i = 0; i < ROUNDS; i++) wrong += !threaded_run(threads, &out[omp_get_thread_num()]);
  }
  assert_int_equal(team, TEAM);
  return wrong;
}

static void test_region(void **state) {
  (void)state;
  int named;
  assert_int_equal(run_region(1), 0);
  count_threads(&named);
  assert_int_equal(named, 0);
  assert_int_equal(run_region(2), 0);
  assert_int_equal(run_region(0), 0);
}

/* Parallel loops of the application before, between and after calls. */
static void test_turns(void **state) {
  (void)state;
  static struct threaded_output out;
  for (int i = 0; i < ROUNDS; i++) {
    double sum = 0;
#pragma omp parallel for num_threads(TEAM) reduction(+ : sum)
    for (int j = 0; j < 1000; j++) sum += j;
    assert_true(sum == 499500);
    assert_true(threaded_run(2, &out));
  }
}

static int init(void **state) {
  (void)state;
  omp_set_dynamic(0);
  return threaded_init() ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_region), cmocka_unit_test(test_turns)};
  return cmocka_run_group_tests_name("inside_openmp", tests, init, NULL);
}
