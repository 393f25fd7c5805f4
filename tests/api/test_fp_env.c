/* test_fp_env.c - the floating-point environment: neither used nor changed by a call (semantics
 * rule 20)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every function that computes runs in each of the environments a caller may have set. Its result
 * must have the bits of the default environment, and the environment must be as it was.
 */
#define _GNU_SOURCE /* feenableexcept() */

#include "api_support.h"

#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { RESULTS = 64 };

/* Engine tiled, and its result merged with itself. */
static void compute_tiled(struct api_call *call, double *results) {
  sdpa_options options;
  double output[4] = {1, 0.1, -1e-310, 3}, lse[2] = {-700, 1. / 3};
  sdpa_problem problem = call->problem;
  sdpa_args args = call->args;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = SDPA_ENGINE_TILED;
  problem.features &= ~(uint32_t)SDPA_WEIGHTS;
  args.weights = NULL;
  assert_int_equal(sdpa_attention(&problem, &options, &args), SDPA_OK);
  memcpy(results, args.output, sizeof output);
  memcpy(results + 4, args.lse, sizeof lse);
  assert_int_equal(sdpa_merge(&problem, NULL, output, lse, args.output, args.lse), SDPA_OK);
  memcpy(results + 6, output, sizeof output);
  memcpy(results + 10, lse, sizeof lse);
}

/* On other threads, too: a hash of the output's bits. */
static void compute_in_threads(double *result) {
  const struct api_sizes sizes = {1, 8, 8, 64, 64, 16, 16};
  struct api_call call;
  sdpa_options options;
  uint64_t hash = 0;
  api_call_init(&call, SDPA_F32, sizes, 0, 0);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = SDPA_ENGINE_TILED;
  options.threads = 4;
  assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
  for (size_t i = 0; i < call.bytes[3]; i++)
    hash = (hash ^ ((unsigned char *)call.args.output)[i]) * 0x100000001b3; /* FNV-1a */
  memcpy(result, &hash, sizeof hash);
  api_call_free(&call);
}

/* Both 16-bit types on both engines: conversions of subnormal numbers, roundings, a row of NaN. The
 * inputs exist in both types, or storing them would round as the environment says. */
static void compute_narrow(double *results) {
  static const uint32_t engines[] = {SDPA_ENGINE_BLAS, SDPA_ENGINE_TILED};
  for (uint32_t type = SDPA_BF16; type <= SDPA_F16; type++) {
    for (int e = 0; e < 2; e++, results++) {
      const double tiny = type == SDPA_BF16 ? 0x1p-133 : 0x1p-24;
      struct api_call call;
      sdpa_options options;
      if (!api_offers(engines[e])) continue;
      api_call_init(&call, type, api_one_head(2, 3, 2, 2), 0, 0);
      api_put_all(type, api_query(&call), 4, (const double[]){1, 0.375, NAN, 1});
      api_put_all(type, api_key(&call), 6,
                  (const double[]){0.125, 0.75, tiny, 0.375, 0.3125, 0.875});
      api_put_all(type, api_value(&call), 6,
                  (const double[]){0.125, tiny, 0.6875, 3 * tiny, 0.375, 2 * tiny});
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      options.engine = engines[e];
      assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
      assert_int_equal(call.bytes[API_OUTPUT], sizeof *results);
      memcpy(results, call.args.output, sizeof *results);
      api_call_free(&call);
    }
  }
}

/* Everything that computes, into one array. Scores reach subnormal weights, infinity and NaN, so
 * that flags would rise and traps fire. */
