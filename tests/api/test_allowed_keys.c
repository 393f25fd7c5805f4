/* test_allowed_keys.c - which keys a row attends, drawn as pictures (semantics rules 5 to 7 and 13
 * to 14)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All allowed keys of a row have the same score, so their weights are equal and the pattern of
 * weights is the pattern of allowed keys. A picture has a word per row: x allowed, . excluded.
 */
#include "api_support.h"

#include <math.h>
#include <string.h>

#define FOR_TYPES for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++)
#define FAR       INT64_MAX

/* One head with all scores 0. Numbers that a picture does not name are 0. */
struct picture {
  uint32_t features, alignment;
  int64_t query_len, key_len, left, right, offset;
  int64_t query_length, key_length; /* with SDPA_QUERY_LENS, SDPA_KEY_LENS */
  const char *rows;
};

static const struct picture pictures[] = {
    /* causal, the three alignments, as the header draws them */
    {SDPA_CAUSAL, SDPA_ALIGN_TOP_LEFT, 2, 5, 0, 0, 0, 0, 0, "x.... xx..."},
    {SDPA_CAUSAL, SDPA_ALIGN_BOTTOM_RIGHT, 2, 5, 0, 0, 0, 0, 0, "xxxx. xxxxx"},
    {SDPA_CAUSAL, SDPA_ALIGN_OFFSET, 2, 5, 0, 0, 1, 0, 0, "xx... xxx.."},
    {SDPA_CAUSAL, SDPA_ALIGN_BOTTOM_RIGHT, 5, 2, 0, 0, 0, 0, 0, ".. .. .. x. xx"},
    {SDPA_CAUSAL, SDPA_ALIGN_TOP_LEFT, 5, 2, 0, 0, 0, 0, 0, "x. xx xx xx xx"},
    {SDPA_CAUSAL, SDPA_ALIGN_NONE, 3, 3, 0, 0, 0, 0, 0, "x.. xx. xxx"},
    /* windows */
    {SDPA_WINDOW, SDPA_ALIGN_NONE, 4, 4, 0, 0, 0, 0, 0, "x... .x.. ..x. ...x"},
    {SDPA_WINDOW, SDPA_ALIGN_NONE, 4, 4, 1, 0, 0, 0, 0, "x... xx.. .xx. ..xx"},
    {SDPA_WINDOW, SDPA_ALIGN_NONE, 4, 4, 0, 2, 0, 0, 0, "xxx. .xxx ..xx ...x"},
    {SDPA_WINDOW, SDPA_ALIGN_NONE, 4, 4, -1, 1, 0, 0, 0, "xx.. xxx. xxxx xxxx"},
    {SDPA_WINDOW, SDPA_ALIGN_NONE, 4, 4, 1, -1, 0, 0, 0, "xxxx xxxx .xxx ..xx"},
    {SDPA_WINDOW, SDPA_ALIGN_NONE, 2, 2, -1, -1, 0, 0, 0, "xx xx"},
    {SDPA_WINDOW | SDPA_CAUSAL, SDPA_ALIGN_NONE, 4, 4, 1, 2, 0, 0, 0, "x... xx.. .xx. ..xx"},
    {SDPA_WINDOW, SDPA_ALIGN_BOTTOM_RIGHT, 2, 5, 1, 0, 0, 0, 0, "..xx. ...xx"},
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 3, 3, 0, 0, -2, 0, 0, "... ... x.."},
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 2, 3, 1, 1, 3, 0, 0, "..x ..."},
    /* sums that do not wrap */
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 2, 3, FAR, 0, FAR - 1, 0, 0, "xxx xxx"},
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 2, 3, 0, FAR, -FAR, 0, 0, "x.. xx."},
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 2, 3, 0, 0, FAR, 0, 0, "... ..."},
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 2, 3, FAR, FAR, 1, 0, 0, "xxx xxx"},
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 2, 3, FAR, FAR, -2, 0, 0, "xxx xxx"},
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 2, 3, -1, FAR, -FAR - 1, 0, 0, "... x.."},
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 3, 3, FAR, -1, FAR, 0, 0, "xxx .xx ..x"},
    {SDPA_WINDOW, SDPA_ALIGN_OFFSET, 3, 3, FAR - 1, FAR, FAR, 0, 0, ".xx ..x ..."},
    {SDPA_CAUSAL, SDPA_ALIGN_OFFSET, 2, 3, 0, 0, FAR, 0, 0, "xxx xxx"},
    {SDPA_CAUSAL, SDPA_ALIGN_OFFSET, 2, 3, 0, 0, -FAR - 1, 0, 0, "... ..."},
    /* lengths: keys end, rows end, only bottom-right follows them */
    {SDPA_KEY_LENS, 0, 2, 4, 0, 0, 0, 0, 2, "xx.. xx.."},
    {SDPA_KEY_LENS, 0, 2, 4, 0, 0, 0, 0, 0, ".... ...."},
    {SDPA_QUERY_LENS, 0, 3, 2, 0, 0, 0, 2, 0, "xx xx .."},
    {SDPA_QUERY_LENS, 0, 2, 2, 0, 0, 0, 0, 0, ".. .."},
    {SDPA_CAUSAL | SDPA_KEY_LENS, SDPA_ALIGN_TOP_LEFT, 3, 5, 0, 0, 0, 0, 2, "x.... xx... xx..."},
    {SDPA_CAUSAL | SDPA_KEY_LENS, SDPA_ALIGN_BOTTOM_RIGHT, 3, 5, 0, 0, 0, 0, 4,
     "xx... xxx.. xxxx."},
    {SDPA_CAUSAL | SDPA_KEY_LENS | SDPA_QUERY_LENS, SDPA_ALIGN_BOTTOM_RIGHT, 3, 5, 0, 0, 0, 2, 4,
     "xxx.. xxxx. ....."},
    {SDPA_CAUSAL | SDPA_KEY_LENS | SDPA_QUERY_LENS, SDPA_ALIGN_BOTTOM_RIGHT, 4, 4, 0, 0, 0, 3, 1,
     ".... .... x... ...."},
    {SDPA_CAUSAL | SDPA_KEY_LENS, SDPA_ALIGN_OFFSET, 2, 4, 0, 0, 1, 0, 3, "xx.. xxx."},
};

