/* test_blas_kinds.c - what the library does about a BLAS by what that BLAS says of itself
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The linker gives the library's calls of the functions below to this file (--wrap), so that one
 * BLAS can be taken for any. The argument, a word, says which: `serial`, one that was built without
 * threads and bears one caller at a time; `threads`, one that bears several; `ilp64`, one of 64-bit
 * integers, whose products must never be asked for.
 */
#define _POSIX_C_SOURCE 200809L
#include "parallel_support.h"
#include "threaded_call.h"

#include <pthread.h>
#include <string.h>

enum { CALLERS = 4, ROUNDS = 10, CHILDREN = 10, PRODUCT_MICROSECONDS = 500 };

static const char *kind;
static _Atomic int32_t inside, most, products, stop;

const char *__wrap_openblas_get_config(void);
void __wrap_cblas_sgemm(void);
void __wrap_cblas_dgemm(void);

const char *__wrap_openblas_get_config(void) {
  if (strcmp(kind, "serial") == 0) return "OpenBLAS 0.3.99 DYNAMIC_ARCH SINGLE_THREADED";
  if (strcmp(kind, "threads") == 0) return "OpenBLAS 0.3.99 DYNAMIC_ARCH MAX_THREADS=64 ";
  return "OpenBLAS 0.3.99  USE64BITINT DYNAMIC_ARCH MAX_THREADS=64";
}

/* It multiplies nothing; nobody looks at the results. */
void __wrap_cblas_sgemm(void) {
  const int32_t now = atomic_fetch_add(&inside, 1) + 1;
  int32_t seen = atomic_load(&most);
  while (seen < now && !atomic_compare_exchange_weak(&most, &seen, now)) continue;
  atomic_fetch_add(&products, 1);
  sleep_microseconds(PRODUCT_MICROSECONDS);
  atomic_fetch_sub(&inside, 1);
}
void __wrap_cblas_dgemm(void) {
  __wrap_cblas_sgemm();
}

static sdpa_status run(uint32_t engine, struct threaded_output *out) {
  const sdpa_problem problem = threaded_problem(THREADED_MANY);
  const sdpa_args args = threaded_args(THREADED_MANY, out);
  sdpa_options options = threaded_options(1);
  options.engine = engine;
  return sdpa_attention(&problem, &options, &args);
}

static void *run_often(void *out) {
  for (int i = 0; i < ROUNDS; i++)
    if (run(SDPA_ENGINE_BLAS, out) != SDPA_OK) return out;
  return NULL;
}

static void *run_until_stopped(void *out) {
  while (!atomic_load(&stop))
    if (run(SDPA_ENGINE_BLAS, out) != SDPA_OK) return out;
  return NULL;
}

static void test_callers(void **state) {
  (void)state;
  static struct threaded_output out[CALLERS];
  pthread_t threads[CALLERS];
  if (strcmp(kind, "ilp64") == 0) skip();
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, &out[i]), 0);
  for (int i = 0; i < CALLERS; i++) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  assert_true(atomic_load(&products) >= CALLERS * ROUNDS);
  if (strcmp(kind, "serial") == 0) {
    assert_int_equal(atomic_load(&most), 1);
  } else {
    assert_in_range(atomic_load(&most), 2, CALLERS);
  }
}

/* Its exit status tells how many products the child was born in the middle of. */
static int count_inside(void *out) {
  const int born_inside = atomic_load(&inside);
  return run(SDPA_ENGINE_BLAS, out) == SDPA_OK ? born_inside : -1;
}

static void test_fork(void **state) {
  (void)state;
  static struct threaded_output outs[2], out;
  pthread_t threads[2];
  if (strcmp(kind, "ilp64") == 0) skip();
  skip_if_fork_beside_running_threads_fails();
  atomic_store(&products, 0);
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_until_stopped, &outs[i]), 0);
  assert_true(wait_for(&products, 4));
  int wrong = 0;
  for (int i = 0; i < CHILDREN; i++) wrong += wait_for_child(start_child(count_inside, &out)) != 0;
  atomic_store(&stop, 1);
  for (int i = 0; i < 2; i++) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  assert_int_equal(wrong, 0);
}

static void test_long_integers(void **state) {
  (void)state;
  static struct threaded_output out;
  static float weights[8 * 96 * 112];
  char info[2048], sentence[256];
  if (strcmp(kind, "ilp64") != 0) skip();
  sdpa_build_info(info, sizeof info);
  assert_non_null(strstr(info, "; engines tiled;"));
  assert_non_null(strstr(info, "engine blas cannot be used: the BLAS of this process has 64-bit"));
  assert_int_equal(run(SDPA_ENGINE_BLAS, &out), SDPA_ERROR_UNSUPPORTED);

  sdpa_problem problem = threaded_problem(THREADED_MANY);
  sdpa_args args = threaded_args(THREADED_MANY, &out);
  sdpa_options options = threaded_options(1);
  options.engine = SDPA_ENGINE_BLAS;
  assert_int_equal(sdpa_problem_check(&problem, &options, sentence, sizeof sentence),
                   SDPA_ERROR_UNSUPPORTED);
  assert_non_null(strstr(sentence, "engine blas cannot be used here"));
  assert_non_null(strstr(sentence, "64-bit integers"));

  /* What auto would leave to engine blas. */
  options.engine = SDPA_ENGINE_AUTO;
  problem.features |= SDPA_WEIGHTS;
  assert_int_equal(sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD), SDPA_OK);
  problem.bias.head = 0;
  args.weights = weights;
  assert_int_equal(sdpa_attention(&problem, &options, &args), SDPA_OK);
  assert_int_equal(atomic_load(&products), 0);
  double sum = 0;
  for (int j = 0; j < 112; j++) sum += (double)weights[j];
  assert_true(sum > 0.9999 && sum < 1.0001);
}

static int init(void **state) {
  (void)state;
  return threaded_init() ? 0 : -1;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_callers),
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_long_integers),
  };
  kind = argc > 1 ? argv[1] : "threads";
  return cmocka_run_group_tests_name("blas_kinds", tests, init, NULL);
}