static void compute(double *results) {
  static const double scores[6] = {0, -1, -740, 3, INFINITY, 1. / 3};
  memset(results, 0, RESULTS * sizeof *results);
  struct api_call call;
  const double u = 1. / 3;
  api_call_init(&call, SDPA_F64, api_one_head(2, 3, 2, 2), SDPA_WEIGHTS | SDPA_LSE, 0);
  api_put_all(SDPA_F64, api_query(&call), 4, (const double[]){1, u, NAN, 1});
  api_put_all(SDPA_F64, api_key(&call), 6, (const double[]){0.1, 0.7, -1040, u, 0.3, 0.9});
  api_put_all(SDPA_F64, api_value(&call), 6, (const double[]){0.1, 1e-308, 0.7, -0.2, u, 1e308});
  assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), SDPA_OK);
  memcpy(results, call.args.output, 4 * sizeof *results);
  memcpy(results + 4, call.args.weights, 6 * sizeof *results);
  memcpy(results + 10, call.args.lse, 2 * sizeof *results);
  compute_tiled(&call, results + 40);
  compute_in_threads(results + 52);
  compute_narrow(results + 53);
  api_call_free(&call);

  float f[3][3] = {{0.1f, 0.3f, 0.7f}, {1e-39f, 2, 3}, {0, 0, 0}}, f_out[3][3];
  assert_int_equal(sdpa_attention_f32(3, 3, 3, 3, f[0], f[0], f[0], f_out[0], NULL), SDPA_OK);
  memcpy(results + 12, f_out, sizeof f_out);
  assert_int_equal(sdpa_softmax_f64(2, 3, 1, scores, 3, NULL, 0, results + 18, 3), SDPA_OK);
  assert_int_equal(sdpa_softmax_jacobian_f64(3, results + 18, results + 24, 3), SDPA_OK);
  assert_int_equal(sdpa_softmax_backward_f64(1, 3, results + 18, 3, scores, 3, results + 33, 3),
                   SDPA_OK);

  /* outputs that are subnormal themselves */
  static const double zero = 0, subnormal = 1e-310;
  static const float zero_f = 0, subnormal_f = 1e-40f;
  assert_int_equal(sdpa_attention_f64(1, 1, 1, 1, &zero, &zero, &subnormal, results + 36, NULL),
                   SDPA_OK);
  assert_int_equal(sdpa_attention_f32(1, 1, 1, 1, &zero_f, &zero_f, &subnormal_f, f_out[0], NULL),
                   SDPA_OK);
  memcpy(results + 37, f_out[0], sizeof subnormal_f);
}

static double expected[RESULTS];

static int compute_default(void **state) {
  (void)state;
  compute(expected);
  return 0;
}

static void restore(void) {
  assert_int_equal(fesetenv(FE_DFL_ENV), 0);
}

/* Arithmetic under the rounding in force: fegetround() alone may look at another unit's register
 * than the one that computes (x87 and SSE). */
static double third(int sign) {
  volatile double one = sign, three = 3;
  return one / three;
}

static void test_rounding_modes(void **state) {
  (void)state;
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    double results[RESULTS];
    assert_int_equal(fesetround(modes[i]), 0);
    double up_before = third(1), down_before = third(-1);
    compute(results);
    int after = fegetround();
    double up_after = third(1), down_after = third(-1);
    restore();
    assert_true(up_after == up_before);
    assert_true(down_after == down_before);
    assert_int_equal(after, modes[i]);
    assert_memory_equal(results, expected, sizeof results);
  }
}

static void test_exception_flags(void **state) {
  (void)state;
  static const int flags[] = {0, FE_INEXACT, FE_UNDERFLOW | FE_DIVBYZERO, FE_ALL_EXCEPT};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    struct api_call call;
    api_call_init(&call, SDPA_F64, api_one_head(2, 3, 2, 2), 0, 0);
    api_put(SDPA_F64, api_query(&call), 0, INFINITY);
    api_put(SDPA_F64, api_key(&call), 0, -1e308);
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(flags[i]);
    int before = fetestexcept(FE_ALL_EXCEPT);
    assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), SDPA_OK);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), before);
    float scores[2] = {0, -200}, weights[2];
    assert_int_equal(sdpa_softmax_f32(1, 2, 0.3f, scores, 2, NULL, 0, weights, 2), SDPA_OK);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), before);
    call.problem.scale = 1e300; /* refused, after arithmetic that overflows in f32 */
    call.problem.features = SDPA_SCALE;
    call.problem.query_type = SDPA_F32;
    assert_int_equal(sdpa_problem_check(&call.problem, NULL, NULL, 0), SDPA_ERROR_VALUE);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), before);
    restore();
    api_call_free(&call);
  }
}

