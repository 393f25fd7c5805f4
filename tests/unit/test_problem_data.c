/* test_problem_data.c - the memory that tests put a problem into, and the allocator that fails
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <string.h>

#include "failing_alloc.h"
#include "problem_data.h"

static void make(struct problem_data *data, const char *text, enum problem_placement placement) {
  struct problem_spec spec;
  char message[PROBLEM_MESSAGE_MAX];
  const struct problem_data_options options = {placement, 0xC3, 0};
  if (problem_parse(text, &spec, message, sizeof message) != 0) fail_msg("%s", message);
  if (problem_data_make(data, &spec, &options, message, sizeof message) != 0)
    fail_msg("%s", message);
}

static double value_at(const struct problem_data *data, enum problem_tensor tensor, int64_t b,
                       int64_t i, int64_t j) {
  return problem_load(problem_type(&data->problem, tensor),
                      problem_data_at(data, tensor, b, 0, i, j));
}

static void test_unread_is_nan(void **state) {
  (void)state;
  struct problem_data data;
  make(&data, "f32:b2:q3:k4:d2:lens=[3,0]:qlens=[1,3]:bias:mask:key@-8,0,-2,1:bias@0,0,4,1",
       PLACE_PLAIN);
  for (int64_t j = 0; j < 4; j++) {
    assert_true(isnan(value_at(&data, PROBLEM_KEY, 0, j, 1)) == (j >= 3));
    assert_true(isnan(value_at(&data, PROBLEM_VALUE, 1, j, 0)) != 0);
  }
  for (int64_t i = 0; i < 3; i++) {
    assert_true(isnan(value_at(&data, PROBLEM_QUERY, 0, i, 0)) == (i >= 1));
    assert_true(!isnan(value_at(&data, PROBLEM_QUERY, 1, i, 0)));
    assert_true(isnan(value_at(&data, PROBLEM_BIAS, 0, i, 2)) == (i >= 1));
    assert_true(isnan(value_at(&data, PROBLEM_BIAS, 0, i, 3)) != 0);
  }
  assert_true(value_at(&data, PROBLEM_MASK, 1, 0, 0) == 255.0);
  problem_data_free(&data);
}

static void test_streams(void **state) {
  (void)state;
  struct problem_data a, b;
  make(&a, "f64:q3:k4:d2:seed=5", PLACE_PLAIN);
  make(&b, "f64:q3:k4:d2:mask:bias:alibi:align-tl:layout=dshb:seed=5", PLACE_SKEWED);
  for (int64_t n = 0; n < 8; n++)
    assert_true(value_at(&a, PROBLEM_KEY, 0, n / 2, n % 2) ==
                value_at(&b, PROBLEM_KEY, 0, n / 2, n % 2));
  problem_data_free(&a);
  make(&a, "f64:q3:k4:d2:seed=6", PLACE_PLAIN);
  assert_true(value_at(&a, PROBLEM_KEY, 0, 0, 0) != value_at(&b, PROBLEM_KEY, 0, 0, 0));
  problem_data_free(&a);
  problem_data_free(&b);
}

static int is_touched(const struct problem_data *data, int outputs_too) {
  char message[PROBLEM_MESSAGE_MAX];
  return problem_data_untouched(data, outputs_too, message, sizeof message);
}

static void test_snapshot(void **state) {
  (void)state;
  struct problem_data data;
  make(&data, "f32:q2:k2:d3:output@0,0,-5,1:sink", PLACE_SKEWED);
  assert_int_equal(problem_data_snapshot(&data), 0);
  assert_int_equal(is_touched(&data, 1), 0);
  unsigned char *element = problem_data_at(&data, PROBLEM_OUTPUT, 0, 0, 1, 2);
  element[3] = 1;
  assert_int_equal(is_touched(&data, 0), 0);
  assert_int_equal(is_touched(&data, 1), -1);
  element[4] = 1; /* the gap behind the row */
  assert_int_equal(is_touched(&data, 0), -1);
  problem_data_restore(&data, 1);
  assert_int_equal(is_touched(&data, 1), 0);
  data.block[PROBLEM_OUTPUT].begin[0] = 1; /* the margin */
  assert_int_equal(is_touched(&data, 0), -1);
  problem_data_restore(&data, 1);
  problem_store(SDPA_F32, problem_data_at(&data, PROBLEM_KEY, 0, 0, 1, 1), 1e5);
  assert_int_equal(is_touched(&data, 0), -1);
  problem_data_restore(&data, 0);
  problem_store(SDPA_F32, data.block[BLOCK_SINKS].origin, 1e5);
  assert_int_equal(is_touched(&data, 0), -1);
  problem_data_free(&data);
}

