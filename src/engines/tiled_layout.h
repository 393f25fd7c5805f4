/* tiled_layout.h - how the `tiled` engine cuts a problem: keys, panels, items, the matrix unit
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_TILED_LAYOUT_H
#define SDPAI_TILED_LAYOUT_H

#include "engines/plan.h"

/* Panels of an item, at most. */
enum { SDPAI_TILED_PANELS = 32 };

/* Kv heads of all batch entries, and query rows of all heads. SDPA_ERROR_OVERFLOW. */
sdpa_status sdpai_tiled_count(const struct sdpai_problem *problem, struct sdpai_report *report,
                              int64_t *heads, int64_t *rows);

/* The engine's `layout`: fills plan->tiled and plan->workspace. */
sdpa_status sdpai_tiled_layout(struct sdpa_plan *plan, struct sdpai_report *report);

#endif
