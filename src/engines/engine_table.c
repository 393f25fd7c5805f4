/* engine_table.c - the engines this build has, and the choice among them
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/engine.h"

#include "engines/plan.h"

static const struct sdpai_engine *const engines[] = {
    &sdpai_engine_tiled,
#if defined(SDPAI_WITH_BLAS)
    &sdpai_engine_blas,
#endif
};
enum { ENGINES = sizeof engines / sizeof *engines };

const struct sdpai_engine *sdpai_engine(int i) {
  return i < ENGINES ? engines[i] : NULL;
}

sdpa_status sdpai_engine_choose(struct sdpa_plan *plan, struct sdpai_report *report) {
  uint32_t asked = plan->options.engine;
  sdpa_status status = SDPA_ERROR_UNSUPPORTED;
  int offered = 0;
  for (int i = 0; i < ENGINES; i++) {
    if (asked != SDPA_ENGINE_AUTO && asked != engines[i]->id) continue;
    offered = 1;
    status = engines[i]->applicable(plan, report);
    if (status == SDPA_OK) {
      plan->engine = engines[i];
      return SDPA_OK;
    }
  }
  if (!offered)
    return sdpai_fail(report, SDPA_ERROR_UNSUPPORTED,
                      "engine is %u, which this version does not offer; expected SDPA_ENGINE_AUTO "
                      "(0), _BLAS (1) or _TILED (2)",
                      (unsigned)asked);
  return status;
}
