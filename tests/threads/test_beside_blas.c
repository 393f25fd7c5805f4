/* test_beside_blas.c - engine tiled while other threads keep a multi-threaded BLAS at work
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Both the attention and the products must be right, and the BLAS's number of threads stays what it
 * was. Engine blas, which calls that same BLAS, runs beside them.
 */
#include "parallel_support.h"
#include "threaded_call.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 160, CALLERS = 2, ROUNDS = 200 }; /* 160^3: enough for OpenBLAS to use its threads */

static _Atomic int32_t stop, products, wrong;

static void *multiply_until_stopped(void *arg) {
  float *a = arg, *c = a + SIDE * SIDE;
  for (int i = 0; i < SIDE * SIDE; i++) a[i] = 1;
  while (!atomic_load(&stop)) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, a, SIDE, a, SIDE, 0,
                c, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
      if (c[i] != SIDE) atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&products, 1);
  }
  return NULL;
}

/* What sdpa_build_info() says after "BLAS": the library's name and its number of threads. */
static void describe_blas(char *text, size_t bytes) {
  char info[2048];
  sdpa_build_info(info, sizeof info);
  const char *blas = strstr(info, "BLAS ");
  snprintf(text, bytes, "%s", blas ? blas : "");
}

static void test_beside_blas(void **state) {
  (void)state;
  static float matrices[CALLERS][2 * SIDE * SIDE];
  static struct threaded_output out;
  pthread_t threads[CALLERS];
  char before[1024], after[1024];
  describe_blas(before, sizeof before);
  assert_true(strlen(before) > 0);
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, multiply_until_stopped, matrices[i]), 0);
  assert_true(wait_for(&products, 4));
  for (int i = 0; i < ROUNDS; i++) {
    for (int32_t count = 0; count <= 3; count++) assert_true(threaded_run(count, &out));
    sdpa_options options = threaded_options(0);
    const sdpa_problem problem = threaded_problem(THREADED_MANY);
    const sdpa_args args = threaded_args(THREADED_MANY, &out);
    options.engine = SDPA_ENGINE_BLAS;
    assert_int_equal(sdpa_attention(&problem, &options, &args), SDPA_OK);
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(atomic_load(&wrong), 0);
  describe_blas(after, sizeof after);
  assert_string_equal(before, after);
}

static int init(void **state) {
  (void)state;
  return threaded_init() ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_beside_blas)};
  return cmocka_run_group_tests_name("beside_blas", tests, init, NULL);
}
