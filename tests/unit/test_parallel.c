/* test_parallel.c - the parallel loop on the library's pool
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The program is linked with --wrap=pthread_create, so that starting a thread can be made to fail.
 */
#define _GNU_SOURCE /* pthread_getname_np, feenableexcept */
#include "parallel_support.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int32_t creations, creations_left = INT32_MAX;
static size_t first_stack; /* of a thread with attributes; sanitizers enlarge it once they see it */
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg) {
  if (atomic_fetch_sub(&creations_left, 1) <= 0) {
    errno = ENOMEM; /* as the system calls within leave it */
    return EAGAIN;
  }
  atomic_fetch_add(&creations, 1);
  if (attributes && first_stack == 0) pthread_attr_getstacksize(attributes, &first_stack);
  return __real_pthread_create(thread, attributes, start, arg);
}

static void run(int32_t threads, int64_t items, sdpai_work work, void *arg) {
  const struct sdpai_parallel parallel = {.threads = threads};
  assert_int_equal(sdpai_parallel_run(&parallel, items, work, arg), 0);
}

/* ---- first of all: before any pool exists ---------------------------------------------------- */

static void test_one_thread_starts_none(void **state) {
  (void)state;
  assert_true(counted_run(1, 100));
  assert_true(counted_run(8, 1));
  assert_true(counted_run(8, 0));
  assert_int_equal(atomic_load(&creations), 0);
}

/* This thread's signal mask is still `before`. */
static void assert_same_signals(const sigset_t *before) {
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  for (int i = 1; i < NSIG; i++) assert_int_equal(sigismember(before, i), sigismember(&after, i));
}

/* No thread at all, then a few, then all that are asked for; the caller keeps errno and signals. */
static void test_failing_creation(void **state) {
  (void)state;
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  errno = 12345;
  atomic_store(&creations_left, 0);
  assert_true(counted_run(4, 100));
  assert_int_equal(atomic_load(&creations), 0);
  atomic_store(&creations_left, 2);
  for (int i = 0; i < 5000; i++) assert_true(counted_run(8, 10));
  assert_int_equal(atomic_load(&creations), 2);
  assert_true(atomic_load(&creations_left) > -10); /* asked again now and then, not in each job */
  atomic_store(&creations_left, INT32_MAX);
  for (int i = 0; i < 5000; i++) assert_true(counted_run(4, 10));
  assert_int_equal(atomic_load(&creations), 3);
  assert_int_equal(errno, 12345);
  assert_same_signals(&before);
}

/* ---- items and slots ------------------------------------------------------------------------- */

static void test_thread_numbers(void **state) {
  (void)state;
  const struct {
    int32_t threads;
    int64_t items;
    int32_t slots;
  } cases[] = {{1, 100, 1},      {2, 100, 2},       {2, 1, 1},
               {2, 0, 1},        {7, 3, 3},         {7, 7, 7},
               {256, 1000, 256}, {1000, 1000, 256}, {1000, INT64_MAX, 256}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct sdpai_parallel parallel = {.threads = cases[i].threads};
    assert_int_equal(sdpai_parallel_threads(&parallel, cases[i].items), cases[i].slots);
  }
  const struct sdpai_parallel none = {.threads = 0};
  assert_in_range(sdpai_default_threads(), 1, SDPAI_MAX_THREADS);
  assert_int_equal(sdpai_parallel_threads(&none, 1000), sdpai_default_threads());
}

static void test_each_item_once(void **state) {
  (void)state;
  static const int32_t threads[] = {0, 1, 2, 3, 8};
  static const int64_t items[] = {0, 1, 2, 3, 7, 8, 64, 1000, MOST_ITEMS};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
    for (size_t j = 0; j < sizeof items / sizeof *items; j++)
      for (int repeat = 0; repeat < 20; repeat++) assert_true(counted_run(threads[i], items[j]));
}

