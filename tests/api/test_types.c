/* test_types.c - 16-bit types and mixtures as callers use them
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers in 16 bits are written as their bits. Queries and keys are 0 unless a test says
 * otherwise, so that all keys count alike and the output is the mean of V.
 */
#include "api_support.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_KEYS = 4 };

struct types {
  uint32_t query, key, value, output, bias;
};

static const struct types all_bf16 = {SDPA_BF16, 0, 0, 0, 0};
static const struct types all_f16 = {SDPA_F16, 0, 0, 0, 0};

static sdpa_problem problem_of(struct types t, int64_t keys) {
  sdpa_problem p;
  assert_int_equal(sdpa_problem_init(&p, sizeof p), SDPA_OK);
  p.query_type = t.query, p.key_type = t.key, p.value_type = t.value;
  p.output_type = t.output, p.bias_type = t.bias;
  p.batch = p.query_heads = p.kv_heads = p.query_len = p.key_dim = p.value_dim = 1;
  p.key_len = keys;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  return p;
}

static void run(uint32_t engine, const sdpa_problem *p, const sdpa_args *args) {
  char text[512];
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  if (sdpa_problem_check(p, &options, text, sizeof text) != SDPA_OK) fail_msg("%s", text);
  assert_int_equal(sdpa_attention(p, &options, args), SDPA_OK);
}

/* The output, of whatever type, over `keys` values; bias may be NULL. */
static void attend(uint32_t engine, struct types t, int64_t keys, const void *value,
                   const void *bias, void *output) {
  static const double zeros[MOST_KEYS];
  sdpa_problem p = problem_of(t, keys);
  sdpa_args a;
  assert_int_equal(sdpa_args_init(&a, sizeof a), SDPA_OK);
  if (bias) p.features |= SDPA_BIAS;
  a.query = a.key = zeros;
  a.value = value;
  a.bias = bias;
  a.output = output;
  run(engine, &p, &a);
}

/* Both engines, as far as the library has them. */
static int next_engine(uint32_t *engine) {
  static const uint32_t engines[] = {SDPA_ENGINE_BLAS, SDPA_ENGINE_TILED};
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
    if (engines[i] > *engine && api_offers(engines[i])) {
      *engine = engines[i];
      return 1;
    }
  return 0;
}
#define FOR_ENGINES(engine) for (uint32_t engine = 0; next_engine(&engine);)

/* A cache in 16 bits beside f32: nothing but the cache itself is rounded. */
static void test_cache(void **state) {
  (void)state;
  const uint16_t bf16[] = {0x3F80, 0x3F81}, f16[] = {0x3C00, 0x3C01};
  const struct types bf16_cache = {SDPA_F32, SDPA_BF16, SDPA_BF16, SDPA_F32, 0};
  const struct types f16_cache = {SDPA_F32, SDPA_F16, SDPA_F16, SDPA_F32, 0};
  FOR_ENGINES(engine) {
    float output = 0;
    attend(engine, bf16_cache, 2, bf16, NULL, &output);
    assert_true(output == 1 + 0x1p-8f);
    attend(engine, f16_cache, 2, f16, NULL, &output);
    assert_true(output == 1 + 0x1p-11f);
  }
}

