/* test_dropout.c - Philox against the numbers of its authors, and the mapping from positions to draws
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The mapping is that of the public header, written out here once more from its words.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "engines/dropout.h"
#include "kernels/philox.h"
#include "philox_known.h"

static void test_known_answers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof philox_known / sizeof *philox_known; i++) {
    uint32_t x[4];
    for (int w = 0; w < 4; w++) x[w] = philox_known[i].counter[w];
    sdpai_philox(x, philox_known[i].key[0], philox_known[i].key[1]);
    for (int w = 0; w < 4; w++) assert_int_equal(x[w], philox_known[i].answer[w]);
  }
}

/* The draw of an absolute position, by the chain that the header describes. */
static uint32_t draw(uint64_t seed, const uint64_t chain[4], uint64_t key) {
  uint32_t s[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
  for (int i = 0; i <= 4; i++) {
    const uint64_t x = i < 4 ? chain[i] : key / 4;
    uint32_t counter[4] = {(uint32_t)x, (uint32_t)(x >> 32), s[2], s[3]};
    sdpai_philox(counter, s[0], s[1]);
    for (int w = 0; w < 4; w++) s[w] = counter[w];
  }
  return s[key % 4];
}

enum { KEYS = 150 };

/* Bit t of the row's words, whatever the first key, on every ISA. */
static void check_row(const struct sdpai_problem *problem, const struct sdpai_args *args,
                      int64_t batch, int64_t head, int64_t row, int64_t first) {
  struct sdpai_dropout dropout;
  uint32_t words[(KEYS + 31) / 32];
  sdpai_dropout_start(problem, args, &dropout);
  const struct sdpai_dropout_state of_head = sdpai_dropout_head(&dropout, batch, head);
  const struct sdpai_dropout_state of_row = sdpai_dropout_row(&dropout, &of_head, row);
  const uint64_t chain[4] = {args->dropout_offset, (uint64_t)(args->dropout_batch + batch),
                             (uint64_t)(args->dropout_head + head),
                             (uint64_t)(args->dropout_query + row)};
  for (int i = 0; sdpai_kernels_available(i); i++) {
    sdpai_dropout_words(sdpai_kernels_available(i), &dropout, &of_row, first, KEYS, 1, words);
    for (int t = 0; t < KEYS; t++) {
      const uint64_t key = (uint64_t)(args->dropout_key + first + t);
      const double kept = (double)draw(args->dropout_seed, chain, key) >=
                          (double)(uint32_t)(problem->dropout * 4294967296.0);
      assert_int_equal(words[t / 32] >> t % 32 & 1, kept);
    }
  }
}

static void test_mapping(void **state) {
  (void)state;
  static const double rates[] = {0.1, 0.5, 0.9, 1e-9, 0x1.fffffffffffffp-1};
  for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
    const struct sdpai_problem problem = {.dropout = rates[r]};
    struct sdpai_args args = {.dropout_seed = UINT64_C(0x0123456789abcdef),
                              .dropout_offset = UINT64_C(0xfedcba9876543210)};
    for (int64_t first = 0; first < 9; first++) check_row(&problem, &args, 1, 2, 3, first);
    args.dropout_batch = INT64_C(1) << 40;
    args.dropout_head = (INT64_C(1) << 33) + 5;
    args.dropout_query = INT64_C(3) << 35;
    args.dropout_key = (INT64_C(1) << 34) - 3; /* the block's number carries on the way */
    check_row(&problem, &args, 0, 0, 0, 0);
    check_row(&problem, &args, 4, 3, 2, 1);
  }
}

/* A part of a problem, by its base indices, draws what the whole does there. */
static void test_parts(void **state) {
  (void)state;
  const struct sdpai_problem problem = {.dropout = 0.3};
  const struct sdpai_args whole = {.dropout_seed = 7, .dropout_offset = 11};
  struct sdpai_args part = whole;
  part.dropout_batch = 2;
  part.dropout_head = 3;
  part.dropout_query = 5;
  part.dropout_key = 13;
  struct sdpai_dropout a, b;
  sdpai_dropout_start(&problem, &whole, &a);
  sdpai_dropout_start(&problem, &part, &b);
  const struct sdpai_dropout_state head_a = sdpai_dropout_head(&a, 3, 5);
  const struct sdpai_dropout_state head_b = sdpai_dropout_head(&b, 1, 2);
  const struct sdpai_dropout_state row_a = sdpai_dropout_row(&a, &head_a, 9);
  const struct sdpai_dropout_state row_b = sdpai_dropout_row(&b, &head_b, 4);
  const struct sdpai_kernels *kernels = sdpai_kernels_select(SDPA_ISA_AUTO);
  uint32_t words_a[2], words_b[2];
  sdpai_dropout_words(kernels, &a, &row_a, 20, 64, 1, words_a);
  sdpai_dropout_words(kernels, &b, &row_b, 7, 64, 1, words_b);
  assert_memory_equal(words_a, words_b, sizeof words_a);
  const struct sdpai_dropout_state other = sdpai_dropout_row(&b, &head_b, 5);
  sdpai_dropout_words(kernels, &b, &other, 7, 64, 1, words_b);
  assert_memory_not_equal(words_a, words_b, sizeof words_a);
}

/* Of 100,000 draws as many are kept as the probability says, within five standard deviations. */
static void test_rate(void **state) {
  (void)state;
  enum { ROWS = 1000, COLS = 100 };
  const struct sdpai_problem problem = {.dropout = 0.25};
  const struct sdpai_args args = {.dropout_seed = 1};
  struct sdpai_dropout dropout;
  sdpai_dropout_start(&problem, &args, &dropout);
  assert_true(dropout.factor == 1 / 0.75);
  const struct sdpai_dropout_state head = sdpai_dropout_head(&dropout, 0, 0);
  int kept = 0;
  for (int i = 0; i < ROWS; i++) {
    uint32_t words[(COLS + 31) / 32];
    const struct sdpai_dropout_state row = sdpai_dropout_row(&dropout, &head, i);
    sdpai_dropout_words(sdpai_kernels_select(SDPA_ISA_AUTO), &dropout, &row, 0, COLS, 1, words);
    for (int t = 0; t < COLS; t++) kept += (int)(words[t / 32] >> t % 32 & 1);
  }
  assert_in_range(kept, 75000 - 5 * 137, 75000 + 5 * 137);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_answers),
      cmocka_unit_test(test_mapping),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_rate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