enum { ORDER_THREADS = 8 };
struct order {
  int64_t last[SDPAI_MAX_THREADS];
  _Atomic int32_t faults;
  _Atomic int64_t handed_out;
};
/* When an item begins, all before it were handed out, and only those in the hands of the other
 * threads may not have begun. */
static void check_order(void *arg, int64_t item, int64_t slot) {
  struct order *order = arg;
  if (item <= order->last[slot]) atomic_fetch_add(&order->faults, 1);
  order->last[slot] = item;
  int64_t begun = atomic_fetch_add(&order->handed_out, 1);
  if (begun < item - (ORDER_THREADS - 1)) atomic_fetch_add(&order->faults, 1);
}

static void keep_order(void *arg, int64_t item, int64_t slot) {
  int64_t *next = arg;
  (void)slot;
  if (item == *next) ++*next;
}

static void test_increasing_order(void **state) {
  (void)state;
  int64_t next = 0;
  run(1, 1000, keep_order, &next);
  assert_int_equal(next, 1000);
  for (int repeat = 0; repeat < 50; repeat++) {
    static struct order order;
    memset(&order, 0, sizeof order);
    for (int i = 0; i < SDPAI_MAX_THREADS; i++) order.last[i] = -1;
    run(ORDER_THREADS, 1000, check_order, &order);
    assert_int_equal(atomic_load(&order.faults), 0);
    assert_int_equal(atomic_load(&order.handed_out), 1000);
  }
}

/* As many threads as are asked for do work at once, the calling one among them. */
static void test_all_threads_take_part(void **state) {
  (void)state;
  static const int32_t threads[] = {2, 3, 8, 40};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    const struct sdpai_parallel parallel = {.threads = threads[i]};
    assert_true(items_meet(&parallel, threads[i]));
  }
  int named;
  count_threads(&named);
  assert_int_equal(named, 39);
}

struct uneven {
  int64_t items;
  _Atomic int32_t done, late;
};
/* The first item takes as long as all others together. */
static void uneven_item(void *arg, int64_t item, int64_t slot) {
  struct uneven *uneven = arg;
  (void)slot;
  if (item == 0 && !wait_for(&uneven->done, (int32_t)uneven->items - 1))
    atomic_store(&uneven->late, 1);
  atomic_fetch_add(&uneven->done, 1);
}

static void test_no_thread_idles_beside_items(void **state) {
  (void)state;
  for (int32_t threads = 2; threads <= 4; threads++) {
    struct uneven uneven = {.items = 500};
    run(threads, uneven.items, uneven_item, &uneven);
    assert_int_equal(atomic_load(&uneven.late), 0);
    assert_int_equal(atomic_load(&uneven.done), 500);
  }
}

static void test_1000_threads(void **state) {
  (void)state;
  const struct sdpai_parallel parallel = {.threads = 1000};
  assert_true(items_meet(&parallel, SDPAI_MAX_THREADS));
  assert_true(counted_run(1000, MOST_ITEMS));
  int named;
  count_threads(&named);
  assert_int_equal(named, SDPAI_MAX_THREADS - 1);
  assert_true(counted_run(2, 1000)); /* a small job on the large pool */
}

/* ---- callers --------------------------------------------------------------------------------- */

static void nested_item(void *arg, int64_t item, int64_t slot) {
  _Atomic int32_t *wrong = arg;
  (void)item;
  (void)slot;
  if (!counted_run(4, 50)) atomic_fetch_add(wrong, 1);
}

static void test_nested(void **state) {
  (void)state;
  _Atomic int32_t wrong = 0;
  int before = count_threads(NULL);
  for (int repeat = 0; repeat < 20; repeat++) run(4, 40, nested_item, &wrong);
  assert_int_equal(atomic_load(&wrong), 0);
  assert_int_equal(count_threads(NULL), before);
}

