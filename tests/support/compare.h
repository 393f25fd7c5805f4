/* compare.h - the library's outputs against the reference
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef COMPARE_H
#define COMPARE_H

#include <stddef.h>

#include "reference.h"

struct compare_result {
  int failed;                         /* 1: text says where and how */
  long double error[REFERENCE_KINDS]; /* largest absolute error of a finite value */
  long double worst[REFERENCE_KINDS]; /* largest error divided by its bound; not of 16
                                         bits: there it says how ties fell */
  long double plain[REFERENCE_KINDS]; /* error / (2 max(plain, floor)), where plain was run */
  char text[512];
};

/* Compares every output that the reference holds, element by element with its bound, and, if the
 * plain implementation was run, tensor by tensor with twice its error (rule 18), which counts as at
 * least plain_floor (reference.h). The first element out of bounds ends the comparison. args: those
 * that the library was called with. */
void compare_with_reference(const struct reference *reference, const sdpa_problem *problem,
                            const sdpa_args *args, int with_plain, struct compare_result *result);

/* Name of a kind of output: "output", "weights", "scores", "lse". */
const char *compare_kind_name(int kind);

#endif
