/* test_plain_products.c - the yardstick computes both products of every head
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plain_products.h"

static double at(const struct problem_data *data, enum problem_tensor tensor, int64_t b, int64_t h,
                 int64_t i, int64_t j) {
  if (!problem_data_is_read(data, tensor, b, i, 0)) return 0.0;
  return problem_load(data->problem.query_type, problem_data_at(data, tensor, b, h, i, j));
}

/* (scale Q K^T) V at one place, by loops. */
static double expected(const struct problem_data *data, int64_t b, int64_t h, int64_t i,
                       int64_t c) {
  const sdpa_problem *p = &data->problem;
  const int64_t kv_head = h / (p->query_heads / p->kv_heads);
  const double scale = p->features & SDPA_SCALE ? p->scale : 1.0 / sqrt((double)p->key_dim);
  double sum = 0.0;
  for (int64_t j = 0; j < p->key_len; j++) {
    double score = 0.0;
    for (int64_t d = 0; d < p->key_dim; d++)
      score += at(data, PROBLEM_QUERY, b, h, i, d) * at(data, PROBLEM_KEY, b, kv_head, j, d);
    sum += scale * score * at(data, PROBLEM_VALUE, b, kv_head, j, c);
  }
  return sum;
}

/* Runs unit after unit and compares what the last product of each leaves behind: the last query
 * head's rows, with up to 8 queries those of the whole group. */
static void check_problem(const char *text) {
  static struct problem_spec spec;
  struct problem_data data;
  char message[PROBLEM_MESSAGE_MAX];
  if (problem_parse(text, &spec, message, sizeof message) != 0 ||
      problem_data_make(&data, &spec, NULL, message, sizeof message) != 0)
    fail_msg("%s: %s", text, message);
  const sdpa_problem *p = &data.problem;
  const int64_t group = p->query_heads / p->kv_heads;
  assert_true(plain_products_offered(p));
  struct plain_products *products = plain_products_create(&data);
  assert_non_null(products);
  assert_true(plain_products_units(products) == (double)(p->batch * p->kv_heads));
  for (int64_t unit = 0; unit < p->batch * p->kv_heads; unit++) {
    int64_t rows = 0;
    assert_true(plain_products_run(products, 1) >= 0.0);
    const char *result = plain_products_result(products, &rows);
    assert_true(rows == (p->query_len <= 8 ? group * p->query_len : p->query_len));
    for (int64_t r = 0; r < rows; r++) {
      const int64_t in_group = group * p->query_len - rows + r;
      const int64_t head = unit % p->kv_heads * group + in_group / p->query_len;
      for (int64_t c = 0; c < p->value_dim; c++) {
        const int64_t element = (int64_t)problem_type_bytes(p->query_type);
        const double got = problem_load(p->query_type, result + (r * p->value_dim + c) * element);
        const double exact = expected(&data, unit / p->kv_heads, head, in_group % p->query_len, c);
        if (!(fabs(got - exact) <= 1e-4 * (1.0 + fabs(exact))))
          fail_msg("%s: unit %lld, row %lld, column %lld: %g, not %g", text, (long long)unit,
                   (long long)r, (long long)c, got, exact);
      }
    }
  }
  plain_products_destroy(products);
  problem_data_free(&data);
}

static void products_are_right(void **state) {
  (void)state;
  check_problem("f32:q12:k9:d5/3");
  check_problem("f64:q12:k9:d5/3:scale=0.75");
  check_problem("f64:b2:h6/2:q10:k7:d4/5:layout=bshd");
  check_problem("f64:b2:h6/2:q2:k7:d4/5:lens=[3,7]:qlens=[1,2]:causal-br");
  check_problem("f32:b2:h4/4:q1:k33:d8:key@hbds");
}

static void set(sdpa_problem *p, uint32_t type, int64_t n_q, int64_t n_k) {
  *p = (sdpa_problem){.query_type = type,
                      .batch = 1,
                      .query_heads = 1,
                      .kv_heads = 1,
                      .query_len = n_q,
                      .key_len = n_k,
                      .key_dim = 64,
                      .value_dim = 64};
}

static void one_gibibyte_of_scores_is_the_limit(void **state) {
  sdpa_problem p;
  (void)state;
  set(&p, SDPA_F32, 16384, 16384);
  assert_true(plain_products_offered(&p));
  p.query_heads = 32; /* of one head */
  assert_true(plain_products_offered(&p));
  set(&p, SDPA_F32, 16384, 16385);
  assert_false(plain_products_offered(&p));
  set(&p, SDPA_F64, 16384, 8192);
  assert_true(plain_products_offered(&p));
  set(&p, SDPA_F64, 16385, 8192);
  assert_false(plain_products_offered(&p));
  set(&p, SDPA_F32, 65536, 65536);
  assert_false(plain_products_offered(&p));
}

static void other_types_and_empty_problems_have_none(void **state) {
  sdpa_problem p;
  (void)state;
  set(&p, SDPA_BF16, 4, 4);
  assert_false(plain_products_offered(&p));
  set(&p, SDPA_F16, 4, 4);
  assert_false(plain_products_offered(&p));
  set(&p, SDPA_F32, 0, 4);
  assert_false(plain_products_offered(&p));
  set(&p, SDPA_F32, 4, 0);
  assert_false(plain_products_offered(&p));
  set(&p, SDPA_F32, 1, INT64_C(1) << 31);
  assert_false(plain_products_offered(&p));
}

static void the_blas_is_told_its_threads(void **state) {
  (void)state;
  if (blas_threads() == 0) {
    assert_int_equal(blas_set_threads(1), -1);
    return;
  }
  for (int threads = 2; threads > 0; threads--) {
    assert_int_equal(blas_set_threads(threads), 0);
    assert_int_equal(blas_threads(), threads);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_right),
      cmocka_unit_test(one_gibibyte_of_scores_is_the_limit),
      cmocka_unit_test(other_types_and_empty_problems_have_none),
      cmocka_unit_test(the_blas_is_told_its_threads),
  };
  return cmocka_run_group_tests_name("plain products", tests, NULL, NULL);
}