/* The numbers of a 16-bit tensor are those of f64 rounded; every tensor has its own element. */
static void test_narrow_types(void **state) {
  (void)state;
  struct problem_data wide, narrow;
  make(&wide, "f64:q3:k4:d2:bias:sink:seed=5", PLACE_PLAIN);
  make(&narrow, "q=f16,k=bf16,v=f32,o=bf16,bias=f32:q3:k4:d2:bias:sink:seed=5", PLACE_PLAIN);
  for (int64_t n = 0; n < 8; n++) {
    const int64_t i = n / 2, j = n % 2;
    const double key = value_at(&narrow, PROBLEM_KEY, 0, i, j);
    const double exact = value_at(&wide, PROBLEM_KEY, 0, i, j);
    assert_true(fabs(key - exact) <= 0x1p-8 * fabs(exact) && key != exact);
    assert_true(value_at(&narrow, PROBLEM_VALUE, 0, i, j) ==
                (double)(float)value_at(&wide, PROBLEM_VALUE, 0, i, j));
    if (n >= 6) continue;
    const double query = value_at(&narrow, PROBLEM_QUERY, 0, i, j);
    assert_true(fabs(query - value_at(&wide, PROBLEM_QUERY, 0, i, j)) <= 0x1p-11 * fabs(query));
  }
  assert_int_equal((const char *)problem_data_at(&narrow, PROBLEM_OUTPUT, 0, 0, 1, 1) -
                       (const char *)narrow.args.output,
                   3 * 2);
  assert_int_equal((const char *)problem_data_at(&narrow, PROBLEM_BIAS, 0, 0, 1, 1) -
                       (const char *)narrow.args.bias,
                   5 * 4);
  assert_true(*(const float *)narrow.args.sinks == (float)*(const double *)wide.args.sinks);
  problem_data_free(&wide);
  problem_data_free(&narrow);
}

static void test_refusals(void **state) {
  (void)state;
  struct problem_spec spec;
  struct problem_data data;
  char message[PROBLEM_MESSAGE_MAX];
  assert_int_equal(problem_parse("f64:q1:k4611686018427387904:d4", &spec, message, sizeof message),
                   0);
  assert_int_equal(problem_data_make(&data, &spec, NULL, message, sizeof message), -1);
  assert_non_null(strstr(message, "key"));
}

static sigjmp_buf after_fault;

static void on_fault(int signal_number) {
  (void)signal_number;
  siglongjmp(after_fault, 1);
}

/* 1 if reading the byte is a fault. */
static int faults(const volatile unsigned char *place) {
  struct sigaction action, kept;
  volatile int fault = 0;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, &kept);
  if (sigsetjmp(after_fault, 1) == 0)
    (void)*place;
  else
    fault = 1;
  sigaction(SIGSEGV, &kept, NULL);
  return fault;
}

static void test_guards(void **state) {
  (void)state;
  const char *text = "f64:q2:k600:d3:lens=[2]";
  struct problem_data data;
  make(&data, text, PLACE_GUARD_END);
  assert_false(faults(problem_data_at(&data, PROBLEM_KEY, 0, 0, 1, 2)));
  assert_true(faults(problem_data_at(&data, PROBLEM_KEY, 0, 0, 2, 0)));
  assert_true(faults(problem_data_at(&data, PROBLEM_KEY, 0, 0, 599, 2)));
  assert_true(faults((unsigned char *)data.args.output + 2 * 3 * 8));
  problem_data_free(&data);
  make(&data, text, PLACE_GUARD_BEGIN);
  assert_true(faults((const unsigned char *)data.args.key - 1));
  assert_false(faults(data.args.key));
  problem_data_free(&data);
}

static void test_failing_allocator(void **state) {
  (void)state;
  struct failing_alloc books = {.fail_at = 2};
  sdpa_options options;
  memset(&options, 0, sizeof options);
  failing_alloc_install(&books, &options);
  unsigned char *block = options.alloc(options.alloc_ctx, 100, 64);
  assert_non_null(block);
  assert_int_equal((uintptr_t)block % 128, 64);
  assert_int_equal(block[99], 0xA5);
  assert_null(options.alloc(options.alloc_ctx, 1, 8));
  assert_int_equal(books.live, 1);
  options.release(options.alloc_ctx, block, 99);
  assert_int_equal(books.bad_free, 1);
  assert_int_equal(books.live, 1);
  options.release(options.alloc_ctx, block, 100);
  assert_int_equal(books.live, 0);
  assert_null(options.alloc(options.alloc_ctx, 1, 3));
  assert_int_equal(books.bad_size, 1);
  assert_int_equal(books.calls, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unread_is_nan), cmocka_unit_test(test_streams),
      cmocka_unit_test(test_narrow_types),  cmocka_unit_test(test_snapshot),
      cmocka_unit_test(test_refusals),      cmocka_unit_test(test_narrow_types),
      cmocka_unit_test(test_guards),        cmocka_unit_test(test_failing_allocator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
