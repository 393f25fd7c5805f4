/* test_merge.c - sdpa_merge(): numbers worked out by hand, empty and NaN parts, every argument
 * error
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Semantics rule 22. That any cut of the keys gives the whole is
 * tests/property/test_merged_parts.c.
 */
#include "api_support.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The problem of `sizes` that declares the log-sum-exp. */
static sdpa_problem problem_of(uint32_t type, struct api_sizes sizes) {
  struct api_call call;
  api_call_init(&call, type, sizes, SDPA_LSE, 0);
  sdpa_problem problem = call.problem;
  api_call_free(&call);
  return problem;
}

/* One row of two columns and its log-sum-exp. */
struct part {
  double output[2], lse;
};

static struct part merged(uint32_t type, struct part a, struct part b) {
  const sdpa_problem problem = problem_of(type, api_one_head(1, 3, 4, 2));
  double storage[2][3]; /* of either type */
  const struct part parts[] = {a, b};
  struct part result;
  for (int i = 0; i < 2; i++) {
    api_put_all(type, storage[i], 2, parts[i].output);
    api_put(type, storage[i], 2, parts[i].lse);
  }
  const size_t lse_at = type == SDPA_F64 ? 2 * sizeof(double) : 2 * sizeof(float);
  assert_int_equal(sdpa_merge(&problem, NULL, storage[0], (char *)storage[0] + lse_at, storage[1],
                              (char *)storage[1] + lse_at),
                   SDPA_OK);
  for (int d = 0; d < 2; d++) result.output[d] = api_get(type, storage[0], d);
  result.lse = api_get(type, storage[0], 2);
  return result;
}

static void assert_part(uint32_t type, struct part actual, struct part expected) {
  for (int d = 0; d < 2; d++)
    api_assert_near(type, actual.output[d], expected.output[d], fabs(expected.output[d]));
  api_assert_near(type, actual.lse, expected.lse, 1 + fabs(expected.lse));
}

/* Weights 1 and 3: one quarter and three quarters. A far smaller part does not count, and no
 * log-sum-exp overflows on the way. */
static void test_numbers(void **state) {
  (void)state;
  const double log3 = log(3.0);
  for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++) {
    const struct part a = {{4, -8}, 0}, b = {{8, 8}, log3}, sum = {{7, 4}, log(4.0)};
    assert_part(type, merged(type, a, b), sum);
    assert_part(type, merged(type, b, a), sum);
    const struct part low = {{4, -8}, -10}, high = {{8, 8}, -10 + log3};
    assert_part(type, merged(type, low, high), (struct part){{7, 4}, -10 + log(4.0)});
    const struct part large = {{2, 3}, 1000}, small = {{1e30, -1e30}, -1000};
    assert_part(type, merged(type, large, small), large);
    assert_part(type, merged(type, small, large), large);
  }
}

/* A part over no keys is nothing: the other keeps its bits, whatever the output of the first holds.
 */
static void test_empty_parts(void **state) {
  (void)state;
  const double none = -(double)INFINITY;
  for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++) {
    const struct part some = {{0.1, -0.7}, 0.3}, nothing = {{0, 0}, none};
    const struct part rubbish = {{NAN, INFINITY}, none};
    struct part same = some;
    if (type == SDPA_F32) same = (struct part){{(float)0.1, (float)-0.7}, (float)0.3};
    const struct part results[] = {merged(type, some, nothing), merged(type, nothing, some),
                                   merged(type, some, rubbish), merged(type, rubbish, some)};
    for (int i = 0; i < 4; i++) assert_memory_equal(&results[i], &same, sizeof same);
    const struct part empty[] = {merged(type, nothing, nothing), merged(type, rubbish, nothing),
                                 merged(type, nothing, rubbish), merged(type, rubbish, rubbish)};
    for (int i = 0; i < 4; i++) assert_memory_equal(&empty[i], &nothing, sizeof nothing);
  }
}

/* A NaN part makes the row NaN. A sink of +inf over no keys is a log-sum-exp without a NaN, until
 * keys come. */
static void test_nan(void **state) {
  (void)state;
  for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++) {
    const struct part some = {{1, 2}, 0.5}, nan_part = {{NAN, NAN}, NAN};
    const struct part nothing = {{0, 0}, -(double)INFINITY}, sink = {{0, 0}, INFINITY};
    const struct part column = {{NAN, 3}, 0.5};
    assert_part(type, merged(type, some, nan_part), nan_part);
    assert_part(type, merged(type, nan_part, some), nan_part);
    assert_part(type, merged(type, nan_part, nothing), nan_part);
    assert_part(type, merged(type, nothing, nan_part), nan_part);
    assert_part(type, merged(type, some, sink), nan_part);
    assert_part(type, merged(type, sink, some), nan_part);
    assert_part(type, merged(type, sink, nothing), sink);
    assert_part(type, merged(type, nothing, sink), sink);
    const struct part mixed = merged(type, some, column);
    assert_true(isnan(mixed.output[0]));
    api_assert_near(type, mixed.output[1], 2.5, 2.5);
    api_assert_near(type, mixed.lse, 0.5 + log(2.0), 2);
  }
}

