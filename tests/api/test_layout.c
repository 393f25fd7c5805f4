/* test_layout.c - strides: the two layouts, broadcast shapes, and every other way data may lie
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api_support.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FOR_TYPES for (uint32_t type = SDPA_F64; type <= SDPA_F16; type++)

static void assert_strides(const sdpa_strides *s, int64_t batch, int64_t head, int64_t row,
                           int64_t col) {
  assert_true(s->batch == batch);
  assert_true(s->head == head);
  assert_true(s->row == row);
  assert_true(s->col == col);
}

static sdpa_problem sized(int64_t batch, int64_t heads, int64_t kv_heads, int64_t n_q, int64_t n_k,
                          int64_t d_k, int64_t d_v) {
  sdpa_problem p;
  assert_int_equal(sdpa_problem_init(&p, sizeof p), SDPA_OK);
  p.query_type = SDPA_F32;
  p.batch = batch;
  p.query_heads = heads;
  p.kv_heads = kv_heads;
  p.query_len = n_q;
  p.key_len = n_k;
  p.key_dim = d_k;
  p.value_dim = d_v;
  return p;
}

static void test_layouts(void **state) {
  (void)state;
  sdpa_problem p = sized(2, 6, 3, 5, 7, 11, 13);
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  assert_strides(&p.query, 6 * 5 * 11, 5 * 11, 11, 1);
  assert_strides(&p.key, 3 * 7 * 11, 7 * 11, 11, 1);
  assert_strides(&p.value, 3 * 7 * 13, 7 * 13, 13, 1);
  assert_strides(&p.output, 6 * 5 * 13, 5 * 13, 13, 1);
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BSHD), SDPA_OK);
  assert_strides(&p.query, 5 * 6 * 11, 11, 6 * 11, 1);
  assert_strides(&p.key, 7 * 3 * 11, 11, 3 * 11, 1);
  assert_strides(&p.value, 7 * 3 * 13, 13, 3 * 13, 1);
  assert_strides(&p.output, 5 * 6 * 13, 13, 6 * 13, 1);
  assert_strides(&p.mask, 6 * 5 * 7, 5 * 7, 7, 1);
  assert_strides(&p.bias, 6 * 5 * 7, 5 * 7, 7, 1);
  assert_strides(&p.weights, 6 * 5 * 7, 5 * 7, 7, 1);
  assert_strides(&p.scores, 6 * 5 * 7, 5 * 7, 7, 1);
  assert_strides(&p.lse, 6 * 5, 5, 1, 0);
}

static void check_layout_refused(sdpa_problem p, uint32_t layout, sdpa_status status) {
  sdpa_problem before = p;
  assert_int_equal(sdpa_problem_layout(&p, layout), status);
  assert_memory_equal(&p, &before, sizeof p);
}

static void test_layout_errors(void **state) {
  (void)state;
  const sdpa_problem good = sized(2, 6, 3, 5, 7, 11, 13);
  check_layout_refused(good, 0, SDPA_ERROR_VALUE);
  check_layout_refused(good, 3, SDPA_ERROR_VALUE);
  check_layout_refused(good, UINT32_MAX, SDPA_ERROR_VALUE);
  check_layout_refused(sized(2, 6, 3, -5, 7, 11, 13), SDPA_LAYOUT_BHSD, SDPA_ERROR_SHAPE);
  check_layout_refused(sized(2, 6, 3, 5, 7, 11, INT64_MIN), SDPA_LAYOUT_BSHD, SDPA_ERROR_SHAPE);
  const int64_t far = INT64_MAX / 2;
  check_layout_refused(sized(1, 6, 3, far, 1, 11, 13), SDPA_LAYOUT_BHSD, SDPA_ERROR_OVERFLOW);
  check_layout_refused(sized(1, 6, 3, 1, far, 11, 13), SDPA_LAYOUT_BSHD, SDPA_ERROR_OVERFLOW);
  /* Pairs that overflow matter where a tensor of pairs takes part. */
  sdpa_problem pairs = sized(2, 1, 1, INT64_C(1) << 31, INT64_C(1) << 31, 1, 1);
  sdpa_problem plain = pairs;
  assert_int_equal(sdpa_problem_layout(&plain, SDPA_LAYOUT_BHSD), SDPA_OK);
  pairs.features = SDPA_WEIGHTS;
  check_layout_refused(pairs, SDPA_LAYOUT_BHSD, SDPA_ERROR_OVERFLOW);
}

