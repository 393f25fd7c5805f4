/* test_nan_infinity.c - NaN, infinity, uninitialised memory: what reaches a row and what does not
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Semantics rules 11 and 12. The property tests plant such values at random; these are the cases
 * that can be written down, in all columns, rows and outputs.
 */
#define _POSIX_C_SOURCE 200809L
#include "api_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOR_TYPES for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++)

enum { STATS = SDPA_WEIGHTS | SDPA_LSE };

static const double planted[] = {NAN, INFINITY, -INFINITY};
enum { PLANTED = sizeof planted / sizeof *planted };

static size_t width(uint32_t type) {
  return type == SDPA_F64 ? sizeof(double) : sizeof(float);
}

/* What may be spoiled without changing a bit: see test_excluded(). */
static void spoil(struct api_call *call, double x) {
  uint32_t type = call->problem.query_type;
  /* Key 1 is masked in all rows, key 2 has bias -inf, keys 4 and 5 are padding, row 3 is padding.
   */
  for (int row = 0; row < 4; row++) {
    api_put(type, api_bias(call), row * 6 + 1, x);
    for (int j = 0; j < 6; j++)
      if (row == 3 || j >= 4) {
        api_put(type, api_bias(call), row * 6 + j, x);
        api_mask(call)[row * 6 + j] = 0x7F;
      }
  }
  for (int d = 0; d < 2; d++) {
    api_put(type, api_query(call), 3 * 2 + d, x);
    for (int j = 1; j < 6; j++)
      if (j != 3) {
        api_put(type, api_key(call), j * 2 + d, x);
        api_put(type, api_value(call), j * 2 + d, x);
      }
  }
}

static void init_excluding(struct api_call *call, uint32_t type, uint32_t features) {
  api_call_init(call, type, api_one_head(4, 6, 2, 2),
                SDPA_MASK | SDPA_BIAS | SDPA_KEY_LENS | SDPA_QUERY_LENS | features, 0);
  api_key_lens(call)[0] = 4;
  api_query_lens(call)[0] = 3;
  for (int row = 0; row < 4; row++) {
    api_mask(call)[row * 6 + 1] = 0;
    api_put(type, api_bias(call), row * 6 + 2, -INFINITY);
  }
}

/* An excluded key is not read into the result: NaN and infinity there change no bit. */
static void test_excluded(void **state) {
  (void)state;
  FOR_TYPES for (int i = 0; i < PLANTED; i++) for (int stats = 0; stats < 2; stats++) {
    struct api_call clean, spoiled;
    uint32_t features = stats ? STATS | SDPA_SCORES : 0;
    init_excluding(&clean, type, features);
    init_excluding(&spoiled, type, features);
    spoil(&spoiled, planted[i]);
    api_run(&clean);
    api_run(&spoiled);
    assert_memory_equal(clean.args.output, spoiled.args.output, 8 * width(type));
    if (stats) {
      assert_memory_equal(clean.args.weights, spoiled.args.weights, 24 * width(type));
      assert_memory_equal(clean.args.scores, spoiled.args.scores, 24 * width(type));
      assert_memory_equal(clean.args.lse, spoiled.args.lse, 4 * width(type));
    }
    for (int k = 0; k < 8; k++) assert_true(isfinite(api_get(type, clean.args.output, k)));
    api_call_free(&clean);
    api_call_free(&spoiled);
  }
}

