/* tiled_backward.h - the backward pass of the `tiled` engine: its cuts and its working memory
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The query rows of a kv head are cut into chunks of a few panels that stay in L2; tiles of keys go
 * through a chunk one after the other, dK and dV of a tile in sums of its own, dQ of the chunk in a
 * part. Which numbers are added in which order depends on the lengths, the dimensions and the ISA
 * alone: tiles belong to `groups`, interleaved, each with a part of its own, which are added in the
 * order of the groups whether they ran one after the other or on several threads.
 */
#ifndef SDPAI_TILED_BACKWARD_H
#define SDPAI_TILED_BACKWARD_H

#include "engines/tiled_scratch.h"

/* Panels of a chunk, at most. */
enum { SDPAI_CHUNK_PANELS = 32 };

/* What a lane of a panel is: a row whose numbers are finite; one with a number that is not; no row,
 * or one without a key to attend. */
enum { LANE_WHOLE, LANE_TAINTED, LANE_DEAD };

/* What a group's tiles add to the rows of a chunk. */
struct sdpai_tiled_backward_part {
  void *query;    /* [panels][key_dim][width] dQ in lanes, without the scale */
  void *row_sums; /* [panels][width] of ds |p - j|; before delta is known, of p dP */
};

/* Of one item. */
struct sdpai_tiled_backward_scratch {
  void *query, *grad_output;                    /* [panels][dim][width] in lanes */
  void *query_rows, *grad_output_rows;          /* [panels][width][dim] */
  void *lse, *shift, *delta;                    /* [panels][width] */
  uint8_t *state;                               /* [panels][width], LANE_... */
  void *gradients, *products;                   /* [SDPAI_TILE_KEYS][width] */
  void *ones;                                   /* [width] */
  void *key_sums, *value_sums;                  /* [SDPAI_TILE_KEYS][dim] */
  void *finite_key, *finite_value;              /* [SDPAI_TILE_KEYS][dim] a tile without its rows
                                                    that hold a non-finite element */
  uint8_t *tainted;                             /* [SDPAI_TILE_KEYS] which rows these are */
  void *pair_query, *pair_output;               /* [dim] */
  void *bias_sums;                              /* [SDPAI_TILE_KEYS][width] */
  struct sdpai_tiled_backward_part part, total; /* of a group; of those before it */
};

/* Of the whole call. */
struct sdpai_tiled_backward_shared {
  void *delta;                  /* [batch][query_heads][query_len] sum of p dP, less dlse */
  void *row_sinks, *row_slopes; /* [batch][query_heads][query_len] what each row adds to them */
  void *key_totals,
      *value_totals; /* [owners][key_len][dim] sums over chunks that have no room in the
                                      caller's 16 bits */
};

/* The engine's `backward_layout`. */
sdpa_status sdpai_tiled_backward_layout(struct sdpa_plan *plan, struct sdpai_report *report);

/* Lays out a slot, a part of a group that is an item of its own, and what all share. */
void sdpai_tiled_backward_carve_slot(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                                     struct sdpai_tiled_scratch *scratch,
                                     struct sdpai_tiled_backward_scratch *backward);
void sdpai_tiled_backward_carve_part(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                                     struct sdpai_tiled_backward_part *part);
void sdpai_tiled_backward_carve_shared(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                                       struct sdpai_tiled_backward_shared *shared);

#endif