static int count_allowed(const char *row, int64_t keys) {
  int n = 0;
  for (int64_t j = 0; j < keys; j++) n += row[j] == 'x';
  return n;
}

static void check_picture(uint32_t type, const struct picture *p, int index) {
  struct api_call call;
  api_call_init(&call, type, api_one_head(p->query_len, p->key_len, 1, 1),
                p->features | SDPA_WEIGHTS | SDPA_LSE, p->alignment);
  call.problem.window_left = p->left;
  call.problem.window_right = p->right;
  call.problem.offset = p->offset;
  if (p->features & SDPA_KEY_LENS) api_key_lens(&call)[0] = p->key_length;
  if (p->features & SDPA_QUERY_LENS) api_query_lens(&call)[0] = p->query_length;
  memset(api_query(&call), 0, call.bytes[API_QUERY]);
  api_run(&call);
  for (int64_t i = 0; i < p->query_len; i++) {
    const char *row = p->rows + i * (p->key_len + 1);
    int n = count_allowed(row, p->key_len);
    double output = 0;
    for (int64_t j = 0; j < p->key_len; j++) {
      double weight = api_get(type, call.args.weights, i * p->key_len + j);
      double expected = row[j] == 'x' ? 1. / n : 0;
      if (!(fabs(weight - expected) < 1e-6) || (weight != 0) != (row[j] == 'x'))
        fail_msg("picture %d (%s), row %d, key %d: weight %g", index, p->rows, (int)i, (int)j,
                 weight);
      if (row[j] != 'x') continue;
      output += api_get(type, api_value(&call), j) / n;
    }
    api_assert_near(type, api_get(type, call.args.output, i), output, 1);
    api_assert_near(type, api_get(type, call.args.lse, i), n ? log(n) : -(double)INFINITY, 2);
  }
  api_call_free(&call);
}