enum { CALLERS = 8, CALLS = 300 };
static void *call_often(void *arg) {
  _Atomic int32_t *wrong = arg;
  for (int i = 0; i < CALLS; i++)
    if (!counted_run(4, 1 + i % 60)) atomic_fetch_add(wrong, 1);
  return NULL;
}

static void test_concurrent_callers(void **state) {
  (void)state;
  pthread_t threads[CALLERS];
  _Atomic int32_t wrong = 0;
  int before = count_threads(NULL);
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, call_often, &wrong), 0);
  for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(atomic_load(&wrong), 0);
  assert_true(threads_become(before));
}

/* A busy pool: the second caller does its job alone while the first is still at work. */
static void hold_pool(void *arg, int64_t item, int64_t slot) {
  _Atomic int32_t *stage = arg;
  (void)slot;
  if (item == 0) {
    atomic_store(stage, 1);
    wait_for(stage, 2);
  }
}
static void *hold_pool_thread(void *stage) {
  const struct sdpai_parallel parallel = {.threads = 2};
  sdpai_parallel_run(&parallel, 2, hold_pool, stage);
  return NULL;
}

static void test_busy_pool_does_not_wait(void **state) {
  (void)state;
  _Atomic int32_t stage = 0;
  pthread_t holder;
  assert_int_equal(pthread_create(&holder, NULL, hold_pool_thread, &stage), 0);
  assert_true(wait_for(&stage, 1));
  for (int i = 0; i < 10; i++) {
    int64_t next = 0; /* in order and without a lock: this thread alone */
    run(8, 100, keep_order, &next);
    assert_int_equal(next, 100);
  }
  atomic_store(&stage, 2);
  pthread_join(holder, NULL);
}

static void *call_once(void *arg) {
  *(int *)arg = counted_run(4, 100);
  return NULL;
}

static void test_small_stack(void **state) {
  (void)state;
  pthread_attr_t attributes;
  pthread_t thread;
  int right = 0;
  pthread_attr_init(&attributes);
  assert_int_equal(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
  assert_int_equal(pthread_create(&thread, &attributes, call_once, &right), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  assert_true(right);
}

/* A caller that is cancelled in the middle of a job does not end inside it. */
static void cancel_item(void *arg, int64_t item, int64_t slot) {
  _Atomic int32_t *stage = arg;
  (void)item;
  (void)slot;
  atomic_fetch_add(stage, 1);
  wait_for(stage, 3);       /* two items, and the canceller */
  sleep_microseconds(2000); /* where a thread with a cancellation pending would end */
}
static void *cancelled_caller(void *stage) {
  const struct sdpai_parallel parallel = {.threads = 2};
  int previous;
  sdpai_parallel_run(&parallel, 2, cancel_item, stage);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &previous);
  return previous == PTHREAD_CANCEL_ENABLE ? stage : NULL;
}

static void test_cancellation(void **state) {
  (void)state;
  _Atomic int32_t stage = 0;
  pthread_t thread;
  void *result;
  assert_int_equal(pthread_create(&thread, NULL, cancelled_caller, &stage), 0);
  assert_true(wait_for(&stage, 2));
  pthread_cancel(thread);
  atomic_fetch_add(&stage, 1);
  pthread_join(thread, &result);
  assert_ptr_equal(result, &stage);
  const struct sdpai_parallel parallel = {.threads = 2};
  assert_true(items_meet(&parallel, 2)); /* the pool was given back */
}

/* ---- what a worker is like ------------------------------------------------------------------- */

struct inspection {
  int32_t expected; /* threads that meet */
  _Atomic int32_t arrived, late, workers, wrong_signals, wrong_name, wrong_rounding;
};

static void inspect(void *arg, int64_t item, int64_t slot) {
  struct inspection *inspection = arg;
  static const int open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF};
  static const int blocked[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGABRT};
  volatile double one = 1, three = 3, tiny = 0x1p-1070, half = 0.5;
  (void)item;
  atomic_fetch_add(&inspection->arrived, 1);
  if (!wait_for(&inspection->arrived, inspection->expected)) atomic_store(&inspection->late, 1);
  if (one / three != 0x1.5555555555555p-2 || -one / three != -0x1.5555555555555p-2 ||
      tiny * half != 0x1p-1071)
    atomic_fetch_add(&inspection->wrong_rounding, 1);
  feraiseexcept(FE_DIVBYZERO); /* masked; and not the caller's */
  if (slot == 0) return;

  sigset_t signals;
  char name[16] = "";
  atomic_fetch_add(&inspection->workers, 1);
  pthread_sigmask(SIG_SETMASK, NULL, &signals);
  for (size_t i = 0; i < sizeof open / sizeof *open; i++)
    if (sigismember(&signals, open[i])) atomic_fetch_add(&inspection->wrong_signals, 1);
  for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++)
    if (!sigismember(&signals, blocked[i])) atomic_fetch_add(&inspection->wrong_signals, 1);
  pthread_getname_np(pthread_self(), name, sizeof name);
  if (strcmp(name, "sdpa") != 0) atomic_fetch_add(&inspection->wrong_name, 1);
}

