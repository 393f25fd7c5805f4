/* test_bad_problem.c - every argument error of problems and options: status, sentence, nothing
 * written
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Semantics rule 15 for what a plan can judge. Each case changes one field of a valid problem, so
 * that the status is the one of that fault.
 */
#include "api_support.h"
#include "stderr_capture.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { U32, I32, I64, F64 };

/* One field set to one value. `says` is what the sentence must tell of the value. */
struct field_case {
  const char *field;
  size_t offset;
  enum kind kind;
  int64_t integer;
  double real;
  const char *says;
  sdpa_status status;
  uint32_t type, features, alignment; /* of the valid problem before; type 0 stands for f64 */
};

#define P(field) #field, offsetof(sdpa_problem, field)
#define O(field) #field, offsetof(sdpa_options, field)

static const struct field_case problem_cases[] = {
    /* sizes */
    {P(batch), I64, -1, 0, "-1", SDPA_ERROR_SHAPE, 0, 0, 0},
    {P(query_heads), I64, -2, 0, "-2", SDPA_ERROR_SHAPE, 0, 0, 0},
    {P(kv_heads), I64, -3, 0, "-3", SDPA_ERROR_SHAPE, 0, 0, 0},
    {P(query_len), I64, -4, 0, "-4", SDPA_ERROR_SHAPE, 0, 0, 0},
    {P(key_len), I64, -5, 0, "-5", SDPA_ERROR_SHAPE, 0, 0, 0},
    {P(key_dim), I64, -6, 0, "-6", SDPA_ERROR_SHAPE, 0, 0, 0},
    {P(value_dim), I64, INT64_MIN, 0, "-9223372036854775808", SDPA_ERROR_SHAPE, 0, 0, 0},
    {P(kv_heads), I64, 3, 0, "3", SDPA_ERROR_SHAPE, 0, 0, 0},
    {P(kv_heads), I64, 0, 0, "0", SDPA_ERROR_SHAPE, 0, 0, 0},
    {P(kv_heads), I64, 8, 0, "8", SDPA_ERROR_SHAPE, 0, 0, 0},
    /* types */
    {P(query_type), U32, 0, 0, "0", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(query_type), U32, 5, 0, "5", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(key_type), U32, 77, 0, "77", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(value_type), U32, 6, 0, "6", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(output_type), U32, 7, 0, "7", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(bias_type), U32, UINT32_MAX, 0, "4294967295", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(key_type), U32, SDPA_F32, 0, "f32", SDPA_ERROR_UNSUPPORTED, 0, 0, 0},
    {P(key_type), U32, SDPA_F64, 0, "f64", SDPA_ERROR_UNSUPPORTED, SDPA_F16, 0, 0},
    {P(value_type), U32, SDPA_BF16, 0, "bf16", SDPA_ERROR_UNSUPPORTED, 0, 0, 0},
    {P(value_type), U32, SDPA_F16, 0, "f16", SDPA_ERROR_UNSUPPORTED, 0, 0, 0},
    {P(output_type), U32, SDPA_F64, 0, "f64", SDPA_ERROR_UNSUPPORTED, SDPA_BF16, 0, 0},
    {P(output_type), U32, SDPA_F64, 0, "f64", SDPA_ERROR_UNSUPPORTED, SDPA_F32, 0, 0},
    {P(bias_type), U32, SDPA_F32, 0, "f32", SDPA_ERROR_UNSUPPORTED, 0, SDPA_BIAS, 0},
    {P(bias_type), U32, SDPA_F64, 0, "f64", SDPA_ERROR_UNSUPPORTED, SDPA_F32, SDPA_BIAS, 0},
    {P(bias_type), U32, SDPA_BF16, 0, "bf16", SDPA_ERROR_UNSUPPORTED, SDPA_F32, SDPA_BIAS, 0},
    {P(bias_type), U32, SDPA_F16, 0, "f16", SDPA_ERROR_UNSUPPORTED, SDPA_BF16, SDPA_BIAS, 0},
    /* flags and constants */
    {P(features), U32, 1 << 11, 0, "0x800", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(features), U32, 1u << 31, 0, "0x80000000", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(features), U32, SDPA_NO_OUTPUT, 0, "0x80000", SDPA_ERROR_VALUE, 0, 0, 0},
    {"problem.reserved0", offsetof(sdpa_problem, reserved0), U32, 9, 0, "9", SDPA_ERROR_VALUE, 0, 0,
     0},
    {P(alignment), U32, 4, 0, "4", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(alignment), U32, 4, 0, "4", SDPA_ERROR_VALUE, 0, SDPA_CAUSAL, SDPA_ALIGN_TOP_LEFT},
    {P(score_stage), U32, 0, 0, "0", SDPA_ERROR_VALUE, 0, SDPA_SCORES, 0},
    {P(score_stage), U32, 4, 0, "4", SDPA_ERROR_VALUE, 0, SDPA_SCORES, 0},
    {P(score_stage), U32, SDPA_STAGE_SCALED, 0, "1", SDPA_ERROR_VALUE, 0, 0, 0},
    /* alignment where it matters: query_len is 2, key_len 3 */
    {P(alignment), U32, 0, 0, "0", SDPA_ERROR_VALUE, 0, SDPA_CAUSAL, SDPA_ALIGN_TOP_LEFT},
    {P(alignment), U32, 0, 0, "0", SDPA_ERROR_VALUE, 0, SDPA_WINDOW, SDPA_ALIGN_TOP_LEFT},
    {P(alignment), U32, 0, 0, "0", SDPA_ERROR_VALUE, 0, SDPA_ALIBI, SDPA_ALIGN_TOP_LEFT},
    {P(alignment), U32, SDPA_ALIGN_BOTTOM_RIGHT, 0, "2", SDPA_ERROR_VALUE, 0,
     SDPA_CAUSAL | SDPA_OFFSETS, SDPA_ALIGN_OFFSET},
    {P(offset), I64, 11, 0, "11", SDPA_ERROR_VALUE, 0, SDPA_CAUSAL, SDPA_ALIGN_TOP_LEFT},
    {P(offset), I64, -12, 0, "-12", SDPA_ERROR_VALUE, 0, SDPA_CAUSAL | SDPA_OFFSETS,
     SDPA_ALIGN_OFFSET},
    {P(offset), I64, 13, 0, "13", SDPA_ERROR_VALUE, 0, 0, 0},
    /* windows */
    {P(window_left), I64, -2, 0, "-2", SDPA_ERROR_VALUE, 0, SDPA_WINDOW, SDPA_ALIGN_TOP_LEFT},
    {P(window_right), I64, INT64_MIN, 0, "-9223372036854775808", SDPA_ERROR_VALUE, 0, SDPA_WINDOW,
     SDPA_ALIGN_TOP_LEFT},
    {P(window_left), I64, 5, 0, "5", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(window_right), I64, -1, 0, "-1", SDPA_ERROR_VALUE, 0, SDPA_CAUSAL, SDPA_ALIGN_TOP_LEFT},
    /* scalars, judged in the compute type */
    {P(scale), F64, 0, INFINITY, "inf", SDPA_ERROR_VALUE, 0, SDPA_SCALE, 0},
    {P(scale), F64, 0, -INFINITY, "-inf", SDPA_ERROR_VALUE, SDPA_F32, SDPA_SCALE, 0},
    {P(scale), F64, 0, NAN, "nan", SDPA_ERROR_VALUE, 0, SDPA_SCALE, 0},
    {P(scale), F64, 0, 1e39, "1e+39", SDPA_ERROR_VALUE, SDPA_F32, SDPA_SCALE, 0},
    {P(scale), F64, 0, 0.25, "0.25", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(softcap), F64, 0, -0.5, "-0.5", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(softcap), F64, 0, INFINITY, "inf", SDPA_ERROR_VALUE, 0, 0, 0},
    {P(softcap), F64, 0, NAN, "nan", SDPA_ERROR_VALUE, SDPA_F32, 0, 0},
    {P(softcap), F64, 0, 1e300, "1e+300", SDPA_ERROR_VALUE, SDPA_F32, 0, 0},
    /* strides of outputs */
    {P(output.batch), I64, 0, 0, "0", SDPA_ERROR_STRIDE, 0, 0, 0},
    {P(output.head), I64, 0, 0, "0", SDPA_ERROR_STRIDE, 0, 0, 0},
    {P(output.row), I64, 0, 0, "0", SDPA_ERROR_STRIDE, 0, 0, 0},
    {P(output.col), I64, 0, 0, "0", SDPA_ERROR_STRIDE, 0, 0, 0},
    {P(weights.row), I64, 0, 0, "0", SDPA_ERROR_STRIDE, 0, SDPA_WEIGHTS, 0},
    {P(scores.col), I64, 0, 0, "0", SDPA_ERROR_STRIDE, 0, SDPA_SCORES, 0},
    {P(lse.head), I64, 0, 0, "0", SDPA_ERROR_STRIDE, 0, SDPA_LSE, 0},
    {P(lse.col), I64, 1, 0, "1", SDPA_ERROR_STRIDE, 0, SDPA_LSE, 0},
    /* bytes that do not fit */
    {P(query.row), I64, INT64_MAX, 0, "9223372036854775807", SDPA_ERROR_OVERFLOW, 0, 0, 0},
    {P(key.batch), I64, INT64_MIN, 0, "-9223372036854775808", SDPA_ERROR_OVERFLOW, 0, 0, 0},
    {P(value.row), I64, INT64_MAX / 8, 0, "1152921504606846975", SDPA_ERROR_OVERFLOW, 0, 0, 0},
    {P(output.head), I64, INT64_MAX / 2, 0, "4611686018427387903", SDPA_ERROR_OVERFLOW, 0, 0, 0},
    {P(mask.row), I64, INT64_MAX, 0, "9223372036854775807", SDPA_ERROR_OVERFLOW, 0, SDPA_MASK, 0},
    {P(bias.col), I64, INT64_MIN / 2, 0, "-4611686018427387904", SDPA_ERROR_OVERFLOW, 0, SDPA_BIAS,
     0},
    {P(weights.batch), I64, INT64_MAX, 0, "9223372036854775807", SDPA_ERROR_OVERFLOW, 0,
     SDPA_WEIGHTS, 0},
    {P(scores.batch), I64, -(INT64_MAX / 8), 0, "-1152921504606846975", SDPA_ERROR_OVERFLOW, 0,
     SDPA_SCORES, 0},
    {P(lse.batch), I64, INT64_MAX, 0, "9223372036854775807", SDPA_ERROR_OVERFLOW, 0, SDPA_LSE, 0},
};