/* Key j is excluded in some rows only (causal): its NaN reaches exactly the others. */
static void test_excluded_in_some_rows(void **state) {
  (void)state;
  FOR_TYPES for (int where = 0; where < 2; where++) {
    struct api_call clean, spoiled;
    for (int s = 0; s < 2; s++) {
      struct api_call *call = s ? &spoiled : &clean;
      api_call_init(call, type, api_one_head(4, 4, 2, 2), SDPA_CAUSAL | STATS, SDPA_ALIGN_TOP_LEFT);
    }
    void *tensor = where ? api_value(&spoiled) : api_key(&spoiled);
    api_put(type, tensor, 2 * 2 + 0, NAN);
    api_run(&clean);
    api_run(&spoiled);
    assert_memory_equal(clean.args.output, spoiled.args.output, 4 * width(type));
    assert_memory_equal(clean.args.weights, spoiled.args.weights, 8 * width(type));
    assert_memory_equal(clean.args.lse, spoiled.args.lse, 2 * width(type));
    for (int row = 2; row < 4; row++) {
      assert_true(isnan(api_get(type, spoiled.args.output, row * 2)));
      /* In V the NaN stays in its column; in K it takes the row. */
      assert_int_equal(isnan(api_get(type, spoiled.args.output, row * 2 + 1)) != 0, !where);
      assert_int_equal(isnan(api_get(type, spoiled.args.lse, row)) != 0, !where);
      for (int j = 0; j <= row; j++)
        assert_int_equal(isnan(api_get(type, spoiled.args.weights, row * 4 + j)) != 0, !where);
    }
    assert_true(api_get(type, spoiled.args.weights, 2 * 4 + 3) == 0); /* excluded: exactly 0 */
    api_call_free(&clean);
    api_call_free(&spoiled);
  }
}

/* One score of row 1 is spoiled through Q or bias: row 1 is NaN, rows 0 and 2 keep their bits. */
static void test_nan_row(void **state) {
  (void)state;
  static const double by_bias[] = {NAN, INFINITY};
  FOR_TYPES for (int how = 0; how < 4; how++) {
    struct api_call clean, call;
    api_call_init(&clean, type, api_one_head(3, 3, 2, 2), SDPA_BIAS | SDPA_MASK | STATS, 0);
    api_call_init(&call, type, api_one_head(3, 3, 2, 2), SDPA_BIAS | SDPA_MASK | STATS, 0);
    api_mask(&clean)[3] = api_mask(&call)[3] = 0; /* row 1, key 0 */
    if (how < 2)
      api_put(type, api_bias(&call), 3 + 2, by_bias[how]);
    else
      api_put(type, api_query(&call), 2, how == 2 ? NAN : INFINITY);
    if (how == 3) {
      /* +inf * 1 + finite: a score of +inf, not NaN, before the softmax. */
      for (int j = 0; j < 3; j++) api_put(type, api_key(&call), j * 2, 1);
      for (int j = 0; j < 3; j++) api_put(type, api_key(&clean), j * 2, 1);
    }
    api_run(&clean);
    api_run(&call);
    for (int row = 0; row < 3; row += 2) {
      size_t w = width(type);
      const char *a = clean.args.output, *b = call.args.output;
      assert_memory_equal(a + (size_t)row * 2 * w, b + (size_t)row * 2 * w, 2 * w);
    }
    for (int d = 0; d < 2; d++) assert_true(isnan(api_get(type, call.args.output, 2 + d)));
    assert_true(api_get(type, call.args.weights, 3) == 0);
    assert_true(isnan(api_get(type, call.args.weights, 4)));
    assert_true(isnan(api_get(type, call.args.weights, 5)));
    assert_true(isnan(api_get(type, call.args.lse, 1)));
    api_call_free(&clean);
    api_call_free(&call);
  }
}

/* A score of -inf from the data has weight 0, and the others share the row. */
static void test_score_of_minus_infinity(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    api_call_init(&call, type, api_one_head(1, 3, 1, 1), STATS, 0);
    api_put(type, api_query(&call), 0, 1);
    api_put_all(type, api_key(&call), 3, (const double[]){0, -INFINITY, 0});
    api_put_all(type, api_value(&call), 3, (const double[]){2, 5, 4});
    api_run(&call);
    api_assert_all_near(type, call.args.weights, 3, (const double[]){.5, 0, .5}, 1);
    api_assert_near(type, api_get(type, call.args.output, 0), 3, 4);
    api_assert_near(type, api_get(type, call.args.lse, 0), log(2), 1);
    api_call_free(&call);
  }
}

