/* test_dropout_parts.c - keys, queries, heads and batch entries cut apart see the same dropout mask
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The weights of parts of a problem, each with its base indices in args, against those of the whole:
 * a weight is 0 in the one exactly where it is in the other. Nothing but dropout makes a weight 0
 * here.
 */
#include "property_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, HEADS = 3, QUERIES = 19, KEYS = 37, DIM = 8, NUMBERS = 8192 };
enum { WEIGHTS = BATCH * HEADS * QUERIES * KEYS };

/* From `first` on, `count` of them, in each dimension of the weights. */
struct part {
  int64_t first[4], count[4];
};

static const double numbers[NUMBERS]; /* all 0: every weight before dropout is 1 / keys */

static void run(const struct part *part, struct property_way way, double dropout, uint64_t seed,
                uint8_t *kept) {
  const int64_t n = part->count[0] * part->count[1] * part->count[2] * part->count[3];
  double *weights = malloc((size_t)n * sizeof *weights);
  sdpa_problem p;
  sdpa_args args;
  sdpa_options options;
  assert_non_null(weights);
  property_options(&options, way);
  sdpa_problem_init(&p, sizeof p);
  sdpa_args_init(&args, sizeof args);
  p.query_type = SDPA_F64;
  p.features = SDPA_DROPOUT | SDPA_WEIGHTS | SDPA_NO_OUTPUT;
  p.dropout = dropout;
  p.batch = part->count[0];
  p.query_heads = p.kv_heads = part->count[1];
  p.query_len = part->count[2];
  p.key_len = part->count[3];
  p.key_dim = p.value_dim = DIM;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BSHD), SDPA_OK);
  p.weights = (sdpa_strides){part->count[1] * part->count[2] * part->count[3],
                             part->count[2] * part->count[3], part->count[3], 1};
  args.query = args.key = args.value = numbers;
  args.weights = weights;
  args.dropout_seed = seed;
  args.dropout_offset = ~seed;
  args.dropout_batch = part->first[0];
  args.dropout_head = part->first[1];
  args.dropout_query = part->first[2];
  args.dropout_key = part->first[3];
  assert_int_equal(sdpa_attention(&p, &options, &args), SDPA_OK);
  for (int64_t i = 0; i < n; i++) kept[i] = weights[i] != 0.0;
  free(weights);
}

/* The whole's mask at the part's positions. */
static void cut(const uint8_t *whole, const struct part *part, uint8_t *kept) {
  int64_t n = 0;
  for (int64_t b = 0; b < part->count[0]; b++)
    for (int64_t h = 0; h < part->count[1]; h++)
      for (int64_t i = 0; i < part->count[2]; i++)
        for (int64_t j = 0; j < part->count[3]; j++)
          kept[n++] = whole[(((b + part->first[0]) * HEADS + h + part->first[1]) * QUERIES + i +
                             part->first[2]) *
                                KEYS +
                            j + part->first[3]];
}

static void test_parts(void **state) {
  (void)state;
  static const struct part whole = {{0, 0, 0, 0}, {BATCH, HEADS, QUERIES, KEYS}};
  static uint8_t of_whole[WEIGHTS], expected[WEIGHTS], kept[WEIGHTS];
  static const double shares[] = {0.1, 0.5, 0.8};
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = property_ways(ways);
  int64_t dropped = 0, parts = 0;
  for (uint64_t seed = 0; seed < 3; seed++) {
    run(&whole, ways[0], shares[seed], seed << 40, of_whole);
    for (int i = 0; i < WEIGHTS; i++) dropped += !of_whole[i];
    for (int k = 0; k < n_ways; k++) {
      for (int dimension = 0; dimension < 4; dimension++) {
        for (int64_t at = 0; at < whole.count[dimension]; at++, parts++) {
          struct part part = whole;
          part.first[dimension] = at;
          part.count[dimension] -= at; /* and its first one alone */
          for (int alone = 0; alone < 2; alone++) {
            if (alone) part.count[dimension] = 1;
            run(&part, ways[k], shares[seed], seed << 40, kept);
            cut(of_whole, &part, expected);
            const size_t n =
                (size_t)(part.count[0] * part.count[1] * part.count[2] * part.count[3]);
            if (memcmp(kept, expected, n) != 0)
              fail_msg("another mask from %lld of dimension %d on, %s", (long long)at, dimension,
                       ways[k].name);
          }
        }
      }
    }
  }
  printf("%lld parts, %lld weights dropped\n", (long long)parts, (long long)dropped);
  assert_true(dropped > WEIGHTS && dropped < 2 * WEIGHTS); /* about 1.4 of 3 */
}

/* Rows of several tiles, and of several times the draws that are made at a time: few and many. */
static void test_long_rows(void **state) {
  (void)state;
  enum { MOST_ROWS = 12, LONG = 700, CUT = 100 };
  static uint8_t whole[MOST_ROWS * LONG], kept[MOST_ROWS * CUT];
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = property_ways(ways);
  for (int64_t rows = 2; rows <= MOST_ROWS; rows += MOST_ROWS - 2) {
    for (int k = 0; k < n_ways; k++) {
      const struct part all = {{0, 0, 0, 0}, {1, 1, rows, LONG}};
      run(&all, ways[k], 0.5, 77, whole);
      for (int64_t at = 0; at < LONG; at += CUT) {
        const struct part part = {{0, 0, 0, at}, {1, 1, rows, CUT}};
        run(&part, ways[k], 0.5, 77, kept);
        for (int64_t i = 0; i < rows; i++)
          if (memcmp(kept + i * CUT, whole + i * LONG + at, CUT) != 0)
            fail_msg("another mask from key %lld of row %lld on, %s", (long long)at, (long long)i,
                     ways[k].name);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts),
                                     cmocka_unit_test(test_long_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
