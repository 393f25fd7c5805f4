/* test_dropout_args.c - every argument error of dropout: status, sentence, nothing written
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api_support.h"

#include <math.h>
#include <string.h>

static const struct api_sizes sizes = {2, 4, 2, 2, 3, 2, 2};

static void test_probability(void **state) {
  (void)state;
  static const struct {
    uint32_t type, features;
    double dropout;
    sdpa_status status;
  } cases[] = {
      {SDPA_F64, SDPA_DROPOUT, 0, SDPA_OK},
      {SDPA_F64, SDPA_DROPOUT, 0x1.fffffffffffffp-1, SDPA_OK},
      {SDPA_F32, SDPA_DROPOUT, 0x1.fffffffffffffp-1, SDPA_ERROR_VALUE}, /* 1 in f32 */
      {SDPA_BF16, SDPA_DROPOUT, 0.999, SDPA_OK},
      {SDPA_F64, SDPA_DROPOUT, 1, SDPA_ERROR_VALUE},
      {SDPA_F64, SDPA_DROPOUT, -0.1, SDPA_ERROR_VALUE},
      {SDPA_F32, SDPA_DROPOUT, -1e-300, SDPA_ERROR_VALUE}, /* 0 in f32 */
      {SDPA_F64, SDPA_DROPOUT, (double)NAN, SDPA_ERROR_VALUE},
      {SDPA_F64, SDPA_DROPOUT, (double)INFINITY, SDPA_ERROR_VALUE},
      {SDPA_F64, 0, 0.1, SDPA_ERROR_VALUE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct api_call call;
    sdpa_options options;
    char text[256];
    sdpa_plan *plan;
    assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
    api_call_init(&call, cases[i].type, sizes, cases[i].features, 0);
    call.problem.dropout = cases[i].dropout;
    assert_int_equal(sdpa_problem_check(&call.problem, NULL, text, sizeof text), cases[i].status);
    if (cases[i].status != SDPA_OK) api_assert_says(text, "dropout", NULL);
    assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), cases[i].status);
    if (cases[i].status != SDPA_OK) api_assert_untouched(&call);
    for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
      if (!api_offers(engine)) continue;
      options.engine = engine;
      assert_int_equal(sdpa_plan_create_backward(&call.problem, &options, &plan), cases[i].status);
      sdpa_plan_destroy(plan);
    }
    api_call_free(&call);
  }
}

static void test_draw_numbers(void **state) {
  (void)state;
  static const struct {
    const char *field;
    size_t offset;
    int is_base;
  } numbers[] = {{"dropout_seed", offsetof(sdpa_args, dropout_seed), 0},
                 {"dropout_offset", offsetof(sdpa_args, dropout_offset), 0},
                 {"dropout_batch", offsetof(sdpa_args, dropout_batch), 1},
                 {"dropout_head", offsetof(sdpa_args, dropout_head), 1},
                 {"dropout_query", offsetof(sdpa_args, dropout_query), 1},
                 {"dropout_key", offsetof(sdpa_args, dropout_key), 1}};
  static const int64_t values[] = {1, -1, INT64_MAX - 4, INT64_MAX};
  for (int declared = 0; declared < 2; declared++)
    for (int i = 0; i < 6; i++)
      for (int v = 0; v < 4; v++) {
        struct api_call call;
        char text[256] = "";
        sdpa_plan *plan;
        api_call_init(&call, SDPA_F64, sizes, declared ? SDPA_DROPOUT : 0, 0);
        call.problem.dropout = declared ? 0.5 : 0;
        memcpy((char *)&call.args + numbers[i].offset, &values[v], sizeof values[v]);
        const int legal = declared && (!numbers[i].is_base || v == 0 || v == 2);
        const sdpa_status expected = legal ? SDPA_OK : SDPA_ERROR_VALUE;
        assert_int_equal(sdpa_plan_create(&call.problem, NULL, &plan), SDPA_OK);
        assert_int_equal(sdpa_args_check(plan, &call.args, NULL, 0, text, sizeof text), expected);
        if (!legal) api_assert_says(text, numbers[i].field, NULL);
        assert_int_equal(sdpa_execute(plan, &call.args, NULL, 0), expected);
        if (!legal) api_assert_untouched(&call);
        sdpa_plan_destroy(plan);
        api_call_free(&call);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_probability),
                                     cmocka_unit_test(test_draw_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
