/* gradient_fixture.h - a small problem in f64 with the reference of its gradients
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef GRADIENT_FIXTURE_H
#define GRADIENT_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "gradient_compare.h"
#include "problem_data.h"

/* A problem with its data, forward results and gradients. */
struct gradient_fixture {
  struct problem_spec spec;
  struct problem_data data;
  struct gradient_reference gradient;
};

/* A random problem of few elements in f64, or that of a problem string, which fails the test if it
 * does not parse. */
void gradient_begin(struct gradient_fixture *f, uint64_t seed);
void gradient_parse(struct gradient_fixture *f, const char *text);
void gradient_end(struct gradient_fixture *f);

/* Everything anew from data that were changed, with the plain implementation. rows_per_head: as in
 * struct gradient_request. */
void gradient_again(struct gradient_fixture *f, int64_t rows_per_head);

/* Fails the test with the problem string. */
void gradient_assert_near(const struct gradient_fixture *f, int kind, long double actual,
                          long double expected, long double tolerance);

#endif
