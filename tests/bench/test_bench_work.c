/* test_bench_work.c - what the bench divides by: pairs, operations, bytes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs against the reference's own list of allowed keys on random problems; bytes by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench_check.h"
#include "bench_work.h"
#include "problem_data.h"
#include "random_problem.h"
#include "reference_rules.h"

static void make(struct problem_data *data, const char *text, struct problem_spec *spec) {
  char message[PROBLEM_MESSAGE_MAX];
  if (problem_parse(text, spec, message, sizeof message) != 0) fail_msg("%s: %s", text, message);
  if (problem_data_make(data, spec, NULL, message, sizeof message) != 0)
    fail_msg("%s: %s", text, message);
}

static int64_t pairs_by_reference(const struct problem_data *data) {
  const sdpa_problem *p = &data->problem;
  struct row_case c = {.allowed = malloc((size_t)p->key_len + 1)};
  int64_t pairs = 0;
  assert_non_null(c.allowed);
  for (int64_t b = 0; b < p->batch; b++) {
    for (int64_t h = 0; h < p->query_heads; h++) {
      for (int64_t i = 0; i < p->query_len; i++) {
        row_case_set(&c, p, &data->args, b, h, i);
        pairs += c.n_allowed;
      }
    }
  }
  free(c.allowed);
  return pairs;
}

static void random_problems_have_the_reference_s_pairs(void **state) {
  const struct problem_data_options options = {PLACE_PLAIN, 0xFF, 1};
  int with_mask = 0, with_window = 0, with_lens = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 2000; seed++) {
    static struct problem_spec spec;
    struct problem_data data;
    char message[PROBLEM_MESSAGE_MAX], text[PROBLEM_STRING_MAX];
    random_problem(seed, NULL, &spec);
    assert_int_equal(problem_data_make(&data, &spec, &options, message, sizeof message), 0);
    const int64_t counted = bench_work_pairs(&data.problem, &data.args);
    const int64_t expected = pairs_by_reference(&data);
    if (counted != expected) {
      problem_print(&spec, text, sizeof text);
      fail_msg("%s: %lld pairs, expected %lld", text, (long long)counted, (long long)expected);
    }
    with_mask += (spec.problem.features & (SDPA_MASK | SDPA_BIAS)) != 0;
    with_window += (spec.problem.features & SDPA_WINDOW) != 0;
    with_lens += (spec.problem.features & SDPA_KEY_LENS) != 0;
    problem_data_free(&data);
  }
  assert_true(with_mask > 100 && with_window > 100 && with_lens > 100);
}

static void offsets_at_the_ends_of_int64_do_not_overflow(void **state) {
  static struct problem_spec spec;
  struct problem_data data;
  (void)state;
  make(&data, "f32:q3:k5:d2:causal-at=9223372036854775807", &spec);
  assert_int_equal(bench_work_pairs(&data.problem, &data.args), 15);
  problem_data_free(&data);
  make(&data, "f32:q3:k5:d2:causal-at=-9223372036854775808:win=9,9", &spec);
  assert_int_equal(bench_work_pairs(&data.problem, &data.args), 0);
  problem_data_free(&data);
}

static void operations_follow_the_definition(void **state) {
  static struct problem_spec spec;
  struct problem_data data;
  (void)state;
  make(&data, "f32:b2:h4/2:q10:k10:d16/24:causal", &spec);
  assert_int_equal(bench_work_pairs(&data.problem, &data.args), 2 * 4 * 55);
  assert_true(bench_work_flops_per_pair(&data.problem, 0) == 80.0);
  assert_true(bench_work_flops_per_pair(&data.problem, 1) == 192.0);
  problem_data_free(&data);
}

static void bytes_by_hand(void **state) {
  static const struct {
    const char *problem;
    int64_t bytes;
  } cases[] = {
      /* Q 3 x 4, K 5 x 4, V 5 x 2, O 3 x 2 */
      {"f32:q3:k5:d4/2", 4 * (12 + 20 + 10 + 6)},
      {"f64:q3:k5:d4/2", 8 * (12 + 20 + 10 + 6)},
      {"bf16:q3:k5:d4/2", 2 * (12 + 20 + 10 + 6)},
      /* each tensor by its own element; weights and lse are f32 */
      {"q=f32,kv=bf16,o=f32:q3:k5:d4/2", 4 * 12 + 2 * (20 + 10) + 4 * 6},
      {"q=f16,k=f32,v=bf16,o=f16:q3:k5:d4/2:weights:lse",
       2 * 12 + 4 * 20 + 2 * 10 + 2 * 6 + 4 * (15 + 3)},
      /* K and V have the key heads */
      {"f32:b2:h6/3:q3:k5:d4", 4 * (2 * 6 * 12 + 2 * 3 * 20 * 2 + 2 * 6 * 12)},
      /* masks and bias do not count, outputs do: weights 15, scores 15, lse 3 */
      {"f32:q3:k5:d4/2:mask:bias:weights:scores=4:lse", 4 * (12 + 20 + 10 + 6 + 15 + 15 + 3)},
      /* without output V is not read */
      {"f32:q3:k5:d4/2:lse:no-output", 4 * (12 + 20 + 3)},
      /* rows within the lengths; the output is written whole */
      {"f32:b2:q3:k5:d4/2:lens=[1,4]:qlens=[3,0]", 4 * (12 + 5 * 4 + 5 * 2 + 2 * 6)},
      /* a stride of 0 repeats: one head's K, V of one batch entry, the longest */
      {"f32:b2:h3:q3:k5:d4/2:key@20,0,4,1", 4 * (72 + 40 + 60 + 36)},
      {"f32:b2:q3:k5:d4/2:lens=[1,4]:value@0,0,2,1", 4 * (24 + 20 + 8 + 12)},
      /* backward: Q, K, V, O, lse, dO; dQ, dK, dV; weights are no matter */
      {"f32:q3:k5:d4/2:bwd:weights", 4 * (12 + 20 + 10 + 6 + 3 + 6 + 12 + 20 + 10)},
      {"q=f32,kv=bf16,o=f16:q3:k5:d4/2:bwd",
       4 * 12 + 2 * (20 + 10 + 6) + 4 * 3 + 2 * 6 + 4 * 12 + 2 * (20 + 10)},
      /* the bias's gradient, once where it is summed; dK and dV whole, too */
      {"f32:b2:h3:q3:k5:d4/2:bias:bias@hd:bwd:key@0,20,4,1:lens=[1,4]",
       4 * (72 + 48 + 30 + 36 + 18 + 36 + 72 + 120 + 60 + 15)},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static struct problem_spec spec;
    struct problem_data data;
    make(&data, cases[i].problem, &spec);
    const int64_t bytes = bench_work_bytes(&data.problem, &data.args, (int)spec.backward);
    if (bytes != cases[i].bytes)
      fail_msg("%s: %lld bytes, expected %lld", cases[i].problem, (long long)bytes,
               (long long)cases[i].bytes);
    problem_data_free(&data);
  }
}