static const struct field_case options_cases[] = {
    {O(engine), U32, 3, 0, "3", SDPA_ERROR_VALUE, 0, 0, 0},
    {O(engine), U32, UINT32_MAX, 0, "4294967295", SDPA_ERROR_VALUE, 0, 0, 0},
    {O(isa), U32, 2, 0, "2", SDPA_ERROR_VALUE, 0, 0, 0},
    {O(isa), U32, 21, 0, "21", SDPA_ERROR_VALUE, 0, 0, 0},
#if defined(__x86_64__)
    {O(isa), U32, SDPA_ISA_NEON, 0, "120", SDPA_ERROR_UNSUPPORTED, 0, 0, 0},
#else
    {O(isa), U32, SDPA_ISA_AVX2, 0, "20", SDPA_ERROR_UNSUPPORTED, 0, 0, 0},
#endif
    {O(precision), U32, 3, 0, "3", SDPA_ERROR_VALUE, 0, 0, 0},
    {O(precision), U32, UINT32_MAX, 0, "4294967295", SDPA_ERROR_VALUE, 0, 0, 0},
    {O(threads), I32, -1, 0, "-1", SDPA_ERROR_VALUE, 0, 0, 0},
    {O(threads), I32, INT32_MIN, 0, "-2147483648", SDPA_ERROR_VALUE, 0, 0, 0},
    {"options.reserved0", offsetof(sdpa_options, reserved0), U32, 14, 0, "14", SDPA_ERROR_VALUE, 0,
     0, 0},
};