static void test_broadcast(void **state) {
  (void)state;
  const sdpa_problem p = sized(2, 6, 3, 5, 7, 11, 13);
  static const struct {
    int32_t rank;
    int64_t shape[4];
    sdpa_strides strides;
  } cases[] = {
      {0, {0}, {0, 0, 0, 0}},           {1, {7}, {0, 0, 0, 1}},
      {1, {1}, {0, 0, 0, 0}},           {2, {5, 7}, {0, 0, 7, 1}},
      {2, {5, 1}, {0, 0, 1, 0}},        {2, {1, 7}, {0, 0, 0, 1}},
      {3, {6, 5, 7}, {0, 35, 7, 1}},    {3, {6, 1, 7}, {0, 7, 0, 1}},
      {3, {1, 5, 7}, {0, 0, 7, 1}},     {4, {2, 6, 5, 7}, {210, 35, 7, 1}},
      {4, {2, 1, 5, 7}, {35, 0, 7, 1}}, {4, {2, 1, 1, 7}, {7, 0, 0, 1}},
      {4, {2, 6, 5, 1}, {30, 5, 1, 0}}, {4, {1, 1, 1, 1}, {0, 0, 0, 0}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sdpa_strides s = {-9, -9, -9, -9};
    assert_int_equal(sdpa_problem_broadcast(&p, cases[i].rank, cases[i].shape, &s), SDPA_OK);
    assert_memory_equal(&s, &cases[i].strides, sizeof s);
  }
  sdpa_strides s = {-9, -9, -9, -9};
  assert_int_equal(sdpa_problem_broadcast(&p, 0, NULL, &s), SDPA_OK);
  assert_strides(&s, 0, 0, 0, 0);
}

static void test_broadcast_errors(void **state) {
  (void)state;
  const sdpa_problem p = sized(2, 6, 3, 5, 7, 11, 13);
  static const struct {
    int32_t rank;
    int64_t shape[5];
  } cases[] = {{-1, {7}},
               {5, {1, 2, 6, 5, 7}},
               {INT32_MAX, {7}},
               {1, {5}},
               {1, {6}},
               {1, {0}},
               {1, {-7}},
               {2, {7, 5}},
               {2, {3, 7}},
               {3, {3, 5, 7}}, /* kv_heads is no size of a mask */
               {4, {6, 2, 5, 7}},
               {4, {0, 6, 5, 7}},
               {4, {2, 6, 5, INT64_MAX}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sdpa_strides s = {-9, -9, -9, -9};
    assert_int_equal(sdpa_problem_broadcast(&p, cases[i].rank, cases[i].shape, &s),
                     SDPA_ERROR_SHAPE);
    assert_strides(&s, -9, -9, -9, -9);
  }
  const int64_t half = INT64_C(1) << 32;
  const sdpa_problem huge = sized(1, 1, 1, half, half, 1, 1);
  sdpa_strides s = {-9, -9, -9, -9};
  const sdpa_problem stacked = sized(half, 1, 1, half, half, 1, 1);
  assert_int_equal(sdpa_problem_broadcast(&stacked, 4, (const int64_t[]){half, 1, half, half}, &s),
                   SDPA_ERROR_OVERFLOW);
  assert_strides(&s, -9, -9, -9, -9);
  assert_int_equal(sdpa_problem_broadcast(&huge, 1, &half, &s), SDPA_OK);
  const sdpa_problem negative = sized(2, 6, 3, -5, 7, 11, 13);
  assert_int_equal(sdpa_problem_broadcast(&negative, 1, (const int64_t[]){7}, &s),
                   SDPA_ERROR_SHAPE);
}

/* A mask and a bias by a broadcast shape give what the written-out ones give, to the bit. */
static void test_broadcast_is_expansion(void **state) {
  (void)state;
  const struct api_sizes sizes = {2, 2, 1, 3, 5, 2, 2};
  FOR_TYPES {
    struct api_call full, small;
    api_call_init(&full, type, sizes, SDPA_MASK | SDPA_BIAS, 0);
    api_call_init(&small, type, sizes, SDPA_MASK | SDPA_BIAS, 0);
    assert_int_equal(
        sdpa_problem_broadcast(&small.problem, 1, (const int64_t[]){5}, &small.problem.mask),
        SDPA_OK);
    assert_int_equal(
        sdpa_problem_broadcast(&small.problem, 3, (const int64_t[]){2, 3, 1}, &small.problem.bias),
        SDPA_OK);
    for (int i = 0; i < 60; i++) {
      int col = i % 5, row = i / 5 % 3, head = i / 15 % 2;
      api_mask(&full)[i] = col != 2;
      if (i < 5) api_mask(&small)[i] = col != 2;
      double bias = row - 0.5 * head;
      api_put(type, api_bias(&full), i, bias);
      api_put(type, api_bias(&small), head * 3 + row, bias);
    }
    api_run(&full);
    api_run(&small);
    assert_memory_equal(full.args.output, small.args.output, full.bytes[API_OUTPUT]);
    api_call_free(&full);
    api_call_free(&small);
  }
}

/* Element (b, h, i, d) of a tensor with any strides. */
static int64_t at(const sdpa_strides *s, int64_t b, int64_t h, int64_t i, int64_t d) {
  return b * s->batch + h * s->head + i * s->row + d * s->col;
}

static void copy(uint32_t type, const struct api_sizes *z, int64_t heads, int64_t rows,
                 int64_t cols, const void *from, const sdpa_strides *fs, void *to,
                 const sdpa_strides *ts) {
  for (int64_t b = 0; b < z->batch; b++)
    for (int64_t h = 0; h < heads; h++)
      for (int64_t i = 0; i < rows; i++)
        for (int64_t d = 0; d < cols; d++)
          api_put(type, to, at(ts, b, h, i, d), api_get(type, from, at(fs, b, h, i, d)));
}

/* One way to lay out Q, K, V and the output; `gap` counts unused elements after each and after a
 * line. */
struct arrangement {
  int transposed, reversed, gap;
};

static sdpa_strides arrange(const struct arrangement *a, int64_t heads, int64_t rows, int64_t cols,
                            int64_t *origin, int64_t *elements, int64_t batch) {
  int64_t inner = a->transposed ? rows : cols, outer = a->transposed ? cols : rows;
  int64_t unit = 1 + a->gap, line = inner * unit + a->gap;
  sdpa_strides s = {heads * outer * line, outer * line, line, unit};
  if (a->transposed) s.row = unit, s.col = line;
  *elements = batch * s.batch;
  *origin = 0;
  if (a->reversed) {
    *origin = at(&s, batch - 1, heads - 1, rows - 1, cols - 1);
    s.batch = -s.batch, s.head = -s.head, s.row = -s.row, s.col = -s.col;
  }
  return s;
}

/* A tensor of call `c` moved into an arrangement; returns the block, *first is its element 0. */
static void *moved(uint32_t type, const struct api_sizes *z, const struct arrangement *a,
                   int64_t heads, int64_t rows, int64_t cols, const void *from,
                   sdpa_strides *strides, void **first) {
  int64_t origin, elements;
  sdpa_strides plain = *strides;
  *strides = arrange(a, heads, rows, cols, &origin, &elements, z->batch);
  size_t width = api_element_size(type);
  char *block = malloc((size_t)elements * width);
  assert_non_null(block);
  memset(block, 0xFF, (size_t)elements * width); /* NaN in every gap */
  *first = block + (size_t)origin * width;
  copy(type, z, heads, rows, cols, from, &plain, *first, strides);
  return block;
}

/* Every arrangement of all four tensors at once gives the contiguous result, and leaves its gaps
 * alone. */
static void test_arrangements(void **state) {
  (void)state;
  static const struct arrangement ways[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 2},
                                            {1, 1, 1}, {0, 1, 3}, {1, 0, 1}};
  const struct api_sizes z = {2, 4, 2, 5, 7, 3, 4};
  FOR_TYPES for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    struct api_call call;
    api_call_init(&call, type, z, SDPA_CAUSAL, SDPA_ALIGN_BOTTOM_RIGHT);
    api_run(&call);
    sdpa_problem p = call.problem;
    sdpa_args args = call.args;
    void *blocks[4], *first[4];
    blocks[0] = moved(type, &z, &ways[w], 4, 5, 3, call.args.query, &p.query, &first[0]);
    blocks[1] = moved(type, &z, &ways[w], 2, 7, 3, call.args.key, &p.key, &first[1]);
    blocks[2] = moved(type, &z, &ways[w], 2, 7, 4, call.args.value, &p.value, &first[2]);
    blocks[3] = moved(type, &z, &ways[w], 4, 5, 4, call.args.output, &p.output, &first[3]);
    args.query = first[0], args.key = first[1], args.value = first[2], args.output = first[3];
    size_t width = api_element_size(type);
    size_t bytes =
        (size_t)(z.batch * (p.output.batch < 0 ? -p.output.batch : p.output.batch)) * width;
    void *before = malloc(bytes);
    assert_non_null(before);
    for (int64_t b = 0; b < 2; b++)
      for (int64_t h = 0; h < 4; h++)
        for (int64_t i = 0; i < 20; i++)
          api_put(type, first[3], at(&p.output, b, h, i / 4, i % 4), -77);
    memcpy(before, blocks[3], bytes);
    assert_int_equal(sdpa_attention(&p, NULL, &args), SDPA_OK);
    for (int64_t b = 0; b < 2; b++)
      for (int64_t h = 0; h < 4; h++)
        for (int64_t i = 0; i < 20; i++) {
          int64_t k = at(&p.output, b, h, i / 4, i % 4);
          double expected =
              api_get(type, call.args.output, at(&call.problem.output, b, h, i / 4, i % 4));
          api_assert_near(type, api_get(type, first[3], k), expected, 1);
          api_put(type, first[3], k, -77);
        }
    assert_memory_equal(blocks[3], before, bytes);
    for (int i = 0; i < 4; i++) free(blocks[i]);
    free(before);
    api_call_free(&call);
  }
}

