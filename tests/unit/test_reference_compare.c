/* test_reference_compare.c - what the comparison with the reference accepts and refuses
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Outputs are put where the library would put them, one inside and one outside of each bound.
 */
#include "reference_fixture.h"

#include <math.h>
#include <string.h>

#include "compare.h"

static void put_outputs(struct reference_fixture *f, double output, double lse) {
  problem_store(SDPA_F64, f->data.args.output, output);
  problem_store(SDPA_F64, f->data.args.lse, lse);
}

static int is_refused(const struct reference_fixture *f, const char *sentence) {
  struct compare_result result;
  compare_with_reference(&f->reference, &f->data.problem, &f->data.args, 1, &result);
  if (result.failed && !strstr(result.text, sentence)) fail_msg("%s", result.text);
  return result.failed;
}

static void test_comparison(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f64:q1:k2:d1:scale=0:lse");
  SET(&f, PROBLEM_QUERY, 1.0);
  SET(&f, PROBLEM_KEY, 1.0, 1.0);
  SET(&f, PROBLEM_VALUE, 1.0, 3.0);
  fixture_run(&f); /* output 2, bound 4 (2 + 0) 2 eps, eps = 2^-53; plain error 0 */
  f.reference.plain_floor[REFERENCE_OUTPUT] = 0x1p-51L; /* 4 eps */
  put_outputs(&f, 2.0, log(2.0));
  assert_false(is_refused(&f, ""));
  put_outputs(&f, 2.0 + 0x1p-51, log(2.0));
  assert_false(is_refused(&f, ""));
  put_outputs(&f, 2.0 + 0x1.8p-50, log(2.0)); /* in the bound, but beyond two floors */
  assert_true(is_refused(&f, "plain implementation"));
  f.reference.plain_error[REFERENCE_OUTPUT] = 0x1p-51L; /* not more than the floor: no change */
  assert_true(is_refused(&f, "plain implementation"));
  f.reference.plain_error[REFERENCE_OUTPUT] = 0x1.8p-51L;
  assert_false(is_refused(&f, ""));
  put_outputs(&f, 2.0 + 0x1p-48, log(2.0));
  assert_true(is_refused(&f, "output[batch 0, head 0, row 0, col 0]"));
  put_outputs(&f, NAN, log(2.0));
  assert_true(is_refused(&f, "output["));
  put_outputs(&f, 2.0, INFINITY);
  assert_true(is_refused(&f, "lse["));
  fixture_end(&f);
}

static void test_comparison_of_infinities(void **state) {
  (void)state;
  struct reference_fixture f;
  fixture_begin(&f, "f64:q1:k1:d1:lse");
  SET(&f, PROBLEM_QUERY, 0.0);
  SET(&f, PROBLEM_VALUE, INFINITY);
  fixture_run(&f);
  put_outputs(&f, INFINITY, 0.0);
  assert_false(is_refused(&f, ""));
  put_outputs(&f, NAN, 0.0);
  assert_false(is_refused(&f, ""));
  put_outputs(&f, -(double)INFINITY, 0.0);
  assert_true(is_refused(&f, "output["));
  put_outputs(&f, 1e300, 0.0);
  assert_true(is_refused(&f, "output["));
  fixture_end(&f);
}

static void put_narrow(struct reference_fixture *f, double output) {
  problem_store(problem_type(&f->data.problem, PROBLEM_OUTPUT), f->data.args.output, output);
}

/* A 16-bit output: one rounding more, and infinity where that rounding overflows. */
static void test_narrow_output(void **state) {
  (void)state;
  const long double eps = 0x1p-24L, tiny = 0x1p-126L;
  struct reference_fixture f;
  fixture_begin(&f, "q=f32,o=bf16:q1:k2:d1:scale=0");
  SET(&f, PROBLEM_VALUE, 1.0, 2.0 + 0x1p-5); /* mean 1.5 + 2^-6; neighbours 2^-7 apart */
  fixture_run(&f);
  const long double computed = 4 * eps * (2 + tiny) * (1.5L + 0x1p-6L) + tiny * (3 + 0x1p-5L);
  assert_true(f.reference.row[0].kind[REFERENCE_OUTPUT].bound[0] == computed + 0x1p-8L);
  assert_true(f.reference.plain_error[REFERENCE_OUTPUT] == 0.0L);
  assert_true(f.reference.plain_floor[REFERENCE_OUTPUT] > 0x1p-8L);
  put_narrow(&f, 1.5 + 0x1p-6);
  assert_false(is_refused(&f, ""));
  put_narrow(&f, 1.5 + 0x1p-6 + 0x1p-7);
  assert_true(is_refused(&f, "output["));
  /* The plain loops' result is stored, too: 1 + 2^-8 + 2^-20 is rounded up. */
  SET(&f, PROBLEM_VALUE, 1.0, 1.0 + 0x1p-7 + 0x1p-19);
  fixture_run(&f);
  assert_true(fabsl(f.reference.plain_error[REFERENCE_OUTPUT] - (0x1p-8L - 0x1p-20L)) < 0x1p-60L);
  fixture_end(&f);

  fixture_begin(&f, "q=f32,o=f16:q1:k1:d1");
  SET(&f, PROBLEM_QUERY, 0.0);
  SET(&f, PROBLEM_VALUE, 65519.0); /* infinity begins at 65520 */
  fixture_run(&f);
  put_narrow(&f, 65504.0);
  assert_false(is_refused(&f, ""));
  put_narrow(&f, INFINITY);
  assert_true(is_refused(&f, "output["));
  SET(&f, PROBLEM_VALUE, -65521.0);
  fixture_run(&f);
  put_narrow(&f, -(double)INFINITY);
  assert_false(is_refused(&f, ""));
  put_narrow(&f, INFINITY);
  assert_true(is_refused(&f, "output["));
  put_narrow(&f, -65504.0);
  assert_true(is_refused(&f, "output["));
  SET(&f, PROBLEM_VALUE, 0x1.8p-24); /* between two subnormal numbers */
  fixture_run(&f);
  put_narrow(&f, 0x1p-24);
  assert_false(is_refused(&f, ""));
  put_narrow(&f, 0x1p-23);
  assert_false(is_refused(&f, ""));
  put_narrow(&f, 0.0);
  assert_true(is_refused(&f, "output["));
  fixture_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_comparison),
      cmocka_unit_test(test_comparison_of_infinities),
      cmocka_unit_test(test_narrow_output),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
