/* report_shapes.c - reported failures about heads, empty sizes and strides
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_list.h"

/* onnx/onnx#7274: key heads were tiled (0, 1, 0, 1), not repeated (0, 0, 1, 1). */
void test_A11_order_of_grouped_heads(void **state) {
  (void)state;
  static const double zeros[12] = {0}, value[] = {10, 20, 30, 40};
  static const int heads[][2] = {{4, 2}, {6, 3}, {6, 2}, {12, 4}, {4, 4}, {4, 1}};
  for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
    const int n = heads[k][0], kv = heads[k][1];
    double expected[12];
    for (int h = 0; h < n; h++) expected[h] = value[h / (n / kv)];
    struct report_case c;
    report_case_init(&c, (struct report_sizes){1, n, kv, 1, 1, 1, 1}, 0);
    c.query = (struct report_input){zeros, n, 0};
    c.key = (struct report_input){zeros, kv, 0};
    c.value = (struct report_input){value, kv, 0};
    report_check_output(&c, expected);
  }
  static const int wrong[][2] = {{3, 2}, {2, 3}, {2, 4}, {1, 0}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    struct report_case c;
    report_case_init(&c, (struct report_sizes){1, wrong[k][0], wrong[k][1], 1, 1, 1, 1}, 0);
    c.problem.query_type = SDPA_F32;
    assert_int_equal(sdpa_problem_check(&c.problem, NULL, NULL, 0), SDPA_ERROR_SHAPE);
  }
}

