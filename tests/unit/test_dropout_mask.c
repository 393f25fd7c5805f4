/* test_dropout_mask.c - the tests' own dropout: known answers, shares, cuts, and the library's mask
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "dropout_mask.h"
#include "philox_known.h"
#include "reference.h"
#include "reference_fixture.h"

static void test_known_answers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof philox_known / sizeof *philox_known; i++) {
    uint32_t words[4];
    dropout_philox(philox_known[i].counter, philox_known[i].key, words);
    assert_memory_equal(words, philox_known[i].answer, sizeof words);
  }
}

static void start(sdpa_problem *problem, sdpa_args *args, double dropout, int64_t keys) {
  memset(problem, 0, sizeof *problem);
  memset(args, 0, sizeof *args);
  problem->features = SDPA_DROPOUT;
  problem->dropout = dropout;
  problem->key_len = keys;
  args->dropout_seed = 42;
}

/* As many are dropped as should be, within five standard deviations, in each place of a block. */
static void test_share(void **state) {
  (void)state;
  static const double shares[] = {0.0, 0.1, 0.5, 0.9};
  enum { KEYS = 4000, ROWS = 50 };
  static uint8_t kept[KEYS];
  for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
    sdpa_problem problem;
    sdpa_args args;
    int64_t dropped[4] = {0, 0, 0, 0};
    start(&problem, &args, shares[s], KEYS);
    for (int64_t row = 0; row < ROWS; row++) {
      dropout_mask_row(&problem, &args, row % 3, row % 7, row, kept);
      for (int j = 0; j < KEYS; j++) dropped[j % 4] += !kept[j];
    }
    for (int lane = 0; lane < 4; lane++) {
      const double n = KEYS / 4 * (double)ROWS, p = shares[s];
      assert_true(fabs((double)dropped[lane] - n * p) <= 5.0 * sqrt(n * p * (1.0 - p)));
    }
  }
}

/* A part of the keys, rows, heads or batch entries sees the mask of the whole; another seed or
 * offset another one. */
static void test_cuts(void **state) {
  (void)state;
  enum { KEYS = 64 };
  uint8_t whole[KEYS], part[KEYS];
  sdpa_problem problem;
  sdpa_args args;
  start(&problem, &args, 0.4, KEYS);
  dropout_mask_row(&problem, &args, 5, 6, 7, whole);
  for (int64_t first = 0; first < 9; first++) {
    args.dropout_batch = 2, args.dropout_head = 6, args.dropout_query = 3;
    args.dropout_key = first;
    problem.key_len = KEYS - first;
    dropout_mask_row(&problem, &args, 3, 0, 4, part);
    assert_memory_equal(part, whole + first, (size_t)(KEYS - first));
  }
  for (int other = 0; other < 6; other++) {
    start(&problem, &args, 0.4, KEYS);
    args.dropout_seed += other == 0 ? UINT64_C(1) << 32 : 0;
    args.dropout_offset = other == 1;
    dropout_mask_row(&problem, &args, 5 + (other == 2), 6 + (other == 3), 7 + (other == 4), part);
    assert_true((memcmp(part, whole, KEYS) == 0) == (other == 5));
  }
}

/* Weights and output of the reference are those without dropout times z / (1 - r); lse is the same.
 */
static void test_reference_drops(void **state) {
  (void)state;
  struct reference_fixture f, without;
  uint8_t kept[9];
  fixture_begin(&f, "f64:b2:h2:q3:k9:d4:dropout=0.25:weights:lse:seed=11");
  fixture_begin(&without, "f64:b2:h2:q3:k9:d4:weights:lse:seed=11");
  fixture_run(&f);
  fixture_run(&without);
  int64_t dropped = 0;
  for (int64_t r = 0; r < f.reference.rows; r++) {
    const struct reference_row *row = &f.reference.row[r], *plain = &without.reference.row[r];
    dropout_mask_row(&f.data.problem, &f.data.args, row->batch, row->head, row->row, kept);
    assert_true(row->kind[REFERENCE_LSE].value[0] == plain->kind[REFERENCE_LSE].value[0]);
    for (int64_t d = 0; d < 4; d++) {
      long double sum = 0.0L;
      for (int64_t j = 0; j < 9; j++) {
        const double *v = problem_data_at(&f.data, PROBLEM_VALUE, row->batch, row->head, j, d);
        const long double weight = kept[j] ? plain->kind[REFERENCE_WEIGHTS].value[j] / 0.75L : 0.0L;
        dropped += !kept[j];
        assert_true(fabsl(row->kind[REFERENCE_WEIGHTS].value[j] - weight) <= 1e-18L);
        sum += weight * (long double)*v;
      }
      assert_true(fabsl(row->kind[REFERENCE_OUTPUT].value[d] - sum) <= 1e-17L);
    }
  }
  assert_true(dropped > 0);
  fixture_end(&f);
  fixture_end(&without);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_answers),
      cmocka_unit_test(test_share),
      cmocka_unit_test(test_cuts),
      cmocka_unit_test(test_reference_drops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
