/* plan_api.c - making, asking and freeing plans
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sdpa/sdpa.h>

#include <string.h>

#include "engines/plan.h"
#include "runtime/arena.h"
#include "runtime/checked_math.h"
#include "runtime/fp_env.h"

static sdpa_status create(const sdpa_problem *problem, const sdpa_options *options, int backward,
                          sdpa_plan **plan) {
  if (!plan) return SDPA_ERROR_NULL;
  *plan = NULL;
  struct sdpa_plan built;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  sdpa_status status = sdpai_plan_build(problem, options, backward, &built, NULL);
  sdpai_fp_leave(&env);
  if (status != SDPA_OK) return status;
  sdpa_plan *made = sdpai_alloc(&built.options.allocator, sizeof *made, SDPAI_ARENA_ALIGNMENT);
  if (!made) return SDPA_ERROR_MEMORY;
  *made = built;
  *plan = made;
  return SDPA_OK;
}

sdpa_status sdpa_plan_create(const sdpa_problem *problem, const sdpa_options *options,
                             sdpa_plan **plan) {
  return create(problem, options, 0, plan);
}

sdpa_status sdpa_plan_create_backward(const sdpa_problem *problem, const sdpa_options *options,
                                      sdpa_plan **plan) {
  return create(problem, options, 1, plan);
}

void sdpa_plan_destroy(sdpa_plan *plan) {
  if (!plan) return;
  const struct sdpai_allocator allocator = plan->options.allocator;
  sdpai_release(&allocator, plan, sizeof *plan);
}

sdpa_status sdpa_plan_workspace(const sdpa_plan *plan, size_t *bytes, size_t *alignment) {
  if (!plan || !bytes || !alignment) return SDPA_ERROR_NULL;
  *bytes = plan->workspace;
  *alignment = SDPAI_ARENA_ALIGNMENT;
  return SDPA_OK;
}

/* What the results have: where reduced precision has no faster products, full. */
static uint32_t plan_precision(const struct sdpa_plan *plan) {
  const uint32_t asked = plan->options.precision;
  const int by_parts = plan->engine->id == SDPA_ENGINE_TILED && plan->tiled.matrix.scores.left > 0;
  return asked == SDPA_PRECISION_REDUCED && !by_parts ? SDPA_PRECISION_FULL : asked;
}

sdpa_status sdpa_plan_query(const sdpa_plan *plan, sdpa_plan_info *info) {
  if (!plan || !info) return SDPA_ERROR_NULL;
  const uint32_t size = info->size;
  if (size < offsetof(sdpa_plan_info, bytes) + sizeof info->bytes) return SDPA_ERROR_STRUCT_SIZE;
  sdpa_plan_info full = {0};
  full.size = size;
  full.engine = plan->engine->id;
  full.isa = plan->kernels->isa;
  const int tiled = plan->engine->id == SDPA_ENGINE_TILED;
  full.precision = plan_precision(plan);
  full.threads = tiled ? plan->tiled.slots : 1;
  full.key_splits =
      tiled && !plan->backward ? (int32_t)sdpai_min(plan->tiled.splits, INT32_MAX) : 1;
  full.flops = sdpai_plan_flops(&plan->problem, plan->backward);
  full.bytes = sdpai_plan_bytes(&plan->problem, plan->backward);
  memcpy(info, &full, size < sizeof full ? size : sizeof full);
  return SDPA_OK;
}

/* The type of all tensors, or where they differ that of each: "Q f32 K bf16 V bf16 output f32". */
static void describe_types(const struct sdpai_problem *p, char *text, size_t bytes,
                           size_t *length) {
  const int output = !(p->features & SDPA_NO_OUTPUT);
  const struct {
    const char *name;
    uint32_t type;
    int declared;
  } tensors[] = {{"Q", p->types.query, 1},
                 {"K", p->types.key, 1},
                 {"V", p->types.value, output},
                 {"output", p->types.output, output},
                 {"bias", p->types.bias, (p->features & SDPA_BIAS) != 0}};
  enum { TENSORS = sizeof tensors / sizeof *tensors };
  int differ = 0;
  for (int i = 0; i < TENSORS; i++)
    differ |= tensors[i].declared && tensors[i].type != p->types.query;
  if (!differ) sdpai_append(text, bytes, length, "%s", sdpai_dtype(p->types.query)->name);
  for (int i = 0; differ && i < TENSORS; i++)
    if (tensors[i].declared)
      sdpai_append(text, bytes, length, "%s%s %s", i > 0 ? " " : "", tensors[i].name,
                   sdpai_dtype(tensors[i].type)->name);
}

size_t sdpa_plan_describe(const sdpa_plan *plan, char *text, size_t text_bytes) {
  size_t length = 0;
  if (text_bytes > 0) text[0] = '\0';
  if (!plan) return 0;
  sdpai_append(text, text_bytes, &length, "engine %s, isa %s, ", plan->engine->name,
               plan->kernels->name);
  describe_types(&plan->problem, text, text_bytes, &length);
  sdpai_append(text, text_bytes, &length,
               "%s, workspace %zu bytes: ", plan->backward ? ", backward" : "", plan->workspace);
  plan->engine->describe(plan, text, text_bytes, &length);
  if (plan_precision(plan) != plan->options.precision)
    sdpai_append(text, text_bytes, &length, "; precision full: reduced would not be faster here");
  sdpai_engine_explain(plan, text, text_bytes, &length);
  return length;
}
