/* test_problem_string.c - problem strings: every word, every error, round trips
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "problem_shape.h"
#include "problem_string.h"
#include "random_problem.h"

static struct problem_spec parse(const char *text) {
  struct problem_spec spec;
  char message[PROBLEM_MESSAGE_MAX];
  if (problem_parse(text, &spec, message, sizeof message) != 0) fail_msg("%s: %s", text, message);
  assert_string_equal(message, "");
  return spec;
}

static void assert_strides(sdpa_strides s, int64_t batch, int64_t head, int64_t row, int64_t col) {
  assert_int_equal(s.batch, batch);
  assert_int_equal(s.head, head);
  assert_int_equal(s.row, row);
  assert_int_equal(s.col, col);
}

static void test_every_option(void **state) {
  (void)state;
  struct problem_spec s =
      parse("f32:b2:h16/4:q1024:k2048:d64/80:causal-br:win=128,0:mask:bias:alibi:"
            "softcap=30:sink:lens:weights:lse");
  const sdpa_problem *p = &s.problem;
  assert_int_equal(p->size, sizeof *p);
  assert_int_equal(p->query_type, SDPA_F32);
  assert_int_equal(p->key_type | p->value_type | p->output_type | p->bias_type, 0);
  assert_int_equal(p->batch, 2);
  assert_int_equal(p->query_heads, 16);
  assert_int_equal(p->kv_heads, 4);
  assert_int_equal(p->query_len, 1024);
  assert_int_equal(p->key_len, 2048);
  assert_int_equal(p->key_dim, 64);
  assert_int_equal(p->value_dim, 80);
  assert_int_equal(p->features, SDPA_CAUSAL | SDPA_WINDOW | SDPA_MASK | SDPA_BIAS | SDPA_ALIBI |
                                    SDPA_SINKS | SDPA_KEY_LENS | SDPA_WEIGHTS | SDPA_LSE);
  assert_int_equal(p->alignment, SDPA_ALIGN_BOTTOM_RIGHT);
  assert_int_equal(p->window_left, 128);
  assert_int_equal(p->window_right, 0);
  assert_true(p->softcap == 30.0);
  assert_true(p->scale == 0.0);
  assert_int_equal(s.seed, 0);
  assert_int_equal(s.key_lens.given, 0);
}

static void test_other_words(void **state) {
  (void)state;
  struct problem_spec s =
      parse("q=f32,kv=bf16,o=f16,bias=f64:q3:k3:d0:causal:scale=-1e-3:scores=2:qlens:"
            "align-at=-7:dropout=0.25:precision=reduced:bwd:seed=18446744073709551615");
  assert_int_equal(s.problem.query_type, SDPA_F32);
  assert_int_equal(s.problem.key_type, SDPA_BF16);
  assert_int_equal(s.problem.value_type, SDPA_BF16);
  assert_int_equal(s.problem.output_type, SDPA_F16);
  assert_int_equal(s.problem.bias_type, SDPA_F64);
  assert_int_equal(s.problem.batch, 1);
  assert_int_equal(s.problem.query_heads, 1);
  assert_int_equal(s.problem.kv_heads, 1);
  assert_int_equal(s.problem.key_dim, 0);
  assert_int_equal(s.problem.value_dim, 0);
  assert_int_equal(s.problem.alignment, SDPA_ALIGN_OFFSET);
  assert_int_equal(s.problem.offset, -7);
  assert_true(s.problem.scale == -1e-3);
  assert_int_equal(s.problem.score_stage, SDPA_STAGE_SOFTCAPPED);
  assert_int_equal(s.problem.features, SDPA_CAUSAL | SDPA_SCALE | SDPA_SCORES | SDPA_QUERY_LENS |
                                           SDPA_DROPOUT | SDPA_LSE);
  assert_true(s.problem.dropout == 0.25);
  assert_int_equal(s.precision, SDPA_PRECISION_REDUCED);
  assert_int_equal(s.backward, 1);
  assert_true(s.seed == UINT64_MAX);
  s = parse("f64:q1:k1:d1:scores=1:no-output:dropout=0");
  assert_int_equal(s.problem.features, SDPA_SCORES | SDPA_NO_OUTPUT | SDPA_DROPOUT);
  assert_int_equal(s.backward, 0);
  assert_int_equal(parse("f64:q1:k1:d1:scores=1").problem.score_stage, SDPA_STAGE_SCALED);
  assert_int_equal(parse("f64:q1:k1:d1:scores=4").problem.score_stage, SDPA_STAGE_BIASED);
  assert_int_equal(parse("f64:q2:k1:d1:causal-tl").problem.alignment, SDPA_ALIGN_TOP_LEFT);
  assert_int_equal(parse("f64:q2:k2:d1:causal").problem.alignment, SDPA_ALIGN_NONE);
}

static void test_lists(void **state) {
  (void)state;
  struct problem_spec s =
      parse("f64:b3:q4:k9:d2:causal-at=[-2,0,9223372036854775807]:lens=[0,9,4]:qlens=[4,0,1]");
  assert_int_equal(s.problem.features,
                   SDPA_CAUSAL | SDPA_OFFSETS | SDPA_KEY_LENS | SDPA_QUERY_LENS);
  assert_int_equal(s.offsets.count, 3);
  assert_int_equal(s.offsets.item[0], -2);
  assert_int_equal(s.offsets.item[2], INT64_MAX);
  assert_int_equal(s.key_lens.item[1], 9);
  assert_int_equal(s.query_lens.item[2], 1);
  s = parse("f64:b0:q4:k9:d2:causal-at=[]:lens=[]");
  assert_int_equal(s.offsets.given, 1);
  assert_int_equal(s.offsets.count, 0);
  s = parse("f64:b2:q4:k9:d2:align-at=random");
  assert_int_equal(s.problem.features, SDPA_OFFSETS);
  assert_int_equal(s.offsets.given, 0);
}

static void test_strides(void **state) {
  (void)state;
  struct problem_spec s =
      parse("f32:b2:h6/3:q5:k7:d4/3:layout=bshd:mask:bias:weights:lse:key@dsbh:value@bhsd+2:"
            "mask@d:bias@-1,0,-2,3:lse@sh:output@sbhd");
  assert_strides(s.problem.query, 120, 4, 24, 1);
  assert_strides(s.problem.key, 3, 1, 6, 42);
  assert_strides(s.problem.value, 105, 35, 5, 1);
  assert_strides(s.problem.output, 18, 3, 36, 1);
  assert_strides(s.problem.mask, 0, 0, 0, 1);
  assert_strides(s.problem.bias, -1, 0, -2, 3);
  assert_strides(s.problem.weights, 210, 35, 7, 1);
  assert_strides(s.problem.scores, 0, 0, 0, 0);
  assert_strides(s.problem.lse, 0, 1, 6, 0);
}

/* Those of the backward pass: as their tensor's, but nothing is said where dbias is summed. */
static void test_backward_strides(void **state) {
  (void)state;
  struct problem_spec s = parse("f32:b2:h6/3:q5:k7:d4/3:layout=bshd:bias:bias@hd:bwd:"
                                "grad_query@sbhd:grad_output@-1,0,2,3");
  assert_strides(s.problem.lse, 30, 5, 1, 0);
  assert_strides(s.problem.grad_query, 24, 4, 48, 1);
  assert_strides(s.problem.grad_key, 84, 4, 12, 1);
  assert_strides(s.problem.grad_value, 63, 3, 9, 1);
  assert_strides(s.problem.grad_output, -1, 0, 2, 3);
  assert_strides(s.problem.grad_bias, 0, 35, 0, 1);
  assert_strides(parse("f32:q5:k7:d4:bias").problem.grad_key, 0, 0, 0, 0);
}

