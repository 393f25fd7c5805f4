/* test_failing_malloc.c - every allocation of the process fails once, at the first use and later
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tests/property does this with the allocator of the options. Here malloc and its kin themselves
 * fail: this program defines them, so that the C library's own requests are met too, for the start
 * of a thread or the registration of a fork handler. Each case runs in a child that has not used
 * the library, so that the first use is in it.
 */
#define _GNU_SOURCE
#include "entry_calls.h"
#include "parallel_support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sanitizers.h"
#include "seconds.h"

/* The C library lets a program define these (glibc manual, Replacing malloc) and keeps its own
 * under the names below. A sanitizer has taken that place already. */
#if defined(__GLIBC__) && !SANITIZED
#define CAN_FAIL 1

static _Atomic int armed;
static _Atomic int64_t requests, fail_from, fail_until; /* of the requests while it is armed */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);
#define EXPORTED __attribute__((visibility("default")))
EXPORTED void *malloc(size_t bytes);
EXPORTED void *calloc(size_t n, size_t bytes);
EXPORTED void *realloc(void *block, size_t bytes);
EXPORTED void *memalign(size_t alignment, size_t bytes);
EXPORTED void *aligned_alloc(size_t alignment, size_t bytes);
EXPORTED int posix_memalign(void **block, size_t alignment, size_t bytes);
EXPORTED void free(void *block);

