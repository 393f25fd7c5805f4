/* tiled_segment.h - the query rows of a kv head, in runs of one query head each
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A kv head serves `group` query heads. Their rows are numbered one head after the other, so that
 * the last rows of one head and the first of the next may share a panel.
 */
#ifndef SDPAI_TILED_SEGMENT_H
#define SDPAI_TILED_SEGMENT_H

#include "problem/problem.h"
#include "runtime/checked_math.h"

struct sdpai_segment {
  int64_t lane, rows; /* these rows, counted from where the iteration started */
  int64_t head, row;  /* the first one's query head, and row within it */
};

/* Advances *s, zero before the first call, through `count` rows from `first` on. Returns 0 past the
 * last. */
static inline int sdpai_next_segment(const struct sdpai_problem *p, int64_t kv_head, int64_t first,
                                     int64_t count, struct sdpai_segment *s) {
  s->lane += s->rows;
  if (s->lane >= count) return 0;
  const int64_t flat = first + s->lane;
  s->head = kv_head * p->group + flat / p->query_len;
  s->row = flat % p->query_len;
  s->rows = sdpai_min(count - s->lane, p->query_len - s->row);
  return 1;
}

/* How many of a segment's rows lie below the query length. */
static inline int64_t sdpai_live_rows(const struct sdpai_segment *s, int64_t query_len) {
  return sdpai_max(0, sdpai_min(s->rows, query_len - s->row));
}

#endif
