/* report_values.c - reported failures about numbers: garbage, extremes, ends of rows, f64
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report_case.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "reference.h"
#include "report_list.h"

enum { GARBAGE_ROWS = 64 };

/* Two keys, the second excluded, of which K or V hold garbage. `how`: excluded by mask, by bias, by
 * the length, by causal (in row 0 only). */
static void check_garbage(int64_t rows, int how, double key_garbage, double value_garbage) {
  double query[GARBAGE_ROWS], bias[2 * GARBAGE_ROWS], output[GARBAGE_ROWS];
  double weights[2 * GARBAGE_ROWS], lse[GARBAGE_ROWS];
  uint8_t mask[2 * GARBAGE_ROWS];
  const double key[] = {1, key_garbage}, value[] = {10, value_garbage};
  static const int64_t one = 1;
  for (int64_t i = 0; i < rows; i++) {
    query[i] = 1;
    mask[2 * i] = 1, mask[2 * i + 1] = 0;
    bias[2 * i] = 0, bias[2 * i + 1] = -INFINITY;
    output[i] = 10, lse[i] = 1;
    weights[2 * i] = 1, weights[2 * i + 1] = 0;
  }
  struct report_case c;
  report_case_init(&c, report_one_head(how == 3 ? 1 : rows, 2, 1, 1), 1);
  c.query = (struct report_input){query, c.problem.query_len, 0};
  c.key = REPORT_INPUT(key);
  c.value = REPORT_INPUT(value);
  if (how == 0) {
    c.problem.features |= SDPA_MASK;
    c.mask = mask;
  } else if (how == 1) {
    c.problem.features |= SDPA_BIAS;
    c.bias = (struct report_input){bias, 2 * rows, 0};
  } else if (how == 2) {
    c.problem.features |= SDPA_KEY_LENS;
    c.key_lens = &one;
  } else {
    c.problem.features |= SDPA_CAUSAL;
    c.problem.alignment = SDPA_ALIGN_TOP_LEFT;
  }
  report_check(&c, (struct report_expected){output, weights, lse, 0}); /* exactly */
}

/* Causal with two rows: key 1 is row 1's, and its garbage may show there, but not in row 0. */
static void check_causal_garbage(double key_garbage, double value_garbage) {
  static const double query[] = {1, 1};
  const double key[] = {1, key_garbage}, value[] = {10, value_garbage};
  struct report_case c;
  report_case_init(&c, report_one_head(2, 2, 1, 1), 1);
  c.problem.features |= SDPA_CAUSAL;
  c.query = REPORT_INPUT(query);
  c.key = REPORT_INPUT(key);
  c.value = REPORT_INPUT(value);
  struct report_path path;
  for (int i = 0; report_path(i, 0, &path); i++) {
    struct report_outputs out;
    report_run(&c, &path, &out);
    if (out.output[0] != 10)
      fail_msg("row 0 is %g with %g in K and %g in V, on %s", out.output[0], key_garbage,
               value_garbage, report_path_text(&path));
    report_outputs_free(&out);
  }
}

/* Random numbers, V by rows or by columns; every third key masked out holds `garbage` in K and V.
 * No bit may differ from 0 there. */
static void check_garbage_bits(const struct report_sizes *sizes, int by_columns, double garbage) {
  const int64_t rows = sizes->query_len, keys = sizes->key_len, dim = sizes->key_dim;
  struct report_case clean, spoiled;
  report_case_init(&clean, *sizes, 0);
  if (by_columns) clean.problem.value = (sdpa_strides){0, 0, 1, keys};
  uint8_t *mask = malloc((size_t)(rows * keys));
  assert_non_null(mask);
  for (int64_t i = 0; i < rows * keys; i++) mask[i] = i % keys % 3 != 0;
  clean.problem.features |= SDPA_MASK;
  clean.mask = mask;
  spoiled = clean;
  double *query = report_numbers(rows * dim, 1), *data[4];
  for (int t = 0; t < 4; t++) { /* K and V without, K and V with garbage */
    const sdpa_strides *s = t % 2 ? &clean.problem.value : &clean.problem.key;
    data[t] = report_numbers(keys * dim, 2 + t % 2);
    for (int64_t j = 0; j < keys; j += 3)
      for (int64_t d = 0; d < dim; d++) data[t][j * s->row + d * s->col] = t < 2 ? 0 : garbage;
  }
  clean.query = spoiled.query = (struct report_input){query, rows * dim, 0};
  clean.key = (struct report_input){data[0], keys * dim, 0};
  clean.value = (struct report_input){data[1], keys * dim, 0};
  spoiled.key = (struct report_input){data[2], keys * dim, 0};
  spoiled.value = (struct report_input){data[3], keys * dim, 0};
  report_check_same(&clean, &spoiled);
  free(query);
  for (int t = 0; t < 4; t++) free(data[t]);
  free(mask);
}

