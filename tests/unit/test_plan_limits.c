/* test_plan_limits.c - plans at the ends of what the BLAS's int can count
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A row of scores that long fits in no test machine: what a plan would hand to CBLAS is looked at
 * instead.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "engines/plan.h"

static sdpa_status plan_keys(uint32_t type, int64_t key_len, struct sdpa_plan *plan) {
  sdpa_problem p;
  sdpa_options options;
  assert_int_equal(sdpa_problem_init(&p, sizeof p), SDPA_OK);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = SDPA_ENGINE_BLAS;
  p.query_type = type;
  p.batch = p.query_heads = p.kv_heads = p.query_len = p.key_dim = p.value_dim = 1;
  p.key_len = key_len;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  return sdpai_plan_build(&p, &options, 0, plan, NULL);
}

static void test_score_rows(void **state) {
  (void)state;
  struct sdpa_plan plan;
  const int is_small = PTRDIFF_MAX / sizeof(double) < SDPAI_BLAS_MAX; /* 32-bit pointers */
  for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++) {
    for (int64_t more = 0; is_small && more < 2; more++)
      assert_int_equal(plan_keys(type, SDPAI_BLAS_MAX + more, &plan), SDPA_ERROR_OVERFLOW);
    if (is_small) continue;
    for (int64_t less = 0; less < 40; less++) {
      const int64_t keys = SDPAI_BLAS_MAX - less;
      assert_int_equal(plan_keys(type, keys, &plan), SDPA_OK);
      assert_true(plan.blas.score_row >= keys);
      assert_true(plan.blas.score_row <= SDPAI_BLAS_MAX);
      assert_true(plan.workspace / plan.problem.element >= (size_t)keys);
    }
    assert_int_equal(plan_keys(type, (int64_t)SDPAI_BLAS_MAX + 1, &plan), SDPA_ERROR_UNSUPPORTED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_score_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
