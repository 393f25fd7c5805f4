/* merge_api.c - joining results over disjoint sets of keys
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sdpa/sdpa.h>

#include <errno.h>

#include "engines/merge.h"
#include "problem/dtype.h"
#include "runtime/fp_env.h"

static sdpa_status merge(const struct sdpai_problem *p, const struct sdpai_options *options,
                         void *output, void *lse, const void *part_output, const void *part_lse) {
  if (!(p->features & SDPA_LSE) || (p->features & SDPA_NO_OUTPUT)) return SDPA_ERROR_VALUE;
  if (p->types.output != p->types.compute) return SDPA_ERROR_UNSUPPORTED;
  const int no_rows = p->batch == 0 || p->query_heads == 0 || p->query_len == 0;
  const int no_output = no_rows || p->value_dim == 0;
  if ((!no_rows && (!lse || !part_lse)) || (!no_output && (!output || !part_output)))
    return SDPA_ERROR_NULL;
  if (!sdpai_is_aligned(output, p->element) || !sdpai_is_aligned(part_output, p->element) ||
      !sdpai_is_aligned(lse, p->element) || !sdpai_is_aligned(part_lse, p->element))
    return SDPA_ERROR_ALIGNMENT;
  return sdpai_merge(p, options, output, lse, part_output, part_lse) ? SDPA_ERROR_CALLBACK
                                                                     : SDPA_OK;
}

sdpa_status sdpa_merge(const sdpa_problem *problem, const sdpa_options *options, void *output,
                       void *lse, const void *part_output, const void *part_lse) {
  const int saved = errno;
  struct sdpai_problem p;
  struct sdpai_options o;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  sdpa_status status = sdpai_problem_read(problem, 0, &p, NULL);
  if (status == SDPA_OK) status = sdpai_options_read(options, &o, NULL);
  if (status == SDPA_OK) status = merge(&p, &o, output, lse, part_output, part_lse);
  sdpai_fp_leave(&env);
  errno = saved;
  return status;
}
