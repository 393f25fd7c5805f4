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

static const char *obstacle(const struct sdpai_engine *engine) {
  return engine->obstacle ? engine->obstacle() : NULL;
}

const char *sdpai_engine_obstacle(int i) {
  return obstacle(engines[i]);
}

/* Whether an engine can serve the plan. */
static sdpa_status applicable(const struct sdpai_engine *engine, const struct sdpa_plan *plan,
                              struct sdpai_report *report) {
  const char *reason = obstacle(engine);
  if (reason)
    return sdpai_fail(report, SDPA_ERROR_UNSUPPORTED,
                      "engine %s cannot be used here: %s; expected another", engine->name, reason);
  if (plan->backward && !engine->backward_layout)
    return sdpai_fail(report, SDPA_ERROR_UNSUPPORTED,
                      "engine %s has no backward pass in this version; expected another",
                      engine->name);
  return engine->applicable(plan, report);
}

/* The first engine that serves the plan; without `second` only one that auto does not pass over. */
static sdpa_status choose_first(struct sdpa_plan *plan, int second, struct sdpai_report *report) {
  sdpa_status status = SDPA_ERROR_UNSUPPORTED;
  for (int i = 0; i < ENGINES; i++) {
    if (!second && engines[i]->second_choice(plan)) continue;
    status = applicable(engines[i], plan, report);
    if (status == SDPA_OK) {
      plan->engine = engines[i];
      break;
    }
  }
  return status;
}

sdpa_status sdpai_engine_choose(struct sdpa_plan *plan, struct sdpai_report *report) {
  const uint32_t asked = plan->options.engine;
  if (asked == SDPA_ENGINE_AUTO) {
    if (choose_first(plan, 0, NULL) == SDPA_OK) return SDPA_OK;
    return choose_first(plan, 1, report);
  }
  for (int i = 0; i < ENGINES; i++) {
    if (asked != engines[i]->id) continue;
    plan->engine = engines[i];
    return applicable(engines[i], plan, report);
  }
  return sdpai_fail(report, SDPA_ERROR_UNSUPPORTED,
                    "engine is %u, which this build does not offer; expected SDPA_ENGINE_AUTO (0) "
                    "or one that sdpa_build_info() lists",
                    (unsigned)asked);
}

void sdpai_engine_explain(const struct sdpa_plan *plan, char *text, size_t bytes, size_t *length) {
  if (plan->options.engine != SDPA_ENGINE_AUTO) return;
  sdpai_append(text, bytes, length, "; auto");
  for (int i = 0; i < ENGINES; i++) {
    const struct sdpai_engine *other = engines[i];
    char sentence[256] = "";
    struct sdpai_report report = {sentence, sizeof sentence};
    if (other == plan->engine) continue;
    const char *reason = other->second_choice(plan);
    if (applicable(other, plan, &report) != SDPA_OK) {
      reason = sentence;
    } else if (!reason) {
      reason = "it holds rows of scores as long as the keys";
    }
    sdpai_append(text, bytes, length, ", not %s: %s", other->name, reason);
  }
  if (ENGINES == 1) sdpai_append(text, bytes, length, ": the only engine of this build");
}