static void test_pictures(void **state) {
  (void)state;
  FOR_TYPES for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
      check_picture(type, &pictures[i], (int)i);
}

/* Offsets and lengths belong to their batch entry. */
static void test_per_batch_entry(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    const struct api_sizes sizes = {3, 1, 1, 1, 4, 1, 1};
    api_call_init(&call, type, sizes, SDPA_CAUSAL | SDPA_OFFSETS | SDPA_KEY_LENS | SDPA_WEIGHTS,
                  SDPA_ALIGN_OFFSET);
    memcpy(api_offsets(&call), (const int64_t[]){2, -1, 3}, 3 * sizeof(int64_t));
    memcpy(api_key_lens(&call), (const int64_t[]){4, 4, 2}, 3 * sizeof(int64_t));
    memset(api_query(&call), 0, call.bytes[API_QUERY]);
    api_run(&call);
    const double third = 1. / 3;
    api_assert_all_near(type, call.args.weights, 12,
                        (const double[]){third, third, third, 0, 0, 0, 0, 0, .5, .5, 0, 0}, 1);
    api_call_free(&call);
  }
}

/* Any byte but 0 attends, and all rules intersect. */
static void test_mask_and_intersection(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    api_call_init(&call, type, api_one_head(2, 4, 1, 1),
                  SDPA_MASK | SDPA_BIAS | SDPA_CAUSAL | SDPA_WEIGHTS, SDPA_ALIGN_BOTTOM_RIGHT);
    memcpy(api_mask(&call), (const uint8_t[]){0, 255, 2, 128, 1, 0, 64, 3}, 8);
    api_put(type, api_bias(&call), 2, -INFINITY);
    api_put(type, api_bias(&call), 4, -INFINITY);
    memset(api_query(&call), 0, call.bytes[API_QUERY]);
    api_run(&call);
    api_assert_all_near(type, call.args.weights, 8, (const double[]){0, 1, 0, 0, 0, 0, .5, .5}, 1);
    api_call_free(&call);
  }
}

/* Query head h reads kv head h / group: 6 query heads on 2. */
static void test_grouped_heads(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    const struct api_sizes sizes = {1, 6, 2, 1, 1, 1, 2};
    api_call_init(&call, type, sizes, 0, 0);
    api_put_all(type, api_value(&call), 4, (const double[]){1, 2, 3, 4});
    api_run(&call);
    api_assert_all_near(type, call.args.output, 12,
                        (const double[]){1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}, 4);
    api_call_free(&call);
  }
}

static void test_empty(void **state) {
  (void)state;
  FOR_TYPES {
    struct api_call call;
    /* No keys: output 0, lse -inf. Null pointers for what is empty. */
    api_call_init(&call, type, api_one_head(2, 0, 2, 2), SDPA_LSE | SDPA_WEIGHTS, 0);
    call.args.key = call.args.value = NULL;
    call.args.weights = NULL;
    api_run(&call);
    api_assert_all_near(type, call.args.output, 4, (const double[]){0, 0, 0, 0}, 0);
    api_assert_all_near(type, call.args.lse, 2, (const double[]){-INFINITY, -INFINITY}, 0);
    api_call_free(&call);

    /* No key dimension: scores 0, the mean of the values. */
    api_call_init(&call, type, api_one_head(1, 2, 0, 1), SDPA_WEIGHTS, 0);
    call.args.query = call.args.key = NULL;
    api_put_all(type, api_value(&call), 2, (const double[]){1, 2});
    api_run(&call);
    api_assert_near(type, api_get(type, call.args.output, 0), 1.5, 2);
    api_call_free(&call);

    /* No value dimension: no output, the rest all the same. */
    api_call_init(&call, type, api_one_head(1, 2, 1, 0), SDPA_WEIGHTS | SDPA_LSE, 0);
    call.args.value = NULL;
    call.args.output = NULL;
    memset(api_query(&call), 0, call.bytes[API_QUERY]);
    assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), SDPA_OK);
    api_assert_all_near(type, call.args.weights, 2, (const double[]){.5, .5}, 1);
    api_assert_near(type, api_get(type, call.args.lse, 0), log(2), 1);
    api_call_free(&call);
  }
}

