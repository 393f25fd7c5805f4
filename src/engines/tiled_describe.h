/* tiled_describe.h - what a plan of the `tiled` engine will run, in words
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_TILED_DESCRIBE_H
#define SDPAI_TILED_DESCRIBE_H

#include "engines/plan.h"

/* The engine's `describe`. */
void sdpai_tiled_describe(const struct sdpa_plan *plan, char *text, size_t bytes, size_t *length);

#endif
