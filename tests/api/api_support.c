/* api_support.c - a small attention call with exactly sized buffers
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api_support.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrow_float.h"

enum { SENTINEL = 0xA5 };

size_t api_element_size(uint32_t type) {
  return type == SDPA_F64 ? sizeof(double) : is_narrow_float(type) ? 2 : sizeof(float);
}

static uint32_t compute_type(uint32_t type) {
  return type == SDPA_F64 ? SDPA_F64 : SDPA_F32;
}

/* malloc(0) may return NULL, which is what an empty tensor may be. */
static void *take(struct api_call *call, int tensor, int64_t count, size_t element, int fill) {
  size_t bytes = (size_t)count * element;
  void *block = malloc(bytes);
  if (bytes) {
    assert_non_null(block);
    memset(block, fill, bytes);
  }
  call->block[tensor] = block;
  call->bytes[tensor] = bytes;
  return block;
}

static void *take_numbers(struct api_call *call, int tensor, uint32_t type, int64_t count) {
  void *block = take(call, tensor, count, api_element_size(type), 0);
  for (int64_t i = 0; i < count; i++)
    api_put(type, block, i, (double)((i * 17 + tensor * 31) % 13 - 6) / 8);
  return block;
}

static int64_t *take_counts(struct api_call *call, int tensor, int64_t count, int64_t value) {
  int64_t *block = take(call, tensor, count, sizeof(int64_t), 0);
  for (int64_t i = 0; i < count; i++) block[i] = value;
  return block;
}

static void take_inputs(struct api_call *call, uint32_t type, struct api_sizes s) {
  uint32_t features = call->problem.features;
  sdpa_args *args = &call->args;
  int64_t pairs = s.batch * s.query_heads * s.query_len * s.key_len;
  int64_t kv_rows = s.batch * s.kv_heads * s.key_len;
  const size_t scalar = api_element_size(compute_type(type));

  args->query =
      take_numbers(call, API_QUERY, type, s.batch * s.query_heads * s.query_len * s.key_dim);
  args->key = take_numbers(call, API_KEY, type, kv_rows * s.key_dim);
  args->value = take_numbers(call, API_VALUE, type, kv_rows * s.value_dim);
  if (features & SDPA_MASK) args->mask = take(call, API_MASK, pairs, 1, 1);
  if (features & SDPA_BIAS) args->bias = take(call, API_BIAS, pairs, api_element_size(type), 0);
  if (features & SDPA_ALIBI) args->alibi_slopes = take(call, API_SLOPES, s.query_heads, scalar, 0);
  if (features & SDPA_SINKS) args->sinks = take(call, API_SINKS, s.query_heads, scalar, 0);
  if (features & SDPA_KEY_LENS)
    args->key_lens = take_counts(call, API_KEY_LENS, s.batch, s.key_len);
  if (features & SDPA_QUERY_LENS)
    args->query_lens = take_counts(call, API_QUERY_LENS, s.batch, s.query_len);
  if (features & SDPA_OFFSETS) args->offsets = take_counts(call, API_OFFSETS, s.batch, 0);
}

void api_call_init(struct api_call *call, uint32_t type, struct api_sizes s, uint32_t features,
                   uint32_t alignment) {
  size_t scalar = api_element_size(compute_type(type));
  int64_t rows = s.batch * s.query_heads * s.query_len;
  memset(call, 0, sizeof *call);
  sdpa_problem *p = &call->problem;
  assert_int_equal(sdpa_problem_init(p, sizeof *p), SDPA_OK);
  p->query_type = type;
  p->features = features;
  p->alignment = alignment;
  p->batch = s.batch;
  p->query_heads = s.query_heads;
  p->kv_heads = s.kv_heads;
  p->query_len = s.query_len;
  p->key_len = s.key_len;
  p->key_dim = s.key_dim;
  p->value_dim = s.value_dim;
  if (features & SDPA_SCORES) p->score_stage = SDPA_STAGE_BIASED;
  assert_int_equal(sdpa_problem_layout(p, SDPA_LAYOUT_BHSD), SDPA_OK);

  sdpa_args *args = &call->args;
  assert_int_equal(sdpa_args_init(args, sizeof *args), SDPA_OK);
  take_inputs(call, type, s);
  if (!(features & SDPA_NO_OUTPUT))
    args->output = take(call, API_OUTPUT, rows * s.value_dim, api_element_size(type), SENTINEL);
  if (features & SDPA_WEIGHTS)
    args->weights = take(call, API_WEIGHTS, rows * s.key_len, scalar, SENTINEL);
  if (features & SDPA_SCORES)
    args->scores = take(call, API_SCORES, rows * s.key_len, scalar, SENTINEL);
  if (features & SDPA_LSE) args->lse = take(call, API_LSE, rows, scalar, SENTINEL);
}