static void checked_rows_are_at_most_64_and_at_least_two(void **state) {
  sdpa_problem p = {.batch = 1, .query_heads = 8, .key_len = 4096, .key_dim = 64, .value_dim = 64};
  (void)state;
  assert_int_equal(bench_check_rows(&p, 0), 64);
  p.query_heads = 16;
  assert_int_equal(bench_check_rows(&p, 0), 64);
  p.query_heads = 32;
  assert_int_equal(bench_check_rows(&p, 0), 32);
  p.batch = 1 << 20;
  assert_int_equal(bench_check_rows(&p, 0), 2);
  p.batch = 0;
  assert_int_equal(bench_check_rows(&p, 0), 64);
  p.batch = 1;
  p.query_heads = 8;
  p.query_len = 4096;
  assert_int_equal(bench_check_rows(&p, 0), 64);
  assert_int_equal(bench_check_rows(&p, 1), 16);
  p.query_heads = 1 << 20;
  assert_int_equal(bench_check_rows(&p, 1), 2);
}

/* A case that has run is right; one spoilt element of a checked row is not. */
static void a_spoilt_output_is_not_verified(void **state) {
  const struct bench_choice choice = {0};
  struct bench_case *c = malloc(sizeof *c);
  struct bench_verdict verdict;
  char message[512];
  (void)state;
  assert_non_null(c);
  if (bench_case_open(c, "f32:h2:q9:k11:d8", &choice, message, sizeof message) != 0 ||
      bench_case_fill(c, message, sizeof message) != 0)
    fail_msg("%s", message);
  assert_int_equal(bench_check(c, &verdict), 0);
  assert_false(verdict.verified); /* it has not run */
  assert_true(verdict.max_error != verdict.max_error);
  assert_true(bench_case_run(c, 2) > 0.0);
  assert_int_equal(c->status, SDPA_OK);
  assert_int_equal(bench_check(c, &verdict), 0);
  assert_true(verdict.verified);
  assert_true(verdict.max_error >= 0.0 && verdict.max_error < 1e-5);
  float *element = problem_data_at(&c->data, PROBLEM_OUTPUT, 0, 1, 8, 7);
  *element += 0.01f;
  assert_int_equal(bench_check(c, &verdict), 0);
  assert_false(verdict.verified);
  assert_true(verdict.text[0] != '\0');
  bench_case_close(c);
  free(c);
}

