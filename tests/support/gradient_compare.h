/* gradient_compare.h - the gradients that the library wrote against the reference
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef GRADIENT_COMPARE_H
#define GRADIENT_COMPARE_H

#include "gradient_reference.h"
#include "problem_data.h"
#include "reference.h"

struct gradient_result {
  int failed;                        /* 1: text says where and how */
  long double error[GRADIENT_KINDS]; /* as in struct compare_result */
  long double worst[GRADIENT_KINDS];
  long double plain[GRADIENT_KINDS];
  char text[512];
};

/* Compares every gradient that grads asks for, element by element with its bound and, if the plain
 * implementation was run, tensor by tensor with twice its error. The first element out of bounds
 * ends the comparison. */
void gradient_compare(const struct gradient_reference *reference, const sdpa_problem *problem,
                      const sdpa_grads *grads, int with_plain, struct gradient_result *result);

/* Writes output and lse of the reference, rounded to their types, where the forward pass would have
 * written them; but rows beyond the query length, which nobody reads, stay as they are. */
void gradient_write_inputs(const struct reference *forward, const struct problem_data *data);

#endif