static void assert_error(const char *text, int position, const char *sentence) {
  struct problem_spec spec;
  char message[PROBLEM_MESSAGE_MAX], start[64], cut[8];
  assert_int_equal(problem_parse(text, &spec, message, sizeof message), -1);
  snprintf(start, sizeof start, "character %d: ", position);
  if (strncmp(message, start, strlen(start)) != 0 || !strstr(message, sentence))
    fail_msg("'%s' gives \"%s\", expected \"%s... %s\"", text, message, start, sentence);
  assert_int_equal(problem_parse(text, &spec, cut, sizeof cut), -1);
  assert_memory_equal(cut, "charact", 8);
  assert_int_equal(problem_parse(text, &spec, NULL, 0), -1);
}

static void test_errors(void **state) {
  (void)state;
  assert_error("", 1, "a type is expected");
  assert_error("f33:q1:k1:d1", 1, "a type is expected");
  assert_error("f32x:q1:k1:d1", 4, "nothing more is expected");
  assert_error("q=f32,o=f32,o=f32:q1:k1:d1", 15, "given twice");
  assert_error("q=f32,x=f32:q1:k1:d1", 7, "is expected");
  assert_error("f32:q1:k1", 10, "q, k and d");
  assert_error("f32:q1:k1:d1:", 14, "'' is not known");
  assert_error("f32:q1:k1:d1:foo", 14, "'foo' is not known");
  assert_error("f32:q1:k1:d1:masks", 14, "'masks' is not known");
  assert_error("f32:q1:q2:k1:d1", 8, "number of queries is given twice");
  assert_error("f32:q1:k1:d1:mask:mask", 19, "mask is given twice");
  assert_error("f32:q1:k1:d1/-2", 14, "the value size is -2, at least 0");
  assert_error("f32:q1:k1:d1x", 13, "nothing more is expected");
  assert_error("f32:q99999999999999999999:k1:d1", 6, "64 bits");
  assert_error("f32:h6/4:q1:k1:d1", 5, "4 key heads do not divide 6 query heads");
  assert_error("f32:h6/0:q1:k1:d1", 5, "0 key heads");
  assert_error("f32:q1:k1:d1:win=3", 19, "comma");
  assert_error("f32:q1:k1:d1:win=-2,0", 18, "at least -1");
  assert_error("f32:q1:k1:d1:softcap=-1", 22, "at least 0");
  assert_error("f32:q1:k1:d1:softcap=nan", 22, "a number is expected");
  assert_error("f32:q1:k1:d1:scale=1e999", 20, "not finite");
  assert_error("f32:q1:k1:d1:scale= 1", 20, "a number is expected");
  assert_error("f32:q1:k1:d1:scores=3", 21, "rule 1, 2 or 4");
  assert_error("f32:q1:k1:d1:seed=-1", 19, "from 0");
  assert_error("f32:q1:k2:d1:causal", 14, "lengths differ");
  assert_error("f32:q2:k2:d1:lens:alibi", 19, "lengths differ");
  assert_error("f32:q2:k1:d1:causal-xx", 20, "-tl, -br or -at=");
  assert_error("f32:q2:k1:d1:causal-tl:align-br", 24, "alignment is given twice");
  assert_error("f32:b2:q2:k1:d1:lens=[1]", 1, "key lengths are 1 for a batch of 2");
  assert_error("f32:b1:q2:k1:d1:lens=[2]", 1, "at most 1");
  assert_error("f32:q2:k1:d1:lens=[1", 21, "']'");
  assert_error("f32:q2:k1:d1:qlens=1", 19, "'=['");
  assert_error("f32:q2:k1:d1:layout=bhs", 21, "bhsd");
  assert_error("f32:q2:k1:d1:layout=bhsb", 21, "bhsd");
  assert_error("f32:q2:k1:d1:mask@d", 14, "does not have");
  assert_error("f32:q2:k1:d1:key@1,2,3", 23, "comma");
  assert_error("f32:q2:k1:d1:key@x", 18, "order of dimensions");
  assert_error("f32:q2:k1:d1:lse:lse@d", 22, "order of dimensions");
  assert_error("f32:q2:k1:d1:key@d:key@s", 20, "given twice");
  assert_error("f32:q2:k1:d1:dropout=1", 22, "below 1");
  assert_error("f32:q2:k1:d1:dropout=-0.1", 22, "at least 0");
  assert_error("f32:q2:k1:d1:bwd:no-output:lse", 1, "exclude each other");
  assert_error("f32:q2:k1:d1:grad_key@sd", 14, "does not have");
  assert_error("f32:q2:k1:d1:bwd:grad_lse@sh", 18, "does not have");
  assert_error("f32:q2:k1:d1:bwd:grad_bias@sd", 18, "does not have");
  assert_error("f32:q2:k1:d1:precision=half", 24, "full, fma or reduced");
}

