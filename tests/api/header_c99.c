/* header_c99.c - the public header alone in a C99 translation unit
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Nothing is included before or beside it: what it needs it must include itself. Compiled as
 * pedantic C99 with every warning an error.
 */
#include <sdpa/sdpa.h>

int32_t header_c99(void);

/* A call of an exported function, and a use of each struct and of a constant of each group. */
int32_t header_c99(void) {
  sdpa_problem problem = {0};
  sdpa_options options = {0};
  sdpa_args args = {0};
  sdpa_plan_info info = {0};
  problem.size = (uint32_t)sizeof problem;
  problem.features = SDPA_CAUSAL;
  problem.query_type = SDPA_F32;
  problem.alignment = SDPA_ALIGN_TOP_LEFT;
  problem.score_stage = SDPA_STAGE_SCALED;
  options.size = (uint32_t)sizeof options;
  options.engine = SDPA_ENGINE_AUTO;
  options.isa = SDPA_ISA_AUTO;
  options.precision = SDPA_PRECISION_FULL;
  args.size = (uint32_t)sizeof args;
  info.size = (uint32_t)sizeof info;
  if (problem.size + options.size + args.size + info.size == 0) return -1;
  return sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD) == SDPA_OK ? sdpa_version() : -1;
}