/* A weight that underflows still contributes 0 * v: NaN and infinity in that value show. */
static void test_underflowed_weight(void **state) {
  (void)state;
  FOR_TYPES for (int i = 0; i < PLANTED; i++) {
    struct api_call call;
    api_call_init(&call, type, api_one_head(1, 2, 1, 2), STATS, 0);
    api_put(type, api_query(&call), 0, 1);
    api_put_all(type, api_key(&call), 2, (const double[]){0, -100000});
    api_put_all(type, api_value(&call), 4, (const double[]){3, 4, 1, planted[i]});
    api_run(&call);
    assert_true(api_get(type, call.args.weights, 1) == 0);
    api_assert_near(type, api_get(type, call.args.output, 0), 3, 3);
    assert_true(isnan(api_get(type, call.args.output, 1)));
    api_assert_near(type, api_get(type, call.args.lse, 0), 0, 0);
    api_call_free(&call);
  }
}

/* So it does where a sink takes all of a row, whose factor underflows as a whole. */
static void test_underflow_beside_a_sink(void **state) {
  (void)state;
  enum { MOST = 40 };
  FOR_TYPES for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    if (!api_offers(engine)) continue;
    for (int i = 0; i < PLANTED * 2; i++) {
      const int64_t rows = i % 2 ? MOST : 1;
      struct api_call call;
      sdpa_options options;
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      options.engine = engine;
      api_call_init(&call, type, api_one_head(rows, 2, 1, 2), SDPA_SINKS, 0);
      api_put(type, api_sinks(&call), 0, 1e5);
      api_put_all(type, api_value(&call), 4, (const double[]){3, 4, 1, planted[i / 2]});
      assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
      for (int64_t r = 0; r < rows; r++) {
        assert_true(fabs(api_get(type, call.args.output, 2 * r)) < 1e-30);
        assert_true(isfinite(api_get(type, call.args.output, 2 * r + 1)) == 0);
      }
      api_call_free(&call);
    }
  }
}

/* Infinities in V at keys with weight: the infinity, and NaN where both signs meet. */
/* Infinity with its sign, or NaN, in its column; whichever the engine finds easier. */
static void test_infinite_values(void **state) {
  (void)state;
  static const uint32_t features[] = {0, STATS};
  FOR_TYPES for (uint32_t engine = SDPA_ENGINE_AUTO; engine <= SDPA_ENGINE_TILED; engine++) {
    for (int f = 0; f < 2 && api_offers(engine); f++) {
      struct api_call call;
      sdpa_options options;
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      options.engine = engine;
      api_call_init(&call, type, api_one_head(1, 2, 1, 4), features[f], 0);
      api_put(type, api_query(&call), 0, 0);
      api_put_all(type, api_value(&call), 8,
                  (const double[]){INFINITY, 1, INFINITY, 2, 1, -INFINITY, -INFINITY, 4});
      assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
      const double up = api_get(type, call.args.output, 0);
      const double down = api_get(type, call.args.output, 1);
      assert_true(isnan(up) || up == (double)INFINITY);
      assert_true(isnan(down) || down == -(double)INFINITY);
      assert_true(!isfinite(api_get(type, call.args.output, 2)));
      api_assert_near(type, api_get(type, call.args.output, 3), 3, 4);
      if (features[f]) api_assert_all_near(type, call.args.weights, 2, (const double[]){.5, .5}, 1);
      api_call_free(&call);
    }
  }
}

/* The spoiled head and batch entry keep their neighbours out of it. */
static void test_neighbours(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call clean, call;
    const struct api_sizes sizes = {2, 2, 2, 3, 3, 2, 2};
    api_call_init(&clean, type, sizes, 0, 0);
    api_call_init(&call, type, sizes, 0, 0);
    for (int i = 0; i < 6; i++) api_put(type, api_key(&call), 12 + i, NAN);
    /* Elements 12 .. 17: batch entry 1, head 0. */
    api_run(&clean);
    api_run(&call);
    for (int i = 0; i < 24; i++) {
      double a = api_get(type, clean.args.output, i), b = api_get(type, call.args.output, i);
      if (i >= 12 && i < 18)
        assert_true(isnan(b));
      else
        assert_true(a == b);
    }
    api_call_free(&clean);
    api_call_free(&call);
  }
}