/* The same of gradients: of a small problem every element is looked at. */
static void a_spoilt_gradient_is_not_verified(void **state) {
  static const enum problem_tensor gradients[] = {PROBLEM_GRAD_QUERY, PROBLEM_GRAD_KEY,
                                                  PROBLEM_GRAD_VALUE, PROBLEM_GRAD_BIAS};
  const struct bench_choice choice = {0};
  struct bench_case *c = malloc(sizeof *c);
  struct bench_verdict verdict;
  char message[512];
  (void)state;
  assert_non_null(c);
  if (bench_case_open(c, "f32:h2:q9:k11:d8:bias:bwd", &choice, message, sizeof message) != 0 ||
      bench_case_fill(c, message, sizeof message) != 0)
    fail_msg("%s", message);
  assert_int_equal(bench_check(c, &verdict), 0);
  assert_false(verdict.verified); /* it has not run */
  assert_true(bench_case_run(c, 2) > 0.0);
  assert_int_equal(c->status, SDPA_OK);
  assert_int_equal(bench_check(c, &verdict), 0);
  assert_string_equal(verdict.text, "");
  assert_true(verdict.verified && verdict.max_error < 1e-5);
  for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++) {
    float *element = problem_data_at(&c->data, gradients[i], 0, 1, 8, 7);
    const float kept = *element;
    *element += 0.01f;
    assert_int_equal(bench_check(c, &verdict), 0);
    assert_false(verdict.verified);
    *element = kept;
  }
  bench_case_close(c);
  free(c);
}

/* Multiplications and additions of the formulas, counted while they run: five products over the
 * pairs that are allowed. */
static void backward_operations_are_five_products(void **state) {
  static const char *const problems[] = {"f64:h4/2:q9:k12:d5/3:causal-br:bwd",
                                         "f64:b2:q7:k7:d4:lens=[3,7]:mask:win=2,3:align-tl:bwd"};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    static struct problem_spec spec;
    struct problem_data data;
    make(&data, problems[i], &spec);
    const sdpa_problem *p = &data.problem;
    uint8_t allowed[16];
    double operations = 0.0;
    for (int64_t n = 0; n < p->batch * p->query_heads * p->query_len; n++) {
      struct row_case c = {.allowed = allowed};
      row_case_set(&c, p, &data.args, n / p->query_len / p->query_heads,
                   n / p->query_len % p->query_heads, n % p->query_len);
      for (int64_t j = 0; j < p->key_len; j++) {
        for (int64_t d = 0; d < p->key_dim; d++) operations += allowed[j] ? 3 * 2 : 0; /* s dQ dK */
        for (int64_t d = 0; d < p->value_dim; d++) operations += allowed[j] ? 2 * 2 : 0; /* dP dV */
      }
    }
    assert_true(operations ==
                bench_work_flops_per_pair(p, 1) * (double)bench_work_pairs(p, &data.args));
    problem_data_free(&data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_problems_have_the_reference_s_pairs),
      cmocka_unit_test(offsets_at_the_ends_of_int64_do_not_overflow),
      cmocka_unit_test(operations_follow_the_definition),
      cmocka_unit_test(bytes_by_hand),
      cmocka_unit_test(checked_rows_are_at_most_64_and_at_least_two),
      cmocka_unit_test(a_spoilt_output_is_not_verified),
      cmocka_unit_test(a_spoilt_gradient_is_not_verified),
      cmocka_unit_test(backward_operations_are_five_products),
  };
  return cmocka_run_group_tests_name("bench work", tests, NULL, NULL);
}
