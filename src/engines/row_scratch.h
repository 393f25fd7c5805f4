/* row_scratch.h - how one row of scores is worked on: its memory, and whether rules apply
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_ROW_SCRATCH_H
#define SDPAI_ROW_SCRATCH_H

#include "problem/problem.h"
#include "runtime/arena.h"

struct sdpai_row_scratch {
  void
      *bias; /* [keys] a row of a bias whose column stride is not 1 or whose type is not the compute
                 type; NULL: neither, or there is no bias */
  uint8_t *mask;    /* [keys] the same of the mask */
  uint8_t *allowed; /* [keys] which keys a row attends */
};

/* Whether products need more than the scale to become scores: a rule, or to be stored on the way.
 * By the problem alone, so that every row of it is rounded alike. */
static inline int sdpai_scores_ruled(const struct sdpai_problem *p) {
  return p->softcap != 0 || (p->features & (SDPA_ALIBI | SDPA_BIAS | SDPA_MASK | SDPA_SCORES)) != 0;
}

/* For rows of up to `keys` keys at a time. */
static inline void sdpai_row_scratch_carve(const struct sdpai_problem *p, int64_t keys,
                                           struct sdpai_arena *arena,
                                           struct sdpai_row_scratch *rows) {
  const int copies_bias =
      (p->features & SDPA_BIAS) && (p->bias.col != 1 || p->types.bias != p->types.compute);
  const int copies_mask = (p->features & SDPA_MASK) && p->mask.col != 1;
  rows->bias = sdpai_arena_take(arena, copies_bias ? keys : 0, p->element);
  rows->mask = sdpai_arena_take(arena, copies_mask ? keys : 0, 1);
  rows->allowed = sdpai_arena_take(arena, keys, 1);
}

#endif
