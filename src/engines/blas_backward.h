/* blas_backward.h - the backward pass of the `blas` engine
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_BLAS_BACKWARD_H
#define SDPAI_BLAS_BACKWARD_H

#include "engines/engine.h"

/* The members of struct sdpai_engine. */
sdpa_status sdpai_blas_backward_layout(struct sdpa_plan *plan, struct sdpai_report *report);
sdpa_status sdpai_blas_backward_run(const struct sdpa_plan *plan, const struct sdpai_args *args,
                                    const struct sdpai_grads *grads, void *workspace);

#endif