/* ---- statuses -------------------------------------------------------------------------------- */

enum { ROWS = 6, DIM = 2 };
static const struct api_sizes sizes = {1, 2, 1, 3, 5, 4, DIM};

/* Accumulator and part of that problem, and copies to compare with. */
struct buffers {
  double output[ROWS * DIM], lse[ROWS], part_output[ROWS * DIM], part_lse[ROWS];
};
static void fill(struct buffers *b) {
  double *numbers = (double *)b;
  for (size_t i = 0; i < sizeof *b / sizeof *numbers; i++) numbers[i] = 0.25 * (double)(i % 7) - 1;
}

static sdpa_status merge_into(const sdpa_problem *problem, const sdpa_options *options) {
  struct buffers b, before;
  fill(&b);
  before = b;
  errno = 77;
  sdpa_status status = sdpa_merge(problem, options, b.output, b.lse, b.part_output, b.part_lse);
  assert_int_equal(errno, 77);
  if (status == SDPA_OK) {
    assert_memory_not_equal(b.lse, before.lse, sizeof b.lse);
    assert_memory_equal(b.part_output, before.part_output,
                        sizeof b.part_output + sizeof b.part_lse);
  } else {
    assert_memory_equal(&b, &before, sizeof b);
  }
  return status;
}

static void test_bad_problem(void **state) {
  (void)state;
  const sdpa_problem good = problem_of(SDPA_F64, sizes);
  assert_int_equal(merge_into(&good, NULL), SDPA_OK);
  assert_int_equal(merge_into(NULL, NULL), SDPA_ERROR_NULL);
  sdpa_problem p = good;
  p.size = 8;
  assert_int_equal(merge_into(&p, NULL), SDPA_ERROR_STRUCT_SIZE);
  p = good;
  p.features = 0;
  assert_int_equal(merge_into(&p, NULL), SDPA_ERROR_VALUE);
  p = good;
  p.features |= SDPA_NO_OUTPUT;
  assert_int_equal(merge_into(&p, NULL), SDPA_ERROR_VALUE);
  p = good;
  p.query_len = -1;
  assert_int_equal(merge_into(&p, NULL), SDPA_ERROR_SHAPE);
  p = good;
  p.output.row = 0;
  assert_int_equal(merge_into(&p, NULL), SDPA_ERROR_STRIDE);
  p = good;
  p.lse.head = INT64_MAX;
  assert_int_equal(merge_into(&p, NULL), SDPA_ERROR_OVERFLOW);
  p = good;
  p.query_type = SDPA_BF16;
  assert_int_equal(merge_into(&p, NULL), SDPA_ERROR_UNSUPPORTED);
}

/* Parts over 16-bit data are merged in f32, which is what their output must be. */
static void test_narrow_inputs(void **state) {
  (void)state;
  static const uint32_t types[] = {SDPA_BF16, SDPA_F16};
  for (int t = 0; t < 2; t++) {
    sdpa_problem p = problem_of(types[t], api_one_head(1, 3, 4, 2));
    float output[2] = {4, -8}, part_output[2] = {8, 8}, lse = 0, part_lse = (float)log(3.0);
    const float before[2] = {4, -8};
    const double sum[2] = {7, 4}, sum_lse = log(4.0);
    assert_int_equal(sdpa_merge(&p, NULL, output, &lse, part_output, &part_lse),
                     SDPA_ERROR_UNSUPPORTED);
    assert_memory_equal(output, before, sizeof output);
    assert_true(lse == 0);
    p.output_type = SDPA_F32;
    assert_int_equal(sdpa_merge(&p, NULL, output, &lse, part_output, &part_lse), SDPA_OK);
    api_assert_all_near(SDPA_F32, output, 2, sum, 8);
    api_assert_all_near(SDPA_F32, &lse, 1, &sum_lse, 2);
    p = problem_of(SDPA_F32, api_one_head(1, 3, 4, 2));
    p.output_type = types[t];
    assert_int_equal(sdpa_merge(&p, NULL, output, &lse, part_output, &part_lse),
                     SDPA_ERROR_UNSUPPORTED);
  }
}

static void test_bad_options(void **state) {
  (void)state;
  const sdpa_problem problem = problem_of(SDPA_F64, sizes);
  sdpa_options good, o;
  assert_int_equal(sdpa_options_init(&good, sizeof good), SDPA_OK);
  static const int32_t counts[] = {0, 1, 2, 256, 1000, INT32_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    o = good;
    o.threads = counts[i];
    assert_int_equal(merge_into(&problem, &o), SDPA_OK);
  }
  o = good;
  o.threads = -1;
  assert_int_equal(merge_into(&problem, &o), SDPA_ERROR_VALUE);
  o = good;
  o.size = 4;
  assert_int_equal(merge_into(&problem, &o), SDPA_ERROR_STRUCT_SIZE);
}

