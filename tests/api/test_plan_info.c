/* test_plan_info.c - what plans, the library and statuses tell about themselves
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api_support.h"

#include <stdlib.h>
#include <string.h>

static sdpa_plan_info query(const sdpa_problem *problem, const sdpa_options *options) {
  sdpa_plan *plan;
  sdpa_plan_info info;
  memset(&info, 0xEE, sizeof info);
  info.size = sizeof info;
  assert_int_equal(sdpa_plan_create(problem, options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_query(plan, &info), SDPA_OK);
  sdpa_plan_destroy(plan);
  return info;
}

static void test_query(void **state) {
  (void)state;
  struct api_call call;
  const struct api_sizes sizes = {2, 4, 2, 3, 5, 7, 6};
  api_call_init(&call, SDPA_F32, sizes, SDPA_LSE, 0);
  sdpa_plan_info info = query(&call.problem, NULL);
  assert_true(info.isa == SDPA_ISA_GENERIC || info.isa == SDPA_ISA_AVX2 ||
              info.isa == SDPA_ISA_AVX512 || info.isa == SDPA_ISA_NEON);
  assert_int_equal(info.precision, SDPA_PRECISION_FULL);
  assert_int_equal(info.threads, 1); /* too small for more */
  assert_int_equal(info.key_splits, 1);
  /* 8 heads of 15 pairs, 2 operations for each of 7 + 6 columns. */
  assert_int_equal(info.flops, 8 * 15 * 2 * 13);
  /* Q 168, K 140, V 120, output 144, lse 24 elements of 4 bytes. */
  assert_int_equal(info.bytes, 4 * (168 + 140 + 120 + 144 + 24));

  call.problem.features |= SDPA_CAUSAL;
  call.problem.alignment = SDPA_ALIGN_BOTTOM_RIGHT; /* 3 + 4 + 5 pairs */
  assert_int_equal(query(&call.problem, NULL).flops, 8 * 12 * 2 * 13);

  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.isa = SDPA_ISA_GENERIC;
  options.precision = SDPA_PRECISION_FMA;
  options.threads = INT32_MAX;
  info = query(&call.problem, &options);
  assert_int_equal(info.isa, SDPA_ISA_GENERIC);
  assert_int_equal(info.precision, SDPA_PRECISION_FMA);

  sdpa_plan *plan;
  assert_int_equal(sdpa_plan_create(&call.problem, NULL, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_query(NULL, &info), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_plan_query(plan, NULL), SDPA_ERROR_NULL);
  sdpa_plan_destroy(plan);
  api_call_free(&call);
}

static sdpa_plan_info query_with(const struct api_call *call, uint32_t engine, uint32_t isa,
                                 int32_t threads) {
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  options.isa = isa;
  options.threads = threads;
  return query(&call->problem, &options);
}

/* The rule of the header, whatever the machine: auto is blas where the matrix is written anyway or
 * no SIMD kernel runs, else tiled; without a BLAS always tiled. */
static void test_choice(void **state) {
  (void)state;
  static const uint32_t features[] = {0, SDPA_CAUSAL | SDPA_BIAS, SDPA_WEIGHTS, SDPA_SCORES,
                                      SDPA_LSE};
  static const uint32_t isas[] = {SDPA_ISA_AUTO, SDPA_ISA_GENERIC};
  const int offers_blas = api_offers(SDPA_ENGINE_BLAS);
  assert_true(api_offers(SDPA_ENGINE_TILED));
  for (size_t f = 0; f < sizeof features / sizeof *features; f++) {
    struct api_call call;
    api_call_init(&call, SDPA_F64, api_one_head(4, 4, 8, 8), features[f], SDPA_ALIGN_TOP_LEFT);
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
      for (int32_t threads = 0; threads <= 2; threads++) {
        const sdpa_plan_info info = query_with(&call, SDPA_ENGINE_AUTO, isas[i], threads);
        const int blas = offers_blas && ((features[f] & (SDPA_WEIGHTS | SDPA_SCORES)) ||
                                         info.isa == SDPA_ISA_GENERIC);
        assert_int_equal(info.engine, blas ? SDPA_ENGINE_BLAS : SDPA_ENGINE_TILED);
        assert_int_equal(query_with(&call, SDPA_ENGINE_TILED, isas[i], threads).engine,
                         SDPA_ENGINE_TILED);
        if (offers_blas)
          assert_int_equal(query_with(&call, SDPA_ENGINE_BLAS, isas[i], threads).engine,
                           SDPA_ENGINE_BLAS);
      }
    }
    api_call_free(&call);
  }
}