/* The output is rounded once, to nearest and of two to even. */
static void test_rounding(void **state) {
  (void)state;
  static const struct {
    uint32_t type;
    uint16_t value[2], mean;
  } cases[] = {{SDPA_BF16, {0x3F80, 0x3F81}, 0x3F80}, /* 1 + 2^-8: a tie, down */
               {SDPA_BF16, {0x3F81, 0x3F82}, 0x3F82}, /* 1 + 3 2^-8: a tie, up */
               {SDPA_BF16, {0xBF81, 0xBF82}, 0xBF82},
               {SDPA_BF16, {0x3F81, 0x3F84}, 0x3F82}, /* 1 + 5 2^-8: a tie, down */
               {SDPA_F16, {0x3C00, 0x3C01}, 0x3C00},
               {SDPA_F16, {0x3C01, 0x3C02}, 0x3C02},
               {SDPA_F16, {0xBC01, 0xBC02}, 0xBC02},
               {SDPA_F16, {0x3C01, 0x3C04}, 0x3C02},
               {SDPA_F16, {0x0001, 0x0002}, 0x0002}, /* 1.5 of the smallest subnormals */
               {SDPA_F16, {0x0000, 0x0001}, 0x0000},
               {SDPA_F16, {0x03FF, 0x0400}, 0x0400}};
  FOR_ENGINES(engine) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      uint16_t mean = 0xAAAA;
      attend(engine, cases[i].type == SDPA_BF16 ? all_bf16 : all_f16, 2, cases[i].value, NULL,
             &mean);
      if (mean != cases[i].mean)
        fail_msg("case %d, engine %u: 0x%04x is not 0x%04x", (int)i, (unsigned)engine, mean,
                 cases[i].mean);
    }
  }
}

/* What f32 values become in 16 bits: one key, whose weight is 1. */
static void test_storing(void **state) {
  (void)state;
  static const struct {
    float value;
    uint32_t type;
    uint16_t bits;
  } cases[] = {{65504, SDPA_F16, 0x7BFF},
               {65519.996f, SDPA_F16, 0x7BFF},
               {65520, SDPA_F16, 0x7C00}, /* the first that overflows */
               {-65520, SDPA_F16, 0xFC00},
               {1e30f, SDPA_F16, 0x7C00},
               {0x1p-24f, SDPA_F16, 0x0001},
               {0x1.000002p-25f, SDPA_F16, 0x0001},
               {0x1p-25f, SDPA_F16, 0x0000}, /* a tie between 0 and the smallest */
               {0x1.8p-24f, SDPA_F16, 0x0002},
               {-0x1.ffcp-15f, SDPA_F16, 0x8400}, /* the subnormals' last tie */
               {0x1.fep127f, SDPA_BF16, 0x7F7F},
               {0x1.fefffep127f, SDPA_BF16, 0x7F7F},
               {0x1.ffp127f, SDPA_BF16, 0x7F80},
               {-FLT_MAX, SDPA_BF16, 0xFF80},
               {0x1p-126f, SDPA_BF16, 0x0080},
               {1.00390625f, SDPA_BF16, 0x3F80},
               {1.00390637f, SDPA_BF16, 0x3F81},
               {INFINITY, SDPA_F16, 0x7C00},
               {-INFINITY, SDPA_BF16, 0xFF80}};
  FOR_ENGINES(engine) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      const struct types t = {SDPA_F32, 0, 0, cases[i].type, 0};
      uint16_t bits = 0xAAAA;
      attend(engine, t, 1, &cases[i].value, NULL, &bits);
      if (bits != cases[i].bits)
        fail_msg("%a, engine %u: 0x%04x is not 0x%04x", (double)cases[i].value, (unsigned)engine,
                 bits, cases[i].bits);
    }
  }
}

/* Every kind of number that a cache may hold, in f32. */
static void test_loading(void **state) {
  (void)state;
  static const struct {
    uint32_t type;
    uint16_t bits;
    float value;
  } cases[] = {{SDPA_F16, 0x0001, 0x1p-24f},      {SDPA_F16, 0x83FF, -0x1.ff8p-15f},
               {SDPA_F16, 0x7BFF, 65504},         {SDPA_F16, 0xFC00, -INFINITY},
               {SDPA_F16, 0x3555, 0x1.554p-2f},   {SDPA_BF16, 0x0080, 0x1p-126f},
               {SDPA_BF16, 0xFF7F, -0x1.fep127f}, {SDPA_BF16, 0x7F80, INFINITY},
               {SDPA_BF16, 0x4049, 3.140625f}};
  FOR_ENGINES(engine) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      const struct types t = {SDPA_F32, 0, cases[i].type, 0, 0};
      float value = 0;
      attend(engine, t, 1, &cases[i].bits, NULL, &value);
      assert_true(value == cases[i].value);
    }
  }
}