static void test_bad_pointers(void **state) {
  (void)state;
  const sdpa_problem p = problem_of(SDPA_F64, sizes);
  struct buffers b, before;
  fill(&b);
  before = b;
  for (int i = 0; i < 4; i++) {
    void *at[4] = {b.output, b.lse, b.part_output, b.part_lse};
    at[i] = NULL;
    assert_int_equal(sdpa_merge(&p, NULL, at[0], at[1], at[2], at[3]), SDPA_ERROR_NULL);
  }
  for (int i = 0; i < 4; i++) {
    for (int shift = 1; shift < 8; shift++) {
      char *at[4] = {(char *)b.output, (char *)b.lse, (char *)b.part_output, (char *)b.part_lse};
      at[i] += shift;
      if (api_is_aligned(at[i], sizeof(double))) continue;
      assert_int_equal(sdpa_merge(&p, NULL, at[0], at[1], at[2], at[3]), SDPA_ERROR_ALIGNMENT);
    }
  }
  assert_memory_equal(&b, &before, sizeof b);
}

/* Nothing to merge: NULL is fine. Without columns the log-sum-exps are merged all the same. */
static void test_empty_tensors(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    sdpa_problem p = problem_of(SDPA_F32, sizes);
    if (i == 0) p.batch = 0;
    if (i == 1) p.query_heads = p.kv_heads = 0;
    if (i == 2) p.query_len = 0;
    assert_int_equal(sdpa_merge(&p, NULL, NULL, NULL, NULL, NULL), SDPA_OK);
  }
  const sdpa_problem p = problem_of(SDPA_F64, api_one_head(1, 3, 4, 0));
  double lse = 0, part_lse = 0;
  assert_int_equal(sdpa_merge(&p, NULL, NULL, &lse, NULL, &part_lse), SDPA_OK);
  api_assert_near(SDPA_F64, lse, log(2.0), 1);
  assert_int_equal(sdpa_merge(&p, NULL, NULL, NULL, NULL, &part_lse), SDPA_ERROR_NULL);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void backwards(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  ++*(int *)ctx;
  for (int64_t i = n_tasks; i-- > 0;) task(arg, i);
}
static void twice(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  backwards(ctx, n_tasks, task, arg);
  backwards(ctx, n_tasks, task, arg);
}
static void never(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  (void)n_tasks, (void)task, (void)arg;
  ++*(int *)ctx;
}

/* A result large enough for threads: the same bits by any number of them; a loop that breaks its
 * contract is found out. */
static void test_threads(void **state) {
  (void)state;
  enum { HEADS = 8, LONG_ROWS = 200, LONG_DIM = 96, ALL = HEADS * LONG_ROWS };
  const struct api_sizes large = {2, HEADS / 2, 1, LONG_ROWS, 1, 1, LONG_DIM};
  const sdpa_problem p = problem_of(SDPA_F32, large);
  static float output[ALL * LONG_DIM], lse[ALL], expected[ALL * LONG_DIM], expected_lse[ALL];
  static float part_output[ALL * LONG_DIM], part_lse[ALL];
  static const struct {
    sdpa_parallel_for loop;
    int32_t threads;
    sdpa_status status;
  } cases[] = {{NULL, 1, SDPA_OK},
               {NULL, 2, SDPA_OK},
               {NULL, 7, SDPA_OK},
               {NULL, 0, SDPA_OK},
               {backwards, 5, SDPA_OK},
               {twice, 5, SDPA_ERROR_CALLBACK},
               {never, 5, SDPA_ERROR_CALLBACK}};
  for (int i = 0; i < ALL * LONG_DIM; i++) part_output[i] = (float)(i % 31) - 15;
  for (int i = 0; i < ALL; i++) part_lse[i] = (float)(i % 11) - 5;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    int calls = 0;
    sdpa_options o;
    assert_int_equal(sdpa_options_init(&o, sizeof o), SDPA_OK);
    o.threads = cases[c].threads;
    o.parallel_for = cases[c].loop;
    o.parallel_ctx = &calls;
    for (int i = 0; i < ALL * LONG_DIM; i++) output[i] = (float)(i % 13) / 3;
    for (int i = 0; i < ALL; i++) lse[i] = (float)(i % 5) / 7;
    assert_int_equal(sdpa_merge(&p, &o, output, lse, part_output, part_lse), cases[c].status);
    assert_int_equal(calls > 0, cases[c].loop != NULL);
    if (c == 0) {
      memcpy(expected, output, sizeof output);
      memcpy(expected_lse, lse, sizeof lse);
    } else if (cases[c].status == SDPA_OK) {
      assert_memory_equal(output, expected, sizeof output);
      assert_memory_equal(lse, expected_lse, sizeof lse);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),       cmocka_unit_test(test_empty_parts),
      cmocka_unit_test(test_nan),           cmocka_unit_test(test_bad_problem),
      cmocka_unit_test(test_bad_options),   cmocka_unit_test(test_bad_pointers),
      cmocka_unit_test(test_empty_tensors), cmocka_unit_test(test_threads),
      cmocka_unit_test(test_narrow_inputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
