/* execute.h - running a plan, shared by the calls that do
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_EXECUTE_H
#define SDPAI_EXECUTE_H

#include "engines/plan.h"

/* Runs a plan on checked args, a backward one with checked grads (else NULL), in the default
 * floating-point environment, which the caller has entered. workspace NULL: on the stack if it is
 * small, else from the plan's allocator. */
sdpa_status sdpai_run(const struct sdpa_plan *plan, const struct sdpai_args *args,
                      const struct sdpai_grads *grads, void *workspace);

#endif