static int is_nan_bits(uint32_t type, uint16_t bits) {
  const int infinity = type == SDPA_BF16 ? 0x7F80 : 0x7C00;
  return (bits & 0x7FFF) > infinity;
}

/* NaN stays NaN, whatever bits of it a conversion could lose; excluded ones are not seen. */
static void test_nan(void **state) {
  (void)state;
  static const uint16_t nan[2][4] = {{0x7F81, 0x7FC0, 0xFFFF, 0xFF81},
                                     {0x7C01, 0x7E00, 0xFFFF, 0xFC01}};
  const uint16_t minus_infinity[2] = {0xFF80, 0xFC00}, one[2] = {0x3F80, 0x3C00};
  FOR_ENGINES(engine) {
    for (int t = 0; t < 2; t++) {
      const struct types same = t ? all_f16 : all_bf16;
      const uint32_t type = same.query;
      const struct types to_f32 = {type, 0, 0, SDPA_F32, 0};
      for (int i = 0; i < 4; i++) {
        const uint16_t value[2] = {one[t], nan[t][i]};
        const uint16_t bias[2] = {0, minus_infinity[t]};
        const float f32_nan = NAN;
        uint16_t narrow = 0;
        float wide = 0;
        attend(engine, same, 2, value, NULL, &narrow);
        assert_true(is_nan_bits(type, narrow));
        attend(engine, to_f32, 2, value, NULL, &wide);
        assert_true(isnan(wide) != 0);
        attend(engine, (struct types){SDPA_F32, 0, 0, type, 0}, 1, &f32_nan, NULL, &narrow);
        assert_true(is_nan_bits(type, narrow));
        attend(engine, same, 2, value, bias, &narrow);
        assert_int_equal(narrow, one[t]);
      }
    }
  }
}

/* The lowest finite bias is a number: on all keys it changes nothing. */
static void test_lowest_bias(void **state) {
  (void)state;
  const uint16_t lowest[2] = {0xFF7F, 0xFBFF};
  const uint16_t value[2][2] = {{0x4000, 0x4080}, {0x4000, 0x4400}}; /* 2 and 4 */
  const uint16_t three[2] = {0x4040, 0x4200};
  FOR_ENGINES(engine) {
    for (int t = 0; t < 2; t++) {
      const uint16_t bias[2] = {lowest[t], lowest[t]};
      uint16_t mean = 0;
      attend(engine, t ? all_f16 : all_bf16, 2, value[t], bias, &mean);
      assert_int_equal(mean, three[t]);
    }
  }
}

/* Five tensors of three types; what is in the compute type is float. */
static void test_mixture(void **state) {
  (void)state;
  const struct types t = {SDPA_BF16, SDPA_F16, SDPA_BF16, SDPA_F16, SDPA_F32};
  const uint16_t query = 0x3F80;                     /* 1 */
  const uint16_t key[] = {0x3C00, 0xBC00, 0x3800};   /* 1, -1, 0.5 */
  const uint16_t value[] = {0x4080, 0x4100, 0x7FC0}; /* 4, 8, NaN */
  const float bias[] = {(float)log(3.0) - 1, 1, -INFINITY}, sink = -INFINITY;
  sdpa_problem p = problem_of(t, 3);
  p.features = SDPA_BIAS | SDPA_SINKS | SDPA_WEIGHTS | SDPA_LSE | SDPA_SCORES;
  p.score_stage = SDPA_STAGE_SCALED;
  FOR_ENGINES(engine) {
    float weights[3], scores[3], lse;
    uint16_t output = 0;
    sdpa_args a;
    assert_int_equal(sdpa_args_init(&a, sizeof a), SDPA_OK);
    a.query = &query, a.key = key, a.value = value, a.bias = bias, a.sinks = &sink;
    a.output = &output, a.weights = weights, a.scores = scores, a.lse = &lse;
    run(engine, &p, &a);
    const double expected_weights[] = {0.75, 0.25, 0}, expected_scores[] = {1, -1, 0.5};
    const double expected_lse = log(4.0);
    api_assert_all_near(SDPA_F32, weights, 3, expected_weights, 1);
    api_assert_all_near(SDPA_F32, scores, 3, expected_scores, 1);
    api_assert_all_near(SDPA_F32, &lse, 1, &expected_lse, 2);
    assert_int_equal(output, 0x4500); /* 5 */
  }
}

