/* test_gate.c - the gate around a foreign library: one at a time, and no fork while one is inside
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Linked with --wrap=pthread_atfork, so that a registration can be refused, or done twice as two
 * threads may do it. Each case runs in a child of its own, which has not used the gate.
 */
#include "parallel_support.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "runtime/gate.h"

/* TURNS: each gives the CPU away, which on a busy machine takes milliseconds. */
enum { STAY_MICROSECONDS = 100000, THREADS = 8, TURNS = 200, FORKS = 3 };

static _Atomic int refusals = 1; /* registrations to be refused: at first the one at load time */
static int registrations = 1;    /* how often the next one is done */
static _Atomic int done;         /* registrations so far */

int __real_pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
int __wrap_pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  if (!prepare) return __real_pthread_atfork(prepare, parent, child); /* the pool's */
  if (atomic_fetch_sub(&refusals, 1) > 0) return ENOMEM;
  atomic_store(&refusals, 0);
  for (int i = 0; i < registrations; i++) {
    const int error = __real_pthread_atfork(prepare, parent, child);
    if (error) return error;
    atomic_fetch_add(&done, 1);
  }
  return 0;
}

/* ---- forks wait ------------------------------------------------------------------------------ */

static _Atomic int32_t arrived, at_work;

static void *stay_inside(void *alone) {
  const int entered = sdpai_gate_enter(*(const int *)alone);
  atomic_store(&at_work, 1);
  atomic_store(&arrived, 1);
  sleep_microseconds(STAY_MICROSECONDS);
  atomic_store(&at_work, 0);
  sdpai_gate_leave(entered);
  return NULL;
}

static int enter_and_leave(void *alone) {
  const int entered = sdpai_gate_enter(*(const int *)alone);
  if (atomic_load(&at_work)) return 20; /* the other thread was inside, which is not here */
  sdpai_gate_leave(entered);
  return entered ? 0 : 21;
}

/* A child, and a child of it, made while a thread is inside. */
static int fork_beside(void *alone) {
  for (int i = 0; i < FORKS; i++) {
    pthread_t thread;
    atomic_store(&arrived, 0);
    if (pthread_create(&thread, NULL, stay_inside, alone) != 0) return 10;
    if (!wait_for(&arrived, 1)) return 11;
    const pid_t child = start_child(enter_and_leave, alone);
    if (atomic_load(&at_work)) return 12; /* the fork did not wait */
    const int status = wait_for_child(child);
    if (status != 0) return status;
    pthread_join(thread, NULL);
    const int own = enter_and_leave(alone); /* the gate is open again */
    if (own != 0) return own;
  }
  return 0;
}

static int fork_from_child(void *alone) {
  const int status = fork_beside(alone);
  return status ? status : wait_for_child(start_child(fork_beside, alone));
}

static void check_forks(void) {
  for (int alone = 0; alone <= 1; alone++)
    assert_int_equal(wait_for_child(start_child(fork_from_child, &alone)), 0);
}

static void test_forks_wait(void **state) {
  (void)state;
  skip_if_fork_beside_running_threads_fails();
  check_forks();
}

static void test_handlers_twice(void **state) {
  (void)state;
  skip_if_fork_beside_running_threads_fails();
  registrations = 2;
  check_forks();
  registrations = 1;
}

/* Without handlers there is nothing to enter for those who may be inside together; the next caller
 * gets them. */
static int refused_then_not(void *arg) {
  int together = 0;
  (void)arg;
  for (int i = 0; i < FORKS; i++) {
    atomic_store(&refusals, 1);
    const int entered = sdpai_gate_enter(0);
    if (entered || atomic_load(&refusals) != 0) return 30;
    sdpai_gate_leave(entered);
    if (wait_for_child(start_child(fork_from_child, &together)) != 0) return 31;
  }
  return fork_from_child(&together);
}

static void test_refused_handlers(void **state) {
  (void)state;
  skip_if_fork_beside_running_threads_fails();
  assert_int_equal(wait_for_child(start_child(refused_then_not, NULL)), 0);
}

