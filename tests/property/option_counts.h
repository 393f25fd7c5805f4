/* option_counts.h - how often each pair of options really occurred in the random problems
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An option counts for a problem only if a library that leaves it out would be found out: the
 * reference computed without it differs by more than the bounds. Options that say what is returned,
 * and how data lie, count if there is something to return, or to lie.
 */
#ifndef OPTION_COUNTS_H
#define OPTION_COUNTS_H

#include <stdint.h>

#include "problem_data.h"
#include "reference.h"

enum { OPTIONS_MAX = 32 };

struct option_counts {
  int64_t problems;
  int64_t pair[OPTIONS_MAX][OPTIONS_MAX]; /* [i][i]: the option itself */
  int64_t tensors, not_contiguous;        /* of tensors with two elements or more */
};

/* Adds one problem. Reads data that rule 11 forbids, so the data must not lie at guard pages. */
void option_counts_add(struct option_counts *counts, const struct problem_data *data,
                       const struct reference *reference);

void option_counts_print(const struct option_counts *counts);

/* The pair that occurred least often, of those that can occur together. Returns its count. */
int64_t option_counts_least(const struct option_counts *counts, const char **first,
                            const char **second);

#endif
