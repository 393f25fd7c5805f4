/* test_batch_bits.c - a row's bits do not depend on how many other batch entries there are (rule 19)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A few rows over few keys take a shorter way in engine tiled when the whole problem is small, so the same entry is
 * computed alone and among many. V holds an infinity: 0 times it would show.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sdpa/sdpa.h>

enum { ROWS = 2, KEYS = 8, DIM = 16, MANY = 2000 };

static void attend(int64_t batch, const float *query, const float *key, const float *value,
                   float *output) {
  sdpa_problem p;
  sdpa_options options;
  assert_int_equal(sdpa_problem_init(&p, sizeof p), SDPA_OK);
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = SDPA_ENGINE_TILED;
  options.threads = 1;
  p.query_type = SDPA_F32;
  p.batch = batch, p.query_heads = p.kv_heads = 1;
  p.query_len = ROWS, p.key_len = KEYS, p.key_dim = p.value_dim = DIM;
  assert_int_equal(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  p.query.batch = p.key.batch = p.value.batch = 0; /* every entry has the same data */
  const sdpa_args a = {
      .size = sizeof a, .query = query, .key = key, .value = value, .output = output};
  assert_int_equal(sdpa_attention(&p, &options, &a), SDPA_OK);
}

static void test_alone_and_among_many(void **state) {
  (void)state;
  float query[ROWS * DIM], key[KEYS * DIM], value[KEYS * DIM], alone[ROWS * DIM];
  float *many = malloc(sizeof alone * MANY);
  assert_non_null(many);
  for (int i = 0; i < ROWS * DIM; i++) query[i] = (float)(i * 7 % 11) / 8;
  for (int i = 0; i < KEYS * DIM; i++) {
    key[i] = (float)(i * 5 % 13) / 8;
    value[i] = (float)(i * 3 % 17) / 8;
  }
  value[3 * DIM + 2] = INFINITY;
  attend(1, query, key, value, alone);
  attend(MANY, query, key, value, many);
  assert_true(isinf(alone[2]));
  for (int b = 0; b < MANY; b++) assert_memory_equal(many + b * ROWS * DIM, alone, sizeof alone);
  free(many);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_alone_and_among_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
