/* test_semantics.c - hand-computed cases of the score, mask and softmax rules (semantics rules 1 to
 * 10)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys are logarithms of small integers, so that the weights are fractions that can be written
 * down: scores log 1, log 2, log 5 give weights 1/8, 2/8, 5/8. Every case runs in f32 and f64.
 */
#include "api_support.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FOR_TYPES for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++)

enum { STATS = SDPA_WEIGHTS | SDPA_LSE };

/* One query of 1, keys log 1, log 2, log 5, values 8, 16, 24: output 1 + 4 + 15 = 20. */
static void init_fractions(struct api_call *call, uint32_t type, uint32_t features,
                           uint32_t alignment) {
  api_call_init(call, type, api_one_head(1, 3, 1, 1), features | STATS, alignment);
  api_put(type, api_query(call), 0, 1);
  api_put_all(type, api_key(call), 3, (const double[]){0, log(2), log(5)});
  api_put_all(type, api_value(call), 3, (const double[]){8, 16, 24});
}

static void check_row(struct api_call *call, const double *weights, double output, double lse) {
  uint32_t type = call->problem.query_type;
  api_run(call);
  api_assert_all_near(type, call->args.weights, 3, weights, 1);
  api_assert_near(type, api_get(type, call->args.output, 0), output, 24);
  api_assert_near(type, api_get(type, call->args.lse, 0), lse, 4);
  api_call_free(call);
}

static void test_rule_1_scale(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    init_fractions(&call, type, 0, 0);
    check_row(&call, (const double[]){.125, .25, .625}, 20, log(8));

    init_fractions(&call, type, SDPA_SCALE, 0);
    call.problem.scale = 0;
    check_row(&call, (const double[]){1. / 3, 1. / 3, 1. / 3}, 16, log(3));

    init_fractions(&call, type, SDPA_SCALE, 0);
    call.problem.scale = -1; /* 1, 1/2, 1/5 of 1.7 */
    check_row(&call, (const double[]){10. / 17, 5. / 17, 2. / 17}, 208. / 17, log(1.7));

    init_fractions(&call, type, SDPA_SCALE, 0);
    call.problem.scale = 2; /* 1, 4, 25 of 30 */
    check_row(&call, (const double[]){1. / 30, 4. / 30, 25. / 30}, 672. / 30, log(30));
  }
}

/* The one-shot calls, all four sizes different: rows of each tensor as long as they should be. */
static void test_one_shot(void **state) {
  (void)state;
  const float q[2] = {1, 0}, v[12] = {8, 0, 1, -8, 16, 0, 1, -16, 24, 0, 1, -24};
  const float k[3] = {0, (float)log(2), (float)log(5)};
  const double weights[6] = {.125, .25, .625, 1. / 3, 1. / 3, 1. / 3};
  const double output[8] = {20, 0, 1, -20, 16, 0, 1, -16};
  double q_f64[2] = {1, 0}, v_f64[12], k_f64[3] = {0, log(2), log(5)}, w_f64[6], o_f64[8];
  float w[6], o[8];
  for (int i = 0; i < 12; i++) v_f64[i] = (double)v[i];
  assert_int_equal(sdpa_attention_f32(2, 3, 1, 4, q, k, v, o, w), SDPA_OK);
  assert_int_equal(sdpa_attention_f64(2, 3, 1, 4, q_f64, k_f64, v_f64, o_f64, w_f64), SDPA_OK);
  api_assert_all_near(SDPA_F32, w, 6, weights, 1);
  api_assert_all_near(SDPA_F32, o, 8, output, 24);
  api_assert_all_near(SDPA_F64, w_f64, 6, weights, 1);
  api_assert_all_near(SDPA_F64, o_f64, 8, output, 24);
}

/* Four columns: the default scale is 1/2. Two halves of a logarithm make up for it. */
static void test_rule_1_default_scale(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    api_call_init(&call, type, api_one_head(1, 3, 4, 1), STATS, 0);
    api_put_all(type, api_query(&call), 4, (const double[]){1, 1, 1, 1});
    for (int j = 0; j < 3; j++)
      for (int d = 0; d < 4; d++)
        api_put(type, api_key(&call), 4 * j + d, log((double[]){1, 2, 5}[j]) / 2);
    api_put_all(type, api_value(&call), 3, (const double[]){8, 16, 24});
    check_row(&call, (const double[]){.125, .25, .625}, 20, log(8));
  }
}