void api_call_free(struct api_call *call) {
  for (int i = 0; i < API_TENSORS; i++) free(call->block[i]);
  memset(call, 0, sizeof *call);
}

struct api_sizes api_one_head(int64_t query_len, int64_t key_len, int64_t key_dim,
                              int64_t value_dim) {
  struct api_sizes s = {1, 1, 1, query_len, key_len, key_dim, value_dim};
  return s;
}

void api_assert_untouched(const struct api_call *call) {
  static const int outputs[] = {API_OUTPUT, API_WEIGHTS, API_SCORES, API_LSE};
  for (size_t o = 0; o < sizeof outputs / sizeof outputs[0]; o++) {
    const unsigned char *bytes = call->block[outputs[o]];
    for (size_t i = 0; i < call->bytes[outputs[o]]; i++) assert_int_equal(bytes[i], SENTINEL);
  }
}

/* At least sum_j p_ij |v_jd| of every output element: the weights sum to at most 1. */
static double value_magnitude(const struct api_call *call) {
  uint32_t type = call->problem.query_type;
  double largest = 0;
  for (int64_t i = 0; i < (int64_t)(call->bytes[API_VALUE] / api_element_size(type)); i++) {
    double x = fabs(api_get(type, call->block[API_VALUE], i));
    if (isfinite(x) && x > largest) largest = x;
  }
  return largest;
}

void api_run(struct api_call *call) {
  assert_int_equal(sdpa_attention(&call->problem, NULL, &call->args), SDPA_OK);
  if (call->problem.features & SDPA_NO_OUTPUT) return;

  uint32_t type = call->problem.query_type;
  sdpa_problem problem = call->problem;
  sdpa_args args = call->args;
  problem.features &= ~(uint32_t)(SDPA_WEIGHTS | SDPA_SCORES | SDPA_LSE);
  problem.score_stage = 0;
  args.weights = args.scores = args.lse = NULL;
  args.output = malloc(call->bytes[API_OUTPUT]);
  if (call->bytes[API_OUTPUT]) assert_non_null(args.output);
  assert_int_equal(sdpa_attention(&problem, NULL, &args), SDPA_OK);
  int64_t n = (int64_t)(call->bytes[API_OUTPUT] / api_element_size(type));
  double magnitude = value_magnitude(call);
  for (int64_t i = 0; i < n; i++) {
    double x = api_get(type, call->args.output, i);
    api_assert_near(type, api_get(type, args.output, i), x, magnitude);
  }
  free(args.output);
}

void api_backward(const sdpa_problem *problem, const sdpa_options *options, const sdpa_args *args,
                  const sdpa_grads *grads) {
  sdpa_plan *plan;
  assert_int_equal(sdpa_plan_create_backward(problem, options, &plan), SDPA_OK);
  assert_int_equal(sdpa_backward_check(plan, args, grads, NULL, 0, NULL, 0), SDPA_OK);
  assert_int_equal(sdpa_backward(plan, args, grads, NULL, 0), SDPA_OK);
  sdpa_plan_destroy(plan);
}