/* ---- the application's handlers -------------------------------------------------------------- */

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int stop;

static void lock_own(void) {
  const int entered = sdpai_gate_enter(0);
  sdpai_gate_leave(entered);
  pthread_mutex_lock(&own);
}
static void unlock_own(void) {
  pthread_mutex_unlock(&own);
  const int entered = sdpai_gate_enter(0);
  sdpai_gate_leave(entered);
}

static void *enter_under_own(void *arg) {
  (void)arg;
  while (!atomic_load(&stop)) {
    pthread_mutex_lock(&own);
    const int entered = sdpai_gate_enter(0);
    sdpai_gate_leave(entered);
    pthread_mutex_unlock(&own);
  }
  return NULL;
}

static int leave_at_once(void *arg) {
  (void)arg;
  return 0;
}

/* Handlers that are registered after the gate's may hold what a thread inside wants, and pass
 * through the gate themselves. */
static int fork_with_handlers(void *arg) {
  pthread_t thread;
  (void)arg;
  sdpai_gate_leave(sdpai_gate_enter(0));
  if (__real_pthread_atfork(lock_own, unlock_own, unlock_own) != 0) return 10;
  if (pthread_create(&thread, NULL, enter_under_own, NULL) != 0) return 11;
  for (int i = 0; i < 100; i++) {
    const int status = wait_for_child(start_child(leave_at_once, NULL));
    if (status != 0) return status;
  }
  atomic_store(&stop, 1);
  pthread_join(thread, NULL);
  return 0;
}

static void test_handlers_of_others(void **state) {
  (void)state;
  skip_if_fork_beside_running_threads_fails();
  assert_int_equal(wait_for_child(start_child(fork_with_handlers, NULL)), 0);
}

/* What the callee's own handlers need that came later: once more, by the next that enters. */
static int register_again(void *alone) {
  const int before = atomic_load(&done);
  sdpai_gate_leave(sdpai_gate_enter(0));
  const int first = atomic_load(&done); /* the one at load time was refused */
  sdpai_gate_register_again();
  for (int i = 0; i < 2; i++) sdpai_gate_leave(sdpai_gate_enter(0));
  if (first != before + 1 || atomic_load(&done) != before + 2) return 30;
  return fork_beside(alone);
}

static void test_registered_again(void **state) {
  (void)state;
  skip_if_fork_beside_running_threads_fails();
  static int alone;
  assert_int_equal(wait_for_child(start_child(register_again, &alone)), 0);
}

/* The registration at load time was the one that `refusals` foresees. */
static void test_registered_early(void **state) {
  (void)state;
  assert_int_equal(atomic_load(&refusals), 0);
}

/* ---- one at a time --------------------------------------------------------------------------- */

static _Atomic int32_t inside, crowds;

static void *pass_alone(void *arg) {
  (void)arg;
  for (int i = 0; i < TURNS; i++) {
    const int entered = sdpai_gate_enter(1);
    if (atomic_fetch_add(&inside, 1) != 0 || !entered) atomic_fetch_add(&crowds, 1);
    sched_yield();
    atomic_fetch_sub(&inside, 1);
    sdpai_gate_leave(entered);
  }
  return NULL;
}

/* Of as many registrations as *arg says the first ones are refused. */
static int pass_in_turn(void *arg) {
  pthread_t threads[THREADS];
  atomic_store(&refusals, *(const int *)arg);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, pass_alone, NULL) != 0) return 10;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return atomic_load(&crowds) ? 11 : 0;
}

static void test_one_at_a_time(void **state) {
  (void)state;
  skip_if_fork_with_threads_fails();
  for (int refused = 0; refused <= 1; refused++)
    assert_int_equal(wait_for_child(start_child(pass_in_turn, &refused)), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_registered_early),   cmocka_unit_test(test_forks_wait),
      cmocka_unit_test(test_handlers_twice),     cmocka_unit_test(test_refused_handlers),
      cmocka_unit_test(test_handlers_of_others), cmocka_unit_test(test_registered_again),
      cmocka_unit_test(test_one_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
