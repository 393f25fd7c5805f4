/* test_failing_threads.c - threads that cannot start, and what they need for it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The program is linked with --wrap for pthread_create and pthread_atfork, so that either can be
 * refused; where it can be arranged the system itself refuses. Each case runs in a child that has
 * not used the library. tests/unit/test_parallel.c asks the pool alone.
 */
#define _GNU_SOURCE /* setresuid */
#include "entry_calls.h"
#include "parallel_support.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS = 4, RETRY_JOBS = 2200, NOT_HERE = 77 };
enum { FAULT = 10, WRONG_BITS, WRONG_THREADS, ERRNO, NO_POOL };

/* Which calls are refused: bit k for the k-th. At first the registrations at load time. */
static _Atomic uint32_t refused_creations, refused_registrations = UINT32_MAX;
static _Atomic int32_t creations, registrations, workers;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __real_pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
int __wrap_pthread_atfork(void (*)(void), void (*)(void), void (*)(void));

static int is_refused(_Atomic int32_t *calls, _Atomic uint32_t *refused) {
  const int32_t call = atomic_fetch_add(calls, 1);
  return call < 32 && (atomic_load(refused) >> call & 1);
}
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg) {
  if (is_refused(&creations, &refused_creations)) return EAGAIN;
  const int error = __real_pthread_create(thread, attributes, start, arg);
  if (error == 0) atomic_fetch_add(&workers, 1);
  return error;
}
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  if (is_refused(&registrations, &refused_registrations)) return ENOMEM;
  return __real_pthread_atfork(prepare, parent, child);
}

/* The pool tries again after every thousand jobs. */
static int pool_recovers(void) {
  for (int i = 0; i < RETRY_JOBS && atomic_load(&workers) < THREADS - 1; i++)
    if (!counted_run(THREADS, THREADS)) return 0;
  return atomic_load(&workers) == THREADS - 1;
}

struct refusal {
  uint32_t creations, registrations;
  enum entry_call call; /* the first one */
  int32_t workers;      /* afterwards; gradients have work for two threads */
};

static int in_child(void *arg) {
  static struct entry_output out;
  const struct refusal *refusal = arg;
  const sdpa_options options = entry_options(SDPA_ENGINE_TILED, THREADS);
  atomic_store(&registrations, 0);
  atomic_store(&refused_creations, refusal->creations);
  atomic_store(&refused_registrations, refusal->registrations);
  errno = 1234;
  if (entry_run(refusal->call, &options, &out) != SDPA_OK) return FAULT;
  if (errno != 1234) return ERRNO;
  const int32_t most = refusal->call == ENTRY_BACKWARD ? 1 : THREADS - 1;
  if (atomic_load(&workers) != (refusal->workers < most ? refusal->workers : most))
    return WRONG_THREADS;
  if (!entry_expect(SDPA_ENGINE_TILED)) return FAULT;
  if (entry_run(refusal->call, &options, &out) != SDPA_OK || !entry_is_right(refusal->call, &out) ||
      entry_run_all(&options, &out) != 0)
    return WRONG_BITS;
  return pool_recovers() && entry_run_all(&options, &out) == 0 ? 0 : NO_POOL;
}

static void test_refusals(void **state) {
  (void)state;
  static const enum entry_call calls[] = {ENTRY_ONE_SHOT, ENTRY_PLAN, ENTRY_PLAN_FEW,
                                          ENTRY_BACKWARD};
  static const struct refusal refusals[] = {
      {0, 0, 0, THREADS - 1}, /* none: the rest of this test is sound */
      {1, 0, 0, 0},           /* the first thread */
      {2, 0, 0, 1},           /* the second: one worker stays */
      {4, 0, 0, 2},           /* the third */
      {3, 0, 0, 0},           /* the first, and again when the pool tries a second time */
      {0, 1, 0, 0},           /* the fork handler, without which no thread is started */
      {1, 1, 0, 0},
  };
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
      struct refusal refusal = refusals[i];
      refusal.call = calls[c];
      const int status = wait_for_child(start_child(in_child, &refusal));
      if (status != 0)
        fail_msg("%s, threads %x and handlers %x refused: %d", entry_name(refusal.call),
                 (unsigned)refusal.creations, (unsigned)refusal.registrations, status);
    }
  }
}

/* ---- the system's own refusal ---- */

static void *do_nothing(void *arg) {
  return arg;
}

/* Becomes a user who may have no thread more. Root's limits do not bind, so it becomes another. */
static int forbid_threads(void) {
  const struct rlimit none = {0, 0};
  const uid_t nobody = 65534;
  if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(nobody, nobody, nobody) != 0 ||
                         setresuid(nobody, nobody, nobody) != 0))
    return 0;
  pthread_t thread;
  if (setrlimit(RLIMIT_NPROC, &none) != 0) return 0;
  if (__real_pthread_create(&thread, NULL, do_nothing, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  return 0;
}

static int under_limit(void *arg) {
  static struct entry_output out;
  (void)arg;
  const sdpa_options options = entry_options(SDPA_ENGINE_TILED, THREADS);
  atomic_store(&refused_registrations, 0);
  if (!forbid_threads()) return NOT_HERE;
  if (!entry_expect(SDPA_ENGINE_TILED)) return FAULT;
  if (entry_run_all(&options, &out) != 0) return WRONG_BITS;
  return atomic_load(&creations) > 0 ? 0 : NO_POOL; /* it did ask */
}

static void test_limit_of_the_system(void **state) {
  (void)state;
  const int status = wait_for_child(start_child(under_limit, NULL));
  if (status == NOT_HERE) skip();
  assert_int_equal(status, 0);
}

static int init(void **state) {
  (void)state;
  entry_init();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_limit_of_the_system),
  };
  return cmocka_run_group_tests_name("failing_threads", tests, init, NULL);
}