/* 2 tanh(log(3) / 2) = 1, and an infinite product becomes the cap. */
static void test_rule_2_softcap(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    init_fractions(&call, type, SDPA_SCORES, 0);
    call.problem.softcap = 2;
    call.problem.score_stage = SDPA_STAGE_SOFTCAPPED;
    api_put_all(type, api_key(&call), 3, (const double[]){log(3), -log(3), 0});
    api_run(&call);
    api_assert_all_near(type, call.args.scores, 3, (const double[]){1, -1, 0}, 1);
    double sum = exp(1) + exp(-1) + 1;
    check_row(&call, (const double[]){exp(1) / sum, exp(-1) / sum, 1 / sum},
              (8 * exp(1) + 16 * exp(-1) + 24) / sum, log(sum));

    init_fractions(&call, type, 0, 0);
    call.problem.softcap = log(3); /* 3, 1/3, 1/3 of 11/3 */
    api_put(type, api_query(&call), 0, INFINITY);
    api_put_all(type, api_key(&call), 3, (const double[]){1, -1, -2});
    check_row(&call, (const double[]){9. / 11, 1. / 11, 1. / 11}, 112. / 11, log(11. / 3));
  }
}

/* Slope log 2: the weight halves with every step from p. */
static void test_rule_3_alibi(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    const struct api_sizes sizes = {1, 2, 1, 3, 3, 1, 1};
    api_call_init(&call, type, sizes, SDPA_ALIBI | STATS, SDPA_ALIGN_NONE);
    memset(api_query(&call), 0, call.bytes[API_QUERY]);
    api_put(type, api_slopes(&call), 0, log(2));
    api_put(type, api_slopes(&call), 1, -log(2));
    api_run(&call);
    const double down[] = {4. / 7, 2. / 7, 1. / 7, .25, .5, .25, 1. / 7, 2. / 7, 4. / 7};
    const double up[] = {1. / 7, 2. / 7, 4. / 7, .4, .2, .4, 4. / 7, 2. / 7, 1. / 7};
    double expected[18];
    memcpy(expected, down, sizeof down);
    memcpy(expected + 9, up, sizeof up);
    api_assert_all_near(type, call.args.weights, 18, expected, 1);
    api_call_free(&call);

    init_fractions(&call, type, SDPA_ALIBI, SDPA_ALIGN_OFFSET);
    call.problem.offset = -1; /* distances 1, 2, 3: 1/2, 2/4, 5/8 of 13/8 */
    api_put(type, api_slopes(&call), 0, log(2));
    check_row(&call, (const double[]){4. / 13, 4. / 13, 5. / 13}, 216. / 13, log(13. / 8));
  }
}

static void test_rule_4_bias(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    init_fractions(&call, type, SDPA_BIAS, 0); /* 1 * 6, 2 * 2, 5 * 2 of 20 */
    api_put_all(type, api_bias(&call), 3, (const double[]){log(6), log(2), log(2)});
    check_row(&call, (const double[]){.3, .2, .5}, 17.6, log(20));

    init_fractions(&call, type, SDPA_BIAS, 0);
    api_put(type, api_bias(&call), 1, -INFINITY);
    check_row(&call, (const double[]){1. / 6, 0, 5. / 6}, 128. / 6, log(6));

    /* The lowest finite number excludes nothing: alone in a row, it swallows the scores. */
    double lowest = type == SDPA_F64 ? -DBL_MAX : -(double)FLT_MAX;
    init_fractions(&call, type, SDPA_BIAS, 0);
    api_put_all(type, api_bias(&call), 3, (const double[]){lowest, lowest, lowest});
    api_run(&call);
    api_assert_all_near(type, call.args.weights, 3, (const double[]){1. / 3, 1. / 3, 1. / 3}, 1);
    assert_true(api_get(type, call.args.lse, 0) == lowest);
    api_call_free(&call);

    /* Its key is allowed with weight 0, so a NaN in its value shows. */
    init_fractions(&call, type, SDPA_BIAS, 0);
    api_put(type, api_bias(&call), 0, lowest);
    api_put(type, api_value(&call), 0, NAN);
    check_row(&call, (const double[]){0, 2. / 7, 5. / 7}, NAN, log(7));
  }
}