static void test_workers(void **state) {
  (void)state;
  struct inspection inspection = {.expected = 4};
  sigset_t before;
  /* The caller's own environment and signals: neither used by workers nor changed. */
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  fesetenv(FE_DFL_ENV);
  fesetround(FE_UPWARD);
  errno = 12345;
  run(4, 4, inspect, &inspection);
  int error = errno, rounding = fegetround(), flags = fetestexcept(FE_ALL_EXCEPT);
  fesetenv(FE_DFL_ENV);
  assert_int_equal(error, 12345);
  assert_int_equal(rounding, FE_UPWARD);
  assert_int_equal(flags, 0);
  assert_int_equal(atomic_load(&inspection.late), 0);
  assert_int_equal(atomic_load(&inspection.workers), 3);
  assert_int_equal(atomic_load(&inspection.wrong_rounding), 0);
  assert_int_equal(atomic_load(&inspection.wrong_signals), 0);
  assert_int_equal(atomic_load(&inspection.wrong_name), 0);
  assert_same_signals(&before);
}

/* The environment in which a worker is started is not the one it works in. */
static void test_start_in_odd_environment(void **state) {
  (void)state;
  struct inspection inspection = {.expected = 8};
  fesetround(FE_DOWNWARD);
  feclearexcept(FE_ALL_EXCEPT);
#if defined(__GLIBC__)
  feenableexcept(FE_DIVBYZERO);
#endif
  run(8, 8, inspect, &inspection); /* starts four of its seven workers */
  fesetenv(FE_DFL_ENV);
  assert_int_equal(atomic_load(&creations), 7);
  assert_int_equal(first_stack, 512 * 1024);
  assert_int_equal(atomic_load(&inspection.late), 0);
  assert_int_equal(atomic_load(&inspection.workers), 7);
  assert_int_equal(atomic_load(&inspection.wrong_rounding), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_thread_starts_none), /* these three first, in this order */
      cmocka_unit_test(test_failing_creation),
      cmocka_unit_test(test_start_in_odd_environment),
      cmocka_unit_test(test_thread_numbers),
      cmocka_unit_test(test_each_item_once),
      cmocka_unit_test(test_increasing_order),
      cmocka_unit_test(test_workers),
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_concurrent_callers),
      cmocka_unit_test(test_busy_pool_does_not_wait),
      cmocka_unit_test(test_small_stack),
      cmocka_unit_test(test_cancellation),
      cmocka_unit_test(test_no_thread_idles_beside_items),
      cmocka_unit_test(test_all_threads_take_part), /* counts the workers so far */
      cmocka_unit_test(test_1000_threads),
      cmocka_unit_test(test_each_item_once), /* again, on the large pool */
      cmocka_unit_test(test_concurrent_callers),
  };
  return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
