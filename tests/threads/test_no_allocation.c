/* test_no_allocation.c - what allocates nothing, starts no thread and calls no BLAS
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The linker gives the library's calls of the functions below to this file (--wrap), so it counts
 * every one of them, whoever's allocator the options name.
 */
#define _POSIX_C_SOURCE 200809L /* posix_memalign */
#include "threaded_call.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int allocations, threads, products;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **block, size_t alignment, size_t bytes);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, long offset);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, long offset);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg);
void __wrap_cblas_sgemm(void);
void __wrap_cblas_dgemm(void);

void *__wrap_malloc(size_t bytes) {
  allocations++;
  return __real_malloc(bytes);
}
void *__wrap_calloc(size_t n, size_t bytes) {
  allocations++;
  return __real_calloc(n, bytes);
}
void *__wrap_realloc(void *block, size_t bytes) {
  allocations++;
  return __real_realloc(block, bytes);
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  allocations++;
  return __real_aligned_alloc(alignment, bytes);
}
int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes) {
  allocations++;
  return __real_posix_memalign(block, alignment, bytes);
}
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, long offset) {
  allocations++;
  return __real_mmap(at, bytes, protection, flags, file, offset);
}
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg) {
  threads++;
  return __real_pthread_create(thread, attributes, start, arg);
}
/* Nothing here asks for a BLAS, so these need not multiply. */
void __wrap_cblas_sgemm(void) {
  products++;
}
void __wrap_cblas_dgemm(void) {
  products++;
}

static void start_counting(void) {
  allocations = threads = products = 0;
}
static void assert_nothing_happened(void) {
  assert_int_equal(allocations, 0);
  assert_int_equal(threads, 0);
  assert_int_equal(products, 0);
}

static void same_rows(const float *output, const double *output_f64) {
  /* Every key is the same, so every output row is the mean of the values. */
  for (int i = 0; i < 12; i++) {
    assert_true(output[i] > 0.99f && output[i] < 1.01f);
    assert_true(output_f64[i] > 0.999 && output_f64[i] < 1.001);
  }
}

/* The counters do count: a thread, an allocation. */
static void test_counters(void **state) {
  (void)state;
  static struct threaded_output out;
  start_counting();
  assert_true(threaded_run(2, &out)); /* both plans' workspaces */
  assert_true(allocations >= 1);
  assert_int_equal(threads, 1);
}

/* n = 3 in one call, of either type and with every option that auto leaves to engine tiled. */
static void test_small(void **state) {
  (void)state;
  static const uint32_t features[] = {0,
                                      SDPA_CAUSAL,
                                      SDPA_WINDOW,
                                      SDPA_MASK,
                                      SDPA_BIAS,
                                      SDPA_LSE,
                                      SDPA_ALIBI,
                                      SDPA_SINKS,
                                      SDPA_KEY_LENS,
                                      SDPA_QUERY_LENS,
                                      SDPA_NO_OUTPUT | SDPA_LSE};
  const float f[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const double d[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const uint8_t mask[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const int64_t lens[1] = {3};
  float output[12], lse[3];
  double output_f64[12];
  start_counting();
  assert_int_equal(sdpa_attention_f32(3, 3, 4, 4, f, f, f, output, NULL), SDPA_OK);
  assert_int_equal(sdpa_attention_f64(3, 3, 4, 4, d, d, d, output_f64, NULL), SDPA_OK);
  assert_nothing_happened();
  same_rows(output, output_f64);
  for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
    sdpa_problem p;
    sdpa_args a;
    sdpa_problem_init(&p, sizeof p);
    sdpa_args_init(&a, sizeof a);
    p.query_type = SDPA_F32;
    p.features = features[i];
    p.alignment = SDPA_ALIGN_TOP_LEFT;
    p.batch = p.query_heads = p.kv_heads = 1;
    p.query_len = p.key_len = 3;
    p.key_dim = p.value_dim = 4;
    if (features[i] & SDPA_WINDOW) p.window_left = 1;
    a.query = a.key = a.value = f;
    a.output = features[i] & SDPA_NO_OUTPUT ? NULL : output;
    if (features[i] & SDPA_MASK) a.mask = mask;
    if (features[i] & SDPA_BIAS) a.bias = f;
    if (features[i] & SDPA_ALIBI) a.alibi_slopes = f;
    if (features[i] & SDPA_SINKS) a.sinks = f;
    if (features[i] & SDPA_KEY_LENS) a.key_lens = lens;
    if (features[i] & SDPA_QUERY_LENS) a.query_lens = lens;
    if (features[i] & SDPA_LSE) a.lse = lse;
    start_counting();
    assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BSHD), SDPA_OK);
    assert_int_equal(sdpa_attention(&p, NULL, &a), SDPA_OK);
    assert_nothing_happened();
  }
}

