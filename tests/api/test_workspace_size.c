/* test_workspace_size.c - the workspace of engine tiled is tiles, that of blas some rows: it does
 * not follow the lengths
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api_support.h"

enum { FEW_QUERIES = 4, MANY_QUERIES = 4096, HEADS = 8, DIM = 64 };

static size_t workspace_of(uint32_t engine, uint32_t type, uint32_t features, int64_t query_len,
                           int64_t key_len, int64_t key_col, int32_t threads) {
  sdpa_problem problem;
  sdpa_options options;
  sdpa_plan *plan;
  size_t bytes, alignment;
  assert_int_equal(sdpa_problem_init(&problem, sizeof problem), SDPA_OK);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  problem.query_type = type;
  problem.features = features;
  problem.batch = 1;
  problem.query_heads = problem.kv_heads = HEADS;
  problem.query_len = query_len;
  problem.key_len = key_len;
  problem.key_dim = problem.value_dim = DIM;
  problem.alignment = SDPA_ALIGN_BOTTOM_RIGHT;
  if (features & SDPA_WINDOW) problem.window_left = 100;
  if (features & SDPA_SCORES) problem.score_stage = SDPA_STAGE_BIASED;
  assert_int_equal(sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD), SDPA_OK);
  problem.key.col = problem.value.col = key_col;
  options.engine = engine;
  options.threads = threads;
  assert_int_equal(sdpa_plan_create(&problem, &options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  sdpa_plan_destroy(plan);
  return bytes;
}

static size_t workspace(uint32_t type, uint32_t features, int64_t query_len, int64_t key_len,
                        int64_t key_col, int32_t threads) {
  return workspace_of(SDPA_ENGINE_TILED, type, features, query_len, key_len, key_col, threads);
}

static const uint32_t features[] = {0,
                                    SDPA_CAUSAL,
                                    SDPA_WINDOW,
                                    SDPA_MASK,
                                    SDPA_BIAS,
                                    SDPA_LSE,
                                    SDPA_ALIBI,
                                    SDPA_SINKS,
                                    SDPA_KEY_LENS,
                                    SDPA_WEIGHTS,
                                    SDPA_SCORES,
                                    SDPA_CAUSAL | SDPA_MASK | SDPA_BIAS | SDPA_ALIBI |
                                        SDPA_KEY_LENS | SDPA_LSE};
enum { FEATURES = sizeof features / sizeof *features };

/* 64 times the keys need the same bytes, with every option, also where K and V are packed. */
static void test_key_len(void **state) {
  (void)state;
  for (uint32_t type = SDPA_F64; type <= SDPA_F16; type++) {
    for (int f = 0; f < FEATURES; f++) {
      for (int32_t threads = 1; threads <= 3; threads++) {
        for (int64_t col = 1; col <= 3; col += 2) {
          const size_t bytes = workspace(type, features[f], MANY_QUERIES, 1024, col, threads);
          assert_int_equal(workspace(type, features[f], MANY_QUERIES, 65536, col, threads), bytes);
          assert_in_range(bytes, 1, (size_t)threads * (4 << 20));
        }
      }
    }
  }
}

/* 64 times the queries do, too. */
static void test_query_len(void **state) {
  (void)state;
  for (int f = 0; f < FEATURES; f++)
    for (int32_t threads = 1; threads <= 3; threads++)
      assert_int_equal(workspace(SDPA_F32, features[f], 64 * MANY_QUERIES, 1024, 1, threads),
                       workspace(SDPA_F32, features[f], MANY_QUERIES, 1024, 1, threads));
}

/* Few queries, long keys: on one thread as little; on several one row of output, its maximum and
 * its sum for each part besides, far less than the keys. */
static void test_few_queries(void **state) {
  (void)state;
  const int64_t keys = 1 << 20;
  const size_t alone = workspace(SDPA_F32, 0, FEW_QUERIES, keys, 1, 1);
  assert_int_equal(workspace(SDPA_F32, 0, FEW_QUERIES, keys / 64, 1, 1), alone);
  assert_in_range(alone, 1, 1 << 20);
  const size_t together = workspace(SDPA_F32, 0, FEW_QUERIES, keys, 1, 8);
  assert_true(together < (size_t)keys * HEADS * DIM * sizeof(float) / 64);
}

/* Engine blas: 4,096 rows of a million keys need what 16 need. */
static void test_rows_of_engine_blas(void **state) {
  (void)state;
  api_needs(SDPA_ENGINE_BLAS);
  const int64_t keys = 1 << 20;
  for (uint32_t type = SDPA_F64; type <= SDPA_F16; type++) {
    const size_t bytes = workspace_of(SDPA_ENGINE_BLAS, type, SDPA_MASK, 16, keys, 1, 1);
    assert_int_equal(workspace_of(SDPA_ENGINE_BLAS, type, SDPA_MASK, MANY_QUERIES, keys, 1, 1),
                     bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_key_len),
      cmocka_unit_test(test_query_len),
      cmocka_unit_test(test_few_queries),
      cmocka_unit_test(test_rows_of_engine_blas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