/* Products small and large: what computes them differs. */
static void check_all_garbage_bits(double garbage) {
  static const int64_t sizes[][3] = {{1, 4, 3},    {15, 4, 16},   {7, 19, 5},
                                     {33, 40, 17}, {64, 100, 64}, {130, 300, 33}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const struct report_sizes s =
        report_one_head(sizes[k][0], sizes[k][1], sizes[k][2], sizes[k][2]);
    check_garbage_bits(&s, 0, garbage);
    check_garbage_bits(&s, 1, garbage);
  }
}

/* pytorch/pytorch#101967: rubbish in a masked-out key changed the output. */
void test_A4_garbage_in_excluded_keys(void **state) {
  (void)state;
  static const double garbage[][2] = {{1e30, 0},      {0, 1e30},      {NAN, 0},
                                      {0, NAN},       {INFINITY, 0},  {0, INFINITY},
                                      {-INFINITY, 0}, {0, -INFINITY}, {NAN, INFINITY}};
  for (size_t g = 0; g < sizeof garbage / sizeof *garbage; g++) {
    for (int how = 0; how < 4; how++) {
      check_garbage(1, how, garbage[g][0], garbage[g][1]);
      check_garbage(GARBAGE_ROWS, how, garbage[g][0], garbage[g][1]);
    }
    check_causal_garbage(garbage[g][0], garbage[g][1]);
    check_all_garbage_bits(garbage[g][1]);
  }
}

static void check_one_query(uint32_t type, double query, const double *key, const double *value,
                            int64_t keys, const uint8_t *mask, double expected, double roundoffs) {
  struct report_case c;
  report_case_init(&c, report_one_head(1, keys, 1, 1), 1);
  c.only_type = type;
  c.query = (struct report_input){&query, 1, 0};
  c.key = (struct report_input){key, keys, 0};
  c.value = (struct report_input){value, keys, 0};
  if (mask) c.problem.features |= SDPA_MASK;
  c.mask = mask;
  report_check(&c, (struct report_expected){.output = &expected, .roundoffs = roundoffs});
}

/* ohdearquant/lattice#373: a finite stand-in for minus infinity beat a very negative score.
 * dotnet/machinelearning#3648: softmax without the maximum subtracted gave NaN near 90. */
void test_A6_extreme_scores(void **state) {
  (void)state;
  static const double falling[] = {1, 0}, masked_value[] = {3, 100};
  static const uint8_t first[] = {1, 0};
  static const double spread[] = {90, 2, -2}, one[] = {1, 0, 0};
  static const double large[] = {-50000, -2e9, -1e30, 50000, 2e9, 1e30};
  for (uint32_t type = SDPA_F64; type <= SDPA_F16; type++) {
    /* Neighbours that the type has. */
    const double high = type == SDPA_BF16 ? 255 : type == SDPA_F16 ? 2000 : 10000;
    const double close[] = {high, high - 1};
    const double most = (double)reference_limits_of(type).largest;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
      if (fabs(large[i]) < most)
        check_one_query(type, large[i], falling, masked_value, 2, first, 3, 0);
    check_one_query(type, 1, spread, one, 3, NULL, 1, REPORT_ROUNDOFFS);
    check_one_query(type, 1, close, one, 2, NULL, 1 / (1 + exp(-1.0)), REPORT_ROUNDOFFS);
    check_one_query(type, -1, close, one, 2, NULL, 1 / (1 + exp(1.0)), REPORT_ROUNDOFFS);
  }
}

enum { TILE_MOST_KEYS = 257, TILE_MOST_ROWS = 9 };

/* All scores are equal, so the output is the mean of the values, whatever the score. */
static void check_padding(int64_t rows, int64_t keys, double key, double softcap) {
  double query[TILE_MOST_ROWS], keys_data[TILE_MOST_KEYS], value[TILE_MOST_KEYS];
  double expected[TILE_MOST_ROWS];
  for (int64_t j = 0; j < keys; j++) {
    keys_data[j] = key;
    value[j] = (double)j;
  }
  for (int64_t i = 0; i < rows; i++) {
    query[i] = 1;
    expected[i] = (double)(keys - 1) / 2;
  }
  struct report_case c;
  report_case_init(&c, report_one_head(rows, keys, 1, 1), 1);
  c.problem.softcap = softcap;
  c.query = (struct report_input){query, rows, 0};
  c.key = (struct report_input){keys_data, keys, 0};
  c.value = (struct report_input){value, keys, 0};
  report_check_output(&c, expected);
}

/* ggml-org/llama.cpp#29034: what lies behind the keys of a partial tile got a finite score, so keys
 * that do not exist took part. */
void test_A16_padding_of_a_key_tile(void **state) {
  (void)state;
  static const int64_t keys[] = {1, 2, 7, 17, 31, 33, 63, 64, 65, 66, 127, 129, 255, 257};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    for (int64_t rows = 1; rows <= TILE_MOST_ROWS; rows++) {
      check_padding(rows, keys[i], -30, 0);
      check_padding(rows, keys[i], -300, 0);
      check_padding(rows, keys[i], 30, 0);
      check_padding(rows, keys[i], -30, 50);
    }
}

