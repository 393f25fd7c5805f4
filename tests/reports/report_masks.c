/* report_masks.c - reported failures about which keys a row attends
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report_case.h"

#include <math.h>
#include <stdlib.h>

#include "report_list.h"

/* pytorch/pytorch#103749: rows whose mask allows no key came back as NaN. */
void test_A1_row_without_keys(void **state) {
  (void)state;
  static const double query[] = {1, 1}, key[] = {1, 2}, value[] = {10, 20};
  static const uint8_t mask[] = {1, 1, 0, 0};
  const double bias[] = {0, 0, -INFINITY, -INFINITY};
  const double heavy = 1 / (1 + exp(-1.0)); /* of key 1: scores 1 and 2 */
  const double output[] = {10 + 10 * heavy, 0};
  const double weights[] = {1 - heavy, heavy, 0, 0};
  const double lse[] = {2 + log1p(exp(-1.0)), -INFINITY};
  const struct report_expected expected = {output, weights, lse, REPORT_ROUNDOFFS};
  struct report_case by_mask, by_bias;
  report_case_init(&by_mask, report_one_head(2, 2, 1, 1), 1);
  by_mask.query = REPORT_INPUT(query);
  by_mask.key = REPORT_INPUT(key);
  by_mask.value = REPORT_INPUT(value);
  by_bias = by_mask;
  by_mask.problem.features |= SDPA_MASK;
  by_mask.mask = mask;
  by_bias.problem.features |= SDPA_BIAS;
  by_bias.bias = REPORT_INPUT(bias);
  report_check(&by_mask, expected);
  report_check(&by_bias, expected);
  report_check_same(&by_mask, &by_bias);
}

enum { WINDOW_ROWS = 640, WINDOW_LEFT = 9, WINDOW_MOST_KEYS = 703 };

/* The last rows' first key blocks are excluded as a whole. `how`: the window as bias, as mask, by
 * the problem's own fields. */
static void check_window(int64_t keys, int how) {
  static double bias[WINDOW_ROWS * WINDOW_MOST_KEYS], ones[WINDOW_MOST_KEYS * 4];
  static double value[WINDOW_MOST_KEYS], expected[WINDOW_ROWS];
  static uint8_t mask[WINDOW_ROWS * WINDOW_MOST_KEYS];
  for (int i = 0; i < WINDOW_MOST_KEYS * 4; i++) ones[i] = 1;
  for (int64_t j = 0; j < keys; j++) value[j] = (double)j;
  for (int64_t i = 0; i < WINDOW_ROWS; i++) {
    for (int64_t j = 0; j < keys; j++) {
      mask[i * keys + j] = i - WINDOW_LEFT <= j && j <= i;
      bias[i * keys + j] = mask[i * keys + j] ? 0 : -INFINITY;
    }
    expected[i] = (double)(i + (i < WINDOW_LEFT ? 0 : i - WINDOW_LEFT)) / 2;
  }
  struct report_case c;
  report_case_init(&c, report_one_head(WINDOW_ROWS, keys, 4, 1), 0);
  c.query = (struct report_input){ones, WINDOW_ROWS * 4, 0};
  c.key = (struct report_input){ones, keys * 4, 0};
  c.value = (struct report_input){value, keys, 0};
  if (how == 0) {
    c.problem.features |= SDPA_BIAS;
    c.bias = (struct report_input){bias, WINDOW_ROWS * keys, 0};
  } else if (how == 1) {
    c.problem.features |= SDPA_MASK;
    c.mask = mask;
  } else {
    c.problem.features |= SDPA_CAUSAL | SDPA_WINDOW;
    c.problem.alignment = SDPA_ALIGN_TOP_LEFT;
    c.problem.window_left = WINDOW_LEFT;
    c.problem.window_right = -1;
  }
  report_check_output(&c, expected);
}

/* pytorch/pytorch#127055: a late row's first key blocks are wholly -inf, whose running maximum gave
 * -inf - -inf. */
void test_A3_late_rows_of_a_window(void **state) {
  (void)state;
  static const int64_t keys[] = {640, 641, WINDOW_MOST_KEYS};
  for (int i = 0; i < 3; i++)
    for (int how = 0; how < 3; how++) check_window(keys[i], how);
}

/* The same causal problem with grouped heads or not; the triangle by its name or by an offset. */
static void check_corner(int64_t rows, int64_t keys, const double *value, uint32_t alignment,
                         int64_t offset, const double *expected) {
  static const double zeros[10] = {0};
  double twice[10];
  for (int heads = 1; heads <= 2; heads++) {
    struct report_case c;
    report_case_init(&c, (struct report_sizes){1, heads, 1, rows, keys, 1, 1}, 0);
    c.problem.features |= SDPA_CAUSAL;
    c.problem.alignment = alignment;
    c.problem.offset = offset;
    c.query = (struct report_input){zeros, heads * rows, 0};
    c.key = (struct report_input){zeros, keys, 0};
    c.value = (struct report_input){value, keys, 0};
    for (int64_t i = 0; i < heads * rows; i++) twice[i] = expected[i % rows];
    report_check_output(&c, twice);
  }
}

/* microsoft/onnxruntime#29020, Dao-AILab/flash-attention#1778: back ends anchored the triangle at
 * opposite corners. */
