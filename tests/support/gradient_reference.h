/* gradient_reference.h - what the backward pass returns, by loops written from the formulas
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The yardstick of sdpa_backward(), as reference.h is that of the forward pass: semantics rules 23
 * to 26 in long double, weights and all from the inputs alone (what the forward pass returned does
 * not enter, unless only a sample is asked for), and a bound for each element. gradient_bounds.c
 * derives the bounds.
 */
#ifndef GRADIENT_REFERENCE_H
#define GRADIENT_REFERENCE_H

#include <stdint.h>

#include <sdpa/sdpa.h>

enum gradient_kind {
  GRADIENT_QUERY,
  GRADIENT_KEY,
  GRADIENT_VALUE,
  GRADIENT_BIAS,
  GRADIENT_SINKS,
  GRADIENT_SLOPES,
  GRADIENT_KINDS
};

/* "grad_query" ..., as in sdpa_grads. */
const char *gradient_kind_name(int kind);

/* One gradient, row-major. A bound of 0 asks for the very value, of a NaN for a NaN; an infinite one
 * of a value that is not finite for any such value, and of a finite value for nothing (terms that
 * are not finite, each of which is multiplied with 0); a negative one marks what is not known. */
struct gradient_values {
  int64_t shape[4]; /* batch, head, row, col; 1 where grad_bias is summed; no elements: the problem
                         has no such gradient */
  int64_t rows;     /* of the whole tensor: shape[2] of them, evenly spread, are here */
  long double *value, *bound;
};

struct gradient_request {
  /* Rows a head of grad_query, grad_key and grad_value, first and last among them; 0: all. Where it
   * leaves out any, lse and output are believed for the two latter and for the sinks, and grad_bias
   * and grad_alibi_slopes, which need every row, are not known. */
  int64_t rows_per_head;
  int with_plain; /* also run the plain implementation, for the second gate of rule 18 */
};

struct gradient_reference {
  struct gradient_values kind[GRADIENT_KINDS];
  /* As in struct reference. */
  long double plain_error[GRADIENT_KINDS], plain_floor[GRADIENT_KINDS];
};

/* grads: the inputs, of which grad_lse may be NULL. Returns 0, or -1 without memory. */
int gradient_compute(struct gradient_reference *reference, const sdpa_problem *problem,
                     const sdpa_args *args, const sdpa_grads *grads,
                     const struct gradient_request *request);
void gradient_free(struct gradient_reference *reference);

/* Row r of those that are kept: its number in the tensor. */
int64_t gradient_row_number(const struct gradient_values *values, int64_t r);

static inline int64_t gradient_count(const struct gradient_values *values) {
  return values->shape[0] * values->shape[1] * values->shape[2] * values->shape[3];
}

#endif
