/* test_application.c - the library in programs with threads, children and small stacks of their own
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L
#include "parallel_support.h"
#include "threaded_call.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CALLERS = 8, ROUNDS = 30, SMALL_STACK = 128 * 1024 };

/* ---- one plan, eight threads ----------------------------------------------------------------- */

struct caller {
  pthread_t thread;
  const sdpa_plan *plans[THREADED_CALLS];
  void *workspace; /* NULL: the library allocates */
  size_t bytes;
  struct threaded_output out;
  int wrong;
};

static void *execute_plans(void *arg) {
  struct caller *c = arg;
  for (int i = 0; i < ROUNDS; i++) {
    for (int which = 0; which < THREADED_CALLS; which++) {
      const sdpa_args args = threaded_args((enum threaded_which)which, &c->out);
      memset(&c->out, 0, sizeof c->out);
      c->wrong += sdpa_execute(c->plans[which], &args, c->workspace, c->bytes) != SDPA_OK;
      c->wrong += !threaded_is_right((enum threaded_which)which, &c->out);
    }
  }
  return NULL;
}

static void run_callers(int32_t threads) {
  static struct caller callers[CALLERS];
  sdpa_plan *plans[THREADED_CALLS];
  size_t most = 0, most_alignment = 1;
  for (int which = 0; which < THREADED_CALLS; which++) {
    const sdpa_problem problem = threaded_problem((enum threaded_which)which);
    const sdpa_options options = threaded_options(threads);
    size_t bytes, alignment;
    assert_int_equal(sdpa_plan_create(&problem, &options, &plans[which]), SDPA_OK);
    assert_int_equal(sdpa_plan_workspace(plans[which], &bytes, &alignment), SDPA_OK);
    if (bytes > most) most = bytes;
    if (alignment > most_alignment) most_alignment = alignment;
  }
  for (int i = 0; i < CALLERS; i++) {
    struct caller *c = &callers[i];
    memset(c, 0, sizeof *c);
    memcpy(c->plans, plans, sizeof plans);
    c->bytes = most;
    if (i % 2) assert_int_equal(posix_memalign(&c->workspace, most_alignment, most), 0);
    assert_int_equal(pthread_create(&c->thread, NULL, execute_plans, c), 0);
  }
  for (int i = 0; i < CALLERS; i++) {
    assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    assert_int_equal(callers[i].wrong, 0);
    free(callers[i].workspace);
  }
  for (int which = 0; which < THREADED_CALLS; which++) sdpa_plan_destroy(plans[which]);
}

static void test_one_plan(void **state) {
  (void)state;
  run_callers(1);
  run_callers(2);
  run_callers(5);
  int named;
  count_threads(&named);
  assert_in_range(named, 1, 4); /* one pool, however many call it */
}

/* ---- fork ------------------------------------------------------------------------------------ */

static int run_in_child(void *arg) {
  static struct threaded_output out;
  const int32_t *threads = arg;
  for (int i = 0; i < 5; i++)
    if (!threaded_run(*threads, &out)) return 1;
  return 0;
}

static _Atomic int32_t stop, rounds, wrong;
static void *run_until_stopped(void *out) {
  while (!atomic_load(&stop)) {
    if (!threaded_run(3, out)) atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&rounds, 1);
  }
  return NULL;
}

/* Children of a process whose threads are in the middle of calls; they call too. */
static void test_fork(void **state) {
  (void)state;
  skip_if_fork_beside_running_threads_fails();
  static struct threaded_output outs[2], out;
  pthread_t threads[2];
  int32_t counts[] = {1, 2, 3, 0};
  assert_true(threaded_run(2, &out));
  for (int i = 0; i < 4; i++)
    assert_int_equal(wait_for_child(start_child(run_in_child, &counts[i])), 0);
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_until_stopped, &outs[i]), 0);
  assert_true(wait_for(&rounds, 4));
  for (int i = 0; i < 24; i++)
    assert_int_equal(wait_for_child(start_child(run_in_child, &counts[i % 4])), 0);
  atomic_store(&stop, 1);
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(atomic_load(&wrong), 0);
  assert_true(threaded_run(2, &out));
}

/* A child is made by a task of a running call, which goes on. */
static int children_wrong;
static void fork_then_run(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  int32_t threads = 2;
  (void)ctx;
  for (int64_t i = 0; i < n_tasks; i++) {
    if (i == n_tasks / 2)
      children_wrong += wait_for_child(start_child(run_in_child, &threads)) != 0;
    task(arg, i);
  }
}

static void test_fork_inside_a_call(void **state) {
  (void)state;
  skip_if_fork_with_threads_fails();
  static struct threaded_output out;
  sdpa_options options = threaded_options(3);
  options.parallel_for = fork_then_run;
  assert_true(threaded_run_with(&options, &out));
  assert_int_equal(children_wrong, 0);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

struct small_stack {
  struct threaded_output out;
  int right;
};

/* Everything that computes, on this stack: calls of one and of several threads, plans, merge,
 * softmax, all tensors at once. */
static void *run_on_small_stack(void *arg) {
  struct small_stack *s = arg;
  static float weights[8 * 96 * 112], scores[8 * 96 * 112], jacobian[64 * 64];
  s->right = threaded_run(1, &s->out) && threaded_run(4, &s->out);
  sdpa_problem problem = threaded_problem(THREADED_MANY);
  sdpa_args args = threaded_args(THREADED_MANY, &s->out);
  const sdpa_options options = threaded_options(2);
  problem.features |= SDPA_WEIGHTS | SDPA_SCORES;
  problem.score_stage = SDPA_STAGE_BIASED;
  s->right &= sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD) == SDPA_OK;
  problem.bias.head = 0;
  args.weights = weights;
  args.scores = scores;
  s->right &= sdpa_attention(&problem, &options, &args) == SDPA_OK;
  s->right &=
      sdpa_attention(&problem, NULL, &args) == SDPA_OK; /* auto: by the BLAS, if there is one */
  problem = threaded_problem(THREADED_MANY);
  s->right &= sdpa_merge(&problem, &options, s->out.output, s->out.lse, weights, scores) == SDPA_OK;
  s->right &= sdpa_softmax_f32(64, 64, 1, scores, 64, NULL, 0, weights, 64) == SDPA_OK;
  s->right &= sdpa_softmax_jacobian_f32(64, weights, jacobian, 64) == SDPA_OK;
  return NULL;
}

static void test_small_stack(void **state) {
  (void)state;
  static struct small_stack s;
  pthread_attr_t attributes;
  pthread_t thread;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
  assert_int_equal(pthread_create(&thread, &attributes, run_on_small_stack, &s), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attributes);
  assert_true(s.right);
}

static int init(void **state) {
  (void)state;
  return threaded_init() ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_plan),
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_fork_inside_a_call),
      cmocka_unit_test(test_small_stack),
  };
  return cmocka_run_group_tests_name("application", tests, init, NULL);
}
