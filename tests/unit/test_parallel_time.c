/* test_parallel_time.c - what handing over a job costs
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints medians. The limits are far above them and far below what a caller would lose by waiting
 * for a worker to wake up or for a time slice: they hold on a loaded machine.
 */
#include "parallel_support.h"

#include <stdlib.h>

#include "seconds.h"

enum { REPEATS = 301, HOT = 0, COLD = 1 };

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void empty(void *arg, int64_t item, int64_t slot) {
  (void)arg, (void)item, (void)slot;
}

/* Ends when both threads are there: the time in which a worker answers. */
static void meet(void *arg, int64_t item, int64_t slot) {
  _Atomic int32_t *arrived = arg;
  (void)item, (void)slot;
  atomic_fetch_add(arrived, 1);
  double end = seconds_now() + PATIENCE_SECONDS;
  while (atomic_load(arrived) < 2 && seconds_now() < end) {
  }
}

/* Median of a run in microseconds; cold: after a pause in which the worker has gone to sleep. */
static double median(int cold, int32_t threads, sdpai_work work) {
  const struct sdpai_parallel parallel = {.threads = threads};
  double times[REPEATS];
  for (int i = 0; i < REPEATS; i++) {
    _Atomic int32_t arrived = 0;
    if (cold) sleep_microseconds(300);
    double start = seconds_now();
    sdpai_parallel_run(&parallel, 2, work, &arrived);
    times[i] = 1e6 * (seconds_now() - start);
  }
  qsort(times, REPEATS, sizeof *times, compare);
  return times[REPEATS / 2];
}

static void test_hand_over(void **state) {
  (void)state;
  double serial = median(HOT, 1, empty);
  double hot = median(HOT, 2, empty), cold = median(COLD, 2, empty);
  double hot_answer = median(HOT, 2, meet), cold_answer = median(COLD, 2, meet);
  print_message("microseconds: one thread %.2f; two, nothing to do: hot %.2f, cold %.2f; "
                "until a worker answers: hot %.2f, cold %.2f\n",
                serial, hot, cold, hot_answer, cold_answer);
  assert_true(serial < 20);
  assert_true(hot < 100);
  assert_true(cold < 1000);
}

/* On CPU time, too: between jobs a worker sleeps. */
static void test_idle_costs_nothing(void **state) {
  (void)state;
  assert_true(counted_run(2, 100));
  sleep_microseconds(5000);
  double before = process_seconds();
  sleep_microseconds(200000);
  assert_true(process_seconds() - before < 0.02);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hand_over),
      cmocka_unit_test(test_idle_costs_nothing),
  };
  return cmocka_run_group_tests_name("parallel_time", tests, NULL, NULL);
}