/* Tasks at once: as asked, at most 256, never more than there is work for, 1 on engine blas. Parts
 * of the keys: by the problem alone. */
static void test_threads_and_splits(void **state) {
  (void)state;
  const struct api_sizes many = {4, 16, 16, 256, 64, 16, 16}, few = {1, 1, 1, 1, 20000, 64, 64};
  struct api_call call;
  api_call_init(&call, SDPA_F32, many, 0, 0);
  const uint32_t tiled = SDPA_ENGINE_TILED;
  assert_int_equal(query_with(&call, tiled, 0, 1).threads, 1);
  assert_int_equal(query_with(&call, tiled, 0, 2).threads, 2);
  assert_int_equal(query_with(&call, tiled, 0, 7).threads, 7);
  const int32_t most = query_with(&call, tiled, 0, INT32_MAX).threads;
  assert_in_range(most, 64, 256);
  assert_int_equal(query_with(&call, tiled, 0, 256).threads, most);
  assert_int_equal(query_with(&call, tiled, 0, 1000).threads, most);
  assert_in_range(query_with(&call, tiled, 0, 0).threads, 1, 256);
  if (api_offers(SDPA_ENGINE_BLAS))
    assert_int_equal(query_with(&call, SDPA_ENGINE_BLAS, 0, 7).threads, 1);
  api_call_free(&call);

  api_call_init(&call, SDPA_F32, few, 0, 0);
  const int32_t splits = query_with(&call, tiled, 0, 1).key_splits;
  assert_in_range(splits, 2, 64);
  for (int32_t threads = 2; threads <= 256; threads *= 2) {
    assert_int_equal(query_with(&call, tiled, 0, threads).key_splits, splits);
    assert_in_range(query_with(&call, tiled, 0, threads).threads, 2, splits);
  }
  api_call_free(&call);

  /* One part where nothing is cut: in a problem of one tile, and in one without rows. */
  const struct api_sizes uncut[] = {{1, 1, 1, 1, 5, 4, 4}, {1, 1, 1, 0, 5, 4, 4}};
  for (size_t i = 0; i < sizeof uncut / sizeof *uncut; i++) {
    api_call_init(&call, SDPA_F32, uncut[i], 0, 0);
    assert_int_equal(query_with(&call, tiled, 0, 1).key_splits, 1);
    api_call_free(&call);
  }
}

