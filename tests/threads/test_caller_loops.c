/* test_caller_loops.c - the caller's parallel_for, right and wrong, and any number of threads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A right loop, whatever its order, gives the bits of one thread. A wrong one ends in
 * SDPA_ERROR_CALLBACK, writes nothing behind its workspace, and spoils no later call of the plan.
 */
#define _POSIX_C_SOURCE 200809L
#include "threaded_call.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 5, GUARD = 64 };

/* What a loop has seen. */
struct loop_log {
  int64_t calls, most_tasks;
};
static void log_call(void *ctx, int64_t n_tasks) {
  struct loop_log *log = ctx;
  log->calls++;
  if (n_tasks > log->most_tasks) log->most_tasks = n_tasks;
}

static void serially(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  log_call(ctx, n_tasks);
  for (int64_t i = 0; i < n_tasks; i++) task(arg, i);
}

static void backwards(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  log_call(ctx, n_tasks);
  for (int64_t i = n_tasks; i-- > 0;) task(arg, i);
}

static void odd_ones_first(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  log_call(ctx, n_tasks);
  for (int64_t i = 1; i < n_tasks; i += 2) task(arg, i);
  for (int64_t i = 0; i < n_tasks; i += 2) task(arg, i);
}

struct thread_task {
  sdpa_task task;
  void *arg;
  int64_t index;
};
static void *run_thread_task(void *arg) {
  const struct thread_task *t = arg;
  t->task(t->arg, t->index);
  return NULL;
}
static void a_thread_each(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  pthread_t threads[THREADS];
  struct thread_task tasks[THREADS];
  log_call(ctx, n_tasks);
  for (int64_t i = 0; i < n_tasks; i++) {
    tasks[i] = (struct thread_task){task, arg, i};
    assert_int_equal(pthread_create(&threads[i], NULL, run_thread_task, &tasks[i]), 0);
  }
  for (int64_t i = 0; i < n_tasks; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void all_twice(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  serially(ctx, n_tasks, task, arg);
  backwards(ctx, n_tasks, task, arg);
}

static void not_at_all(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  (void)task, (void)arg;
  log_call(ctx, n_tasks);
}

static void all_but_the_last(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  serially(ctx, n_tasks - 1, task, arg);
}

static void one_too_many(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  serially(ctx, n_tasks + 1, task, arg);
}

/* One execution of a plan in an exact workspace with a guard behind it. */
static sdpa_status execute(enum threaded_which which, const sdpa_options *options,
                           struct threaded_output *out) {
  const sdpa_problem problem = threaded_problem(which);
  const sdpa_args args = threaded_args(which, out);
  sdpa_plan *plan;
  size_t bytes, alignment;
  void *block = NULL;
  assert_int_equal(sdpa_plan_create(&problem, options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  assert_int_equal(posix_memalign(&block, alignment, bytes + GUARD), 0);
  memset(block, 0xFF, bytes + GUARD);
  memset(out, 0, sizeof *out);
  const sdpa_status status = sdpa_execute(plan, &args, block, bytes);
  for (size_t i = 0; i < GUARD; i++) assert_int_equal(((unsigned char *)block)[bytes + i], 0xFF);
  free(block);
  sdpa_plan_destroy(plan);
  return status;
}

/* One call of each kind through `loop`, which ends in `expected`. */
static void execute_through(sdpa_parallel_for loop, sdpa_status expected) {
  static struct threaded_output out;
  for (int which = 0; which < THREADED_CALLS; which++) {
    struct loop_log log = {0, 0};
    sdpa_options options = threaded_options(THREADS);
    options.parallel_for = loop;
    options.parallel_ctx = &log;
    assert_int_equal(execute((enum threaded_which)which, &options, &out), expected);
    assert_true(log.calls > 0);
    if (expected != SDPA_OK) continue;
    assert_true(threaded_is_right((enum threaded_which)which, &out));
    assert_in_range(log.most_tasks, 2, THREADS);
  }
}

static void test_right_loops(void **state) {
  (void)state;
  static const sdpa_parallel_for loops[] = {serially, backwards, odd_ones_first, a_thread_each};
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) execute_through(loops[i], SDPA_OK);
}

static void test_wrong_loops(void **state) {
  (void)state;
  static const sdpa_parallel_for loops[] = {all_twice, not_at_all, all_but_the_last, one_too_many};
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    execute_through(loops[i], SDPA_ERROR_CALLBACK);
    execute_through(backwards, SDPA_OK);
  }
}

/* Of a backward pass whose keys are cut into groups. */
enum { HEADS = 4, ROWS = 64, KEYS = 512, DIM = 32 };

struct backward_output {
  float query[HEADS * ROWS * DIM], key[HEADS * KEYS * DIM], value[HEADS * KEYS * DIM], sinks[HEADS];
};

/* As execute(); gradients start as 0. */
static sdpa_status execute_backward(const sdpa_options *options, struct backward_output *out) {
  static float in[HEADS * KEYS * DIM], lse[HEADS * ROWS];
  static const float sinks[HEADS] = {1, 2, 3, 4};
  for (int i = 0; i < HEADS * KEYS * DIM; i++) in[i] = (float)(i % 13) / 8 - 1;
  for (int i = 0; i < HEADS * ROWS; i++) lse[i] = 7;
  sdpa_problem p;
  sdpa_problem_init(&p, sizeof p);
  p.query_type = SDPA_F32;
  p.features = SDPA_SINKS;
  p.batch = 1;
  p.query_heads = p.kv_heads = HEADS;
  p.query_len = ROWS;
  p.key_len = KEYS;
  p.key_dim = p.value_dim = DIM;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  const sdpa_args args = {.size = sizeof args, .query = in, .key = in, .value = in, .sinks = sinks};
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = in,
                            .lse = lse,
                            .grad_output = in,
                            .grad_query = out->query,
                            .grad_key = out->key,
                            .grad_value = out->value,
                            .grad_sinks = out->sinks};
  sdpa_plan *plan;
  size_t bytes, alignment;
  void *block = NULL;
  assert_int_equal(sdpa_plan_create_backward(&p, options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  assert_int_equal(posix_memalign(&block, alignment, bytes + GUARD), 0);
  memset(block, 0xFF, bytes + GUARD);
  memset(out, 0, sizeof *out);
  const sdpa_status status = sdpa_backward(plan, &args, &grads, block, bytes);
  for (size_t i = 0; i < GUARD; i++) assert_int_equal(((unsigned char *)block)[bytes + i], 0xFF);
  free(block);
  sdpa_plan_destroy(plan);
  return status;
}

/* Right loops give the bits of one thread; after a wrong one what rows have left in the workspace is
 * not summed. */
static void test_backward(void **state) {
  (void)state;
  static const sdpa_parallel_for right[] = {serially, backwards, odd_ones_first, a_thread_each};
  static const sdpa_parallel_for wrong[] = {all_twice, not_at_all, all_but_the_last, one_too_many};
  static const float untouched[HEADS];
  static struct backward_output expected, out;
  sdpa_options options = threaded_options(1);
  assert_int_equal(execute_backward(&options, &expected), SDPA_OK);
  options.threads = THREADS;
  for (size_t i = 0; i < 4; i++) {
    struct loop_log log = {0, 0};
    options.parallel_ctx = &log;
    options.parallel_for = wrong[i];
    assert_int_equal(execute_backward(&options, &out), SDPA_ERROR_CALLBACK);
    assert_memory_equal(out.sinks, untouched, sizeof untouched);
    options.parallel_for = right[i];
    assert_int_equal(execute_backward(&options, &out), SDPA_OK);
    assert_memory_equal(&out, &expected, sizeof out);
    assert_in_range(log.most_tasks, 2, THREADS);
  }
}

static void test_loop_unwanted(void **state) {
  (void)state;
  static struct threaded_output out;
  struct loop_log log = {0, 0};
  sdpa_options options = threaded_options(1);
  options.parallel_for = serially;
  options.parallel_ctx = &log;
  assert_true(threaded_run_with(&options, &out));
  assert_int_equal(log.calls, 0);
  options.threads = THREADS;
  sdpa_problem small = threaded_problem(THREADED_MANY);
  const sdpa_args args = threaded_args(THREADED_MANY, &out);
  small.query_len = small.key_len = 3;
  assert_int_equal(sdpa_attention(&small, &options, &args), SDPA_OK);
  assert_int_equal(log.calls, 0);
}

/* Counts from none to far too many, with the library's threads and with a loop. */
static void test_thread_counts(void **state) {
  (void)state;
  static const int32_t counts[] = {0, 1, 2, 3, 255, 256, 257, 1000, INT32_MAX};
  static struct threaded_output out, before;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    struct loop_log log = {0, 0};
    sdpa_options options = threaded_options(counts[i]);
    assert_true(threaded_run_with(&options, &out));
    options.parallel_for = backwards;
    options.parallel_ctx = &log;
    assert_true(threaded_run_with(&options, &out));
    assert_true(log.most_tasks <= 256);
    if (counts[i] > 0) assert_true(log.most_tasks <= counts[i]);
  }
  memset(&out, 0xA5, sizeof out);
  before = out;
  static const int32_t refused[] = {-1, -256, INT32_MIN};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    const sdpa_options options = threaded_options(refused[i]);
    const sdpa_problem problem = threaded_problem(THREADED_MANY);
    const sdpa_args args = threaded_args(THREADED_MANY, &out);
    assert_int_equal(sdpa_attention(&problem, &options, &args), SDPA_ERROR_VALUE);
    assert_memory_equal(&out, &before, sizeof out);
  }
}

static int init(void **state) {
  (void)state;
  return threaded_init() ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right_loops),   cmocka_unit_test(test_wrong_loops),
      cmocka_unit_test(test_backward),      cmocka_unit_test(test_loop_unwanted),
      cmocka_unit_test(test_thread_counts),
  };
  return cmocka_run_group_tests_name("caller_loops", tests, init, NULL);
}