void test_A7_causal_corner(void **state) {
  (void)state;
  static const double three[] = {1, 2, 6}, two[] = {4, 8};
  static const double wide_bottom[] = {3}, wide_top[] = {1};
  static const double tall_bottom[] = {0, 0, 0, 4, 6}, tall_top[] = {4, 6, 6, 6, 6};
  check_corner(1, 3, three, SDPA_ALIGN_BOTTOM_RIGHT, 0, wide_bottom);
  check_corner(1, 3, three, SDPA_ALIGN_OFFSET, 2, wide_bottom);
  check_corner(1, 3, three, SDPA_ALIGN_TOP_LEFT, 0, wide_top);
  check_corner(1, 3, three, SDPA_ALIGN_OFFSET, 0, wide_top);
  check_corner(5, 2, two, SDPA_ALIGN_BOTTOM_RIGHT, 0, tall_bottom);
  check_corner(5, 2, two, SDPA_ALIGN_OFFSET, -3, tall_bottom);
  check_corner(5, 2, two, SDPA_ALIGN_TOP_LEFT, 0, tall_top);
  check_corner(5, 2, two, SDPA_ALIGN_OFFSET, 0, tall_top);

  struct report_case c;
  report_case_init(&c, report_one_head(1, 3, 1, 1), 0);
  c.problem.query_type = SDPA_F32;
  c.problem.features |= SDPA_CAUSAL;
  assert_int_equal(sdpa_problem_check(&c.problem, NULL, NULL, 0), SDPA_ERROR_VALUE);
  report_case_init(&c, report_one_head(5, 2, 1, 1), 0);
  c.problem.query_type = SDPA_F64;
  c.problem.features |= SDPA_CAUSAL;
  assert_int_equal(sdpa_problem_check(&c.problem, NULL, NULL, 0), SDPA_ERROR_VALUE);
}

/* Bytes that attend, one a row, beside a 0. */
static void check_sense(int64_t rows, int heads, int causal) {
  static const double zeros[600] = {0}, value[] = {1, 5};
  static const uint8_t true_bytes[] = {0x01, 0xFF, 0x80, 0x02};
  uint8_t mask[600];
  double expected[600];
  struct report_case c;
  report_case_init(&c, (struct report_sizes){1, heads, 1, rows, 2, 1, 1}, 0);
  c.problem.features |= SDPA_MASK;
  c.problem.mask.head = 0;
  c.query = (struct report_input){zeros, heads * rows, 0};
  c.key = (struct report_input){zeros, 2, 0};
  c.value = REPORT_INPUT(value);
  c.mask = mask;
  for (int64_t i = 0; i < rows; i++) {
    mask[2 * i] = true_bytes[i % 4];
    mask[2 * i + 1] = 0;
  }
  for (int64_t i = 0; i < heads * rows; i++)
    expected[i] = causal && i % rows < rows - 2 ? 0 : 1; /* without an allowed key: 0 */
  if (causal) {
    c.problem.features |= SDPA_CAUSAL;
    c.problem.alignment = SDPA_ALIGN_BOTTOM_RIGHT;
  }
  report_check_output(&c, expected);
}

/* NVIDIA/TransformerEngine#614: two paths read true in a mask in opposite senses. */
void test_A10_sense_of_a_boolean_mask(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 7, 300};
  for (int i = 0; i < 3; i++)
    for (int heads = 1; heads <= 2; heads++)
      for (int causal = 0; causal < 2; causal++) check_sense(rows[i], heads, causal);
}

/* One row [allowed, excluded] and one [excluded, allowed], stored as a tensor of `shape`. */
static void check_broadcast(const int64_t shape[4], const double expected[4]) {
  static const double zeros[4] = {0}, value[] = {1, 2, 1, 2, 1, 2, 1, 2};
  const double bias[] = {0, -INFINITY, -INFINITY, 0};
  static const uint8_t mask[] = {1, 0, 0, 1};
  for (int kind = 0; kind < 3; kind++) {
    struct report_case c;
    report_case_init(&c, (struct report_sizes){2, 2, 2, 1, 2, 1, 1}, 0);
    sdpa_strides strides;
    assert_int_equal(sdpa_problem_broadcast(&c.problem, 4, shape, &strides), SDPA_OK);
    c.problem.mask = c.problem.bias = strides;
    c.query = (struct report_input){zeros, 4, 0};
    c.key = (struct report_input){(const double[8]){0}, 8, 0};
    c.value = REPORT_INPUT(value);
    if (kind != 0) {
      c.problem.features |= SDPA_BIAS;
      c.bias = REPORT_INPUT(bias);
    }
    uint8_t *exact =
        malloc(sizeof mask); /* of its very size: AddressSanitizer sees a read beyond */
    assert_non_null(exact);
    for (size_t i = 0; i < sizeof mask; i++) exact[i] = mask[i];
    if (kind != 1) {
      c.problem.features |= SDPA_MASK;
      c.mask = exact;
    }
    report_check_output(&c, expected);
    free(exact);
  }
}

/* microsoft/onnxruntime#27464, facebookresearch/xformers#90: a mask was broadcast over the wrong
 * one of two equal axes; another was cut to size in silence. */
void test_A21_mask_broadcast_axis(void **state) {
  (void)state;
  static const double by_head[] = {1, 2, 1, 2}, by_batch[] = {1, 1, 2, 2};
  check_broadcast((const int64_t[]){1, 2, 1, 2}, by_head);
  check_broadcast((const int64_t[]){2, 1, 1, 2}, by_batch);

  struct report_case c;
  report_case_init(&c, (struct report_sizes){2, 2, 2, 1, 2, 1, 1}, 0);
  sdpa_strides strides;
  static const int64_t wrong[][4] = {{1, 2, 1, 3}, {1, 2, 2, 2}, {3, 1, 1, 2}, {1, 1, 1, 0}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(sdpa_problem_broadcast(&c.problem, 4, wrong[i], &strides), SDPA_ERROR_SHAPE);
}
