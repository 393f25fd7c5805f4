/* problem_fill.h - the numbers in the tensors and arrays of a problem
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Called by problem_data_make() alone: first the arrays, since the lengths among them say which
 * elements of the tensors are read.
 */
#ifndef PROBLEM_FILL_H
#define PROBLEM_FILL_H

#include "problem_data.h"

void problem_fill_arrays(struct problem_data *data, const struct problem_spec *spec,
                         const struct problem_data_options *options);
void problem_fill_tensor(struct problem_data *data, const struct problem_spec *spec,
                         enum problem_tensor tensor, const struct problem_data_options *options);

#endif