/* The figures' rules, one after the other. */
static void test_flops_and_bytes(void **state) {
  (void)state;
  const struct api_sizes sizes = {2, 4, 2, 3, 5, 7, 6};
  struct api_call call;
  api_call_init(&call, SDPA_F64, sizes, 0, SDPA_ALIGN_TOP_LEFT);
  sdpa_problem *p = &call.problem;
  const int64_t q = 168 * 8, key = 140 * 8, value = 120 * 8, output = 144 * 8, square = 120;
  int64_t bytes = q + key + value + output;
  assert_int_equal(query(p, NULL).bytes, bytes);

  /* a window: the three pairs of the diagonal and one beside each of rows 1 and 2 */
  p->features = SDPA_WINDOW, p->window_left = 1;
  assert_int_equal(query(p, NULL).flops, 8 * (3 + 2) * 2 * (7 + 6));
  p->window_left = 0;

  /* every optional tensor, in its own type; lengths and masks have bytes only */
  p->features = SDPA_MASK | SDPA_BIAS | SDPA_ALIBI | SDPA_SINKS | SDPA_KEY_LENS | SDPA_QUERY_LENS |
                SDPA_WEIGHTS | SDPA_SCORES | SDPA_LSE;
  p->score_stage = SDPA_STAGE_BIASED;
  bytes += square * (1 + 8 + 8 + 8) + 24 * 8 + 2 * 4 * 8 + 2 * 2 * 8;
  assert_int_equal(query(p, NULL).bytes, bytes);
  assert_int_equal(query(p, NULL).flops, 8 * 15 * 2 * 13);

  /* a mask for all heads and batch entries, a bias of one number */
  p->mask.batch = p->mask.head = 0;
  p->bias = (sdpa_strides){0, 0, 0, 0};
  bytes -= (square - 15) + (square - 1) * 8;
  assert_int_equal(query(p, NULL).bytes, bytes);

  /* no output: neither it nor V, whose product is not formed */
  p->features |= SDPA_NO_OUTPUT;
  bytes -= value + output;
  assert_int_equal(query(p, NULL).bytes, bytes);
  assert_int_equal(query(p, NULL).flops, 8 * 15 * 2 * 7);

  p->features = SDPA_CAUSAL | SDPA_OFFSETS, p->alignment = SDPA_ALIGN_OFFSET, p->score_stage = 0;
  assert_int_equal(query(p, NULL).flops, 8 * 15 * 2 * 13);
  assert_int_equal(query(p, NULL).bytes, q + key + value + output + 2 * 8);

  /* what does not fit is held: 2^31 - 1 keys, 2^40 rows of one query */
  p->features = SDPA_NO_OUTPUT | SDPA_LSE;
  p->query_len = INT64_C(1) << 40, p->key_len = INT32_MAX;
  p->alignment = 0;
  p->query = p->key = (sdpa_strides){0, 0, 0, 1};
  p->lse = (sdpa_strides){INT64_C(1) << 42, INT64_C(1) << 40, 1, 0};
  assert_true(query(p, NULL).flops == INT64_MAX);
  assert_true(query(p, NULL).bytes == 7 * 8 + 7 * 8 + (INT64_C(8) << 40) * 8);
  api_call_free(&call);
}

/* As snprintf: the full length, cut and terminated, nothing beyond. */
typedef size_t text_function(const sdpa_plan *plan, char *text, size_t text_bytes);
static size_t build_info(const sdpa_plan *plan, char *text, size_t text_bytes) {
  (void)plan;
  return sdpa_build_info(text, text_bytes);
}
static void check_text(text_function *function, const sdpa_plan *plan, const char *holds) {
  static char full[4096];
  size_t length = function(plan, full, sizeof full);
  assert_in_range(length, 1, sizeof full - 1);
  assert_int_equal(strlen(full), length);
  assert_non_null(strstr(full, holds));
  assert_null(strchr(full, '\n'));
  assert_int_equal(function(plan, NULL, 0), length);
  for (size_t bytes = 1; bytes <= length + 2; bytes++) {
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, 'x', bytes);
    assert_int_equal(function(plan, text, bytes), length);
    size_t kept = bytes - 1 < length ? bytes - 1 : length;
    assert_memory_equal(text, full, kept);
    assert_int_equal(text[kept], 0);
    free(text);
  }
}

static void check_description(const sdpa_problem *problem, uint32_t engine, const char *holds) {
  sdpa_options options;
  sdpa_plan *plan;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  assert_int_equal(sdpa_plan_create(problem, &options, &plan), SDPA_OK);
  check_text(sdpa_plan_describe, plan, holds);
  sdpa_plan_destroy(plan);
}

/* Where nothing faster than full precision can compute it, reduced is full: the same bits, and query
 * and description say so. A lower ISA has no unit for it, and small problems are not worth it. */
