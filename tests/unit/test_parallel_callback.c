/* test_parallel_callback.c - the parallel loop on the caller's own parallel_for, also on wrong ones
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A wrong parallel_for must end in an error, and even then no item may be computed twice, nor two
 * at a time with one slot, nor any after the run has returned.
 */
#define _POSIX_C_SOURCE 200809L
#include "parallel_support.h"

#include <fenv.h>
#include <pthread.h>
#include <string.h>

enum { THREADS = 5, ITEMS = 300 };

/* What the last parallel_for below was asked for. */
static int64_t asked_tasks;
static int calls;

static void forwards(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  (void)ctx;
  asked_tasks = tasks;
  calls++;
  for (int64_t i = 0; i < tasks; i++) task(arg, i);
}

static void backwards(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  (void)ctx;
  for (int64_t i = tasks; i-- > 0;) task(arg, i);
}

static void inside_out(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  (void)ctx;
  for (int64_t i = 0; i < tasks; i++) task(arg, (i * 3 + 2) % tasks);
}

static void nothing(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  (void)ctx, (void)tasks, (void)task, (void)arg;
}

static void without_first(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  (void)ctx;
  for (int64_t i = 1; i < tasks; i++) task(arg, i);
}

static void without_last(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  forwards(ctx, tasks - 1, task, arg);
}

static void all_twice(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  forwards(ctx, tasks, task, arg);
  forwards(ctx, tasks, task, arg);
}

static void one_twice(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  task(arg, tasks / 2);
  forwards(ctx, tasks, task, arg);
}

static void one_instead_of_another(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  (void)ctx;
  for (int64_t i = 0; i < tasks; i++) task(arg, i == 1 ? 0 : i);
}

static void one_too_many(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  forwards(ctx, tasks + 1, task, arg);
}

static void counted_from_one(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  (void)ctx;
  for (int64_t i = 1; i <= tasks; i++) task(arg, i);
}

static void negative(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  task(arg, -1);
  forwards(ctx, tasks, task, arg);
}

static void far_off(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  task(arg, INT64_MAX);
  task(arg, INT64_MIN);
  forwards(ctx, tasks, task, arg);
}

/* A thread a task; `doubled` starts each twice. */
struct thread_task {
  sdpai_task task;
  void *arg;
  int64_t index;
};
static void *run_thread_task(void *arg) {
  struct thread_task *t = arg;
  t->task(t->arg, t->index);
  return NULL;
}
static void in_threads(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  pthread_t threads[2 * THREADS];
  struct thread_task thread_tasks[2 * THREADS];
  int64_t doubled = ctx ? 2 : 1;
  for (int64_t i = 0; i < doubled * tasks; i++) {
    thread_tasks[i] = (struct thread_task){task, arg, i / doubled};
    assert_int_equal(pthread_create(&threads[i], NULL, run_thread_task, &thread_tasks[i]), 0);
  }
  for (int64_t i = 0; i < doubled * tasks; i++) pthread_join(threads[i], NULL);
}

static void slow_item(void *counts, int64_t item, int64_t slot) {
  sleep_microseconds(50);
  count_item(counts, item, slot);
}

static int run_counted(sdpai_parallel_for parallel_for, void *ctx, sdpai_work work,
                       struct counts *counts) {
  const struct sdpai_parallel parallel = {THREADS, parallel_for, ctx};
  counts_init(counts, ITEMS, THREADS);
  int fault = sdpai_parallel_run(&parallel, ITEMS, work, counts);
  for (int64_t i = 0; i < ITEMS; i++) assert_true(atomic_load(&counts->runs[i]) <= 1);
  assert_int_equal(atomic_load(&counts->faults), 0);
  return fault;
}

static void test_right_loops(void **state) {
  (void)state;
  static const sdpai_parallel_for loops[] = {forwards, backwards, inside_out, in_threads};
  static struct counts counts;
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    assert_int_equal(run_counted(loops[i], NULL, count_item, &counts), 0);
    assert_true(counts_are_right(&counts));
    assert_int_equal(run_counted(loops[i], NULL, slow_item, &counts), 0);
    assert_true(counts_are_right(&counts));
  }
}

/* In threads that sleep, every one of them gets items. */
static void test_tasks_share_items(void **state) {
  (void)state;
  static struct counts counts;
  int busy = 0;
  assert_int_equal(run_counted(in_threads, NULL, slow_item, &counts), 0);
  for (int i = 0; i < THREADS; i++) busy += atomic_load(&counts.slot_runs[i]) > 0;
  assert_true(busy >= 2);
}