int api_offers(uint32_t engine) {
  sdpa_problem problem;
  sdpa_options options;
  assert_int_equal(sdpa_problem_init(&problem, sizeof problem), SDPA_OK);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  problem.query_type = SDPA_F32; /* an empty problem, which every engine serves */
  options.engine = engine;
  sdpa_status status = sdpa_problem_check(&problem, &options, NULL, 0);
  if (status != SDPA_OK) assert_int_equal(status, SDPA_ERROR_UNSUPPORTED);
  return status == SDPA_OK;
}

void api_needs(uint32_t engine) {
  if (api_offers(engine)) return;
  print_message("skipped: this library is built without engine %s\n",
                engine == SDPA_ENGINE_BLAS ? "blas" : "tiled");
  skip();
}

double api_get(uint32_t type, const void *data, int64_t i) {
  if (is_narrow_float(type)) return narrow_to_double(type, ((const uint16_t *)data)[i]);
  return type == SDPA_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

void api_put(uint32_t type, void *data, int64_t i, double x) {
  if (is_narrow_float(type))
    ((uint16_t *)data)[i] = narrow_from_double(type, x);
  else if (type == SDPA_F64)
    ((double *)data)[i] = x;
  else
    ((float *)data)[i] = (float)x;
}

void api_put_all(uint32_t type, void *data, int64_t n, const double *x) {
  for (int64_t i = 0; i < n; i++) api_put(type, data, i, x[i]);
}

void *api_query(const struct api_call *call) {
  return call->block[API_QUERY];
}
void *api_key(const struct api_call *call) {
  return call->block[API_KEY];
}
void *api_value(const struct api_call *call) {
  return call->block[API_VALUE];
}
void *api_bias(const struct api_call *call) {
  return call->block[API_BIAS];
}
void *api_slopes(const struct api_call *call) {
  return call->block[API_SLOPES];
}
void *api_sinks(const struct api_call *call) {
  return call->block[API_SINKS];
}
uint8_t *api_mask(const struct api_call *call) {
  return call->block[API_MASK];
}
int64_t *api_key_lens(const struct api_call *call) {
  return call->block[API_KEY_LENS];
}
int64_t *api_query_lens(const struct api_call *call) {
  return call->block[API_QUERY_LENS];
}
int64_t *api_offsets(const struct api_call *call) {
  return call->block[API_OFFSETS];
}

static const char *type_name(uint32_t type) {
  static const char *const names[] = {"f64", "f32", "bf16", "f16"};
  return names[type - SDPA_F64];
}

static int near(uint32_t type, double actual, double expected, double magnitude) {
  if (isnan(expected)) return isnan(actual);
  if (isinf(expected)) return actual == expected;
  double u = type == SDPA_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
  double step = 2 * (double)narrow_half_step(type, (long double)expected);
  return fabs(actual - expected) <= 4 * u * 16 * magnitude + step;
}

void api_assert_near(uint32_t type, double actual, double expected, double magnitude) {
  if (!near(type, actual, expected, magnitude))
    fail_msg("%s: %.17g is not %.17g", type_name(type), actual, expected);
}

void api_assert_all_near(uint32_t type, const void *actual, int64_t n, const double *expected,
                         double magnitude) {
  for (int64_t i = 0; i < n; i++) {
    double x = api_get(type, actual, i);
    if (!near(type, x, expected[i], magnitude))
      fail_msg("%s, element %lld: %.17g is not %.17g", type_name(type), (long long)i, x,
               expected[i]);
  }
}

void api_assert_says(const char *text, const char *field, const char *value) {
  char words[256];
  snprintf(words, sizeof words, "%s%s%s", field, value ? " is " : "", value ? value : "");
  const size_t length = strlen(words);
  for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) {
    const char after = at[length];
    if (at != text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')) continue;
    if (value ? !isalnum((unsigned char)after) : !isalnum((unsigned char)after) && after != '_')
      return;
  }
  fail_msg("\"%s\" does not say \"%s\"", text, words);
}

int api_is_aligned(const void *address, size_t bytes) {
  const size_t alignment = bytes < _Alignof(double) ? bytes : _Alignof(double);
  return (uintptr_t)address % alignment == 0;
}
