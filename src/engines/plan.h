/* plan.h - the plan: a checked problem, the options, and what the chosen engine needs
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_PLAN_H
#define SDPAI_PLAN_H

#include "blas/blas.h"
#include "engines/engine.h"
#include "engines/matrix_choice.h"
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

/* How engine tiled cuts the work. A kv head's query rows are those of all its query heads, one head
 * after the other: group * query_len of them. In a backward plan an item is a chunk, and the splits
 * are the groups of tiles of keys (tiled_backward.h). */
struct sdpai_tiled_plan {
  uint8_t by_rows;                  /* few queries: dimensions in lanes, not queries */
  uint8_t small;                    /* tiled_small_tpl.h */
  uint8_t packs_key, packs_value;   /* go through scratch: column stride not 1, or in 16 bits */
  uint8_t narrow_key, narrow_value; /* in 16 bits, and read so by the products of few rows */
  uint8_t ruled; /* every score goes through tile_rules or row_scores, which apply the scale */
  struct sdpai_matrix_parts matrix; /* what the matrix unit does; zero: nothing */
  int64_t width;                    /* query rows of a panel */
  int64_t panels;                   /* panels of an item */
  int64_t item_rows, items;         /* rows of an item; items of a kv head */
  int64_t super_keys; /* keys that an item's panels share before the next ones: they stay in L2;
                         by rows: keys of a tile */
  int64_t splits, split_keys; /* parts of the keys, by query_len and key_len alone */
  uint8_t split_items;        /* each split is an item of its own */
  int32_t slots;              /* items that may run at once */
  int64_t slot_bytes,
      part_bytes; /* of the workspace: slots * slot_bytes, then the parts of split items */
};

/* Immutable once built: any number of threads may execute it. Holds no pointer into itself and owns
 * no memory, so it may live on the stack (one-shot calls) as well as on the heap. */
struct sdpa_plan {
  struct sdpai_problem problem;
  struct sdpai_options options;
  int backward; /* for sdpa_backward(): no other entry runs it */
  const struct sdpai_engine *engine;
  const struct sdpai_kernels *kernels;
  int64_t block_rows; /* query rows whose scores are held at once */
  struct sdpai_blas_plan blas;
  struct sdpai_tiled_plan tiled;
  size_t workspace; /* bytes at SDPAI_ARENA_ALIGNMENT */
};

/* Checks, chooses and measures; `backward`: for sdpa_backward(). On an error *plan is unspecified.
 */
sdpa_status sdpai_plan_build(const sdpa_problem *problem, const sdpa_options *options, int backward,
                             struct sdpa_plan *plan, struct sdpai_report *report);

/* Checks the args against the plan, and the workspace unless it is NULL. */
sdpa_status sdpai_plan_check(const struct sdpa_plan *plan, const sdpa_args *args,
                             const void *workspace, size_t bytes, struct sdpai_args *checked,
                             struct sdpai_report *report);

/* The same for sdpa_backward(). */
sdpa_status sdpai_plan_check_backward(const struct sdpa_plan *plan, const sdpa_args *args,
                                      const sdpa_grads *grads, const void *workspace, size_t bytes,
                                      struct sdpai_args *checked_args,
                                      struct sdpai_grads *checked_grads,
                                      struct sdpai_report *report);

/* Query-key pairs that causal, window and capacities allow, without lengths, masks and offsets per
 * batch, which a plan does not know. Held at INT64_MAX. */
int64_t sdpai_plan_pairs(const struct sdpai_problem *problem);

/* The figures of sdpa_plan_info, by the rules that stand there. */
int64_t sdpai_plan_flops(const struct sdpai_problem *problem, int backward);
int64_t sdpai_plan_bytes(const struct sdpai_problem *problem, int backward);

#endif