/* Softcap, then ALiBi, then bias: the order shows in the three stages. */
static void test_rule_9_stages(void **state) {
  (void)state;
  static const double stages[3][3] = {
      {0, 1.0986122886681098, 1.0986122886681098}, {0, 1, 1}, {0.25, -INFINITY, 0.5}};
  FOR_TYPES for (uint32_t stage = SDPA_STAGE_SCALED; stage <= SDPA_STAGE_BIASED; stage++) {
    struct api_call call;
    init_fractions(&call, type, SDPA_SCORES | SDPA_BIAS | SDPA_ALIBI | SDPA_CAUSAL,
                   SDPA_ALIGN_OFFSET);
    call.problem.offset = 2; /* distances 2, 1, 0 */
    call.problem.softcap = 2;
    call.problem.score_stage = stage;
    api_put_all(type, api_key(&call), 3, (const double[]){0, log(3), log(3)});
    api_put(type, api_slopes(&call), 0, 0.125);
    api_put_all(type, api_bias(&call), 3, (const double[]){0.5, -INFINITY, -0.5});
    api_run(&call);
    api_assert_all_near(type, call.args.scores, 3, stages[stage - 1], 2);
    api_call_free(&call);
  }
}

/* Which positions hold -inf: scores of their own for every i < L_q, j < L_k in the first two
 * stages. */
static void test_rule_9_scores_of_excluded_keys(void **state) {
  (void)state;
  FOR_TYPES for (uint32_t stage = SDPA_STAGE_SCALED; stage <= SDPA_STAGE_BIASED; stage++) {
    struct api_call call;
    api_call_init(&call, type, api_one_head(3, 4, 1, 1),
                  SDPA_SCORES | SDPA_CAUSAL | SDPA_MASK | SDPA_KEY_LENS | SDPA_QUERY_LENS,
                  SDPA_ALIGN_TOP_LEFT);
    call.problem.score_stage = stage;
    api_put_all(type, api_query(&call), 3, (const double[]){1, 2, 3});
    api_put_all(type, api_key(&call), 4, (const double[]){1, 2, 3, 4});
    api_mask(&call)[4] = 0; /* row 1, key 0 */
    api_key_lens(&call)[0] = 3;
    api_query_lens(&call)[0] = 2;
    api_run(&call);
    const double i = -INFINITY;
    const double all[] = {1, 2, 3, i, 2, 4, 6, i, i, i, i, i};
    const double allowed[] = {1, i, i, i, i, 4, i, i, i, i, i, i};
    api_assert_all_near(type, call.args.scores, 12, stage == SDPA_STAGE_BIASED ? allowed : all, 8);
    api_call_free(&call);
  }
}

static void test_rule_8_sinks(void **state) {
  (void)state;
  static const double none[] = {.125, .25, .625}, half[] = {.0625, .125, .3125};
  FOR_TYPES {
    struct api_call call;
    init_fractions(&call, type, SDPA_SINKS, 0);
    api_put(type, api_sinks(&call), 0, log(8));
    check_row(&call, half, 10, log(16));

    init_fractions(&call, type, SDPA_SINKS, 0);
    api_put(type, api_sinks(&call), 0, -INFINITY);
    check_row(&call, none, 20, log(8));

    /* As given: neither scaled nor capped nor biased. */
    init_fractions(&call, type, SDPA_SINKS | SDPA_SCALE | SDPA_BIAS, 0);
    call.problem.scale = 0;
    call.problem.softcap = 1;
    api_put_all(type, api_bias(&call), 3, (const double[]){0, log(2), log(5)});
    api_put(type, api_sinks(&call), 0, log(8));
    check_row(&call, half, 10, log(16));

    /* A huge sink takes all, without overflow. */
    init_fractions(&call, type, SDPA_SINKS, 0);
    api_put(type, api_sinks(&call), 0, 1e30);
    api_run(&call);
    api_assert_all_near(type, call.args.weights, 3, (const double[]){0, 0, 0}, 0);
    api_assert_near(type, api_get(type, call.args.lse, 0), 1e30, 1e30);
    api_call_free(&call);
  }
}

/* A NaN or +inf sink spoils the rows of its head that have an allowed key, and no others. */
static void test_rule_8_bad_sinks(void **state) {
  (void)state;
  static const double bad[] = {NAN, INFINITY};
  FOR_TYPES for (int b = 0; b < 2; b++) {
    struct api_call call;
    const struct api_sizes sizes = {1, 2, 2, 2, 2, 1, 1};
    api_call_init(&call, type, sizes, SDPA_SINKS | SDPA_CAUSAL | STATS, SDPA_ALIGN_OFFSET);
    call.problem.offset = -1; /* row 0 has no key, row 1 has key 0 */
    api_put(type, api_sinks(&call), 0, bad[b]);
    api_put(type, api_sinks(&call), 1, -INFINITY);
    api_run(&call);
    double v = api_get(type, api_value(&call), 2);
    const double s = api_get(type, api_query(&call), 3) * api_get(type, api_key(&call), 2);
    api_assert_all_near(type, call.args.output, 4, (const double[]){0, NAN, 0, v}, 1);
    api_assert_all_near(type, call.args.weights, 8, (const double[]){0, 0, NAN, 0, 0, 0, 1, 0}, 1);
    api_assert_all_near(type, call.args.lse, 4, (const double[]){bad[b], NAN, -INFINITY, s}, 1);
    api_call_free(&call);
  }
}

