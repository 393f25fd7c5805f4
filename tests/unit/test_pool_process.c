/* test_pool_process.c - the thread pool beside fork(), exit() and dlclose()
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Children end by exit() unless a test says otherwise, so that the library's destructor runs in
 * them as well. A child that hangs is killed, and the test fails.
 */
#define _GNU_SOURCE /* _Fork */
#include "parallel_support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "own_program.h"
#include "pool_module.h"

enum { CHILD_THREADS = 4 };

static int pool_works(int32_t threads) {
  const struct sdpai_parallel parallel = {.threads = threads};
  return items_meet(&parallel, threads);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static int use_pool(void *arg) {
  (void)arg;
  int named;
  count_threads(&named);
  if (named != 0) return 1; /* a child begins without workers */
  for (int i = 0; i < 200; i++)
    if (!counted_run(CHILD_THREADS, 1 + i)) return 2;
  if (!pool_works(CHILD_THREADS)) return 3;
  count_threads(&named);
  return named == CHILD_THREADS - 1 ? 0 : 4;
}

static int use_nothing(void *arg) {
  (void)arg;
  return 0;
}

/* A child's child, before and after the child has a pool of its own. */
static int use_pool_and_fork(void *arg) {
  if (wait_for_child(start_child(use_pool, arg)) != 0) return 10;
  int status = use_pool(arg);
  if (status != 0) return status;
  if (wait_for_child(start_child(use_pool, arg)) != 0) return 11;
  if (wait_for_child(start_child(use_nothing, arg)) != 0) return 12;
  return pool_works(CHILD_THREADS) ? 0 : 13;
}

static void test_fork_before_first_use(void **state) {
  (void)state;
  skip_if_fork_with_threads_fails();
  assert_int_equal(wait_for_child(start_child(use_pool, NULL)), 0);
  assert_int_equal(wait_for_child(start_child(use_pool_and_fork, NULL)), 0);
  int named;
  count_threads(&named);
  assert_int_equal(named, 0);
}

static void test_fork_after_use(void **state) {
  (void)state;
  skip_if_fork_with_threads_fails();
  assert_true(pool_works(3));
  assert_int_equal(wait_for_child(start_child(use_nothing, NULL)), 0);
  assert_int_equal(wait_for_child(start_child(use_pool, NULL)), 0);
  assert_int_equal(wait_for_child(start_child(use_pool_and_fork, NULL)), 0);
  pid_t first = start_child(use_pool, NULL), second = start_child(use_pool, NULL);
  assert_true(counted_run(3, 1000));
  assert_int_equal(wait_for_child(first), 0);
  assert_int_equal(wait_for_child(second), 0);
  assert_true(pool_works(3));
}

/* fork() from inside a job, on whichever thread has the item. */
struct forking {
  struct counts counts;
  pid_t children[20];
};
static void fork_in_item(void *arg, int64_t item, int64_t slot) {
  struct forking *forking = arg;
  if (item % 10 == 5) {
    pid_t child = fork();
    if (child == 0) _exit(counted_run(CHILD_THREADS, 500) && pool_works(CHILD_THREADS) ? 0 : 1);
    forking->children[item / 10] = child;
  }
  count_item(&forking->counts, item, slot);
}

static void test_fork_inside_a_job(void **state) {
  (void)state;
  skip_if_fork_with_threads_fails();
  static struct forking forking;
  const struct sdpai_parallel parallel = {.threads = 3};
  counts_init(&forking.counts, 200, 3);
  assert_int_equal(sdpai_parallel_run(&parallel, 200, fork_in_item, &forking), 0);
  assert_true(counts_are_right(&forking.counts));
  for (int i = 0; i < 20; i++) assert_int_equal(wait_for_child(forking.children[i]), 0);
  assert_true(pool_works(3));
}

static _Atomic int32_t stop_callers, callers_wrong, callers_runs;
static void *call_until_stopped(void *arg) {
  (void)arg;
  while (!atomic_load(&stop_callers)) {
    if (!counted_run(4, 64)) atomic_fetch_add(&callers_wrong, 1);
    atomic_fetch_add(&callers_runs, 1);
  }
  return NULL;
}

/* Whatever the locks of the pool are doing at that moment. */
static void test_fork_beside_running_jobs(void **state) {
  (void)state;
  skip_if_fork_beside_running_threads_fails();
  pthread_t callers[3];
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&callers[i], NULL, call_until_stopped, NULL), 0);
  assert_true(wait_for(&callers_runs, 10));
  for (int i = 0; i < 60; i++)
    assert_int_equal(wait_for_child(start_child(i % 3 ? use_pool : use_nothing, NULL)), 0);
  atomic_store(&stop_callers, 1);
  for (int i = 0; i < 3; i++) pthread_join(callers[i], NULL);
  assert_int_equal(atomic_load(&callers_wrong), 0);
  assert_true(pool_works(4));
}

