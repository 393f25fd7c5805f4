/* engine.h - what an engine is: one way to compute attention
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_ENGINE_H
#define SDPAI_ENGINE_H

#include <sdpa/sdpa.h>

#include "problem/problem.h"

struct sdpa_plan;

struct sdpai_engine {
  uint32_t id; /* SDPA_ENGINE_... */
  const char *name;
  /* Why the engine cannot serve anything in this process, as a clause, or NULL. The member itself
   * is NULL where there can be no such reason. */
  const char *(*obstacle)(void);
  /* SDPA_OK if the engine can serve the plan's problem and options on this machine; else a status,
   * and in the report a sentence that says why not. */
  sdpa_status (*applicable)(const struct sdpa_plan *plan, struct sdpai_report *report);
  /* Why SDPA_ENGINE_AUTO would rather have another engine, as a clause; NULL: it would not. If no
   * other engine can serve the problem, this one does. */
  const char *(*second_choice)(const struct sdpa_plan *plan);
  /* Chooses block sizes and sets plan->workspace. SDPA_ERROR_OVERFLOW if the bytes do not fit. */
  sdpa_status (*layout)(struct sdpa_plan *plan, struct sdpai_report *report);
  /* Computes; `workspace` holds plan->workspace bytes, aligned. SDPA_ERROR_CALLBACK is all that can
   * go wrong. */
  sdpa_status (*run)(const struct sdpa_plan *plan, const struct sdpai_args *args, void *workspace);
  /* The same two of a backward plan; NULL: the engine has no backward pass. Which gradients are
   * wanted is known at the run alone, so that the workspace is for all of them. */
  sdpa_status (*backward_layout)(struct sdpa_plan *plan, struct sdpai_report *report);
  sdpa_status (*backward_run)(const struct sdpa_plan *plan, const struct sdpai_args *args,
                              const struct sdpai_grads *grads, void *workspace);
  /* Appends what will run, as snprintf would: blocks, packing, threads. */
  void (*describe)(const struct sdpa_plan *plan, char *text, size_t bytes, size_t *length);
};

/* The engines, in the order in which SDPA_ENGINE_AUTO tries them; NULL past the last. */
const struct sdpai_engine *sdpai_engine(int i);

/* Sets plan->engine by the option, which names one or leaves it to the table. The sentence says why
 * the last engine that was asked would not do. */
sdpa_status sdpai_engine_choose(struct sdpa_plan *plan, struct sdpai_report *report);

/* Appends why SDPA_ENGINE_AUTO chose plan->engine and none of the others; nothing if the option
 * named it. */
void sdpai_engine_explain(const struct sdpa_plan *plan, char *text, size_t bytes, size_t *length);

/* Why engine i cannot serve anything in this process, or NULL. */
const char *sdpai_engine_obstacle(int i);

extern const struct sdpai_engine sdpai_engine_blas;
extern const struct sdpai_engine sdpai_engine_tiled;

#endif