static void test_rule_10_no_allowed_key(void **state) {
  (void)state;
  FOR_TYPES for (int sink = 0; sink < 2; sink++) {
    struct api_call call;
    init_fractions(&call, type, SDPA_MASK | (sink ? SDPA_SINKS : 0), 0);
    memset(api_mask(&call), 0, 3);
    if (sink) api_put(type, api_sinks(&call), 0, -3.5);
    check_row(&call, (const double[]){0, 0, 0}, 0, sink ? -3.5 : -(double)INFINITY);

    /* Allowed scores that are all -inf are the same, whatever V holds. */
    init_fractions(&call, type, sink ? SDPA_SINKS : 0, 0);
    api_put_all(type, api_key(&call), 3, (const double[]){-INFINITY, -INFINITY, -INFINITY});
    api_put_all(type, api_value(&call), 3, (const double[]){NAN, INFINITY, 1});
    if (sink) api_put(type, api_sinks(&call), 0, -3.5);
    check_row(&call, (const double[]){0, 0, 0}, 0, sink ? -3.5 : -(double)INFINITY);
  }
}

/* Scores of a thousand must not overflow, and weights must not depend on a common shift. */
static void test_rule_8_stable(void **state) {
  (void)state;
  FOR_TYPES for (int sign = -1; sign <= 1; sign += 2) {
    struct api_call call;
    init_fractions(&call, type, SDPA_BIAS, 0);
    double shift = sign * 32768.0;
    api_put_all(type, api_key(&call), 3, (const double[]){0, 0, 0});
    api_put_all(type, api_bias(&call), 3, (const double[]){shift, shift + 1, shift - 1});
    double sum = 1 + exp(1) + exp(-1);
    api_run(&call);
    api_assert_all_near(type, call.args.weights, 3,
                        (const double[]){1 / sum, exp(1) / sum, exp(-1) / sum}, 1);
    api_assert_near(type, api_get(type, call.args.lse, 0), shift + log(sum), 32768);
    api_call_free(&call);
  }
}

/* Scores of 1e9 to 1e37 (f64: 1e18 to 1e300) with a scale that rounds, 1 / sqrt(3): two equal keys
 * share the weight, a key of half the score has none. */
static void test_huge_scores(void **state) {
  (void)state;
  FOR_TYPES {
    const double least = type == SDPA_F64 ? 1e18 : 1e9, most = type == SDPA_F64 ? 1e300 : 1e37;
    for (double size = least; size < most; size *= 1.37e2) {
      struct api_call call;
      api_call_init(&call, type, api_one_head(1, 3, 3, 1), SDPA_WEIGHTS, 0);
      api_put_all(type, api_query(&call), 3, (const double[]){1, 1, 1});
      for (int i = 0; i < 9; i++) api_put(type, api_key(&call), i, i / 3 == 1 ? size / 2 : size);
      api_put_all(type, api_value(&call), 3, (const double[]){1, 7, 3});
      api_run(&call);
      api_assert_all_near(type, call.args.weights, 3, (const double[]){.5, 0, .5}, 1);
      api_assert_near(type, api_get(type, call.args.output, 0), 2, 3);
      api_call_free(&call);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_huge_scores),
      cmocka_unit_test(test_rule_1_scale),
      cmocka_unit_test(test_one_shot),
      cmocka_unit_test(test_rule_1_default_scale),
      cmocka_unit_test(test_rule_2_softcap),
      cmocka_unit_test(test_rule_3_alibi),
      cmocka_unit_test(test_rule_4_bias),
      cmocka_unit_test(test_rule_8_sinks),
      cmocka_unit_test(test_rule_8_bad_sinks),
      cmocka_unit_test(test_rule_8_stable),
      cmocka_unit_test(test_rule_9_stages),
      cmocka_unit_test(test_rule_9_scores_of_excluded_keys),
      cmocka_unit_test(test_rule_10_no_allowed_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