/* musl has _Fork() too, from 1.2.2, and no macro that says its version. */
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
#define HAVE_BARE_FORK 1
#endif
#endif

#ifdef HAVE_BARE_FORK
/* A fork that runs no handlers: the child may only end, but end it must. */
static void test_fork_without_handlers(void **state) {
  (void)state;
  skip_if_fork_with_threads_fails();
  assert_true(pool_works(4));
  pid_t child = _Fork();
  if (child == 0) exit(0);
  assert_int_equal(wait_for_child(child), 0);
  assert_true(pool_works(4));
}
#endif

/* ---- exit ------------------------------------------------------------------------------------ */

/* After the library's destructor, which has no priority: runs are serial, no worker is left. */
static int check_late, threads_without_pool;
__attribute__((destructor(101))) static void call_after_the_end(void) {
  if (!check_late) return;
  int right = threads_become(threads_without_pool) && counted_run(CHILD_THREADS, 500);
  _exit(right && count_threads(NULL) == threads_without_pool ? 0 : 20);
}

static int exit_with_pool(int use) {
  check_late = 1;
  threads_without_pool = count_threads(NULL);
  return use && !pool_works(CHILD_THREADS) ? 1 : 0;
}

/* exit() while other threads call the library all the time. */
static int exit_beside_callers(int runs) {
  for (int i = 0; i < 2; i++) {
    pthread_t caller;
    if (pthread_create(&caller, NULL, call_until_stopped, NULL) != 0) return 1;
    pthread_detach(caller);
  }
  return wait_for(&callers_runs, runs) ? 0 : 2;
}

/* The first job of the process, by another thread, while fork() runs this handler: a handler that
 * the job registered now would run neither before this fork nor in its child. The workers are left
 * sleeping, in a lock of the pool that the child inherits. */
static void *start_pool(void *arg) {
  *(int *)arg = pool_works(CHILD_THREADS);
  sleep_microseconds(10000);
  return NULL;
}
static int has_started;
static void start_pool_elsewhere(void) {
  pthread_t thread;
  if (has_started || pthread_create(&thread, NULL, start_pool, &has_started) != 0) return;
  pthread_join(thread, NULL);
}
static int fork_within_first_use(int number) {
  (void)number;
  if (pthread_atfork(start_pool_elsewhere, NULL, NULL) != 0) return 50;
  const int status = wait_for_child(start_child(use_pool, NULL));
  return has_started ? status : 51;
}

/* This program again, for the sake of a process whose pool is the first one: main() returns
 * function(number). */
static const struct {
  const char *name;
  int (*function)(int number);
} programs[] = {{"exit_with_pool", exit_with_pool},
                {"exit_beside_callers", exit_beside_callers},
                {"fork_within_first_use", fork_within_first_use}};

static int run_program(const char *name, int number) {
  pid_t child = fork();
  if (child == 0) {
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    start_own_program((const char *[]){"test_pool_process", name, text, NULL});
    _exit(127);
  }
  return wait_for_child(child);
}

static void test_calls_after_the_destructor(void **state) {
  (void)state;
  assert_int_equal(run_program("exit_with_pool", 0), 0);
  assert_int_equal(run_program("exit_with_pool", 1), 0);
}

static void test_exit_beside_callers(void **state) {
  (void)state;
  for (int i = 0; i < 30; i++) assert_int_equal(run_program("exit_beside_callers", 1 + i), 0);
}

