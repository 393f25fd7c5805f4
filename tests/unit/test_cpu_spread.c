/* test_cpu_spread.c - threads of one job leave each other's CPUs
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/cpu_spread.h"

/* The system may move a thread at any time, so what needs it to stay is tried again. */
enum { TRIES = 200 };

static cpu_set_t whole; /* of this process at its start */
static int first = -1, second = -1;

static void set_cpu(int cpu, cpu_set_t *mask) {
  CPU_SET((size_t)cpu, mask);
}

static int has_cpu(int cpu, const cpu_set_t *mask) {
  return CPU_ISSET((size_t)cpu, mask) != 0;
}

static int find_cpus(void **state) {
  (void)state;
  if (sched_getaffinity(0, sizeof whole, &whole) != 0) return 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!has_cpu(cpu, &whole)) continue;
    if (first < 0) {
      first = cpu;
    } else if (second < 0) {
      second = cpu;
    }
  }
  return 0;
}

static int restore(void **state) {
  (void)state;
  return sched_setaffinity(0, sizeof whole, &whole);
}

static void allow(int one, int two) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  set_cpu(one, &mask);
  set_cpu(two, &mask);
  assert_int_equal(sched_setaffinity(0, sizeof mask, &mask), 0);
}

static void assert_allowed(int one, int two) {
  cpu_set_t mask, expected;
  CPU_ZERO(&expected);
  set_cpu(one, &expected);
  set_cpu(two, &expected);
  assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
  assert_true(CPU_EQUAL(&mask, &expected));
}

static int is_claimed(struct sdpai_cpu_claims *claims, int cpu) {
  return (int)(atomic_load(&claims->words[cpu / 64]) >> (cpu % 64) & 1);
}

static int claimed(struct sdpai_cpu_claims *claims) {
  int count = 0;
  for (int cpu = 0; cpu < SDPAI_CLAIMABLE_CPUS; cpu++) count += is_claimed(claims, cpu);
  return count;
}

/* On `first`, where it may run on both. */
static void start_on_first(void) {
  allow(first, first);
  allow(first, second);
}

static void test_start_forgets_and_claims_its_own(void **state) {
  (void)state;
  if (first < 0) skip();
  struct sdpai_cpu_claims claims;
  memset(&claims, 0xff, sizeof claims);
  allow(first, first);
  sdpai_cpu_claims_start(&claims);
  assert_int_equal(claimed(&claims), 1);
  assert_true(is_claimed(&claims, first));
}

static void test_claimed_cpu_is_left(void **state) {
  (void)state;
  if (second < 0) skip();
  int left = 0;
  for (int i = 0; i < TRIES && !left; i++) {
    struct sdpai_cpu_claims claims;
    allow(first, first);
    sdpai_cpu_claims_start(&claims);
    allow(first, second);
    errno = 7;
    sdpai_cpu_claim(&claims);
    left = sched_getcpu() == second;
    assert_int_equal(errno, 7);
    assert_allowed(first, second);
    assert_int_equal(claimed(&claims), 2); /* wherever the system had put it in between */
  }
  assert_true(left);
}

static void test_free_cpu_is_kept(void **state) {
  (void)state;
  if (second < 0) skip();
  int kept = 0;
  for (int i = 0; i < TRIES && !kept; i++) {
    struct sdpai_cpu_claims claims;
    allow(second, second);
    sdpai_cpu_claims_start(&claims);
    start_on_first();
    sdpai_cpu_claim(&claims);
    kept = sched_getcpu() == first;
    assert_int_equal(claimed(&claims), 2);
  }
  assert_true(kept);
}

static void test_nowhere_to_go(void **state) {
  (void)state;
  if (second < 0) skip();
  struct sdpai_cpu_claims claims;
  allow(first, first);
  sdpai_cpu_claims_start(&claims);
  sdpai_cpu_claim(&claims); /* its mask allows no other */
  assert_int_equal(sched_getcpu(), first);
  assert_allowed(first, first);
  assert_int_equal(claimed(&claims), 1);
  memset(&claims, 0xff, sizeof claims);
  allow(first, second);
  sdpai_cpu_claim(&claims); /* all are claimed */
  assert_allowed(first, second);
}

/* ---- sleep ---------------------------------------------------------------------------------- */

/* A thread that lies down on `first` and gets up when it is told to. */
struct sleeper {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int is_down, is_woken; /* under the mutex, like `bed` */
  struct sdpai_cpu_bed bed;
  cpu_set_t mask_after;
};

