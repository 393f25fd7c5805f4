/* reference.h - what the function returns, by loops written from the formulas, with error bounds
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The yardstick of tests and bench. It shares no code with the library, computes one row at a time
 * in long double (x86: 64 bits of mantissa, 11 more than f64), and knows nothing of blocks, engines
 * or packing. It reads the same arguments as the library, at the positions that semantics rule 11
 * lets anyone read, and expects a problem that the library would accept (it checks nothing).
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdint.h>

#include <sdpa/sdpa.h>

/* The four outputs. */
enum reference_kind {
  REFERENCE_OUTPUT,
  REFERENCE_WEIGHTS,
  REFERENCE_SCORES,
  REFERENCE_LSE,
  REFERENCE_KINDS
};

/* One row of one output: `count` values and how far the library may be from each. A bound of 0 asks
 * for the very value; a NaN value for a NaN; an infinite bound marks a value into which an infinite
 * V goes (rule 12): infinite with this sign or NaN, or where the value is NaN, anything not finite.
 */
struct reference_values {
  int64_t count; /* 0 also where the output is not asked for */
  long double *value, *bound;
};

struct reference_row {
  int64_t batch, head, row;
  struct reference_values kind[REFERENCE_KINDS];
  long double largest; /* A of the bounds: the magnitudes that go into a score, see reference.c */
  long double
      *summed; /* of each output element: the sum of weight |v| that its error is relative to */
};

struct reference_request {
  int64_t rows_per_head; /* that many, evenly spread, first and last among them; 0: all */
  int with_plain;        /* also run the plain implementation, for the second gate of rule 18 */
  uint32_t precision;    /* SDPA_PRECISION_...: what the arithmetic may do beside rounding in the
                            compute type. FMA: nothing. FULL: round weights to 16 bits where V and
                            the output have no more. REDUCED: besides, products of f32 that are
                            REFERENCE_REDUCED off */
};

struct reference {
  int64_t rows;
  struct reference_row *row;
  /* Over all rows of one kind: the largest error of the plain implementation (three loops in the
   * compute type, sequential sums, libm exp, the output rounded to its type), and what it counts as at least, see reference.c. */
  long double plain_error[REFERENCE_KINDS];
  long double plain_floor[REFERENCE_KINDS];
};

/* Constant of the error bound of rule 18. */
#define REFERENCE_BOUND 4.0L

/* "Roundoff" of products under reduced precision: two of it are the most that one product is off. */
#define REFERENCE_REDUCED 0x1p-16L

/* What a precision allows beside the roundoff of the compute type: of products of bf16 parts, and of
 * weights before the product with V. */
struct reference_allowance {
  long double products, weights;
};
struct reference_allowance reference_allowance_of(const sdpa_problem *problem, uint32_t precision);

/* Returns 0, or -1 without memory. */
int reference_compute(struct reference *reference, const sdpa_problem *problem,
                      const sdpa_args *args, const struct reference_request *request);
void reference_free(struct reference *reference);

/* 1 if a library that computed `other` instead would be found out by the values and bounds of
 * `reference`: some value differs by more than its bound. The two ask for the same outputs. */
int reference_differs(const struct reference *reference, const sdpa_problem *other,
                      const sdpa_args *args);

/* Largest finite number, smallest normal number and unit roundoff of a type. */
struct reference_limits {
  long double largest, smallest, roundoff;
};
struct reference_limits reference_limits_of(uint32_t type);

#endif
