/* header_cxx11.cpp - the public header alone in a C++11 translation unit
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As header_c99.c. The call shows that the names have C linkage.
 */
#include <sdpa/sdpa.h>

extern "C" int32_t header_cxx11(void);

extern "C" int32_t header_cxx11(void) {
  sdpa_problem problem = sdpa_problem();
  if (sdpa_problem_init(&problem, sizeof problem) != SDPA_OK) return -1;
  problem.features = SDPA_CAUSAL | SDPA_SCALE;
  problem.query_type = SDPA_F64;
  return sdpa_problem_layout(&problem, SDPA_LAYOUT_BSHD) == SDPA_OK ? sdpa_version() : -1;
}