/* Options that change nothing, with NULL for what is empty. */
static void declare_neutral_options(struct report_case *c, const struct report_sizes *s) {
  static const double zeros[16] = {0};
  static const double no_sinks[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  static const uint8_t attend[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  static int64_t key_lens[2], query_lens[2];
  c->problem.features |= SDPA_MASK | SDPA_BIAS | SDPA_ALIBI | SDPA_SINKS | SDPA_KEY_LENS |
                         SDPA_QUERY_LENS | SDPA_CAUSAL;
  c->problem.alignment = SDPA_ALIGN_BOTTOM_RIGHT;
  c->bias = (struct report_input){zeros, s->batch * s->query_heads * s->query_len * s->key_len, 0};
  c->mask = c->bias.count ? attend : NULL;
  c->slopes = (struct report_input){zeros, s->query_heads, 0};
  c->sinks = (struct report_input){no_sinks, s->query_heads, 0};
  key_lens[0] = key_lens[1] = s->key_len;
  query_lens[0] = query_lens[1] = s->query_len;
  c->key_lens = s->batch ? key_lens : NULL;
  c->query_lens = s->batch ? query_lens : NULL;
}

/* One of 128 choices which sizes are 0; the others are small. Empty inputs are NULL. With keys the
 * output is V's mean, since Q is 0 or has no columns; without it is 0. */
static void check_zeros(int zero, double scale, int options) {
  static const double zeros[24] = {0}, ones[24] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                   1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  struct report_sizes s = {2, 4, 2, 1, 2, 3, 3};
  int64_t *sizes[] = {&s.batch,   &s.query_heads, &s.kv_heads, &s.query_len,
                      &s.key_len, &s.key_dim,     &s.value_dim};
  for (int k = 0; k < 7; k++)
    if (zero >> k & 1) *sizes[k] = 0;
  struct report_case c;
  report_case_init(&c, s, scale);
  c.problem.query_type = SDPA_F64;
  if (s.query_heads > 0 && s.kv_heads == 0) {
    assert_int_equal(sdpa_problem_check(&c.problem, NULL, NULL, 0), SDPA_ERROR_SHAPE);
    return;
  }
  c.query = (struct report_input){zeros, s.batch * s.query_heads * s.query_len * s.key_dim, 0};
  c.key = (struct report_input){zeros, s.batch * s.kv_heads * s.key_len * s.key_dim, 0};
  c.value = (struct report_input){ones, s.batch * s.kv_heads * s.key_len * s.value_dim, 0};
  if (options) declare_neutral_options(&c, &s);
  report_check_output(&c, s.key_len > 0 ? ones : zeros);
}

/* Nothing is written where there is no batch entry, head or row, whatever the pointers. */
static void check_nothing_written(struct report_sizes sizes) {
  struct report_path path;
  for (int i = 0; report_path(i, 0, &path); i++) {
    struct report_case c;
    double blocks[4][4]; /* inputs; output, weights, log-sum-exp */
    memset(blocks, 0xFF, sizeof blocks);
    report_case_init(&c, sizes, 0);
    c.problem.query_type = path.type;
    c.problem.features |= SDPA_WEIGHTS | SDPA_LSE;
    const sdpa_args args = {.size = sizeof args,
                            .query = blocks[0],
                            .key = blocks[0],
                            .value = blocks[0],
                            .output = blocks[1],
                            .weights = blocks[2],
                            .lse = blocks[3]};
    report_execute(&path, &c.problem, &args);
    for (size_t b = 0; b < sizeof blocks; b++)
      if (((const unsigned char *)blocks)[b] != 0xFF)
        fail_msg("byte %zu was written on %s", b, report_path_text(&path));
  }
}

/* pytorch/pytorch#191325, Dao-AILab/flash-attention#2470: sizes or heads of 0 ended in a division
 * by zero, no keys in a crash instead of zeros. */
void test_A13_zero_sizes(void **state) {
  (void)state;
  for (int zero = 0; zero < 1 << 7; zero++) {
    check_zeros(zero, 0, 0);
    check_zeros(zero, 1, 0);
    check_zeros(zero, 0, 1);
  }
  check_nothing_written((struct report_sizes){0, 4, 2, 1, 2, 3, 3});
  check_nothing_written((struct report_sizes){2, 0, 0, 1, 2, 3, 3});
  check_nothing_written((struct report_sizes){2, 0, 2, 1, 2, 3, 3});
  check_nothing_written((struct report_sizes){2, 4, 2, 0, 2, 3, 3});
  static const double value[] = {2, 4}, mean[] = {3}, six_zeros[6] = {0}, query[] = {1, 2};
  struct report_case c;
  for (int scale = 0; scale < 2; scale++) { /* 0: the default scale, which is 1 for no columns */
    report_case_init(&c, report_one_head(1, 2, 0, 1), scale);
    c.value = REPORT_INPUT(value);
    report_check_output(&c, mean);
  }
  report_case_init(&c, report_one_head(2, 0, 1, 3), 0);
  c.query = REPORT_INPUT(query);
  report_check_output(&c, six_zeros);
}

/* Two square matrices of order 2; each of Q, K, V, O by rows or by columns. */
static void check_columns(int by_columns) {
  static const double identity[] = {1, 0, 0, 1}, rows[] = {1, 2, 3, 4}, columns[] = {1, 3, 2, 4};
  const double heavy = 1 / (1 + exp(-1.0));
  const double expected[] = {3 - 2 * heavy, 4 - 2 * heavy, 1 + 2 * heavy, 2 + 2 * heavy};
  struct report_case c;
  report_case_init(&c, report_one_head(2, 2, 2, 2), 1);
  sdpa_strides *strides[] = {&c.problem.query, &c.problem.key, &c.problem.value, &c.problem.output};
  for (int t = 0; t < 4; t++)
    if (by_columns >> t & 1) *strides[t] = (sdpa_strides){4, 4, 1, 2};
  c.query = c.key = REPORT_INPUT(identity);
  c.value = (struct report_input){by_columns >> 2 & 1 ? columns : rows, 4, 0};
  report_check_output(&c, expected);
}

enum { STRIDED_ROWS = 37, STRIDED_KEYS = 45, STRIDED_DIM = 19, STRIDED_HEADS = 2 };

/* Number `how` of the ways in which a [head][row][col] tensor can lie. Returns how many numbers it
 * takes; *first is where element 0 is. */
static int64_t lay_out(int how, int64_t heads, int64_t rows, int64_t cols, sdpa_strides *s,
                       int64_t *first) {
  const int64_t count = heads * rows * cols;
  *first = 0;
  switch (how) {
  case 0: /* by columns */
    *s = (sdpa_strides){0, rows * cols, 1, rows};
    return count;
  case 1: /* rows of all heads together */
    *s = (sdpa_strides){0, cols, heads * cols, 1};
    return count;
  case 2: /* every third number, rows with a gap */
    *s = (sdpa_strides){0, rows * (3 * cols + 5), 3 * cols + 5, 3};
    return heads * rows * (3 * cols + 5);
  case 3: /* rows backwards */
    *s = (sdpa_strides){0, rows * cols, -cols, 1};
    *first = (rows - 1) * cols;
    return count;
  case 4: /* columns backwards */
    *s = (sdpa_strides){0, rows * cols, cols, -1};
    *first = cols - 1;
    return count;
  case 5: /* one head for all */
    *s = (sdpa_strides){0, 0, cols, 1};
    return rows * cols;
  case 6: /* one row for all */
    *s = (sdpa_strides){0, cols, 0, 1};
    return heads * cols;
  default: /* rows that overlap by all but one number */
    *s = (sdpa_strides){0, rows + cols, 1, 1};
    return heads * (rows + cols);
  }
}

/* Larger than what the library does without a matrix product of the BLAS. `how`: the way of tensor
 * `which` (Q, K, V, O). */
static void check_layout(int which, int how) {
  struct report_case c;
  report_case_init(&c,
                   (struct report_sizes){1, STRIDED_HEADS, STRIDED_HEADS, STRIDED_ROWS,
                                         STRIDED_KEYS, STRIDED_DIM, STRIDED_DIM},
                   0);
  c.problem.features |= SDPA_CAUSAL;
  c.problem.alignment = SDPA_ALIGN_TOP_LEFT;
  struct report_input *inputs[] = {&c.query, &c.key, &c.value};
  sdpa_strides *strides[] = {&c.problem.query, &c.problem.key, &c.problem.value, &c.problem.output};
  double *numbers[3];
  for (int t = 0; t < 4; t++) {
    const int64_t rows = t == 1 || t == 2 ? STRIDED_KEYS : STRIDED_ROWS;
    int64_t count = STRIDED_HEADS * rows * STRIDED_DIM, first = 0;
    if (t == which) count = lay_out(how, STRIDED_HEADS, rows, STRIDED_DIM, strides[t], &first);
    if (t == 3) continue;
    numbers[t] = report_numbers(count, t);
    *inputs[t] = (struct report_input){numbers[t], count, first};
  }
  double expected[STRIDED_HEADS * STRIDED_ROWS * STRIDED_DIM];
  report_plain_loop(&c, expected);
  struct report_path path;
  for (int i = 0; report_path(i, 0, &path); i++) {
    struct report_outputs out;
    report_run(&c, &path, &out);
    for (int64_t k = 0; k < out.n_output; k++)
      if (!report_near(path.type, out.output[k], expected[k], REPORT_ROUNDOFFS, 1))
        fail_msg("output[%lld] is %.17g, not %.17g, with tensor %d lying in way %d, on %s",
                 (long long)k, out.output[k], expected[k], which, how, report_path_text(&path));
    report_outputs_free(&out);
  }
  for (int t = 0; t < 3; t++) free(numbers[t]);
}

/* pytorch/pytorch#187506, flagos-ai/FlagGems#5896: strides were ignored, or V's taken for K's. */
void test_A14_strides(void **state) {
  (void)state;
  for (int by_columns = 0; by_columns < 1 << 4; by_columns++) check_columns(by_columns);

  static const double zeros[4] = {0}, value[] = {0, 10, 1, 11}, means[] = {0.5, 10.5};
  struct report_case c;
  report_case_init(&c, (struct report_sizes){1, 2, 2, 1, 2, 1, 1}, 0);
  c.problem.value = (sdpa_strides){4, 1, 2, 1}; /* [row][head], K by [head][row] */
  c.query = (struct report_input){zeros, 2, 0};
  c.key = (struct report_input){zeros, 4, 0};
  c.value = REPORT_INPUT(value);
  report_check_output(&c, means);

  for (int which = 0; which < 3; which++)
    for (int how = 0; how < 8; how++) check_layout(which, how);
  for (int how = 0; how < 3; how++) check_layout(3, how);
}