/* Behind many finite keys, beyond what many rows share of them at a time, one that is not: the row
 * that excludes it does not see it. */
static void test_late_value(void **state) {
  (void)state;
  enum { ROWS = 70, KEYS = 1500, DIM = 64, LATE = 1100, COLUMN = 3 };
  FOR_TYPES for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    struct api_call call;
    sdpa_options options;
    if (!api_offers(engine)) continue;
    assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
    options.engine = engine;
    api_call_init(&call, type, api_one_head(ROWS, KEYS, DIM, DIM), SDPA_MASK, 0);
    api_mask(&call)[LATE] = 0;
    api_mask(&call)[0] = 0; /* so that the first block is looked at, too */
    api_put(type, api_value(&call), LATE * DIM + COLUMN, NAN);
    assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
    for (int64_t i = 0; i < ROWS; i++)
      for (int64_t d = 0; d < DIM; d++)
        assert_int_equal(isnan(api_get(type, call.args.output, i * DIM + d)) != 0,
                         i > 0 && d == COLUMN);
    api_call_free(&call);
  }
}

/* A transposed V: what an excluded key holds changes no bit, whichever product reads it. */
static void test_transposed_values(void **state) {
  (void)state;
  enum { ROWS = 20, KEYS = 200, DIM = 33, VALUE_DIM = 150, EXCLUDED = 5 };
  for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    if (!api_offers(engine)) continue;
    FOR_TYPES {
      struct api_call call;
      sdpa_options options;
      unsigned char finite[ROWS * VALUE_DIM * sizeof(double)];
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      options.engine = engine;
      api_call_init(&call, type, api_one_head(ROWS, KEYS, DIM, VALUE_DIM), SDPA_MASK, 0);
      call.problem.value.row = 1;
      call.problem.value.col = KEYS;
      for (int i = 0; i < ROWS; i++) api_mask(&call)[i * KEYS + EXCLUDED] = 0;
      for (int i = 0; i < DIM * KEYS; i++)
        api_put(type, api_key(&call), i, (i * 7919 % 1009 - 504) / 252.);
      for (int i = 0; i < VALUE_DIM * KEYS; i++)
        api_put(type, api_value(&call), i, (i * 6151 % 1013 - 506) / 253.);
      assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
      memcpy(finite, call.args.output, call.bytes[API_OUTPUT]);
      api_put(type, api_value(&call), EXCLUDED + (VALUE_DIM - 1) * KEYS, NAN);
      assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
      assert_memory_equal(finite, call.args.output, call.bytes[API_OUTPUT]);
      api_call_free(&call);
    }
  }
}

/* All of this program once more with the kernels of another core type, if OpenBLAS has them: of
 * those for AVX-512 the one for small products gives other bits where an operand is transposed. */
static void test_other_core_type(void **state) {
  (void)state;
#if defined(__x86_64__) && defined(__GNUC__)
  static const char again[] = "SDPA_TEST_OTHER_CORE";
  if (getenv(again) || !__builtin_cpu_supports("avx512vl") || !api_offers(SDPA_ENGINE_BLAS)) skip();
  int status = -1;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    setenv(again, "1", 1);
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    execl("/proc/self/exe", "test_nan_infinity", (char *)NULL);
    _exit(127);
  }
  assert_true(waitpid(child, &status, 0) == child);
  assert_int_equal(status, 0);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_excluded),
      cmocka_unit_test(test_excluded_in_some_rows),
      cmocka_unit_test(test_nan_row),
      cmocka_unit_test(test_score_of_minus_infinity),
      cmocka_unit_test(test_underflowed_weight),
      cmocka_unit_test(test_underflow_beside_a_sink),
      cmocka_unit_test(test_infinite_values),
      cmocka_unit_test(test_neighbours),
      cmocka_unit_test(test_late_value),
      cmocka_unit_test(test_transposed_values),
      cmocka_unit_test(test_other_core_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