/* In a given workspace: nothing but, the first time, the library's threads. */
static void test_execute(void **state) {
  (void)state;
  static const int32_t counts[] = {1, 2, 3};
  static struct threaded_output out;
  for (int which = 0; which < THREADED_CALLS; which++) {
    for (size_t t = 0; t < sizeof counts / sizeof *counts; t++) {
      const sdpa_problem problem = threaded_problem((enum threaded_which)which);
      const sdpa_args args = threaded_args((enum threaded_which)which, &out);
      const sdpa_options options = threaded_options(counts[t]);
      sdpa_plan *plan;
      size_t bytes, alignment;
      void *workspace = NULL;
      assert_int_equal(sdpa_plan_create(&problem, &options, &plan), SDPA_OK);
      assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
      assert_int_equal(posix_memalign(&workspace, alignment, bytes + 1), 0);
      memset(&out, 0, sizeof out);
      start_counting();
      for (int i = 0; i < 3; i++)
        assert_int_equal(sdpa_execute(plan, &args, workspace, bytes), SDPA_OK);
      assert_int_equal(allocations, 0);
      assert_int_equal(products, 0);
      assert_true(threads <= counts[t] - 1);
      start_counting();
      assert_int_equal(sdpa_execute(plan, &args, workspace, bytes), SDPA_OK);
      assert_nothing_happened();
      assert_true(threaded_is_right((enum threaded_which)which, &out));
      free(workspace);
      sdpa_plan_destroy(plan);
    }
  }
}

/* The backward pass in a given workspace: the same, and all gradients written. */
static void test_backward(void **state) {
  (void)state;
  enum { N = 96, D = 32, NUMBERS = 4 * N * D };
  static float in[6][NUMBERS], lse[4 * N], out[3][NUMBERS];
  for (size_t i = 0; i < sizeof in / sizeof in[0][0]; i++)
    in[i / NUMBERS][i % NUMBERS] = (float)(i * 2654435761u % 1009) / 1009.0f;
  sdpa_problem p;
  sdpa_problem_init(&p, sizeof p);
  p.query_type = SDPA_F32;
  p.batch = 1;
  p.query_heads = p.kv_heads = 4;
  p.query_len = p.key_len = N;
  p.key_dim = p.value_dim = D;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  const sdpa_args args = {.size = sizeof args, .query = in[0], .key = in[1], .value = in[2]};
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = in[3],
                            .lse = lse,
                            .grad_output = in[4],
                            .grad_query = out[0],
                            .grad_key = out[1],
                            .grad_value = out[2]};
  for (int32_t t = 1; t <= 3; t++) {
    const sdpa_options options = threaded_options(t);
    sdpa_plan *plan;
    size_t bytes, alignment;
    void *workspace = NULL;
    assert_int_equal(sdpa_plan_create_backward(&p, &options, &plan), SDPA_OK);
    assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
    assert_int_equal(posix_memalign(&workspace, alignment, bytes + 1), 0);
    memset(out, 0xFF, sizeof out);
    start_counting();
    assert_int_equal(sdpa_backward(plan, &args, &grads, workspace, bytes), SDPA_OK);
    assert_int_equal(allocations, 0);
    assert_int_equal(products, 0);
    assert_true(threads <= t - 1);
    start_counting();
    assert_int_equal(sdpa_backward(plan, &args, &grads, workspace, bytes), SDPA_OK);
    assert_nothing_happened();
    for (size_t i = 0; i < sizeof out / sizeof out[0][0]; i++)
      assert_false(out[i / NUMBERS][i % NUMBERS] != out[i / NUMBERS][i % NUMBERS]);
    free(workspace);
    sdpa_plan_destroy(plan);
  }
}

static int init(void **state) {
  (void)state;
  return threaded_init() ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small), /* first of all: no thread has run yet */
      cmocka_unit_test(test_counters),
      cmocka_unit_test(test_execute),
      cmocka_unit_test(test_backward),
  };
  return cmocka_run_group_tests_name("no_allocation", tests, init, NULL);
}