static int is_offered(struct types t) {
  const uint32_t types[] = {t.query, t.key, t.value, t.output, t.bias};
  int f64 = 0;
  for (int i = 0; i < 5; i++) f64 += types[i] == SDPA_F64;
  if (f64 > 0) return f64 == 5;
  return t.bias == SDPA_F32 || t.bias == t.query;
}

/* All 1024 mixtures: all f64, or each of f32, bf16 and f16 with a bias in f32 or the query's type.
 * The sentence on every other says what is offered. */
static void test_offered(void **state) {
  (void)state;
  FOR_ENGINES(engine) {
    for (uint32_t n = 0; n < 1024; n++) {
      const struct types t = {1 + n % 4, 1 + n / 4 % 4, 1 + n / 16 % 4, 1 + n / 64 % 4,
                              1 + n / 256 % 4};
      sdpa_problem p = problem_of(t, 2);
      p.features = SDPA_BIAS;
      sdpa_options options;
      char text[512];
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      options.engine = engine;
      const sdpa_status status = sdpa_problem_check(&p, &options, text, sizeof text);
      assert_int_equal(status, is_offered(t) ? SDPA_OK : SDPA_ERROR_UNSUPPORTED);
      if (status == SDPA_OK) continue;
      api_assert_says(text, "f64", NULL);
      api_assert_says(text, "f32", NULL);
      api_assert_says(text, "bf16", NULL);
      api_assert_says(text, "f16", NULL);
    }
  }
}

/* Where a type field is 0: the key's follows the query, the value's the key. */
static void test_defaults(void **state) {
  (void)state;
  const struct types cache = {SDPA_F32, SDPA_F16, 0, 0, 0};
  const uint16_t value[2] = {0x3C00, 0x4000};
  FOR_ENGINES(engine) {
    float output = 0;
    attend(engine, cache, 2, value, NULL, &output);
    assert_true(output == 1.5f);
  }
}

/* Long rows with gaps between their elements, in and out: with one key V is the output. */
static void test_strided_rows(void **state) {
  (void)state;
  enum { DIM = 300, VALUE_COL = 2, OUTPUT_COL = 3 };
  static uint16_t value[DIM * VALUE_COL], output[DIM * OUTPUT_COL];
  static const uint16_t query = 0, key = 0, untouched = 0x7777;
  for (uint32_t type = SDPA_BF16; type <= SDPA_F16; type++) {
    for (int i = 0; i < DIM; i++) api_put(type, value, i * VALUE_COL, i % 251);
    FOR_ENGINES(engine) {
      sdpa_problem p = problem_of((struct types){type, type, type, type, type}, 1);
      sdpa_args a;
      p.value_dim = DIM;
      assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
      p.value.col = VALUE_COL;
      p.output.col = OUTPUT_COL;
      assert_int_equal(sdpa_args_init(&a, sizeof a), SDPA_OK);
      a.query = &query, a.key = &key, a.value = value, a.output = output;
      for (int i = 0; i < DIM * OUTPUT_COL; i++) output[i] = untouched;
      run(engine, &p, &a);
      for (int i = 0; i < DIM * OUTPUT_COL; i++)
        assert_int_equal(output[i], i % OUTPUT_COL ? untouched : value[i / OUTPUT_COL * VALUE_COL]);
    }
  }
}

