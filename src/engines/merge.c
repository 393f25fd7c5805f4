/* merge.c - joining finished results over disjoint sets of keys
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For two parts with outputs o and log-sum-exps L: m = max(L1, L2), w = exp(L - m), output = sum w
 * o / sum w, L = m + log sum w (Milakov and Gimelshein, 2018; Dao et al., 2022).
 */
#include "engines/merge.h"

#include <math.h>

#include "runtime/checked_math.h"
#include "runtime/parallel.h"

/* Elements up to which one thread merges: fewer take less than waking another. */
enum { SERIAL_ELEMENTS = 1 << 16 };

struct merge {
  const struct sdpai_problem *problem;
  void *output, *lse;
  const void *part_output, *part_lse;
};

#define T       float
#define X(name) name##_f32
#define EXP     expf
#define LOG     logf
#include "engines/merge_tpl.h"
#undef T
#undef X
#undef EXP
#undef LOG

#define T       double
#define X(name) name##_f64
#define EXP     exp
#define LOG     log
#include "engines/merge_tpl.h"

int sdpai_merge(const struct sdpai_problem *problem, const struct sdpai_options *options,
                void *output, void *lse, const void *part_output, const void *part_lse) {
  struct merge merge = {problem, output, lse, part_output, part_lse};
  const int64_t heads = sdpai_saturating_mul(problem->batch, problem->query_heads);
  const int64_t rows = sdpai_saturating_mul(heads, problem->query_len);
  const struct sdpai_parallel parallel = {
      .threads = sdpai_saturating_mul(rows, problem->value_dim + 1) <= SERIAL_ELEMENTS
                     ? 1
                     : options->threads,
      .parallel_for = options->parallel_for,
      .ctx = options->parallel_ctx};
  if (rows == 0) return 0;
  return sdpai_parallel_run(&parallel, heads,
                            problem->types.compute == SDPA_F32 ? merge_head_f32 : merge_head_f64,
                            &merge);
}