static void set_field(void *object, const struct field_case *c) {
  char *field = (char *)object + c->offset;
  uint32_t u32 = (uint32_t)c->integer;
  int32_t i32 = (int32_t)c->integer;
  switch (c->kind) {
  case U32:
    memcpy(field, &u32, sizeof u32);
    break;
  case I32:
    memcpy(field, &i32, sizeof i32);
    break;
  case I64:
    memcpy(field, &c->integer, sizeof c->integer);
    break;
  case F64:
    memcpy(field, &c->real, sizeof c->real);
    break;
  }
}

/* Every function that takes a problem and options gives `status`, and the sentence says it. */
static void check_refused(const struct api_call *call, const sdpa_problem *problem,
                          const sdpa_options *options, const char *field, const char *says,
                          sdpa_status status) {
  char text[512] = "unset";
  sdpa_status got = sdpa_problem_check(problem, options, text, sizeof text);
  if (got != status)
    fail_msg("%s %s: status %d is not %d (%s)", field, says ? says : "", got, status, text);
  api_assert_says(text, field, says);
  assert_int_equal(sdpa_problem_check(problem, options, NULL, 0), status);

  sdpa_plan *plan = (sdpa_plan *)(void *)text;
  assert_int_equal(sdpa_plan_create(problem, options, &plan), status);
  assert_null(plan);
  assert_int_equal(sdpa_attention(problem, options, &call->args), status);
  api_assert_untouched(call);
}

