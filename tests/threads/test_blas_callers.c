/* test_blas_callers.c - engine blas called by several threads at once, and by forked children
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every function may be called from any thread at any time, whatever the BLAS allows its own
 * callers: an OpenBLAS that was built without threads gives two products at once one buffer. With
 * the BLAS's number of threads fixed each result has the bits of a call that is alone.
 */
#define _POSIX_C_SOURCE 200809L
#include "parallel_support.h"
#include "threaded_call.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seconds.h"

/* Calls go on for ROUNDS or, where the BLAS's threads fight for the CPUs, for SECONDS. */
enum { CALLERS = 4, ROUNDS = 150, SECONDS = 4, CHILDREN = 12 };

static struct threaded_output expected[THREADED_CALLS];

static int run(enum threaded_which which, struct threaded_output *out) {
  sdpa_options options = threaded_options(0);
  const sdpa_problem problem = threaded_problem(which);
  const sdpa_args args = threaded_args(which, out);
  options.engine = SDPA_ENGINE_BLAS;
  memset(out, 0, sizeof *out);
  return sdpa_attention(&problem, &options, &args) == SDPA_OK;
}

static int run_all(struct threaded_output *out) {
  int right = 1;
  for (int which = 0; which < THREADED_CALLS; which++) {
    right &= run((enum threaded_which)which, out);
    right &= memcmp(out, &expected[which], sizeof *out) == 0;
  }
  return right;
}

static _Atomic int32_t stop, rounds, wrong;

static void *run_often(void *out) {
  const double end = seconds_now() + SECONDS;
  for (int i = 0; i < ROUNDS && seconds_now() < end; i++) atomic_fetch_add(&wrong, !run_all(out));
  return NULL;
}

static void test_callers(void **state) {
  (void)state;
  static struct threaded_output out[CALLERS];
  pthread_t threads[CALLERS];
  atomic_store(&wrong, 0);
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, &out[i]), 0);
  for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(atomic_load(&wrong), 0);
}

static void *run_until_stopped(void *out) {
  while (!atomic_load(&stop)) {
    atomic_fetch_add(&wrong, !run_all(out));
    atomic_fetch_add(&rounds, 1);
  }
  return NULL;
}

static int run_in_child(void *arg) {
  return run_all(arg) ? 0 : 1;
}

/* Whether the BLAS was built with OpenMP, whose runtime knows nothing of forked children. */
static int is_openmp(void) {
  char info[1024];
  sdpa_build_info(info, sizeof info);
  return strstr(info, "USE_OPENMP") != NULL;
}

static int run_tiled_in_child(void *arg) {
  return threaded_run(2, arg) && threaded_run(1, arg) ? 0 : 1;
}

static int run_in_hasty_child(void *arg) {
  alarm(2);
  return run_in_child(arg);
}

/* After products in the parent: the child's engine tiled, and engine blas, which may hang with
 * OpenMP but not be wrong. The parent goes on. */
static void test_fork_after_products(void **state) {
  (void)state;
  static struct threaded_output out;
  skip_if_fork_with_threads_fails();
  assert_true(run_all(&out));
  assert_int_equal(wait_for_child(start_child(run_tiled_in_child, &out)), 0);
  if (is_openmp()) {
    int status = -1;
    const pid_t child = start_child(run_in_hasty_child, &out);
    assert_true(waitpid(child, &status, 0) == child);
    const int hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    print_message("engine blas in a forked child, OpenMP: %s\n", hung ? "hung" : "right");
    assert_true(hung || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
  } else {
    assert_int_equal(wait_for_child(start_child(run_in_child, &out)), 0);
  }
  assert_true(run_all(&out));
}

/* Children of a process whose threads are in the middle of products. */
static void test_fork_beside_callers(void **state) {
  (void)state;
  skip_if_fork_beside_running_threads_fails();
  static struct threaded_output outs[2], out;
  pthread_t threads[2];
  if (is_openmp()) {
    print_message("skipped: a BLAS built with OpenMP may hang in a forked child\n");
    skip();
  }
  atomic_store(&wrong, 0);
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_until_stopped, &outs[i]), 0);
  assert_true(wait_for(&rounds, 4));
  int children_wrong = 0;
  for (int i = 0; i < CHILDREN; i++)
    children_wrong += wait_for_child(start_child(run_in_child, &out)) != 0;
  atomic_store(&stop, 1);
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(children_wrong, 0);
  assert_int_equal(atomic_load(&wrong), 0);
}

static int init(void **state) {
  (void)state;
  int right = threaded_init();
  for (int which = 0; which < THREADED_CALLS; which++)
    right &= run((enum threaded_which)which, &expected[which]);
  return right ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_callers),
      cmocka_unit_test(test_fork_after_products),
      cmocka_unit_test(test_fork_beside_callers),
  };
  return cmocka_run_group_tests_name("blas_callers", tests, init, NULL);
}
