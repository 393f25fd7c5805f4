/* reference_fixture.h - a small problem with numbers set by hand, and its reference
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef REFERENCE_FIXTURE_H
#define REFERENCE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "problem_data.h"
#include "reference.h"

struct reference_fixture {
  struct problem_data data;
  struct reference reference;
};

/* Data and no reference yet; fails the test for a string that does not parse. */
void fixture_begin(struct reference_fixture *f, const char *text);
void fixture_end(struct reference_fixture *f);

/* Sets the elements of a contiguous tensor, and one of the sinks or slopes. */
void fixture_set(struct reference_fixture *f, enum problem_tensor tensor, const double *values,
                 size_t n);
void fixture_set_scalar(struct reference_fixture *f, enum problem_block block, double value);

/* Computes the reference, with the plain implementation. */
void fixture_run(struct reference_fixture *f);

#define SET(f, tensor, ...)                                                                        \
  fixture_set(f, tensor, (const double[]){__VA_ARGS__},                                            \
              sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

#endif
