/* test_many_callers.c - 64 threads of the application on one plan
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * SDPA_STRESS_SECONDS in the environment sets how long, for all plans together; 2 if it is not set.
 */
#define _POSIX_C_SOURCE 200809L
#include "entry_calls.h"
#include "parallel_support.h"

#include <pthread.h>
#include <stdlib.h>

enum { CALLERS = 64, PLAN_THREADS = 4, SECONDS = 2 };

static const enum entry_call calls[] = {ENTRY_PLAN, ENTRY_PLAN_FEW, ENTRY_BACKWARD};
enum { KINDS = sizeof calls / sizeof *calls };

static _Atomic int stop;

struct caller {
  pthread_t thread;
  const sdpa_plan *plan;
  enum entry_call call;
  void *workspace; /* NULL: the library allocates */
  size_t bytes;
  int64_t runs, wrong;
  struct entry_output out;
};

static void *execute_often(void *arg) {
  struct caller *c = arg;
  do {
    const sdpa_status status = entry_execute(c->call, c->plan, c->workspace, c->bytes, &c->out);
    c->wrong += status != SDPA_OK || !entry_is_right(c->call, &c->out);
    c->runs++;
  } while (!atomic_load(&stop));
  return NULL;
}

static double stress_seconds(void) {
  const char *text = getenv("SDPA_STRESS_SECONDS");
  const double seconds = text ? strtod(text, NULL) : SECONDS;
  assert_true(seconds > 0);
  return seconds;
}

static sdpa_plan *make_plan(enum entry_call call, uint32_t engine, size_t *bytes,
                            size_t *alignment) {
  const sdpa_problem problem = entry_problem(call);
  const sdpa_options options = entry_options(engine, PLAN_THREADS);
  sdpa_plan *plan;
  const sdpa_status status = call == ENTRY_BACKWARD
                                 ? sdpa_plan_create_backward(&problem, &options, &plan)
                                 : sdpa_plan_create(&problem, &options, &plan);
  assert_int_equal(status, SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, bytes, alignment), SDPA_OK);
  return plan;
}

/* All of them on one plan, every second one in a workspace of its own. Returns the executions. */
static int64_t share_plan(enum entry_call call, uint32_t engine, double seconds) {
  struct caller *callers = calloc(CALLERS, sizeof *callers);
  size_t bytes, alignment;
  int64_t runs = 0, wrong = 0;
  assert_non_null(callers);
  sdpa_plan *plan = make_plan(call, engine, &bytes, &alignment);
  atomic_store(&stop, 0);
  for (int i = 0; i < CALLERS; i++) {
    struct caller *c = &callers[i];
    c->plan = plan;
    c->call = call;
    c->bytes = bytes;
    if (i % 2) assert_int_equal(posix_memalign(&c->workspace, alignment, bytes + 1), 0);
    assert_int_equal(pthread_create(&c->thread, NULL, execute_often, c), 0);
  }
  sleep_microseconds((long)(seconds * 1e6));
  atomic_store(&stop, 1);
  for (int i = 0; i < CALLERS; i++) {
    assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    runs += callers[i].runs;
    wrong += callers[i].wrong;
    free(callers[i].workspace);
  }
  sdpa_plan_destroy(plan);
  free(callers);
  assert_int_equal(wrong, 0);
  return runs;
}

static void share_plans(uint32_t engine, double seconds) {
  assert_true(entry_expect(engine));
  for (int k = 0; k < KINDS; k++) {
    const int64_t runs = share_plan(calls[k], engine, seconds / KINDS);
    print_message("%s, engine %u: %lld executions\n", entry_name(calls[k]), (unsigned)engine,
                  (long long)runs);
  }
}

static void test_one_plan(void **state) {
  (void)state;
  const double seconds = stress_seconds();
  const int has_blas = entry_offers(SDPA_ENGINE_BLAS);
  share_plans(SDPA_ENGINE_TILED, has_blas ? seconds * 0.75 : seconds);
  int named;
  count_threads(&named);
  assert_int_equal(named, PLAN_THREADS - 1); /* one pool, however many call it */
  if (has_blas) share_plans(SDPA_ENGINE_BLAS, seconds * 0.25);
}

static int init(void **state) {
  (void)state;
  entry_init();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_plan)};
  return cmocka_run_group_tests_name("many_callers", tests, init, NULL);
}
