/* test_plan_threads.c - plans in several threads; a caller's loop that engine blas does not use
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L

#include "api_support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = SDPA_CAUSAL | SDPA_MASK | SDPA_LSE | SDPA_WEIGHTS };

/* Engine blas works on the calling thread: a parallel_for is accepted and not called. */
static void unwanted_parallel_for(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  ++*(int *)ctx;
  for (int64_t i = 0; i < n_tasks; i++) task(arg, i);
}
static void test_parallel_for(void **state) {
  (void)state;
  const struct api_sizes sizes = {2, 4, 2, 70, 130, 24, 40};
  sdpa_options options;
  struct api_call call;
  int calls = 0;
  api_needs(SDPA_ENGINE_BLAS);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = SDPA_ENGINE_BLAS;
  options.threads = 8;
  options.parallel_for = unwanted_parallel_for;
  options.parallel_ctx = &calls;
  api_call_init(&call, SDPA_F32, sizes, FEATURES, SDPA_ALIGN_BOTTOM_RIGHT);
  assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
  assert_int_equal(calls, 0);
  api_call_free(&call);
}

/* One plan, eight threads, each with its own args and, in half of them, its own workspace. */
enum { THREADS = 8, ROUNDS = 20 };
struct worker {
  const sdpa_plan *plan;
  struct api_call call;
  int with_workspace, failures;
  const void *expected;
};

static void *work(void *arg) {
  struct worker *worker = arg;
  size_t bytes, alignment;
  void *workspace = NULL;
  sdpa_plan_workspace(worker->plan, &bytes, &alignment);
  if (worker->with_workspace && posix_memalign(&workspace, alignment, bytes)) worker->failures++;
  for (int i = 0; i < ROUNDS; i++) {
    memset(worker->call.args.output, 0, worker->call.bytes[API_OUTPUT]);
    if (sdpa_execute(worker->plan, &worker->call.args, workspace, bytes) != SDPA_OK ||
        memcmp(worker->call.args.output, worker->expected, worker->call.bytes[API_OUTPUT]) != 0)
      worker->failures++;
  }
  free(workspace);
  return NULL;
}

/* Small enough that a BLAS keeps each product on its calling thread, so the bits must be equal. */
static void test_threads(void **state) {
  (void)state;
  static struct worker workers[THREADS];
  const struct api_sizes sizes = {2, 4, 2, 30, 40, 16, 16};
  struct api_call reference;
  api_call_init(&reference, SDPA_F32, sizes, FEATURES, SDPA_ALIGN_BOTTOM_RIGHT);
  sdpa_plan *plan;
  assert_int_equal(sdpa_plan_create(&reference.problem, NULL, &plan), SDPA_OK);
  assert_int_equal(sdpa_execute(plan, &reference.args, NULL, 0), SDPA_OK);
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) {
    workers[t].plan = plan;
    workers[t].with_workspace = t % 2;
    workers[t].expected = reference.args.output;
    api_call_init(&workers[t].call, SDPA_F32, sizes, FEATURES, SDPA_ALIGN_BOTTOM_RIGHT);
    assert_int_equal(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
  }
  for (int t = 0; t < THREADS; t++) {
    assert_int_equal(pthread_join(threads[t], NULL), 0);
    assert_int_equal(workers[t].failures, 0);
    api_call_free(&workers[t].call);
  }
  sdpa_plan_destroy(plan);
  api_call_free(&reference);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parallel_for),
                                     cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
