/* test_both_engines.c - hand-computed cases on each engine: few rows and many, few keys and many
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * test_semantics.c computes a row or two and leaves the engine to the library. These cases meet the
 * other ways that an engine has.
 */
#include "api_support.h"

#include <math.h>
#include <string.h>

#define FOR_TYPES for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++)

enum { STATS = SDPA_WEIGHTS | SDPA_LSE };

/* A negative scale on each engine, many rows and few: 1, 1/2 and 1/5 of 1.7. */
static void test_negative_scale(void **state) {
  (void)state;
  static const double weights[] = {10. / 17, 5. / 17, 2. / 17};
  FOR_TYPES for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    if (!api_offers(engine)) continue;
    for (int64_t n = 1; n <= 40; n += 39) {
      struct api_call call;
      sdpa_options options;
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      options.engine = engine;
      api_call_init(&call, type, api_one_head(n, 3, 1, 1), SDPA_SCALE | STATS, 0);
      call.problem.scale = -1;
      for (int64_t i = 0; i < n; i++) api_put(type, api_query(&call), i, 1);
      api_put_all(type, api_key(&call), 3, (const double[]){0, log(2), log(5)});
      api_put_all(type, api_value(&call), 3, (const double[]){8, 16, 24});
      assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
      for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < 3; j++)
          api_assert_near(type, api_get(type, call.args.weights, 3 * i + j), weights[j], 1);
        api_assert_near(type, api_get(type, call.args.output, i), 208. / 17, 24);
        api_assert_near(type, api_get(type, call.args.lse, i), log(1.7), 4);
      }
      api_call_free(&call);
    }
  }
}

/* A scale of 0 makes scores 0, and of excluded keys no NaN: many rows and few. */
static void test_scale_zero(void **state) {
  (void)state;
  enum { MOST = 40 };
  FOR_TYPES for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    if (!api_offers(engine)) continue;
    for (int64_t n = 2; n <= MOST; n += MOST - 2) {
      struct api_call call;
      sdpa_options options;
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      options.engine = engine;
      api_call_init(&call, type, api_one_head(n, n, 2, 1), SDPA_CAUSAL | SDPA_SCALE | SDPA_LSE,
                    SDPA_ALIGN_TOP_LEFT);
      call.problem.scale = 0;
      for (int64_t j = 0; j < n; j++) api_put(type, api_value(&call), j, (double)(j + 1));
      assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
      for (int64_t i = 0; i < n; i++) {
        api_assert_near(type, api_get(type, call.args.output, i), (double)i / 2 + 1, MOST);
        api_assert_near(type, api_get(type, call.args.lse, i), log((double)(i + 1)), 4);
      }
      api_call_free(&call);
    }
  }
}

/* Rows of more keys than a tile, a split or a small product has: those before or from key 2,600 on
 * have three times the weight of the others. */
static void check_long_rows(uint32_t type, uint32_t engine, uint32_t features, int64_t rows,
                            int first) {
  enum { KEYS = 5000, CUT = 2600 };
  enum { CHAIN = KEYS / 8 }; /* times the additions that api_assert_near() allows */
  const int64_t heavy = first ? CUT : KEYS - CUT;
  const double sum = (double)(KEYS + 2 * heavy);
  struct api_call call;
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  api_call_init(&call, type, api_one_head(rows, KEYS, 1, 1), features, 0);
  for (int64_t i = 0; i < rows; i++) api_put(type, api_query(&call), i, 1);
  for (int64_t j = 0; j < KEYS; j++) {
    const int is_heavy = (j < CUT) == first;
    api_put(type, api_key(&call), j, is_heavy ? log(3) : 0);
    api_put(type, api_value(&call), j, 1 + is_heavy);
  }
  assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
  for (int64_t i = 0; i < rows; i++) {
    api_assert_near(type, api_get(type, call.args.output, i), 1 + 3 * (double)heavy / sum, CHAIN);
    if (!features) continue;
    api_assert_near(type, api_get(type, call.args.lse, i), log(sum), CHAIN);
    for (int64_t j = 0; j < KEYS; j++)
      api_assert_near(type, api_get(type, call.args.weights, i * KEYS + j),
                      ((j < CUT) == first ? 3 : 1) / sum, CHAIN * 3 / sum);
  }
  api_call_free(&call);
}

static void test_long_rows(void **state) {
  (void)state;
  FOR_TYPES for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    for (int first = 0; first < 2 && api_offers(engine); first++) {
      for (int64_t rows = 1; rows <= 40; rows += 39) {
        check_long_rows(type, engine, 0, rows, first);
        check_long_rows(type, engine, STATS, rows, first);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_negative_scale),
      cmocka_unit_test(test_scale_zero),
      cmocka_unit_test(test_long_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