static void *sleep_on_first(void *argument) {
  struct sleeper *sleeper = argument;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  set_cpu(first, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
  pthread_mutex_lock(&sleeper->mutex);
  sdpai_cpu_lie_down(&sleeper->bed);
  set_cpu(second, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
  sleeper->is_down = 1;
  pthread_cond_broadcast(&sleeper->changed);
  while (!sleeper->is_woken) pthread_cond_wait(&sleeper->changed, &sleeper->mutex);
  const struct sdpai_cpu_bed bed = sleeper->bed;
  pthread_mutex_unlock(&sleeper->mutex);
  sdpai_cpu_get_up(&bed, pthread_self());
  sched_getaffinity(0, sizeof sleeper->mask_after, &sleeper->mask_after);
  return NULL;
}

/* The mask that the sleeper has after a turn out from CPU `from`; then, unless `given` is NULL, it is
 * given that one, and gets up. */
static cpu_set_t mask_when_turned_out(int from, const cpu_set_t *given, struct sleeper *sleeper) {
  cpu_set_t mask;
  *sleeper =
      (struct sleeper){.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_on_first, sleeper), 0);
  pthread_mutex_lock(&sleeper->mutex);
  while (!sleeper->is_down) pthread_cond_wait(&sleeper->changed, &sleeper->mutex);
  allow(from, from);
  sdpai_cpu_turn_out(&sleeper->bed, sleeper->thread);
  sdpai_cpu_turn_out(&sleeper->bed, sleeper->thread); /* by the next job: what it had is not lost */
  assert_int_equal(pthread_getaffinity_np(sleeper->thread, sizeof mask, &mask), 0);
  if (given) assert_int_equal(pthread_setaffinity_np(sleeper->thread, sizeof *given, given), 0);
  sleeper->is_woken = 1;
  pthread_cond_broadcast(&sleeper->changed);
  pthread_mutex_unlock(&sleeper->mutex);
  assert_int_equal(pthread_join(sleeper->thread, NULL), 0);
  return mask;
}

static void test_sleeper_on_this_cpu_is_turned_out(void **state) {
  (void)state;
  if (second < 0) skip();
  struct sleeper sleeper;
  const cpu_set_t mask = mask_when_turned_out(first, NULL, &sleeper);
  assert_int_equal(CPU_COUNT(&mask), 1);
  assert_true(has_cpu(second, &mask));
  assert_int_equal(CPU_COUNT(&sleeper.mask_after), 2);
}

static void test_mask_given_to_a_sleeper_is_kept(void **state) {
  (void)state;
  if (second < 0) skip();
  struct sleeper sleeper;
  cpu_set_t given;
  CPU_ZERO(&given);
  set_cpu(first, &given);
  mask_when_turned_out(first, &given, &sleeper);
  assert_true(sleeper.bed.is_moved);
  assert_true(CPU_EQUAL(&sleeper.mask_after, &given));
}

static void test_sleeper_elsewhere_stays(void **state) {
  (void)state;
  if (second < 0) skip();
  struct sleeper sleeper;
  const cpu_set_t mask = mask_when_turned_out(second, NULL, &sleeper);
  assert_int_equal(CPU_COUNT(&mask), 2);
  assert_false(sleeper.bed.is_moved);
  assert_int_equal(CPU_COUNT(&sleeper.mask_after), 2);
}

static void test_only_cpu_is_kept(void **state) {
  (void)state;
  if (first < 0) skip();
  struct sdpai_cpu_bed bed = {0};
  cpu_set_t mask;
  allow(first, first);
  sdpai_cpu_lie_down(&bed);
  sdpai_cpu_turn_out(&bed, pthread_self());
  assert_false(bed.is_moved);
  assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
  assert_true(CPU_COUNT(&mask) == 1 && has_cpu(first, &mask));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_start_forgets_and_claims_its_own, restore),
      cmocka_unit_test_teardown(test_claimed_cpu_is_left, restore),
      cmocka_unit_test_teardown(test_free_cpu_is_kept, restore),
      cmocka_unit_test_teardown(test_nowhere_to_go, restore),
      cmocka_unit_test_teardown(test_sleeper_on_this_cpu_is_turned_out, restore),
      cmocka_unit_test_teardown(test_mask_given_to_a_sleeper_is_kept, restore),
      cmocka_unit_test_teardown(test_sleeper_elsewhere_stays, restore),
      cmocka_unit_test_teardown(test_only_cpu_is_kept, restore),
  };
  return cmocka_run_group_tests_name("cpu_spread", tests, find_cpus, NULL);
}