static void test_first_use_within_fork(void **state) {
  (void)state;
  skip_if_fork_with_threads_fails();
  assert_int_equal(run_program("fork_within_first_use", 0), 0);
}

/* ---- dlopen, dlclose ------------------------------------------------------------------------- */

static const char module_path[] = POOL_MODULE; /* set by the build */

static void *load(pool_module_function *sum) {
  void *module = dlopen(module_path, RTLD_NOW | RTLD_LOCAL);
  if (!module) fprintf(stderr, "%s\n", dlerror());
  void *symbol = module ? dlsym(module, "pool_module_sum") : NULL;
  memcpy(sum, &symbol, sizeof symbol);
  return module;
}
static int is_loaded(void) {
  void *module = dlopen(module_path, RTLD_NOW | RTLD_NOLOAD);
  if (module) dlclose(module);
  return module != NULL;
}

/* Loads, uses, waits (so that workers spin or sleep), unloads. */
static int use_module(int32_t threads, long pause) {
  pool_module_function sum;
  void *module = load(&sum);
  if (!module || !sum) return 1;
  int before = count_threads(NULL);
  int64_t result = threads > 0 ? sum(threads, 1000) : 499500;
  int during = count_threads(NULL);
  if (pause > 0) sleep_microseconds(pause);
  dlclose(module);
  if (result != 499500) return 2;
  if (threads > 0 && during != before + threads - 1) return 3;
  if (is_loaded()) return 4;
  return threads_become(before) ? 0 : 5;
}

/* musl's dlclose() does nothing (its wiki: Functional differences from glibc). */
static void skip_where_libraries_stay(void) {
#if !defined(__GLIBC__)
  skip();
#endif
}

static void test_unload_in_a_loop(void **state) {
  (void)state;
  skip_where_libraries_stay();
  assert_int_equal(use_module(2, 0), 0); /* what the loader and the sanitizers start is there now */
  for (int i = 0; i < 100; i++) {
    assert_int_equal(use_module(1 + i % 4, 0), 0);
    assert_int_equal(use_module(2, i), 0);
  }
  assert_int_equal(use_module(2, 3000), 0);
  assert_int_equal(use_module(0, 0), 0); /* never used */
}

/* A child unloads what it inherited, with or without a pool of its own. */
struct loaded {
  void *module;
  pool_module_function sum;
  int32_t threads; /* 0: does not use it */
};
static int unload_in_child(void *arg) {
  const struct loaded *loaded = arg;
  int before = count_threads(NULL);
  if (loaded->threads > 0 && loaded->sum(loaded->threads, 1000) != 499500) return 1;
  dlclose(loaded->module);
  if (is_loaded()) return 2;
  return threads_become(before) ? 0 : 3;
}

static void test_unload_after_fork(void **state) {
  (void)state;
  skip_where_libraries_stay();
  skip_if_fork_beside_running_threads_fails();
  struct loaded loaded;
  loaded.module = load(&loaded.sum);
  assert_non_null(loaded.module);
  assert_int_equal(loaded.sum(4, 1000), 499500);
  for (int i = 0; i < 10; i++) {
    loaded.threads = i % 4;
    assert_int_equal(wait_for_child(start_child(unload_in_child, &loaded)), 0);
  }
  assert_int_equal(loaded.sum(4, 1000), 499500);
  dlclose(loaded.module);
  assert_false(is_loaded());
}

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 3 && i < sizeof programs / sizeof *programs; i++)
    if (strcmp(argv[1], programs[i].name) == 0) return programs[i].function(atoi(argv[2]));
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fork_before_first_use), /* first of all */
      cmocka_unit_test(test_fork_after_use),
      cmocka_unit_test(test_fork_inside_a_job),
      cmocka_unit_test(test_fork_beside_running_jobs),
#ifdef HAVE_BARE_FORK
      cmocka_unit_test(test_fork_without_handlers),
#endif
      cmocka_unit_test(test_calls_after_the_destructor),
      cmocka_unit_test(test_exit_beside_callers),
      cmocka_unit_test(test_first_use_within_fork),
      cmocka_unit_test(test_unload_in_a_loop),
      cmocka_unit_test(test_unload_after_fork),
  };
  return cmocka_run_group_tests_name("pool_process", tests, NULL, NULL);
}