static void test_number_of_tasks(void **state) {
  (void)state;
  static struct counts counts;
  static const struct {
    int32_t threads;
    int64_t items, tasks;
  } cases[] = {{2, 100, 2}, {100, 3, 3}, {1000, 1000, 256}, {256, 256, 256}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct sdpai_parallel parallel = {cases[i].threads, forwards, NULL};
    counts_init(&counts, cases[i].items, (int32_t)cases[i].tasks);
    assert_int_equal(sdpai_parallel_run(&parallel, cases[i].items, count_item, &counts), 0);
    assert_int_equal(asked_tasks, cases[i].tasks);
    assert_true(counts_are_right(&counts));
  }
  calls = 0; /* one task would gain nothing from a loop */
  for (int64_t items = 0; items < 3; items++) {
    const struct sdpai_parallel parallel = {items == 2 ? 1 : 8, forwards, NULL};
    counts_init(&counts, items, 1);
    assert_int_equal(sdpai_parallel_run(&parallel, items, count_item, &counts), 0);
    assert_true(counts_are_right(&counts));
  }
  assert_int_equal(calls, 0);
}

static void test_wrong_loops(void **state) {
  (void)state;
  static const struct {
    sdpai_parallel_for loop;
    int complete; /* every item is computed nevertheless */
  } cases[] = {{nothing, 0},      {without_first, 1},    {without_last, 1},
               {all_twice, 1},    {one_twice, 1},        {one_instead_of_another, 1},
               {one_too_many, 1}, {counted_from_one, 1}, {negative, 1},
               {far_off, 1}};
  static struct counts counts;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_not_equal(run_counted(cases[i].loop, NULL, count_item, &counts), 0);
    assert_int_equal(counts_are_right(&counts), cases[i].complete);
  }
}

static void test_tasks_twice_at_a_time(void **state) {
  (void)state;
  static struct counts counts;
  int doubled = 1;
  for (int repeat = 0; repeat < 10; repeat++)
    assert_int_not_equal(run_counted(in_threads, &doubled, slow_item, &counts), 0);
}

/* Returns as soon as one task has begun, and leaves all of them running. */
struct early {
  pthread_t threads[THREADS];
  struct thread_task thread_tasks[THREADS];
  struct counts counts;
  _Atomic int32_t begun, returned, after;
};
static void return_early(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  struct early *early = ctx;
  for (int64_t i = 0; i < tasks; i++) {
    early->thread_tasks[i] = (struct thread_task){task, arg, i};
    assert_int_equal(
        pthread_create(&early->threads[i], NULL, run_thread_task, &early->thread_tasks[i]), 0);
  }
  assert_true(wait_for(&early->begun, THREADS));
}
static void early_item(void *arg, int64_t item, int64_t slot) {
  struct early *early = arg;
  atomic_fetch_add(&early->begun, 1);
  sleep_microseconds(5000);
  if (atomic_load(&early->returned)) atomic_fetch_add(&early->after, 1);
  count_item(&early->counts, item, slot);
}

static void test_early_return(void **state) {
  (void)state;
  static struct early early;
  const struct sdpai_parallel parallel = {THREADS, return_early, &early};
  counts_init(&early.counts, ITEMS, THREADS);
  int fault = sdpai_parallel_run(&parallel, ITEMS, early_item, &early);
  atomic_store(&early.returned, 1);
  for (int i = 0; i < THREADS; i++) pthread_join(early.threads[i], NULL);
  assert_int_not_equal(fault, 0);
  assert_int_equal(atomic_load(&early.after), 0);
  assert_int_equal(atomic_load(&early.counts.faults), 0);
  for (int64_t i = 0; i < ITEMS; i++) assert_true(atomic_load(&early.counts.runs[i]) <= 1);
}

/* Tasks run in the default environment, whatever the threads of the caller's loop have set. */
static void upwards(void *ctx, int64_t tasks, sdpai_task task, void *arg) {
  (void)ctx;
  fesetround(FE_UPWARD);
  for (int64_t i = 0; i < tasks; i++) task(arg, i);
  *(int *)ctx = fegetround();
  fesetround(FE_TONEAREST);
}
static void check_rounding(void *arg, int64_t item, int64_t slot) {
  volatile double one = 1, three = 3;
  (void)item, (void)slot;
  if (one / three != 0x1.5555555555555p-2) atomic_fetch_add((_Atomic int32_t *)arg, 1);
}

static void test_environment(void **state) {
  (void)state;
  _Atomic int32_t wrong = 0;
  int rounding = 0;
  const struct sdpai_parallel parallel = {THREADS, upwards, &rounding};
  assert_int_equal(sdpai_parallel_run(&parallel, ITEMS, check_rounding, &wrong), 0);
  assert_int_equal(atomic_load(&wrong), 0);
  assert_int_equal(rounding, FE_UPWARD);
}

/* The caller's loop leaves the library's pool alone. */
static void test_starts_no_thread(void **state) {
  (void)state;
  int named;
  count_threads(&named);
  assert_int_equal(named, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right_loops),     cmocka_unit_test(test_tasks_share_items),
      cmocka_unit_test(test_number_of_tasks), cmocka_unit_test(test_wrong_loops),
      cmocka_unit_test(test_early_return),    cmocka_unit_test(test_tasks_twice_at_a_time),
      cmocka_unit_test(test_environment),     cmocka_unit_test(test_starts_no_thread),
  };
  return cmocka_run_group_tests_name("parallel_callback", tests, NULL, NULL);
}
