/* test_plan_pairs.c - how many pairs of rows and keys causal and window leave
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Small problems by counting, pair by pair; sizes that nobody counts by their formulas.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "engines/plan.h"

static struct sdpai_problem window(int64_t rows, int64_t keys, int64_t left, int64_t right,
                                   int64_t offset) {
  return (struct sdpai_problem){.features = SDPA_WINDOW,
                                .alignment = SDPA_ALIGN_OFFSET,
                                .batch = 1,
                                .query_heads = 1,
                                .query_len = rows,
                                .key_len = keys,
                                .window_left = left,
                                .window_right = right,
                                .offset = offset};
}

static int64_t count(const struct sdpai_problem *p) {
  int64_t pairs = 0;
  for (int64_t i = 0; i < p->query_len; i++)
    for (int64_t j = 0; j < p->key_len; j++) {
      const int64_t distance = j - (i + p->offset);
      pairs += (p->window_left < 0 || distance >= -p->window_left) &&
               (p->window_right < 0 || distance <= p->window_right);
    }
  return pairs;
}

static void test_small(void **state) {
  (void)state;
  for (int64_t rows = 0; rows <= 6; rows++)
    for (int64_t keys = 0; keys <= 5; keys++)
      for (int64_t left = -1; left <= 7; left++)
        for (int64_t right = -1; right <= 7; right++)
          for (int64_t offset = -9; offset <= 9; offset++) {
            const struct sdpai_problem p = window(rows, keys, left, right, offset);
            if (sdpai_plan_pairs(&p) != count(&p))
              fail_msg("%d rows, %d keys, window %d, %d, offset %d: %d is not %d", (int)rows,
                       (int)keys, (int)left, (int)right, (int)offset, (int)sdpai_plan_pairs(&p),
                       (int)count(&p));
          }
}

static void assert_pairs(int64_t rows, int64_t keys, int64_t left, int64_t right, int64_t offset,
                         int64_t expected) {
  const struct sdpai_problem p = window(rows, keys, left, right, offset);
  assert_true(sdpai_plan_pairs(&p) == expected);
}

static void test_large(void **state) {
  (void)state;
  const int64_t n = (INT64_C(1) << 32) - 2, m = INT64_C(1) << 40;
  /* n (n + 1) / 2 fits, although n^2 does not */
  assert_pairs(n, n, -1, 0, 0, n / 2 * (n + 1));
  assert_pairs(n - 1, n - 1, 0, -1, 0, n / 2 * (n - 1));
  /* a narrow band in a square that does not fit, and in a triangle that does not */
  assert_pairs(m, m, 0, 0, 0, m);
  assert_pairs(m, m, 1, 0, 0, 2 * m - 1);
  assert_pairs(m, m, 2, 1, 0, 4 * m - 4);
  /* what does not fit is held */
  assert_pairs(m, m, -1, -1, 0, INT64_MAX);
  assert_pairs(m, m, -1, 0, 0, INT64_MAX);
  assert_pairs(m, m, m, m, 0, INT64_MAX);
  struct sdpai_problem p = window(m, m, 0, 0, 0);
  p.batch = n;
  assert_true(sdpai_plan_pairs(&p) == INT64_MAX);
  p.query_heads = 0;
  assert_true(sdpai_plan_pairs(&p) == 0);
  /* at the ends of int64_t */
  assert_pairs(3, 4, INT64_MAX, INT64_MAX, 0, 12);
  assert_pairs(3, 4, INT64_MAX, 0, INT64_MIN, 0);
  assert_pairs(3, 4, -1, INT64_MAX, INT64_MIN, 1 + 2);
  assert_pairs(3, 4, INT64_MAX, -1, INT64_MAX, 4 + 3 + 2);
}

/* Offsets and lengths are data: a plan knows capacities only. */
static void test_data_excludes_nothing(void **state) {
  (void)state;
  struct sdpai_problem p = window(3, 4, 0, 0, 0);
  p.features |= SDPA_OFFSETS;
  assert_true(sdpai_plan_pairs(&p) == 12);
  p = window(3, 4, -1, 0, 0);
  p.features |= SDPA_KEY_LENS | SDPA_QUERY_LENS | SDPA_MASK | SDPA_BIAS;
  p.alignment = SDPA_ALIGN_BOTTOM_RIGHT;
  assert_true(sdpai_plan_pairs(&p) == 2 + 3 + 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_data_excludes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
