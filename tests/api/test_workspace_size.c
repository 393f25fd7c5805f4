/* test_workspace_size.c - the workspace of engine tiled is tiles, that of blas some rows: it does
 * not follow the lengths; one that no address can count is refused, on every engine
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api_support.h"

#include <limits.h>
#include <string.h>

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

/* Sizes that no machine holds, of tensors that do fit: the elements of an input are all one. */
struct endless {
  uint32_t engine;
  int backward;
  int32_t threads;
  struct api_sizes sizes;
  const char *says;
};

static void make_endless(const struct endless *e, sdpa_problem *p, sdpa_options *options) {
  assert_int_equal(sdpa_problem_init(p, sizeof *p), SDPA_OK);
  assert_int_equal(sdpa_options_init(options, sizeof *options), SDPA_OK);
  p->query_type = SDPA_F32;
  p->batch = p->query_heads = p->kv_heads = p->query_len = p->key_len = 1;
  p->key_dim = p->value_dim = 1;
  assert_int_equal(sdpa_problem_layout(p, SDPA_LAYOUT_BHSD), SDPA_OK);
  p->query = p->key = p->value = p->grad_output = (sdpa_strides){0, 0, 0, 0};
  p->batch = e->sizes.batch;
  p->query_heads = e->sizes.query_heads;
  p->kv_heads = e->sizes.kv_heads;
  p->query_len = e->sizes.query_len;
  p->key_len = e->sizes.key_len;
  p->key_dim = e->sizes.key_dim;
  p->value_dim = e->sizes.value_dim;
  p->output.head = p->lse.head = p->query_len;
  p->output.batch = p->lse.batch = p->query_heads;
  p->grad_query.row = p->grad_query.head = p->grad_query.batch = p->key_dim;
  options->engine = e->engine;
  options->threads = e->threads;
}

static void check_endless(const struct endless *e) {
  sdpa_problem problem;
  sdpa_options options;
  sdpa_plan *plan;
  char text[512];
  make_endless(e, &problem, &options);
  const sdpa_status status =
      e->backward ? sdpa_problem_check_backward(&problem, &options, text, sizeof text)
                  : sdpa_problem_check(&problem, &options, text, sizeof text);
  if (status != SDPA_ERROR_OVERFLOW || !strstr(text, e->says))
    fail_msg("engine %u, backward %d: %s: %s", e->engine, e->backward, sdpa_status_string(status),
             text);
  assert_int_equal(e->backward ? sdpa_plan_create_backward(&problem, &options, &plan)
                               : sdpa_plan_create(&problem, &options, &plan),
                   SDPA_ERROR_OVERFLOW);
  assert_null(plan);
}

static void test_beyond_any_address(void **state) {
  (void)state;
  const int64_t int_max = INT_MAX, dims = INT64_C(1) << 57, many = INT64_C(1) << 31;
  const char *const tiled = "workspace of engine tiled does not fit in ptrdiff_t";
  const char *const blas = "workspace of engine blas does not fit in ptrdiff_t";
  const struct endless cases[] = {
      /* one thread's share, here the queries and there the sums of a tile of keys */
      {SDPA_ENGINE_TILED, 0, 1, {1, 1, 1, 64, 1, 32 * dims, 1}, tiled},
      {SDPA_ENGINE_TILED, 1, 1, {1, 1, 1, 1, 1, dims, 1}, tiled},
      /* the parts of the keys that run at a time, of which each holds 4096 rows */
      {SDPA_ENGINE_TILED, 0, 4, {1, 4096, 1, 1, INT64_C(1) << 60, 1, 1}, tiled},
      /* more rows than there are numbers; they hold nothing */
      {SDPA_ENGINE_TILED, 0, 1, {many, many, many, many, 1, 0, 0}, "rows that an int64 can count"},
      /* a copy of K, which a BLAS cannot take as it lies */
      {SDPA_ENGINE_BLAS, 0, 1, {1, 1, 1, 1, int_max, int_max, 1}, blas},
      {SDPA_ENGINE_BLAS, 1, 1, {1, 1, 1, 1, int_max, 1 << 29, 1}, blas},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (api_offers(cases[i].engine)) check_endless(&cases[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_key_len),
      cmocka_unit_test(test_query_len),
      cmocka_unit_test(test_few_queries),
      cmocka_unit_test(test_rows_of_engine_blas),
      cmocka_unit_test(test_beyond_any_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
