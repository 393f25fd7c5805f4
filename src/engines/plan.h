/* plan.h - the plan: a checked problem, the options, and what the chosen engine needs
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_PLAN_H
#define SDPAI_PLAN_H

#include "blas/blas.h"
#include "engines/engine.h"
#include "kernels/kernels.h"
#include "problem/problem.h"

/* How engine blas hands the tensors to CBLAS. A tensor that is not taken goes through a packed
 * copy. */
struct sdpai_blas_plan {
  struct sdpai_blas_layout query, key, value; /* in place or packed */
  uint8_t takes_query, takes_key, takes_value, takes_output, takes_weights;
  uint8_t guards_value; /* see blas_scratch.h */
  int64_t score_row;    /* elements from one row of scores to the next, in scratch */
};

/* Immutable once built: any number of threads may execute it. Holds no pointer into itself and owns
 * no memory, so it may live on the stack (one-shot calls) as well as on the heap. */
struct sdpa_plan {
  struct sdpai_problem problem;
  struct sdpai_options options;
  const struct sdpai_engine *engine;
  const struct sdpai_kernels *kernels;
  int64_t block_rows; /* query rows whose scores are held at once */
  struct sdpai_blas_plan blas;
  size_t workspace; /* bytes at SDPAI_ARENA_ALIGNMENT */
};

/* Checks, chooses and measures. On an error *plan is unspecified. */
sdpa_status sdpai_plan_build(const sdpa_problem *problem, const sdpa_options *options,
                             struct sdpa_plan *plan, struct sdpai_report *report);

/* Checks the args against the plan, and the workspace unless it is NULL. */
sdpa_status sdpai_plan_check(const struct sdpa_plan *plan, const sdpa_args *args,
                             const void *workspace, size_t bytes, struct sdpai_args *checked,
                             struct sdpai_report *report);

/* Query-key pairs that causal, window and capacities allow, without lengths, masks and offsets per
 * batch, which a plan does not know. Held at INT64_MAX. */
int64_t sdpai_plan_pairs(const struct sdpai_problem *problem);

/* The figures of sdpa_plan_info, by the rules that stand there. */
int64_t sdpai_plan_flops(const struct sdpai_problem *problem);
int64_t sdpai_plan_bytes(const struct sdpai_problem *problem);

#endif
