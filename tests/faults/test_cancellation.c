/* test_cancellation.c - no call ends a thread that is being cancelled
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread asks for its own end before the call, so the first cancellation point would be its
 * last. All that the library calls is covered then: files at the first use, the C library, the
 * caller's loop, a BLAS. In children, for the sake of the first use.
 */
#define _POSIX_C_SOURCE 200809L
#include "entry_calls.h"
#include "parallel_support.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 3 };
enum { NOT_REACHED, FAILED, WRONG_BITS, CANCEL_DISABLED, RIGHT };
enum loop { LOOP_POOL, LOOP_CALLER };

struct cancelled_call {
  enum entry_call call;
  uint32_t engine;
  enum loop loop;
  int state;
};

static _Atomic int32_t products;

#if defined(HAS_BLAS)
/* A BLAS that waits for its threads where a thread can be cancelled (linked with --wrap). CBLAS's
 * enumerations are ints. */
void __real_cblas_sgemm(int layout, int a_flag, int b_flag, int m, int n, int k, float alpha,
                        const float *a, int lda, const float *b, int ldb, float beta, float *c,
                        int ldc);
void __wrap_cblas_sgemm(int layout, int a_flag, int b_flag, int m, int n, int k, float alpha,
                        const float *a, int lda, const float *b, int ldb, float beta, float *c,
                        int ldc);
void __wrap_cblas_sgemm(int layout, int a_flag, int b_flag, int m, int n, int k, float alpha,
                        const float *a, int lda, const float *b, int ldb, float beta, float *c,
                        int ldc) {
  atomic_fetch_add(&products, 1);
  pthread_testcancel();
  __real_cblas_sgemm(layout, a_flag, b_flag, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
#endif

/* A loop with a cancellation point in it, as one that waits for a foreign pool has. */
static void loop_with_cancellation_point(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  (void)ctx;
  for (int64_t i = 0; i < n_tasks; i++) {
    task(arg, i);
    pthread_testcancel();
  }
}

static void *call_cancelled(void *arg) {
  struct cancelled_call *c = arg;
  static struct entry_output out;
  sdpa_options options = entry_options(c->engine, THREADS);
  int previous;
  if (c->loop == LOOP_CALLER) options.parallel_for = loop_with_cancellation_point;
  pthread_cancel(pthread_self());
  const sdpa_status status = entry_run(c->call, &options, &out);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &previous);
  c->state = status != SDPA_OK ? FAILED : RIGHT;
  if (!entry_expect(c->engine)) c->state = FAILED;
  if (c->state == RIGHT && !entry_is_right(c->call, &out)) c->state = WRONG_BITS;
  if (previous != PTHREAD_CANCEL_ENABLE) c->state = CANCEL_DISABLED;
  pthread_setcancelstate(previous, NULL);
  pthread_testcancel();
  return NULL;
}

static int in_child(void *arg) {
  struct cancelled_call *c = arg;
  pthread_t thread;
  void *result;
  if (pthread_create(&thread, NULL, call_cancelled, c) != 0) return 90;
  if (pthread_join(thread, &result) != 0 || result != PTHREAD_CANCELED) return 91;
  const int multiplies = c->engine == SDPA_ENGINE_BLAS && c->call <= ENTRY_BACKWARD;
  if (multiplies && atomic_load(&products) == 0) return 92; /* the test would test nothing */
  return c->state;
}

static void test_pending_cancellation(void **state) {
  (void)state;
  skip_if_fork_with_threads_fails(); /* whatever ThreadSanitizer keeps of the thread that ended */
  static const struct {
    uint32_t engine;
    enum loop loop;
  } ways[] = {{SDPA_ENGINE_TILED, LOOP_POOL},
              {SDPA_ENGINE_TILED, LOOP_CALLER},
              {SDPA_ENGINE_BLAS, LOOP_POOL}};
  const int has_blas = wait_for_child(start_child(entry_offers_blas, NULL));
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    if (ways[w].engine == SDPA_ENGINE_BLAS && !has_blas) continue;
    for (int call = 0; call < ENTRY_CALLS; call++) {
      struct cancelled_call c = {(enum entry_call)call, ways[w].engine, ways[w].loop, NOT_REACHED};
      const int found = wait_for_child(start_child(in_child, &c));
      if (found != RIGHT)
        fail_msg("%s, engine %u, loop %d: %d", entry_name(c.call), (unsigned)c.engine, (int)c.loop,
                 found);
    }
  }
}

/* What reads the machine without computing: at the first use it opens files. */
static void *ask_cancelled(void *arg) {
  struct cancelled_call *c = arg;
  char text[256];
  pthread_cancel(pthread_self());
  sdpa_build_info(text, sizeof text);
  c->state = RIGHT;
  pthread_testcancel();
  return NULL;
}

static int ask_in_child(void *arg) {
  struct cancelled_call *c = arg;
  pthread_t thread;
  if (pthread_create(&thread, NULL, ask_cancelled, c) != 0) return 90;
  pthread_join(thread, NULL);
  return c->state;
}

static void test_build_info(void **state) {
  (void)state;
  struct cancelled_call c = {.state = NOT_REACHED};
  assert_int_equal(wait_for_child(start_child(ask_in_child, &c)), RIGHT);
}

static int init(void **state) {
  (void)state;
  entry_init();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pending_cancellation),
      cmocka_unit_test(test_build_info),
  };
  return cmocka_run_group_tests_name("cancellation", tests, init, NULL);
}
