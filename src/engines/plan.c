/* plan.c - building a plan, and checking args and workspace against it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/plan.h"

#include "runtime/arena.h"
#include "runtime/checked_math.h"

sdpa_status sdpai_plan_build(const sdpa_problem *problem, const sdpa_options *options,
                             struct sdpa_plan *plan, struct sdpai_report *report) {
  sdpa_status status = sdpai_problem_read(problem, &plan->problem, report);
  if (status == SDPA_OK) status = sdpai_options_read(options, &plan->options, report);
  if (status != SDPA_OK) return status;
  plan->kernels = sdpai_kernels_select(plan->options.isa);
  status = sdpai_engine_choose(plan, report);
  if (status != SDPA_OK) return status;
  return plan->engine->layout(plan, report);
}

sdpa_status sdpai_plan_check(const struct sdpa_plan *plan, const sdpa_args *args,
                             const void *workspace, size_t bytes, struct sdpai_args *checked,
                             struct sdpai_report *report) {
  sdpa_status status = sdpai_args_read(&plan->problem, args, checked, report);
  if (status != SDPA_OK || !workspace) return status;
  if (bytes < plan->workspace)
    return sdpai_fail(report, SDPA_ERROR_WORKSPACE,
                      "workspace has %zu bytes; expected at least %zu", bytes, plan->workspace);
  if ((uintptr_t)workspace % SDPAI_ARENA_ALIGNMENT != 0)
    return sdpai_fail(report, SDPA_ERROR_ALIGNMENT,
                      "workspace is %p; expected a multiple of %d bytes", workspace,
                      SDPAI_ARENA_ALIGNMENT);
  return SDPA_OK;
}

/* Pairs (i, j) of a rows x keys rectangle with j <= i + shift: row i has i + shift + 1 of them,
 * held between 0 and keys. */
static int64_t pairs_below(int64_t rows, int64_t keys, int64_t shift) {
  const int64_t start_row = sdpai_saturating_add(~shift, 1); /* -shift, held at INT64_MAX */
  int64_t first = sdpai_max(0, start_row);                   /* rows before it have none */
  int64_t full =
      sdpai_max(first, sdpai_saturating_add(keys - 1, start_row)); /* from here on: all */
  first = sdpai_min(first, rows);
  full = sdpai_min(full, rows);
  __extension__ __int128 count = full - first, start = (__extension__(__int128) first) + shift + 1;
  __extension__ __int128 sum = count * (2 * start + count - 1) / 2;
  sum += (__extension__(__int128)(rows - full)) * keys;
  return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

int64_t sdpai_plan_pairs(const struct sdpai_problem *problem) {
  const struct sdpai_args none = {0};
  int64_t rows = problem->query_len, keys = problem->key_len;
  int64_t pairs = sdpai_saturating_mul(rows, keys);
  if (keys > 0 && !(problem->features & SDPA_OFFSETS)) {
    int64_t offset = sdpai_alignment_offset(problem, &none, 0);
    if (problem->window_right >= 0)
      pairs = pairs_below(rows, keys, sdpai_saturating_add(offset, problem->window_right));
    if (problem->window_left >= 0)
      pairs -= pairs_below(rows, keys, sdpai_saturating_add(offset, -1 - problem->window_left));
  }
  return sdpai_saturating_mul(pairs, sdpai_saturating_mul(problem->batch, problem->query_heads));
}