/* Nothing to write: success with no pointer at all. */
static void test_empty_outputs(void **state) {
  (void)state;
  static const struct api_sizes empty[] = {
      {0, 2, 1, 3, 3, 2, 2}, {2, 0, 1, 3, 3, 2, 2}, {2, 0, 0, 3, 3, 2, 2}, {2, 2, 1, 0, 3, 2, 2}};
  FOR_TYPES for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
    struct api_call call;
    api_call_init(&call, type, empty[i], SDPA_WEIGHTS | SDPA_LSE | SDPA_SCORES | SDPA_MASK, 0);
    sdpa_args args = call.args;
    args.query = NULL;
    args.output = args.weights = args.scores = args.lse = NULL;
    args.mask = NULL;
    if (empty[i].batch == 0 || empty[i].kv_heads == 0) args.key = args.value = NULL;
    assert_int_equal(sdpa_attention(&call.problem, NULL, &args), SDPA_OK);
    assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), SDPA_OK);
    api_call_free(&call);
  }
  assert_int_equal(sdpa_attention_f64(0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL), SDPA_OK);
}

/* Sizes that no memory bounds, since they have no columns: where nothing is to be written, no time
 * is taken to pass through them. */
static void test_nothing_to_write(void **state) {
  (void)state;
  const int64_t many = INT64_C(1) << 30;
  const struct api_sizes rows = {1, 1, 1, many, many, 0, 0}, none = {1, 1, 1, 0, 9, 4, 4};
  double unread = 0;
  FOR_TYPES for (uint32_t engine = SDPA_ENGINE_AUTO; engine <= SDPA_ENGINE_TILED; engine++) {
    struct api_call call;
    sdpa_options options;
    sdpa_grads grads;
    assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
    assert_int_equal(sdpa_grads_init(&grads, sizeof grads), SDPA_OK);
    options.engine = engine;
    if (engine != SDPA_ENGINE_AUTO && !api_offers(engine)) continue;
    api_call_init(&call, type, rows, 0, 0);
    assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
    api_call_free(&call);

    api_call_init(&call, type, none, 0, 0);
    call.problem.batch = many;
    call.problem.query_heads = call.problem.kv_heads = many;
    call.problem.key.batch = call.problem.value.batch = 0;
    call.args.key = call.args.value = &unread;
    call.args.output = NULL;
    assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
    api_backward(&call.problem, &options, &call.args, &grads);
    api_call_free(&call);
  }
  assert_int_equal(sdpa_attention_f32(many, many, 0, 0, NULL, NULL, NULL, NULL, NULL), SDPA_OK);
}

/* Sums over rows or keys of which there are none are 0, and take no time, however many batch entries
 * there are. */
