/* gradient_support.h - what the property tests of the backward pass share
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef GRADIENT_SUPPORT_H
#define GRADIENT_SUPPORT_H

#include "gradient_compare.h"
#include "property_support.h"

/* The i-th problem of the run, its gradients asked for. */
void gradient_problem(int64_t i, struct problem_spec *spec);

/* Data of a problem whose gradients are asked for, with output and lse of the reference, and which
 * gradients the call wants, from the seed: most of them all. With a snapshot. */
void gradient_make(struct problem_data *data, const struct problem_spec *spec);

/* What gradient_make() does after the data are there; again after they were changed. */
void gradient_believe(struct problem_data *data, const struct problem_spec *spec);

/* One call in a workspace full of NaN, or for some seeds without one. Fails the test with the
 * library's own sentence unless it succeeds. The strides of grad_bias where it is summed are noise.
 */
void gradient_run(const struct problem_data *data, const struct problem_spec *spec,
                  struct property_way way);
void gradient_run_with(const struct problem_data *data, const struct problem_spec *spec,
                       const sdpa_options *options, const char *name);

#endif
