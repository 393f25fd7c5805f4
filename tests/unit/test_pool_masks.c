/* test_pool_masks.c - a worker that sleeps through its job has its affinity mask back
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A program of its own: the pool moves workers only as long as it has fewer threads than there are
 * CPUs.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "parallel_support.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "seconds.h"

enum { JOBS = 1000 };

static void do_nothing(void *arg, int64_t item, int64_t slot) {
  (void)arg, (void)item, (void)slot;
}

/* Workers that have another mask. */
static int workers_without(const cpu_set_t *mask) {
  int count = 0;
  DIR *directory = opendir("/proc/self/task");
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    cpu_set_t own;
    const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
    if (thread > 0 && thread != getpid() && sched_getaffinity(thread, sizeof own, &own) == 0 &&
        !CPU_EQUAL(&own, mask))
      count++;
  }
  closedir(directory);
  return count;
}

/* A worker that has woken is at it for a moment. */
static int all_become(const cpu_set_t *mask) {
  const double end = seconds_now() + PATIENCE_SECONDS;
  while (workers_without(mask) > 0) {
    if (seconds_now() > end) return 0;
    sleep_microseconds(100);
  }
  return 1;
}

/* Jobs that are over before a worker has woken. */
static void test_masks_after_short_jobs(void **state) {
  (void)state;
  cpu_set_t whole;
  if (sched_getaffinity(0, sizeof whole, &whole) != 0 || CPU_COUNT(&whole) < 2) skip();
  const struct sdpai_parallel parallel = {.threads = 2};
  sdpai_parallel_run(&parallel, 2, do_nothing, NULL); /* the worker starts, with the whole mask */
  sleep_microseconds(10000);
  size_t cpu = CPU_SETSIZE - 1;
  for (int i = 0; i < JOBS; i++) {
    do cpu = (cpu + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(cpu, &whole));
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(cpu, &here); /* now and then it is the CPU that the worker slept on */
    assert_int_equal(sched_setaffinity(0, sizeof here, &here), 0);
    sdpai_parallel_run(&parallel, 2, do_nothing, NULL);
    assert_true(all_become(&whole));
    sleep_microseconds(200); /* the worker goes to sleep */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_masks_after_short_jobs)};
  return cmocka_run_group_tests_name("pool_masks", tests, NULL, NULL);
}
