/* row_scratch.h - working memory for one row of scores
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_ROW_SCRATCH_H
#define SDPAI_ROW_SCRATCH_H

#include "problem/problem.h"
#include "runtime/arena.h"

struct sdpai_row_scratch {
  void *bias; /* [keys] elements of bias whose column stride is not 1; NULL: it is 1, or there is no
                 bias */
  uint8_t *mask;    /* [keys] the same of the mask */
  uint8_t *allowed; /* [keys] which keys a row attends */
};

/* For rows of up to `keys` keys at a time. */
static inline void sdpai_row_scratch_carve(const struct sdpai_problem *p, int64_t keys,
                                           struct sdpai_arena *arena,
                                           struct sdpai_row_scratch *rows) {
  const int copies_bias = (p->features & SDPA_BIAS) && p->bias.col != 1;
  const int copies_mask = (p->features & SDPA_MASK) && p->mask.col != 1;
  rows->bias = sdpai_arena_take(arena, copies_bias ? keys : 0, p->element);
  rows->mask = sdpai_arena_take(arena, copies_mask ? keys : 0, 1);
  rows->allowed = sdpai_arena_take(arena, keys, 1);
}

#endif