/* What a plan tells: bytes of each tensor by its own element, and the types. */
static void test_plan_tells(void **state) {
  (void)state;
  const struct types t = {SDPA_F32, SDPA_BF16, SDPA_F16, SDPA_F32, SDPA_F32};
  sdpa_problem p = problem_of(t, 5);
  sdpa_plan_info info = {.size = sizeof info};
  char text[512];
  sdpa_plan *plan;
  p.query_len = 3, p.key_dim = 7, p.value_dim = 2;
  p.features = SDPA_BIAS | SDPA_LSE;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  assert_int_equal(sdpa_plan_create(&p, NULL, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_query(plan, &info), SDPA_OK);
  assert_int_equal(info.bytes, 3 * 7 * 4 + 5 * 7 * 2 + 5 * 2 * 2 + 3 * 2 * 4 + 3 * 5 * 4 + 3 * 4);
  sdpa_plan_describe(plan, text, sizeof text);
  api_assert_says(text, "K bf16", NULL);
  api_assert_says(text, "V f16", NULL);
  sdpa_plan_destroy(plan);
}

/* Data of 16 bits need 2 bytes of alignment and no more. One tensor is moved by `shift` bytes. */
static void check_shifted(const sdpa_plan *plan, int tensor, int shift, sdpa_status expected) {
  static const char *const fields[] = {"query", "key", "value", "output", "bias"};
  _Alignas(8) unsigned char memory[5][32] = {{0}};
  sdpa_args a;
  char text[512];
  assert_int_equal(sdpa_args_init(&a, sizeof a), SDPA_OK);
  a.query = memory[0] + (tensor == 0 ? shift : 0);
  a.key = memory[1] + (tensor == 1 ? shift : 0);
  a.value = memory[2] + (tensor == 2 ? shift : 0);
  a.output = memory[3] + (tensor == 3 ? shift : 0);
  a.bias = memory[4] + (tensor == 4 ? shift : 0);
  assert_int_equal(sdpa_args_check(plan, &a, NULL, 0, text, sizeof text), expected);
  if (expected != SDPA_OK) api_assert_says(text, fields[tensor], NULL);
  assert_int_equal(sdpa_execute(plan, &a, NULL, 0), expected);
}

static void test_alignment(void **state) {
  (void)state;
  static const struct types mixtures[] = {{SDPA_BF16, SDPA_F16, SDPA_BF16, SDPA_F16, SDPA_BF16},
                                          {SDPA_F32, SDPA_BF16, SDPA_F16, SDPA_F32, SDPA_F32},
                                          {SDPA_F16, SDPA_F32, SDPA_F32, SDPA_BF16, SDPA_F32}};
  FOR_ENGINES(engine) {
    for (size_t m = 0; m < sizeof mixtures / sizeof *mixtures; m++) {
      const uint32_t types[] = {mixtures[m].query, mixtures[m].key, mixtures[m].value,
                                mixtures[m].output, mixtures[m].bias};
      sdpa_problem p = problem_of(mixtures[m], 3);
      sdpa_options options;
      sdpa_plan *plan;
      p.features = SDPA_BIAS;
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      options.engine = engine;
      assert_int_equal(sdpa_plan_create(&p, &options, &plan), SDPA_OK);
      for (int tensor = 0; tensor < 5; tensor++) {
        const int bytes = types[tensor] == SDPA_F32 ? 4 : 2;
        for (int shift = 1; shift < 8; shift++)
          check_shifted(plan, tensor, shift, shift % bytes ? SDPA_ERROR_ALIGNMENT : SDPA_OK);
      }
      sdpa_plan_destroy(plan);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cache),     cmocka_unit_test(test_rounding),
      cmocka_unit_test(test_storing),   cmocka_unit_test(test_loading),
      cmocka_unit_test(test_nan),       cmocka_unit_test(test_lowest_bias),
      cmocka_unit_test(test_mixture),   cmocka_unit_test(test_offered),
      cmocka_unit_test(test_defaults),  cmocka_unit_test(test_plan_tells),
      cmocka_unit_test(test_alignment), cmocka_unit_test(test_strided_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