static void test_traps(void **state) {
  (void)state;
#if defined(__GLIBC__)
  feclearexcept(FE_ALL_EXCEPT);
  int traps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT;
  /* Nothing but the library computes while the traps are armed: the test's own code would trip
   * them. */
  struct api_call call;
  api_call_init(&call, SDPA_F64, api_one_head(2, 3, 2, 2), 0, 0);
  api_put(SDPA_F64, api_query(&call), 0, NAN);
  int armed = feenableexcept(traps) != -1;
#if defined(__aarch64__)
  if (!armed) { /* AArch64 leaves trapping to the implementation, and most have none */
    api_call_free(&call);
    skip();
  }
#endif
  assert_true(armed);
#if defined(__SSE2__)
  unsigned int before = _mm_getcsr();
#endif
  sdpa_status status = sdpa_attention(&call.problem, NULL, &call.args);
  /* A signalling NaN traps already where it is compared. */
  const uint64_t signalling = UINT64_C(0x7ff0000000000001);
  double scale, scores[2] = {0, 1}, weights[2];
  memcpy(&scale, &signalling, sizeof scale);
  sdpa_status refused = sdpa_softmax_f64(1, 2, scale, scores, 2, NULL, 0, weights, 2);
  int after = fegetexcept();
#if defined(__SSE2__)
  unsigned int sse_after = _mm_getcsr();
#endif
  restore();
#if defined(__SSE2__)
  assert_int_equal(sse_after, before);
#endif
  assert_int_equal(status, SDPA_OK);
  assert_int_equal(refused, SDPA_ERROR_VALUE);
  assert_int_equal(after, traps);
  api_call_free(&call);
#else
  skip();
#endif
}

static void test_flush_to_zero(void **state) {
  (void)state;
#if defined(__aarch64__) && defined(__GNUC__)
  /* FPCR bits 24 and 25, flush-to-zero and default NaN: Arm Architecture Reference Manual, C5.2.8
   */
  const uint64_t set = UINT64_C(3) << 24;
  double results[RESULTS];
  uint64_t before, after;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  before |= set;
  __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
  compute(results);
  __asm__ volatile("mrs %0, fpcr" : "=r"(after));
  __asm__ volatile("msr fpcr, %0" : : "r"(before & ~set) : "memory");
  assert_true((before & set) == set);
  assert_true(after == before);
  assert_memory_equal(results, expected, sizeof results);
#elif defined(__SSE2__)
  const unsigned int ftz_daz = 0x8040; /* MXCSR bits 15 and 6: Intel SDM volume 1, 10.2.3 */
  double results[RESULTS];
  unsigned int before = _mm_getcsr() | ftz_daz;
  _mm_setcsr(before);
  compute(results);
  unsigned int after = _mm_getcsr();
  restore();
  assert_int_equal(after & ~0x3Fu, before & ~0x3Fu); /* the flags are another test */
  assert_memory_equal(results, expected, sizeof results);
#else
  skip();
#endif
}

/* A subnormal product is kept: 1e-310 * 1 is the output, not 0. */
static void test_subnormal_values(void **state) {
  (void)state;
  const double q = 0, k = 0, v = 1e-310;
  double out = -1;
  assert_int_equal(sdpa_attention_f64(1, 1, 1, 1, &q, &k, &v, &out, NULL), SDPA_OK);
  assert_true(out == v);
  const float qf = 0, vf = 1e-40f;
  float out_f = -1;
  assert_int_equal(sdpa_attention_f32(1, 1, 1, 1, &qf, &qf, &vf, &out_f, NULL), SDPA_OK);
  assert_true(out_f == vf);
}