static int fails(void) {
  if (!atomic_load(&armed)) return 0;
  const int64_t request = atomic_fetch_add(&requests, 1) + 1;
  if (request < atomic_load(&fail_from) || request > atomic_load(&fail_until)) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t bytes) {
  return fails() ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
  return fails() ? NULL : __libc_calloc(n, bytes);
}
void *realloc(void *block, size_t bytes) {
  return fails() ? NULL : __libc_realloc(block, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
  return fails() ? NULL : __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  void *memory = memalign(alignment, bytes);
  if (!memory) return ENOMEM;
  *block = memory;
  return 0;
}
void free(void *block) {
  __libc_free(block);
}

/* ---- one call in one child ---- */

enum { THREADS = 3, MOST_REQUESTS = 100, RETRY_JOBS = 1100 };

/* What a child has found; a fault is anything from FAULT upwards. */
enum { ALL_SERVED = 10, ONE_FAILED, FAULT, BAD_STATUS, WRITTEN, WRONG_BITS, ERRNO, NO_POOL, LATER };

struct fault_case {
  enum entry_call call;
  uint32_t engine;
  int64_t from, until;
  int is_second; /* the process has used the library before */
};

/* The pool tries again after a thousand jobs; a thread that has just started has no name yet. */
static int pool_recovers(void) {
  int named = 0;
  for (int i = 0; i < RETRY_JOBS && named < THREADS - 1; i++) {
    if (!counted_run(THREADS, THREADS)) return 0;
    if (i % 50 == 0) count_threads(&named);
  }
  const double end = seconds_now() + PATIENCE_SECONDS / 4;
  while (named < THREADS - 1 && seconds_now() < end) {
    sleep_microseconds(100);
    count_threads(&named);
  }
  return named == THREADS - 1;
}

static int in_child(void *arg) {
  const struct fault_case *c = arg;
  static struct entry_output out;
  const sdpa_options options = entry_options(c->engine, THREADS);
  if (c->is_second && !entry_expect(c->engine)) return LATER;
  atomic_store(&fail_from, c->from);
  atomic_store(&fail_until, c->until);
  errno = 1234;
  atomic_store(&armed, 1);
  const sdpa_status status = entry_run(c->call, &options, &out);
  atomic_store(&armed, 0);
  if (errno != 1234) return ERRNO;
  if (status != SDPA_OK && status != SDPA_ERROR_MEMORY) return BAD_STATUS;
  if (status == SDPA_ERROR_MEMORY && !entry_is_untouched(&out)) return WRITTEN;
  if (!entry_expect(c->engine)) return LATER;
  if (status == SDPA_OK && !entry_is_right(c->call, &out)) return WRONG_BITS;
  /* nothing is lost for good: every call is right, and the pool gets its threads */
  if (entry_run_all(&options, &out) != 0) return LATER;
  if (!pool_recovers()) return NO_POOL;
  return atomic_load(&requests) < c->from ? ALL_SERVED : ONE_FAILED;
}

static int run_case(struct fault_case c) {
  static const char *const faults[] = {"",
                                       "an odd status",
                                       "an output was written by a call that failed",
                                       "another bit",
                                       "errno changed",
                                       "the pool never got its threads",
                                       "a later call failed or was wrong"};
  const int found = wait_for_child(start_child(in_child, &c));
  if (found == ALL_SERVED || found == ONE_FAILED) return found;
  const char *text = found > FAULT && found <= LATER ? faults[found - FAULT] : "the child died";
  fail_msg("%s, engine %u, %s use, requests %lld to %lld fail: %s (%d)", entry_name(c.call),
           (unsigned)c.engine, c.is_second ? "second" : "first", (long long)c.from,
           (long long)c.until, text, found);
  return found;
}

static const uint32_t engines[] = {SDPA_ENGINE_TILED, SDPA_ENGINE_BLAS};

/* Returns how many requests were made to fail. */
static int64_t fail_each(enum entry_call call, uint32_t engine, int is_second) {
  for (int64_t k = 1; k <= MOST_REQUESTS; k++) {
    struct fault_case c = {call, engine, k, k, is_second};
    if (run_case(c) == ALL_SERVED) return k - 1;
  }
  fail_msg("%s makes over %d requests", entry_name(call), MOST_REQUESTS);
  return 0;
}

static void test_each_request_fails_once(void **state) {
  (void)state;
  const int n_engines = 1 + wait_for_child(start_child(entry_offers_blas, NULL));
  assert_in_range(n_engines, 1, 2);
  for (int e = 0; e < n_engines; e++) {
    for (int call = 0; call < ENTRY_CALLS; call++) {
      const int64_t first = fail_each((enum entry_call)call, engines[e], 0);
      const int64_t second = fail_each((enum entry_call)call, engines[e], 1);
      print_message("%s, engine %s: %lld requests failed in turn at the first use, %lld later\n",
                    entry_name((enum entry_call)call), e ? "blas" : "tiled", (long long)first,
                    (long long)second);
      if (call == ENTRY_PLAN || call == ENTRY_BACKWARD) assert_true(first >= 2 && second >= 2);
    }
  }
}

/* No memory at all, from the first request or the second onwards: what needs none succeeds. */
static void test_every_request_fails(void **state) {
  (void)state;
  for (int call = 0; call < ENTRY_CALLS; call++) {
    for (int64_t from = 1; from <= 2; from++) {
      struct fault_case c = {(enum entry_call)call, SDPA_ENGINE_TILED, from, INT64_MAX, 0};
      run_case(c);
      c.is_second = 1;
      run_case(c);
    }
  }
}

/* A child's child: the pool that it needs is memory of its own. */
static int fork_without_memory(void *arg) {
  static struct entry_output out;
  (void)arg;
  const sdpa_options options = entry_options(SDPA_ENGINE_TILED, THREADS);
  if (!entry_expect(SDPA_ENGINE_TILED) || entry_run_all(&options, &out) != 0) return LATER;
  for (int64_t k = 1; k <= 8; k++) {
    struct fault_case c = {ENTRY_ONE_SHOT, SDPA_ENGINE_TILED, k, k, 0};
    const int found = wait_for_child(start_child(in_child, &c));
    if (found == ALL_SERVED) return k > 1 ? 0 : NO_POOL; /* the pool itself was one request */
    if (found != ONE_FAILED) return found;
  }
  return FAULT;
}

static void test_pool_of_a_child(void **state) {
  (void)state;
  assert_int_equal(wait_for_child(start_child(fork_without_memory, NULL)), 0);
}

#else
static void skip_all(void **state) {
  (void)state;
  skip();
}
#define test_each_request_fails_once skip_all
#define test_every_request_fails     skip_all
#define test_pool_of_a_child         skip_all
#endif

static int init(void **state) {
  (void)state;
  entry_init();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_request_fails_once),
      cmocka_unit_test(test_every_request_fails),
      cmocka_unit_test(test_pool_of_a_child),
  };
  return cmocka_run_group_tests_name("failing_malloc", tests, init, NULL);
}
