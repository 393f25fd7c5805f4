/* engine_tiled.c - the `tiled` engine: streaming softmax over tiles of keys, O(n) memory
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A kv head's query rows are cut into items, which run in any order on any threads; every output row is written
 * by one item, over its keys in order. Many queries lie in lanes (tiled_lanes_tpl.h), few lie by rows
 * (tiled_rows_tpl.h).
 */
#include <math.h>
#include <string.h>

#include "engines/engine.h"
#include "engines/tiled_scratch.h"
#include "engines/tiled_segment.h"
#include "problem/dtype.h"
#include "problem/mask.h"
#include "runtime/checked_math.h"
#include "runtime/parallel.h"

enum {
  MAX_PANELS = 4,           /* panels that share a block of keys in L2 */
  SUPER_BYTES = 512 << 10,  /* of K and V in such a block: half of a 1 MiB L2 */
  SPLIT_KEYS = 2048,        /* keys of a split */
  SPLIT_ROWS = 64,          /* up to this query_len keys are split: longer ones have items enough */
  ITEMS_A_THREAD = 8,       /* so many that the last ones to end leave few threads idle */
  SERIAL_FLOPS = 2000000,   /* about 10 us: what waking a thread costs several times over */
  SCORE_SEGMENT = SDPAI_TILE_KEYS
};

/* One execution. */
struct tiled_run {
  const struct sdpa_plan *plan;
  const struct sdpai_args *args;
  char *slots, *part_memory; /* slots one after the other; parts likewise */
  size_t slot_bytes, part_bytes;
  const struct sdpai_part *parts;
  int joining; /* second phase: parts to results */
};

/* Which item. */
struct tiled_index {
  int64_t batch, kv_head, item, split;
  int64_t number; /* of the part in the first phase, of the item in the second */
};

#define T        float
#define X(name)  name##_f32
#define FIELD    f32
#define EXP      expf
#define LOG      logf
#define SMALLEST 0x1p-149f
#include "engines/head_tpl.h"
#include "engines/tiled_item_tpl.h"
#include "engines/tiled_parts_tpl.h"
#include "engines/tiled_rows_tpl.h"
#include "engines/tiled_panel_tpl.h"
#include "engines/tiled_lanes_tpl.h"
#include "engines/tiled_run_tpl.h"
#undef T
#undef X
#undef FIELD
#undef EXP
#undef LOG
#undef SMALLEST

#define T        double
#define X(name)  name##_f64
#define FIELD    f64
#define EXP      exp
#define LOG      log
#define SMALLEST 0x1p-1074
#include "engines/head_tpl.h"
#include "engines/tiled_item_tpl.h"
#include "engines/tiled_parts_tpl.h"
#include "engines/tiled_rows_tpl.h"
#include "engines/tiled_panel_tpl.h"
#include "engines/tiled_lanes_tpl.h"
#include "engines/tiled_run_tpl.h"