static void assert_round_trip(const struct problem_spec *spec) {
  static char text[PROBLEM_STRING_MAX], again[PROBLEM_STRING_MAX];
  char message[PROBLEM_MESSAGE_MAX], shorter[16];
  struct problem_spec back;
  size_t length = problem_print(spec, text, sizeof text);
  assert_true(length < sizeof text);
  assert_int_equal(length, strlen(text));
  if (problem_parse(text, &back, message, sizeof message) != 0) fail_msg("%s: %s", text, message);
  problem_print(&back, again, sizeof again);
  assert_string_equal(text, again);
  if (memcmp(spec, &back, sizeof back) != 0) fail_msg("%s is read as another problem", text);
  assert_int_equal(problem_print(spec, shorter, sizeof shorter), length);
  assert_memory_equal(shorter, text, 15);
  assert_int_equal(shorter[15], '\0');
}

static void test_round_trips(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 20000; seed++) {
    struct problem_spec spec;
    random_problem(seed, NULL, &spec);
    assert_round_trip(&spec);
    random_problem_wild(seed, &spec);
    assert_round_trip(&spec);
    random_problem_backward(seed, NULL, &spec);
    assert_round_trip(&spec);
  }
}

/* The longest string there is: every option, full lists, no strides that have a name. */
static void test_longest(void **state) {
  (void)state;
  struct problem_spec spec;
  sdpa_problem *p = &spec.problem;
  memset(&spec, 0, sizeof spec);
  p->size = sizeof *p;
  p->features = 0x7FF | SDPA_WEIGHTS | SDPA_LSE | SDPA_SCORES;
  p->query_type = p->key_type = p->value_type = p->output_type = p->bias_type = SDPA_BF16;
  p->alignment = SDPA_ALIGN_OFFSET;
  p->score_stage = SDPA_STAGE_BIASED;
  p->batch = PROBLEM_LIST_MAX;
  p->query_heads = 1000000000000000000;
  p->kv_heads = 500000000000000000;
  p->query_len = p->key_len = p->key_dim = INT64_MAX;
  p->value_dim = INT64_MAX - 1;
  p->scale = -1.7976931348623157e308;
  p->softcap = 2.2250738585072014e-308;
  p->dropout = 0.12345678901234568;
  p->window_left = p->window_right = INT64_MAX;
  spec.seed = UINT64_MAX;
  spec.precision = SDPA_PRECISION_REDUCED;
  spec.backward = 1;
  for (enum problem_tensor t = 0; t < PROBLEM_TENSORS_END; t = problem_next_tensor(t))
    problem_set_strides(p, t, (sdpa_strides){INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN});
  spec.key_lens.given = spec.query_lens.given = spec.offsets.given = 1;
  spec.key_lens.count = spec.query_lens.count = spec.offsets.count = PROBLEM_LIST_MAX;
  for (int i = 0; i < PROBLEM_LIST_MAX; i++) {
    spec.key_lens.item[i] = spec.query_lens.item[i] = INT64_MAX;
    spec.offsets.item[i] = INT64_MIN;
  }
  assert_round_trip(&spec);
}

