/* test_unused_strides.c - strides that mean nothing may hold anything
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Those of tensors that are not declared, not there or empty, and those along a dimension of one
 * element. Each case sets them to the ends of int64_t, where any arithmetic on them overflows:
 * under UndefinedBehaviorSanitizer that ends the test; everywhere the results must not change by a
 * bit.
 */
#include "api_support.h"

/* Which sizes are 1 or 0, and whose strides are absurd then. */
enum {
  QUERY = 1,
  KEY = 2,
  VALUE = 4,
  OUTPUT = 8,
  MASK = 16,
  BIAS = 32,
  WEIGHTS = 64,
  SCORES = 128
};
enum { LSE = 256, SQUARES = MASK | BIAS | WEIGHTS | SCORES };

struct unused_case {
  struct api_sizes sizes;
  uint32_t features;
  int tensors;               /* all strides of these */
  int batch, head, row, col; /* or only these of every declared tensor */
};

enum { ALL_OUTPUTS = SDPA_WEIGHTS | SDPA_SCORES | SDPA_LSE };

static const struct unused_case cases[] = {
    /* not declared */
    {{3, 2, 1, 4, 5, 3, 2}, 0, SQUARES | LSE, 0, 0, 0, 0},
    {{3, 2, 1, 4, 5, 3, 2}, SDPA_CAUSAL | SDPA_WEIGHTS, MASK | BIAS | SCORES | LSE, 0, 0, 0, 0},
    {{3, 2, 1, 4, 5, 3, 2}, SDPA_NO_OUTPUT | ALL_OUTPUTS, VALUE | OUTPUT, 0, 0, 0, 0},
    /* empty */
    {{3, 2, 1, 4, 5, 0, 2}, ALL_OUTPUTS, QUERY | KEY, 0, 0, 0, 0},
    {{3, 2, 1, 4, 5, 3, 0}, ALL_OUTPUTS, VALUE | OUTPUT, 0, 0, 0, 0},
    {{3, 2, 1, 4, 0, 3, 2}, ALL_OUTPUTS | SDPA_MASK | SDPA_BIAS, KEY | VALUE | SQUARES, 0, 0, 0, 0},
    {{3, 2, 1, 0, 5, 3, 2}, ALL_OUTPUTS | SDPA_MASK, QUERY | OUTPUT | SQUARES | LSE, 0, 0, 0, 0},
    /* of one element */
    {{1, 2, 1, 4, 5, 3, 2}, ALL_OUTPUTS | SDPA_MASK | SDPA_BIAS, 0, 1, 0, 0, 0},
    {{3, 1, 1, 4, 5, 3, 2}, ALL_OUTPUTS | SDPA_MASK | SDPA_BIAS, 0, 0, 1, 0, 0},
    {{3, 2, 1, 1, 1, 3, 2}, ALL_OUTPUTS | SDPA_MASK | SDPA_CAUSAL, 0, 0, 0, 1, 0},
    {{3, 2, 1, 4, 1, 1, 1}, ALL_OUTPUTS | SDPA_MASK | SDPA_CAUSAL | SDPA_BIAS, 0, 0, 0, 0, 1},
    {{1, 1, 1, 1, 1, 1, 1}, ALL_OUTPUTS | SDPA_MASK | SDPA_CAUSAL | SDPA_BIAS, 0, 1, 1, 1, 1},
};

static void spoil(sdpa_problem *p, const struct unused_case *c, int64_t value) {
  sdpa_strides *const strides[] = {&p->query, &p->key,     &p->value,  &p->output, &p->mask,
                                   &p->bias,  &p->weights, &p->scores, &p->lse};
  for (int t = 0; t < 9; t++) {
    const int all = c->tensors >> t & 1;
    if (all || c->batch) strides[t]->batch = value;
    if (all || c->head) strides[t]->head = value;
    if (all || c->row) strides[t]->row = value;
    if ((all || c->col) && !(1 << t == LSE && p->features & SDPA_LSE)) strides[t]->col = value;
  }
}

static void check_case(uint32_t type, const struct unused_case *c, int64_t value) {
  struct api_call plain, odd;
  api_call_init(&plain, type, c->sizes, c->features, SDPA_ALIGN_TOP_LEFT);
  api_call_init(&odd, type, c->sizes, c->features, SDPA_ALIGN_TOP_LEFT);
  spoil(&odd.problem, c, value);
  assert_int_equal(sdpa_attention(&plain.problem, NULL, &plain.args), SDPA_OK);
  assert_int_equal(sdpa_attention(&odd.problem, NULL, &odd.args), SDPA_OK);
  static const int outputs[] = {API_OUTPUT, API_WEIGHTS, API_SCORES, API_LSE};
  for (int t = 0; t < 4; t++) {
    assert_int_equal(odd.bytes[outputs[t]], plain.bytes[outputs[t]]);
    if (plain.bytes[outputs[t]] > 0)
      assert_memory_equal(odd.block[outputs[t]], plain.block[outputs[t]], plain.bytes[outputs[t]]);
  }
  api_call_free(&plain);
  api_call_free(&odd);
}

static void test_unused(void **state) {
  (void)state;
  static const int64_t values[] = {INT64_MAX, INT64_MIN, -1, 0};
  for (uint32_t type = SDPA_F64; type <= SDPA_F16; type++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      for (int v = 0; v < 4; v++) check_case(type, &cases[i], values[v]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