static void run_cases(const struct field_case *cases, size_t n, int options_too) {
  const struct api_sizes sizes = {2, 4, 2, 2, 3, 2, 2};
  for (size_t i = 0; i < n; i++) {
    struct api_call call;
    api_call_init(&call, cases[i].type ? cases[i].type : SDPA_F64, sizes, cases[i].features,
                  cases[i].alignment);
    sdpa_options options;
    assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
    /* Valid before the change, or the case would show nothing. */
    assert_int_equal(sdpa_problem_check(&call.problem, &options, NULL, 0), SDPA_OK);
    sdpa_problem problem = call.problem;
    set_field(options_too ? (void *)&options : (void *)&problem, &cases[i]);
    check_refused(&call, &problem, &options, cases[i].field, cases[i].says, cases[i].status);
    api_call_free(&call);
  }
}

static void test_problem_fields(void **state) {
  (void)state;
  run_cases(problem_cases, sizeof problem_cases / sizeof *problem_cases, 0);
}

static void test_options_fields(void **state) {
  (void)state;
  run_cases(options_cases, sizeof options_cases / sizeof *options_cases, 1);
}

static void test_null(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_F32, api_one_head(2, 3, 2, 2), 0, 0);
  check_refused(&call, NULL, NULL, "problem", "NULL", SDPA_ERROR_NULL);
  assert_int_equal(sdpa_plan_create(&call.problem, NULL, NULL), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_problem_layout(NULL, SDPA_LAYOUT_BHSD), SDPA_ERROR_NULL);
  sdpa_strides strides;
  assert_int_equal(sdpa_problem_broadcast(NULL, 0, NULL, &strides), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_problem_broadcast(&call.problem, 0, NULL, NULL), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_problem_broadcast(&call.problem, 1, NULL, &strides), SDPA_ERROR_NULL);
  api_call_free(&call);
}

static void *no_alloc(void *ctx, size_t bytes, size_t alignment) {
  (void)ctx, (void)bytes, (void)alignment;
  fail_msg("called although the options are refused");
  return NULL;
}
static void no_release(void *ctx, void *block, size_t bytes) {
  (void)ctx, (void)block, (void)bytes;
  fail_msg("called although the options are refused");
}

static void test_half_an_allocator(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_F32, api_one_head(2, 3, 2, 2), 0, 0);
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.alloc = no_alloc;
  check_refused(&call, &call.problem, &options, "release", "NULL", SDPA_ERROR_NULL);
  options.alloc = NULL;
  options.release = no_release;
  check_refused(&call, &call.problem, &options, "alloc", "NULL", SDPA_ERROR_NULL);
  api_call_free(&call);
}

/* Sizes that no machine holds: only the problem is judged, so no buffer is needed. */
static sdpa_status judge_on(uint32_t engine, struct api_sizes s, uint32_t features,
                            const char *names, const char *says) {
  sdpa_problem p;
  assert_int_equal(sdpa_problem_init(&p, sizeof p), SDPA_OK);
  p.query_type = SDPA_F32;
  p.batch = s.batch;
  p.query_heads = s.query_heads;
  p.kv_heads = s.kv_heads;
  p.query_len = s.query_len;
  p.key_len = s.key_len;
  p.key_dim = s.key_dim;
  p.value_dim = s.value_dim;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  p.features = features;
  char text[512];
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  sdpa_status status = sdpa_problem_check(&p, &options, text, sizeof text);
  if (status != SDPA_OK) api_assert_says(text, names, says);
  sdpa_plan *plan;
  assert_int_equal(sdpa_plan_create(&p, &options, &plan), status);
  sdpa_plan_destroy(plan);
  return status;
}

