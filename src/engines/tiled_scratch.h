/* tiled_scratch.h - the working memory of the `tiled` engine
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One slot for each item that may run at once, and the parts of split keys where those are items of
 * their own. None of it grows with query_len or key_len but the number of parts, which key_len /
 * split_keys bounds.
 */
#ifndef SDPAI_TILED_SCRATCH_H
#define SDPAI_TILED_SCRATCH_H

#include "engines/dropout.h"
#include "engines/plan.h"
#include "engines/row_scratch.h"
#include "runtime/arena.h"

/* Keys of a tile: scores, weights and output of a panel then fit L1 together at value_dim 64. */
enum { SDPAI_TILE_KEYS = 128, SDPAI_TILE_WORDS = SDPAI_TILE_KEYS / 32 };

/* Keys of a tile by rows: longer, since K and V stream through it and each start of a stream
 * costs. */
enum { SDPAI_ROWS_KEYS = 512 };

/* Partial softmax of `item_rows` rows over some of the keys: maxima, sums, and unnormalised outputs
 * by rows. */
struct sdpai_part {
  void *m, *l; /* [rows] */
  void *o;     /* [rows, value_dim] */
};

/* Operands of the matrix unit, packed (matrix_kernels.h), where it does the products. */
struct sdpai_tiled_matrix_scratch {
  uint16_t *query;       /* of [panels][width] rows */
  uint16_t *key, *value; /* of super_keys keys */
  uint16_t *weights;     /* of SDPAI_TILE_KEYS keys by a panel */
  uint8_t *unfit_lanes;  /* [panels][width] 1: the row has an element that does not fit */
  uint8_t *unfit_keys;   /* [super_keys] likewise */
  int64_t *unfit_key,
      *unfit_value;  /* [super_keys / SDPAI_TILE_KEYS] how many keys, and elements of V */
  float *fitting;    /* [SDPAI_TILE_KEYS][width] scores of those that fit */
  float *unfit_rows; /* [SDPAI_TILE_KEYS][value_dim] the elements of V that do not */
};

/* Of one item. `width` and `panels` are the plan's. */
struct sdpai_tiled_scratch {
  /* queries in lanes */
  void *query;                                   /* [panels][key_dim][width], packed */
  void *output;                                  /* [panels][value_dim][width], unnormalised */
  void *m, *l;                                   /* [panels][width] */
  void *max, *alpha, *factor, *slope, *distance; /* [width] */
  int64_t *begin, *end;                          /* [width] keys of a lane's row */
  uint32_t *words;                               /* [SDPAI_TILE_WORDS][width] */
  uint32_t *kept_words;                          /* the same of weights that dropout keeps */
  struct sdpai_dropout_state *draws;             /* [panels][width] */
  void *bias;                                    /* [SDPAI_TILE_KEYS][width] */
  void *bias_rows;                               /* [lanes][SDPAI_TILE_KEYS] */
  struct sdpai_tiled_matrix_scratch matrix;
  void *query_rows, *output_rows; /* [lanes][key_dim or value_dim] where the caller's are of another
                                     type */
  /* both ways */
  void *scores;       /* [SDPAI_TILE_KEYS][width]; by rows: [item_rows][super_keys] */
  void *key, *value;  /* [super_keys, SDPAI_TILE_KEYS for the matrix unit][key_dim or value_dim]
                         where packed */
  void *finite_value; /* [SDPAI_TILE_KEYS][value_dim] a tile of V without its non-finite elements */
  uint8_t *
      finite; /* [super_keys / SDPAI_TILE_KEYS] of each tile: unknown, known to be finite, or not */
  uint8_t *nonfinite;            /* [SDPAI_TILE_KEYS] rows of the tile that have such */
  struct sdpai_row_scratch rows; /* for SDPAI_TILE_KEYS keys */
  void *row;                     /* [SDPAI_TILE_KEYS] part of a row of weights */
  struct sdpai_part part, total; /* of one split, and of those before */
};

/* a * b * c elements where needed, none where not. */
void *sdpai_take(struct sdpai_arena *arena, int needed, int64_t a, int64_t b, int64_t c,
                 size_t element);

/* Queries that one vector of the compute type holds. */
static inline int64_t sdpai_plan_lanes(const struct sdpa_plan *plan) {
  return plan->problem.types.compute == SDPA_F32 ? plan->kernels->f32.lanes
                                                 : plan->kernels->f64.lanes;
}

/* Lays out slot after slot, then the parts; `scratch` [slots] and `parts` [items * splits] may be
 * NULL, to count. */
void sdpai_tiled_carve_slot(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                            struct sdpai_tiled_scratch *scratch);
void sdpai_tiled_carve_part(const struct sdpa_plan *plan, struct sdpai_arena *arena,
                            struct sdpai_part *part);

#endif