/* K and V of one head for all, by stride 0: as multi-query attention. */
static void test_broadcast_inputs(void **state) {
  (void)state;
  const struct api_sizes grouped = {2, 3, 1, 4, 5, 2, 2}, full = {2, 3, 3, 4, 5, 2, 2};
  FOR_TYPES {
    struct api_call one, many;
    api_call_init(&one, type, grouped, 0, 0);
    api_call_init(&many, type, full, 0, 0);
    api_run(&one);
    sdpa_problem p = many.problem;
    sdpa_args args = many.args;
    p.key = one.problem.key, p.value = one.problem.value;
    p.key.head = p.value.head = 0;
    args.key = one.args.key, args.value = one.args.value;
    assert_int_equal(sdpa_attention(&p, NULL, &args), SDPA_OK);
    for (int i = 0; i < 48; i++)
      api_assert_near(type, api_get(type, many.args.output, i), api_get(type, one.args.output, i),
                      1);
    /* One query for all rows. */
    p.query.row = 0;
    assert_int_equal(sdpa_attention(&p, NULL, &args), SDPA_OK);
    for (int i = 0; i < 48; i++)
      api_assert_near(type, api_get(type, many.args.output, i),
                      api_get(type, many.args.output, i / 8 * 8 + i % 2), 1);
    api_call_free(&one);
    api_call_free(&many);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_layout_errors),
      cmocka_unit_test(test_broadcast),
      cmocka_unit_test(test_broadcast_errors),
      cmocka_unit_test(test_broadcast_is_expansion),
      cmocka_unit_test(test_arrangements),
      cmocka_unit_test(test_broadcast_inputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