static void test_sums_over_nothing(void **state) {
  (void)state;
  const struct api_sizes sizes[] = {{1, 1, 1, 0, 2, 2, 2}, {1, 1, 1, 2, 0, 0, 0}};
  double unread[4] = {0};
  for (int n = 0; n < 4; n++) {
    FOR_TYPES for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
      struct api_call call;
      sdpa_options options;
      sdpa_grads grads;
      double sink[1] = {7}, slope[1] = {7};
      if (!api_offers(engine)) continue;
      assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
      assert_int_equal(sdpa_grads_init(&grads, sizeof grads), SDPA_OK);
      options.engine = engine;
      options.threads = n / 2 + 1;
      api_call_init(&call, type, sizes[n % 2], SDPA_SINKS | SDPA_ALIBI, SDPA_ALIGN_TOP_LEFT);
      call.problem.batch = INT64_C(1) << 40;
      call.problem.key.batch = call.problem.value.batch = call.problem.query.batch = 0;
      call.problem.lse.batch = call.problem.grad_output.batch = call.problem.output.batch = 0;
      call.args.query = call.args.key = call.args.value = unread;
      call.args.output = NULL;
      grads.output = grads.grad_output = grads.lse = unread;
      grads.grad_sinks = sink;
      grads.grad_alibi_slopes = slope;
      api_backward(&call.problem, &options, &call.args, &grads);
      assert_true(api_get(type, sink, 0) == 0 && api_get(type, slope, 0) == 0);
      api_call_free(&call);
    }
  }
}

/* A window at the end of long keys: before it are tiles, or splits, that no row attends, and the
 * last tile may hold a single key. */
static void check_late_window(uint32_t type, uint32_t engine, int64_t rows, int64_t keys) {
  enum { LEFT = 10 };
  struct api_call call;
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  api_call_init(&call, type, api_one_head(rows, keys, 1, 1), SDPA_WINDOW | SDPA_LSE,
                SDPA_ALIGN_BOTTOM_RIGHT);
  call.problem.window_left = LEFT;
  memset(api_query(&call), 0, call.bytes[API_QUERY]);
  for (int64_t j = 0; j < keys; j++) api_put(type, api_value(&call), j, (double)(j - keys));
  assert_int_equal(sdpa_attention(&call.problem, &options, &call.args), SDPA_OK);
  for (int64_t i = 0; i < rows; i++) {
    api_assert_near(type, api_get(type, call.args.output, i), (double)(i - rows - LEFT / 2), 64);
    api_assert_near(type, api_get(type, call.args.lse, i), log(LEFT + 1), 4);
  }
  api_call_free(&call);
}

static void test_late_windows(void **state) {
  (void)state;
  static const int64_t lens[] = {129, 513, 2049, 5000};
  FOR_TYPES for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    for (int n = 0; n < 4 && api_offers(engine); n++) {
      check_late_window(type, engine, 1, lens[n]);
      check_late_window(type, engine, 40, lens[n]);
    }
  }
}

/* A square problem has one alignment, until lengths make it another shape in each batch entry: then
 * one has to be chosen, and the sentence says why. */
static void test_alignment_of_lengths(void **state) {
  (void)state;
  static const uint32_t aligned[] = {SDPA_CAUSAL, SDPA_WINDOW, SDPA_ALIBI};
  static const uint32_t lens[] = {0, SDPA_KEY_LENS, SDPA_QUERY_LENS,
                                  SDPA_KEY_LENS | SDPA_QUERY_LENS};
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 4; k++) {
      struct api_call call;
      char text[512];
      api_call_init(&call, SDPA_F32, api_one_head(3, 3, 2, 2), aligned[i] | lens[k],
                    SDPA_ALIGN_NONE);
      const sdpa_status expected = k == 0 ? SDPA_OK : SDPA_ERROR_VALUE;
      assert_int_equal(sdpa_problem_check(&call.problem, NULL, text, sizeof text), expected);
      assert_true((strstr(text, "alignment is 0") && strstr(text, "and lengths")) == (k > 0));
      assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), expected);
      if (k > 0) api_assert_untouched(&call);
      api_call_free(&call);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pictures),          cmocka_unit_test(test_late_windows),
      cmocka_unit_test(test_per_batch_entry),   cmocka_unit_test(test_mask_and_intersection),
      cmocka_unit_test(test_grouped_heads),     cmocka_unit_test(test_empty),
      cmocka_unit_test(test_empty_outputs),     cmocka_unit_test(test_nothing_to_write),
      cmocka_unit_test(test_sums_over_nothing), cmocka_unit_test(test_alignment_of_lengths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
