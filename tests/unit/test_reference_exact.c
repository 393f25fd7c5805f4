/* test_reference_exact.c - the reference's own error, against MPFR
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reference sums up to 16,384 products one after the other in long double. What that costs must
 * be small beside the errors of f64 that are measured with it: docs/numerics.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <mpfr.h>

#include "problem_data.h"
#include "reference.h"

enum { BITS = 200, KEYS = 16384, DIM = 8 };

static double element(const struct problem_data *data, enum problem_tensor tensor, int64_t row,
                      int64_t col) {
  return problem_load(SDPA_F64, problem_data_at(data, tensor, 0, 0, row, col));
}

/* The outputs of the only row, and in `sum` what its log-sum-exp is the logarithm of. No maximum is
 * subtracted: MPFR's exponents reach far enough. */
static void compute(const struct problem_data *data, double scale, mpfr_t output[DIM], mpfr_t sum) {
  mpfr_t score, term;
  mpfr_inits2(BITS, score, term, (mpfr_ptr)NULL);
  mpfr_set_zero(sum, 1);
  for (int d = 0; d < DIM; d++) mpfr_set_zero(output[d], 1);
  for (int64_t j = 0; j < KEYS; j++) {
    mpfr_set_zero(score, 1);
    for (int64_t d = 0; d < DIM; d++) {
      mpfr_set_d(term, element(data, PROBLEM_QUERY, 0, d), MPFR_RNDN);
      mpfr_mul_d(term, term, element(data, PROBLEM_KEY, j, d), MPFR_RNDN);
      mpfr_add(score, score, term, MPFR_RNDN);
    }
    mpfr_mul_d(score, score, scale, MPFR_RNDN);
    mpfr_exp(score, score, MPFR_RNDN);
    mpfr_add(sum, sum, score, MPFR_RNDN);
    for (int64_t d = 0; d < DIM; d++) {
      mpfr_mul_d(term, score, element(data, PROBLEM_VALUE, j, d), MPFR_RNDN);
      mpfr_add(output[d], output[d], term, MPFR_RNDN);
    }
  }
  for (int d = 0; d < DIM; d++) mpfr_div(output[d], output[d], sum, MPFR_RNDN);
  mpfr_clears(score, term, (mpfr_ptr)NULL);
}

/* |value - exact| */
static double distance(long double value, const mpfr_t exact) {
  mpfr_t apart;
  mpfr_init2(apart, BITS);
  mpfr_set_ld(apart, value, MPFR_RNDN);
  mpfr_sub(apart, apart, exact, MPFR_RNDN);
  const double result = fabs(mpfr_get_d(apart, MPFR_RNDN));
  mpfr_clear(apart);
  return result;
}

/* The largest error of the reference relative to its sums of weight |v|, and of its log-sum-exp. */
static void measure(double size, double *output_error, double *lse_error) {
  struct problem_data data;
  struct problem_spec spec;
  struct reference reference;
  char text[128], message[PROBLEM_MESSAGE_MAX];
  mpfr_t output[DIM], sum;
  const double scale = size / 4.0; /* a power of two times size: exact in the string */
  snprintf(text, sizeof text, "f64:q1:k%d:d%d:scale=%.17g:lse", KEYS, DIM, scale);
  assert_int_equal(problem_parse(text, &spec, message, sizeof message), 0);
  assert_int_equal(problem_data_make(&data, &spec, NULL, message, sizeof message), 0);
  const struct reference_request request = {0};
  assert_int_equal(reference_compute(&reference, &data.problem, &data.args, &request), 0);
  mpfr_init2(sum, BITS);
  for (int d = 0; d < DIM; d++) mpfr_init2(output[d], BITS);
  compute(&data, scale, output, sum);
  *output_error = 0.0;
  for (int d = 0; d < DIM; d++) {
    const double apart = distance(reference.row->kind[REFERENCE_OUTPUT].value[d], output[d]);
    *output_error = fmax(*output_error, apart / (double)reference.row->summed[d]);
    mpfr_clear(output[d]);
  }
  mpfr_log(sum, sum, MPFR_RNDN);
  *lse_error = distance(reference.row->kind[REFERENCE_LSE].value[0], sum);
  mpfr_clear(sum);
  reference_free(&reference);
  problem_data_free(&data);
}

/* 2^-59 is a 64th of f64's roundoff; the errors of f64 itself grow with the scores, and so do the
 * reference's. */
static void the_reference_is_far_better_than_f64(void **state) {
  static const double sizes[] = {1.0, 10.0, 100.0};
  (void)state;
  for (int i = 0; i < 3; i++) {
    double output, lse;
    measure(sizes[i], &output, &lse);
    print_message("scores of size %g: output %.2e, log-sum-exp %.2e\n", sizes[i], output, lse);
    assert_true(output > 0.0 && output < 0x1p-59 * sizes[i]);
    assert_true(lse < 0x1p-59 * sizes[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_reference_is_far_better_than_f64)};
  return cmocka_run_group_tests_name("reference_exact", tests, NULL, NULL);
}