static void test_reduced_precision(void **state) {
  (void)state;
  static const uint32_t engines[] = {SDPA_ENGINE_TILED, SDPA_ENGINE_BLAS};
  for (int e = 0; e < 2; e++)
    for (int64_t rows = 3; rows <= 67; rows += 64) {
      struct api_call call;
      sdpa_options options;
      sdpa_plan_info info = {.size = sizeof info};
      sdpa_plan *plan;
      if (!api_offers(engines[e])) continue;
      api_call_init(&call, SDPA_F32, api_one_head(rows, 50, 40, 40), 0, 0);
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      options.engine = engines[e];
      options.isa = SDPA_ISA_AVX512;
      if (sdpa_problem_check(&call.problem, &options, NULL, 0) == SDPA_ERROR_UNSUPPORTED)
        options.isa = SDPA_ISA_AUTO; /* another architecture, which has no such unit */
      assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
      float *full = malloc((size_t)rows * 40 * sizeof *full);
      assert_non_null(full);
      memcpy(full, call.args.output, (size_t)rows * 40 * sizeof *full);
      options.precision = SDPA_PRECISION_REDUCED;
      assert_int_equal(sdpa_plan_create(&call.problem, &options, &plan), SDPA_OK);
      assert_int_equal(sdpa_plan_query(plan, &info), SDPA_OK);
      assert_int_equal(info.precision, SDPA_PRECISION_FULL);
      check_text(sdpa_plan_describe, plan, "precision full: reduced would not be faster here");
      assert_int_equal(sdpa_execute(plan, &call.args, NULL, 0), SDPA_OK);
      assert_memory_equal(full, call.args.output, (size_t)rows * 40 * sizeof *full);
      sdpa_plan_destroy(plan);
      free(full);
      api_call_free(&call);
    }
}

/* What runs, and where auto chose: why no other engine. */
static void test_texts(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_F32, api_one_head(2, 3, 2, 2), SDPA_WEIGHTS, 0);
  check_description(&call.problem, SDPA_ENGINE_TILED, "engine tiled");
  if (api_offers(SDPA_ENGINE_BLAS)) {
    check_description(&call.problem, SDPA_ENGINE_BLAS, "engine blas");
    check_description(&call.problem, SDPA_ENGINE_AUTO, "auto, not tiled: weights");
    call.problem.key_len = INT64_C(1) << 31;
    call.problem.features = 0;
    check_description(&call.problem, SDPA_ENGINE_AUTO, "auto, not");
  } else {
    check_description(&call.problem, SDPA_ENGINE_AUTO, "the only engine of this build");
  }
  check_text(build_info, NULL, "0.4.0");
  check_text(build_info, NULL, "tiled");
  char text[4] = "xyz";
  assert_int_equal(sdpa_plan_describe(NULL, text, sizeof text), 0);
  assert_string_equal(text, "");
  api_call_free(&call);
}

/* One type where all declared tensors have it; else each one's. */
static void test_types_in_texts(void **state) {
  (void)state;
  struct api_call call;
  api_call_init(&call, SDPA_BF16, api_one_head(2, 3, 2, 2), 0, 0);
  call.problem.bias_type = SDPA_F32; /* of a bias that there is not */
  check_description(&call.problem, SDPA_ENGINE_AUTO, ", bf16, workspace");
  call.problem.features = SDPA_BIAS;
  check_description(&call.problem, SDPA_ENGINE_AUTO,
                    ", Q bf16 K bf16 V bf16 output bf16 bias f32, workspace");
  call.problem.features = SDPA_NO_OUTPUT | SDPA_LSE;
  call.problem.value_type = call.problem.output_type = SDPA_F32;
  check_description(&call.problem, SDPA_ENGINE_AUTO, ", bf16, workspace");
  api_call_free(&call);
}

static void test_version_and_status(void **state) {
  (void)state;
  assert_int_equal(sdpa_version(), SDPA_VERSION);
  assert_int_equal(SDPA_VERSION, 400);
  assert_string_equal(sdpa_version_string(), "0.4.0");
  static const sdpa_status known[] = {0, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 30, 31};
  enum { KNOWN = sizeof known / sizeof *known };
  for (int i = 0; i < KNOWN; i++) {
    assert_true(strlen(sdpa_status_string(known[i])) > 0);
    for (int j = 0; j < i; j++)
      assert_string_not_equal(sdpa_status_string(known[i]), sdpa_status_string(known[j]));
  }
  static const sdpa_status unknown[] = {-1, 1, 9, 19, 21, 32, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    assert_non_null(sdpa_status_string(unknown[i]));
    assert_string_not_equal(sdpa_status_string(unknown[i]), sdpa_status_string(SDPA_OK));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_query),
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_threads_and_splits),
      cmocka_unit_test(test_flops_and_bytes),
      cmocka_unit_test(test_texts),
      cmocka_unit_test(test_types_in_texts),
      cmocka_unit_test(test_reduced_precision),
      cmocka_unit_test(test_version_and_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