/* One, two and three vectors of queries, a tile of keys, the rows that engine blas and the keys
 * that engine tiled take at a time; each with the sizes beside it. */
static int is_at_edge(int64_t size) {
  static const int64_t edges[] = {12, 16, 24, 32, 48, 64, 128, 256, 512, 2048, 4096};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    if (size >= edges[i] - 1 && size <= edges[i] + 1) return 1;
  return 0;
}

/* A fifth of the sizes at a block edge or beside it, some 0, every key length around one or two
 * tiles and parts of the keys, and seeds that differ. */
static void test_random_sizes(void **state) {
  (void)state;
  static const int64_t lengths[] = {127,  128,  129,  255,  256,  257,
                                    2047, 2048, 2049, 4095, 4096, 4097};
  enum { LENGTHS = sizeof lengths / sizeof *lengths };
  int64_t seen[LENGTHS] = {0};
  int64_t at_edge = 0, zero = 0, sizes = 0, different = 0;
  struct problem_spec spec, last;
  memset(&last, 0, sizeof last);
  for (uint64_t seed = 0; seed < 5000; seed++, last = spec) {
    random_problem(seed, NULL, &spec);
    const int64_t size[4] = {spec.problem.query_len, spec.problem.key_len, spec.problem.key_dim,
                             spec.problem.value_dim};
    for (int i = 0; i < 4; i++, sizes++) {
      zero += size[i] == 0;
      at_edge += is_at_edge(size[i]);
    }
    for (int k = 0; k < LENGTHS; k++) seen[k] += spec.problem.key_len == lengths[k];
    last.seed = spec.seed;
    different += memcmp(&spec, &last, sizeof spec) != 0;
  }
  assert_true(5 * at_edge >= sizes);
  assert_true(100 * zero >= sizes);
  assert_int_equal(different, 5000);
  for (int k = 0; k < LENGTHS; k++) assert_true(seen[k] > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_option),
      cmocka_unit_test(test_other_words),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_strides),
      cmocka_unit_test(test_backward_strides),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_longest),
      cmocka_unit_test(test_random_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