static void check_lowest(uint32_t type, double lowest, double mean) {
  static const double query[] = {1}, key[] = {1, 2, 3}, value[] = {3, 6, 9};
  const double all[] = {lowest, lowest, lowest}, two[] = {lowest, lowest, 0};
  static const double last[] = {9};
  struct report_case c;
  report_case_init(&c, report_one_head(1, 3, 1, 1), 1);
  c.only_type = type;
  c.problem.features |= SDPA_BIAS;
  c.query = REPORT_INPUT(query);
  c.key = REPORT_INPUT(key);
  c.value = REPORT_INPUT(value);
  c.bias = REPORT_INPUT(all);
  report_check_output(&c, &mean);
  c.bias = REPORT_INPUT(two);
  report_check_output(&c, last);
}

/* pytorch/pytorch#110213: a row whose additive mask is the lowest finite number became NaN. */
void test_A20_lowest_number_as_mask(void **state) {
  (void)state;
  /* Each score rounds to the lowest number: equal weights. f16's is small in the f32 of scores. */
  check_lowest(SDPA_F32, -(double)FLT_MAX, 6);
  check_lowest(SDPA_F64, -DBL_MAX, 6);
  check_lowest(SDPA_BF16, -(double)reference_limits_of(SDPA_BF16).largest, 6);
  check_lowest(SDPA_F16, -(double)reference_limits_of(SDPA_F16).largest,
               (3 + 6 * exp(1.0) + 9 * exp(2.0)) / (1 + exp(1.0) + exp(2.0)));
}

enum { MOST_LANES = 257 };

/* Each lane of Q and K in turn is the only one with a number in it. */
static void check_key_lanes(int64_t dim) {
  static const double value[] = {1, 0};
  const double expected = 1 / (1 + exp(-5.0));
  double query[MOST_LANES], key[2 * MOST_LANES] = {0};
  for (int64_t d = 0; d < dim; d++) query[d] = 1;
  struct report_case c;
  report_case_init(&c, report_one_head(1, 2, dim, 1), 1);
  c.query = (struct report_input){query, dim, 0};
  c.key = (struct report_input){key, 2 * dim, 0};
  c.value = REPORT_INPUT(value);
  for (int64_t lane = dim - 1; lane >= 0; lane -= dim > 33 ? 13 : 1) {
    key[lane] = 5;
    report_check_output(&c, &expected);
    key[lane] = 0;
  }
}

/* Each lane of V has a number of its own. */
static void check_value_lanes(int64_t dim) {
  static const double zeros[5] = {0};
  double value[2 * MOST_LANES], expected[3 * MOST_LANES];
  for (int64_t d = 0; d < dim; d++) {
    value[d] = (double)(2 * d);
    value[dim + d] = 4;
    for (int64_t i = 0; i < 3; i++) expected[i * dim + d] = (double)(d + 2);
  }
  struct report_case c;
  report_case_init(&c, report_one_head(3, 2, 1, dim), 1);
  c.query = (struct report_input){zeros, 3, 0};
  c.key = (struct report_input){zeros, 2, 0};
  c.value = (struct report_input){value, 2 * dim, 0};
  report_check_output(&c, expected);
}

/* triton-lang/triton#621: only a fixed number of lanes of a head entered the product. */
void test_A23_every_lane_of_a_head(void **state) {
  (void)state;
  static const int64_t dims[] = {1,  3,  5,  7,  9,   15,  17,  31,
                                 33, 63, 65, 80, 127, 129, 256, MOST_LANES};
  for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
    check_key_lanes(dims[k]);
    check_value_lanes(dims[k]);
  }
}

/* jax-ml/jax#34114: the f64 route went through f32 constants and an f32 softmax. */
void test_A24_f64_from_end_to_end(void **state) {
  (void)state;
  static const double query[] = {1}, value[] = {0, 1}, masked_value[] = {7, 1};
  static const double bias[] = {0, -DBL_MAX};
  static const double two_thirds[] = {2.0 / 3}, seven[] = {7};
  const double key[] = {0, log(2.0)};
  struct report_case c;
  report_case_init(&c, report_one_head(1, 2, 1, 1), 1);
  c.only_type = SDPA_F64;
  c.query = REPORT_INPUT(query);
  c.key = REPORT_INPUT(key);
  c.value = REPORT_INPUT(value);
  feclearexcept(FE_ALL_EXCEPT);
  report_check_output(&c, two_thirds); /* 16 roundoffs: 1.2e-15 */
  c.value = REPORT_INPUT(masked_value);
  c.problem.features |= SDPA_BIAS;
  c.bias = REPORT_INPUT(bias);
  report_check(&c, (struct report_expected){.output = seven, .roundoffs = 0});
  assert_int_equal(fetestexcept(FE_INVALID), 0);
}