static sdpa_status judge(struct api_sizes s, uint32_t features, const char *names,
                         const char *says) {
  return judge_on(SDPA_ENGINE_AUTO, s, features, names, says);
}

/* The BLAS counts keys and dimensions in int. Rows come in blocks. */
static void test_sizes_of_the_blas(void **state) {
  (void)state;
  const int64_t beyond = (int64_t)INT_MAX + 1;
  const uint32_t blas = SDPA_ENGINE_BLAS;
  api_needs(blas);
  assert_int_equal(judge_on(blas, api_one_head(1, beyond, 1, 1), 0, "key_len", "2147483648"),
                   SDPA_ERROR_UNSUPPORTED);
  assert_int_equal(judge_on(blas, api_one_head(1, 1, beyond, 1), 0, "key_dim", "2147483648"),
                   SDPA_ERROR_UNSUPPORTED);
  assert_int_equal(judge_on(blas, api_one_head(1, 1, 1, beyond), 0, "value_dim", "2147483648"),
                   SDPA_ERROR_UNSUPPORTED);
  assert_int_equal(judge_on(blas, api_one_head(1, INT_MAX, 1, 1), 0, "", ""), SDPA_OK);
  assert_int_equal(judge_on(blas, api_one_head(beyond, 1, 1, 1), 0, "", ""), SDPA_OK);
}

static void test_absent_engine(void **state) {
  (void)state;
  if (api_offers(SDPA_ENGINE_BLAS)) skip();
  assert_int_equal(judge_on(SDPA_ENGINE_BLAS, api_one_head(1, 1, 1, 1), 0, "engine", "1"),
                   SDPA_ERROR_UNSUPPORTED);
}

/* Without a choice of engine the library finds one that can: never a limit of the BLAS's. */
static void test_extreme_sizes(void **state) {
  (void)state;
  const int64_t beyond = (int64_t)INT_MAX + 1;
  for (int i = 0; i < 2; i++) {
    const uint32_t engine = i ? SDPA_ENGINE_TILED : SDPA_ENGINE_AUTO;
    assert_int_equal(judge_on(engine, api_one_head(1, beyond, 1, 1), 0, "", ""), SDPA_OK);
    assert_int_equal(judge_on(engine, api_one_head(1, 1, beyond, 1), 0, "", ""), SDPA_OK);
    assert_int_equal(judge_on(engine, api_one_head(1, 1, 1, beyond), 0, "", ""), SDPA_OK);
    assert_int_equal(judge_on(engine, api_one_head(1, beyond, 1, 1), SDPA_WEIGHTS, "", ""),
                     SDPA_OK);
  }
  /* 2^62 pairs: their bytes fit, their floats do not. The sizes themselves suit every BLAS. */
  const int64_t n = INT64_C(1) << 30;
  const struct api_sizes square = {4, 1, 1, n, n, 1, 1};
  assert_int_equal(judge(square, 0, "", ""), SDPA_OK);
  assert_int_equal(judge(square, SDPA_MASK, "", ""), SDPA_OK);
  assert_int_equal(judge(square, SDPA_WEIGHTS, "weights.batch", "1152921504606846976"),
                   SDPA_ERROR_OVERFLOW);
  assert_int_equal(judge(square, SDPA_BIAS, "bias.batch", "1152921504606846976"),
                   SDPA_ERROR_OVERFLOW);
  const struct api_sizes more = {1024, 1, 1, n, n, 1, 1};
  assert_int_equal(judge(more, 0, "", ""), SDPA_OK);
  assert_int_equal(judge(more, SDPA_MASK, "mask.batch", "1152921504606846976"),
                   SDPA_ERROR_OVERFLOW);
}

