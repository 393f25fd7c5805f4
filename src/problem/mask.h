/* mask.h - which keys a query row may attend: the one table of masks
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Engines see every mask in two forms only: an interval of keys per row, and for what no interval
 * can say a byte per key. A new mask is a row of the table in mask.c.
 */
#ifndef SDPAI_MASK_H
#define SDPAI_MASK_H

#include "problem/problem.h"

/* Keys begin .. end - 1; empty if end <= begin. */
struct sdpai_interval {
  int64_t begin, end;
};

/* Features that exclude single keys of a row, or different keys in different rows: with none of
 * them every row of a batch entry attends the same keys, 0 .. L_k - 1. */
#define SDPAI_MASK_FEATURES (SDPA_CAUSAL | SDPA_WINDOW | SDPAI_SINGLE_KEY_FEATURES)

/* Those of them that exclude single keys within a row's interval. */
#define SDPAI_SINGLE_KEY_FEATURES (SDPA_MASK | SDPA_BIAS)

/* One head of one batch entry, as masks look at it. */
struct sdpai_mask_view {
  const struct sdpai_problem *problem;
  const uint8_t *mask;        /* of this head, row 0, key 0; NULL: none */
  const void *bias;           /* the same; elements of problem->types.bias */
  int64_t query_len, key_len; /* L_q, L_k */
  int64_t offset;             /* p = row + offset */
};

void sdpai_mask_view(const struct sdpai_problem *problem, const struct sdpai_args *args,
                     int64_t batch, int64_t head, struct sdpai_mask_view *view);

/* The keys outside of which row `row` attends nothing: causal, window and lengths, within 0 .. L_k;
 * {0, 0} if there are none. */
struct sdpai_interval sdpai_mask_interval(const struct sdpai_mask_view *view, int64_t row);

/* The keys outside of which none of some rows attends anything; {0, 0} if there are none. */
struct sdpai_interval sdpai_mask_interval_of_rows(const struct sdpai_mask_view *view, int64_t first,
                                                  int64_t rows);

/* allowed[t] = 1 if row `row` attends key keys.begin + t, else 0; keys lies within the row's
 * interval. */
void sdpai_mask_allowed(const struct sdpai_mask_view *view, int64_t row, struct sdpai_interval keys,
                        uint8_t *allowed);

#endif
