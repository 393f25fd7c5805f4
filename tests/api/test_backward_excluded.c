/* test_backward_excluded.c - an excluded key whose finite numbers overflow in the products;
 * rows without scores
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Semantics rule 11 behind a softcap, whose derivative is formed from the product q . k: for the
 * excluded key that is an infinity, NaN where two of them meet, and NaN where the scale is 0.
 */
#include "api_support.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ROWS = 5, KEYS = 3, DIM = 4, EXCLUDED = 1 };

struct gradients {
  float query[ROWS * DIM], key[KEYS * DIM], value[KEYS * DIM];
};

/* Gradients with `number` in every element of the excluded key's K. */
static void run(uint32_t engine, double scale, float number, struct gradients *to) {
  struct api_call call;
  sdpa_options options;
  sdpa_grads grads;
  float grad_output[ROWS * DIM];
  api_call_init(&call, SDPA_F32, api_one_head(ROWS, KEYS, DIM, DIM),
                SDPA_MASK | SDPA_LSE | SDPA_SCALE, 0);
  call.problem.scale = scale;
  call.problem.softcap = 2;
  for (int i = 0; i < ROWS; i++) api_mask(&call)[i * KEYS + EXCLUDED] = 0;
  for (int n = 0; n < ROWS * DIM; n++) {
    api_put(SDPA_F32, api_query(&call), n, n % 2 == 0 ? 2 : -4);
    grad_output[n] = (float)(n % 7) - 3;
  }
  for (int d = 0; d < DIM; d++) api_put(SDPA_F32, api_key(&call), EXCLUDED * DIM + d, number);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
  assert_int_equal(sdpa_grads_init(&grads, sizeof grads), SDPA_OK);
  grads.output = call.args.output;
  grads.lse = call.args.lse;
  grads.grad_output = grad_output;
  grads.grad_query = to->query;
  grads.grad_key = to->key;
  grads.grad_value = to->value;
  call.args.output = call.args.lse = NULL;
  api_backward(&call.problem, &options, &call.args, &grads);
  api_call_free(&call);
}

static void check(uint32_t engine) {
  static const double scales[] = {0.5, -3, 0};
  static const float numbers[] = {3e38f, -3e38f};
  api_needs(engine);
  for (int s = 0; s < 3; s++) {
    struct gradients expected;
    run(engine, scales[s], 0, &expected);
    for (int d = 0; d < DIM; d++) assert_true(expected.key[EXCLUDED * DIM + d] == 0);
    for (int n = 0; n < 2; n++) {
      struct gradients got;
      run(engine, scales[s], numbers[n], &got);
      for (int d = 0; d < DIM; d++) assert_true(got.key[EXCLUDED * DIM + d] == 0);
      assert_memory_equal(got.query, expected.query, sizeof got.query);
      assert_memory_equal(got.key, expected.key, sizeof got.key);
      assert_memory_equal(got.value, expected.value, sizeof got.value);
    }
  }
}

static void test_tiled(void **state) {
  (void)state;
  check(SDPA_ENGINE_TILED);
}

static void test_blas(void **state) {
  (void)state;
  check(SDPA_ENGINE_BLAS);
}

/* Keys that no query head reads: their gradients are 0. */
static void test_no_query_heads(void **state) {
  (void)state;
  static const uint32_t engines[] = {SDPA_ENGINE_TILED, SDPA_ENGINE_BLAS};
  const struct api_sizes sizes = {1, 0, 2, ROWS, KEYS, DIM, DIM};
  for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
    struct api_call call;
    sdpa_options options;
    sdpa_grads grads;
    float key[2 * KEYS * DIM], value[2 * KEYS * DIM];
    if (!api_offers(engines[e])) continue;
    memset(key, 0xC3, sizeof key);
    memset(value, 0xC3, sizeof value);
    api_call_init(&call, SDPA_F32, sizes, 0, 0);
    assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
    assert_int_equal(sdpa_grads_init(&grads, sizeof grads), SDPA_OK);
    options.engine = engines[e];
    grads.grad_key = key;
    grads.grad_value = value;
    call.args.output = NULL;
    api_backward(&call.problem, &options, &call.args, &grads);
    for (int n = 0; n < 2 * KEYS * DIM; n++) assert_true(key[n] == 0 && value[n] == 0);
    api_call_free(&call);
  }
}