static void test_one_shot_sizes(void **state) {
  (void)state;
  double in[4] = {1, 2, 3, 4}, out[4] = {-7, -7, -7, -7}, weights[4] = {-7, -7, -7, -7};
  const float *none = NULL;
  assert_int_equal(sdpa_attention_f64(-1, 2, 2, 2, in, in, in, out, weights), SDPA_ERROR_SHAPE);
  assert_int_equal(sdpa_attention_f64(2, -1, 2, 2, in, in, in, out, weights), SDPA_ERROR_SHAPE);
  assert_int_equal(sdpa_attention_f64(2, 2, -1, 2, in, in, in, out, weights), SDPA_ERROR_SHAPE);
  assert_int_equal(sdpa_attention_f64(2, 2, 2, -1, in, in, in, out, weights), SDPA_ERROR_SHAPE);
  assert_int_equal(sdpa_attention_f64(2, 2, 2, 2, NULL, in, in, out, weights), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_attention_f64(2, 2, 2, 2, in, NULL, in, out, weights), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_attention_f64(2, 2, 2, 2, in, in, NULL, out, weights), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_attention_f64(2, 2, 2, 2, in, in, in, NULL, weights), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_attention_f64(INT_MAX, 2, INT_MAX, 2, in, in, in, out, NULL),
                   SDPA_ERROR_OVERFLOW);
  assert_int_equal(sdpa_attention_f64(INT_MAX, INT_MAX, 1, 1, in, in, in, out, weights),
                   SDPA_ERROR_OVERFLOW);
  assert_int_equal(sdpa_attention_f32(-1, 0, 0, 0, none, none, none, NULL, NULL), SDPA_ERROR_SHAPE);
  assert_int_equal(sdpa_attention_f32(1, 1, 1, 1, none, none, none, NULL, NULL), SDPA_ERROR_NULL);
  const double *odd = (const double *)(const void *)((const char *)in + 4);
  assert_int_equal(sdpa_attention_f64(1, 1, 1, 1, odd, in, in, out, NULL), SDPA_ERROR_ALIGNMENT);
  for (int i = 0; i < 4; i++) {
    assert_true(out[i] == -7);
    assert_true(weights[i] == -7);
  }
}

/* The sentence is cut to the buffer and terminated; its beginning is what a larger buffer gets. */
static void test_text_truncation(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_F32, api_one_head(2, 3, 2, 2), 0, 0);
  call.problem.query_len = -1;
  char full[512];
  assert_int_equal(sdpa_problem_check(&call.problem, NULL, full, sizeof full), SDPA_ERROR_SHAPE);
  size_t length = strlen(full);
  assert_in_range(length, 10, sizeof full - 2);
  for (size_t bytes = 1; bytes <= length + 2; bytes++) {
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, 'x', bytes);
    assert_int_equal(sdpa_problem_check(&call.problem, NULL, text, bytes), SDPA_ERROR_SHAPE);
    size_t kept = bytes - 1 < length ? bytes - 1 : length;
    assert_memory_equal(text, full, kept);
    assert_int_equal(text[kept], 0);
    free(text);
  }
  assert_int_equal(sdpa_problem_check(&call.problem, NULL, full, 0), SDPA_ERROR_SHAPE);
  assert_int_equal(strlen(full), length);
  assert_int_equal(sdpa_problem_check(&call.problem, NULL, NULL, 0), SDPA_ERROR_SHAPE);
  assert_int_equal(sdpa_problem_check(&call.problem, NULL, NULL, 16), SDPA_ERROR_SHAPE);
  call.problem.query_len = 2;
  assert_int_equal(sdpa_problem_check(&call.problem, NULL, full, sizeof full), SDPA_OK);
  assert_string_equal(full, "");
  api_call_free(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_problem_fields),
      cmocka_unit_test(test_options_fields),
      cmocka_unit_test(test_null),
      cmocka_unit_test(test_half_an_allocator),
      cmocka_unit_test(test_sizes_of_the_blas),
      cmocka_unit_test(test_absent_engine),
      cmocka_unit_test(test_extreme_sizes),
      cmocka_unit_test(test_one_shot_sizes),
      cmocka_unit_test(test_text_truncation),
  };
  return run_silent_group("bad_problem", tests, sizeof tests / sizeof *tests);
}