static void test_errno(void **state) {
  (void)state;
  double results[RESULTS];
  errno = 1234;
  compute(results);
  assert_int_equal(errno, 1234);
  sdpa_problem problem;
  assert_int_equal(sdpa_problem_init(&problem, sizeof problem), SDPA_OK);
  char text[64];
  assert_int_equal(sdpa_problem_check(&problem, NULL, text, sizeof text), SDPA_ERROR_VALUE);
  sdpa_build_info(text, sizeof text);
  assert_int_equal(errno, 1234);
}

/* Forward and backward, with a sink so low that the C library's exp() sets errno. */
enum { N_Q = 2, N_K = 3, DIM = 2, GRADIENTS = (N_Q + 2 * N_K) * DIM };
static void differentiate(uint32_t engine, float gradients[GRADIENTS]) {
  const float q[N_Q * DIM] = {1, 0.3f, -0.7f, 2}, sink = -1000;
  const float k[N_K * DIM] = {0.1f, 3, -1, 0.7f, 0.9f, -2}, v[N_K * DIM] = {1, 2, 0.3f, 4, 5, -6};
  float output[N_Q * DIM], lse[N_Q];
  sdpa_problem problem;
  sdpa_options options;
  sdpa_args args = {.size = sizeof args, .query = q, .key = k, .value = v, .sinks = &sink};
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = output,
                            .lse = lse,
                            .grad_output = q,
                            .grad_query = gradients,
                            .grad_key = gradients + N_Q * DIM,
                            .grad_value = gradients + (N_Q + N_K) * DIM};
  assert_int_equal(sdpa_problem_init(&problem, sizeof problem), SDPA_OK);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  problem.query_type = SDPA_F32;
  problem.features = SDPA_SINKS | SDPA_LSE;
  problem.batch = problem.query_heads = problem.kv_heads = 1;
  problem.query_len = N_Q, problem.key_len = N_K;
  problem.key_dim = problem.value_dim = DIM;
  assert_int_equal(sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD), SDPA_OK);
  args.output = output, args.lse = lse;
  assert_int_equal(sdpa_attention(&problem, &options, &args), SDPA_OK);
  args.output = args.lse = NULL;
  api_backward(&problem, &options, &args, &grads);
}

static void test_backward(void **state) {
  (void)state;
  for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    float usual[GRADIENTS], gradients[GRADIENTS];
    if (!api_offers(engine)) continue;
    differentiate(engine, usual);
    fesetround(FE_UPWARD);
    const double before = third(1);
    errno = 1234;
    differentiate(engine, gradients);
    const int error = errno;
    const double after = third(1);
    restore();
    assert_int_equal(error, 1234);
    assert_true(after == before && after != third(1));
    assert_memory_equal(gradients, usual, sizeof usual);
  }
}

/* An allocator that sets errno, as malloc and munmap may. */
static void *loud_alloc(void *ctx, size_t bytes, size_t alignment) {
  (void)ctx;
  errno = 4321;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
static void loud_release(void *ctx, void *block, size_t bytes) {
  (void)ctx, (void)bytes;
  free(block);
  errno = 4321;
}

static void test_errno_of_the_allocator(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_F64, api_one_head(40, 300, 2, 2), 0, 0);
  sdpa_options options;
  sdpa_plan *plan;
  size_t bytes, alignment;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.alloc = loud_alloc;
  options.release = loud_release;
  errno = 1234;
  assert_int_equal(sdpa_plan_create(&call.problem, &options, &plan), SDPA_OK);
  assert_int_equal(errno, 1234);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  assert_true(bytes > 0);
  assert_int_equal(sdpa_execute(plan, &call.args, NULL, 0), SDPA_OK);
  assert_int_equal(errno, 1234);
  sdpa_plan_destroy(plan);
  assert_int_equal(errno, 1234);
  api_call_free(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rounding_modes),
      cmocka_unit_test(test_exception_flags),
      cmocka_unit_test(test_traps),
      cmocka_unit_test(test_flush_to_zero),
      cmocka_unit_test(test_subnormal_values),
      cmocka_unit_test(test_errno),
      cmocka_unit_test(test_backward),
      cmocka_unit_test(test_errno_of_the_allocator),
  };
  return cmocka_run_group_tests(tests, compute_default, NULL);
}