/* A row all of whose scores are -inf has no gradients (rule 10), whatever a sink is: `sink` NULL,
 * or its logit, which is the row's log-sum-exp then. */
static void check_without_scores(uint32_t engine, const float *sink) {
  const float query[2] = {1, -1}, key[2] = {-INFINITY, -INFINITY}, value[2] = {1, 2};
  const float output[2] = {0, 1.5f}, grad_output[2] = {1, 0};
  const float lse[2] = {sink ? *sink : -INFINITY, NAN}; /* row 1 is not looked at */
  const int64_t rows[1] = {1};
  float grad_query[2] = {7, 7}, grad_key[2] = {7, 7}, grad_value[2] = {7, 7}, grad_sink = 7;
  sdpa_problem p;
  sdpa_options options;
  if (!api_offers(engine)) return;
  assert_int_equal(sdpa_problem_init(&p, sizeof p), SDPA_OK);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  p.query_type = SDPA_F32;
  p.features = SDPA_LSE | SDPA_QUERY_LENS | (sink ? SDPA_SINKS : 0);
  p.batch = p.query_heads = p.kv_heads = p.key_dim = p.value_dim = 1;
  p.query_len = p.key_len = 2;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  const sdpa_args args = {.size = sizeof args,
                          .query = query,
                          .key = key,
                          .value = value,
                          .sinks = sink,
                          .query_lens = rows};
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = output,
                            .lse = lse,
                            .grad_output = grad_output,
                            .grad_query = grad_query,
                            .grad_key = grad_key,
                            .grad_value = grad_value,
                            .grad_sinks = sink ? &grad_sink : NULL};
  api_backward(&p, &options, &args, &grads);
  for (int i = 0; i < 2; i++)
    assert_true(grad_query[i] == 0 && grad_key[i] == 0 && grad_value[i] == 0);
  if (sink) assert_true(grad_sink == 0);
}

static void test_row_without_scores(void **state) {
  (void)state;
  const float sinks[] = {NAN, 2, INFINITY, -INFINITY};
  for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    check_without_scores(engine, NULL);
    for (int i = 0; i < 4; i++) check_without_scores(engine, &sinks[i]);
  }
}

/* Without key dimensions scores are 0, not absent: a sink that makes up the whole log-sum-exp leaves
 * the row its keys, with weights of e^-sink. */
static void check_no_key_dim(uint32_t engine) {
  const double sink = 100, value[2] = {3, -4}, output = 0, lse = 100, grad_output = 2;
  double grad_value[2] = {7, 7}, grad_sink = 7;
  sdpa_problem p;
  sdpa_options options;
  if (!api_offers(engine)) return;
  assert_int_equal(sdpa_problem_init(&p, sizeof p), SDPA_OK);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  p.query_type = SDPA_F64;
  p.features = SDPA_LSE | SDPA_SINKS;
  p.batch = p.query_heads = p.kv_heads = p.query_len = p.value_dim = 1;
  p.key_len = 2;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  const sdpa_args args = {.size = sizeof args, .value = value, .sinks = &sink};
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = &output,
                            .lse = &lse,
                            .grad_output = &grad_output,
                            .grad_value = grad_value,
                            .grad_sinks = &grad_sink};
  api_backward(&p, &options, &args, &grads);
  for (int j = 0; j < 2; j++)
    assert_true(fabs(grad_value[j] - 2 * exp(-100)) <= 64 * DBL_EPSILON * 2 * exp(-100));
  assert_true(grad_sink == 0); /* - weight of the sink * (output . grad_output) */
}

static void test_no_key_dim(void **state) {
  (void)state;
  for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++)
    check_no_key_dim(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiled), cmocka_unit_test(test_blas),
                                     cmocka_unit_test(test_no_query_heads),
                                     cmocka_unit_test(test_row_without_scores),
                                     cmocka_unit_test(test_no_key_dim)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
