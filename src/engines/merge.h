/* merge.h - joining finished results over disjoint sets of keys
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_MERGE_H
#define SDPAI_MERGE_H

#include "problem/problem.h"

/* What sdpa_merge() documents, on checked pointers; NULL where a tensor has no elements. Returns
 * non-zero if the caller's parallel_for broke its contract. */
int sdpai_merge(const struct sdpai_problem *problem, const struct sdpai_options *options,
                void *output, void *lse, const void *part_output, const void *part_lse);

#endif
