/* plan_api.c - making, asking and freeing plans
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sdpa/sdpa.h>

#include <string.h>

#include "engines/plan.h"
#include "problem/dtype.h"
#include "runtime/arena.h"
#include "runtime/checked_math.h"
#include "runtime/fp_env.h"

sdpa_status sdpa_plan_create(const sdpa_problem *problem, const sdpa_options *options,
                             sdpa_plan **plan) {
  if (!plan) return SDPA_ERROR_NULL;
  *plan = NULL;
  struct sdpa_plan built;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  sdpa_status status = sdpai_plan_build(problem, options, &built, NULL);
  sdpai_fp_leave(&env);
  if (status != SDPA_OK) return status;
  sdpa_plan *made = sdpai_alloc(&built.options.allocator, sizeof *made, SDPAI_ARENA_ALIGNMENT);
  if (!made) return SDPA_ERROR_MEMORY;
  *made = built;
  *plan = made;
  return SDPA_OK;
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

/* Arithmetic the algorithm needs: two products over the allowed pairs. */
static int64_t plan_flops(const struct sdpai_problem *p) {
  int64_t columns = p->key_dim;
  if (!(p->features & SDPA_NO_OUTPUT)) columns = sdpai_saturating_add(columns, p->value_dim);
  return sdpai_saturating_mul(sdpai_plan_pairs(p), sdpai_saturating_mul(2, columns));
}

static int64_t tensor_bytes(const struct sdpai_problem *p, int64_t heads, int64_t rows,
                            int64_t cols) {
  int64_t elements =
      sdpai_saturating_mul(sdpai_saturating_mul(p->batch, heads), sdpai_saturating_mul(rows, cols));
  return sdpai_saturating_mul(elements, (int64_t)p->element);
}

/* Traffic the algorithm needs: every tensor once. */
static int64_t plan_bytes(const struct sdpai_problem *p) {
  int64_t bytes = sdpai_saturating_add(tensor_bytes(p, p->query_heads, p->query_len, p->key_dim),
                                       tensor_bytes(p, p->kv_heads, p->key_len, p->key_dim));
  if (!(p->features & SDPA_NO_OUTPUT)) {
    bytes = sdpai_saturating_add(bytes, tensor_bytes(p, p->kv_heads, p->key_len, p->value_dim));
    bytes =
        sdpai_saturating_add(bytes, tensor_bytes(p, p->query_heads, p->query_len, p->value_dim));
  }
  const int64_t square = tensor_bytes(p, p->query_heads, p->query_len, p->key_len);
  if (p->features & SDPA_WEIGHTS) bytes = sdpai_saturating_add(bytes, square);
  if (p->features & SDPA_SCORES) bytes = sdpai_saturating_add(bytes, square);
  if (p->features & SDPA_BIAS) bytes = sdpai_saturating_add(bytes, square);
  if (p->features & SDPA_MASK) bytes = sdpai_saturating_add(bytes, square / (int64_t)p->element);
  if (p->features & SDPA_LSE)
    bytes = sdpai_saturating_add(bytes, tensor_bytes(p, p->query_heads, p->query_len, 1));
  return bytes;
}

sdpa_status sdpa_plan_query(const sdpa_plan *plan, sdpa_plan_info *info) {
  if (!plan || !info) return SDPA_ERROR_NULL;
  const uint32_t size = info->size;
  if (size < offsetof(sdpa_plan_info, bytes) + sizeof info->bytes) return SDPA_ERROR_STRUCT_SIZE;
  sdpa_plan_info full = {0};
  full.size = size;
  full.engine = plan->engine->id;
  full.isa = plan->kernels->isa;
  full.precision = plan->options.precision;
  const int tiled = plan->engine->id == SDPA_ENGINE_TILED;
  full.threads = tiled ? plan->tiled.slots : 1;
  full.key_splits = tiled ? (int32_t)plan->tiled.splits : 1;
  full.flops = plan_flops(&plan->problem);
  full.bytes = plan_bytes(&plan->problem);
  memcpy(info, &full, size < sizeof full ? size : sizeof full);
  return SDPA_OK;
}

size_t sdpa_plan_describe(const sdpa_plan *plan, char *text, size_t text_bytes) {
  size_t length = 0;
  if (text_bytes > 0) text[0] = '\0';
  if (!plan) return 0;
  const struct sdpai_problem *p = &plan->problem;
  sdpai_append(text, text_bytes, &length,
               "engine %s, isa %s, %s, workspace %zu bytes: ", plan->engine->name,
               plan->kernels->name, sdpai_dtype(p->type)->name, plan->workspace);
  plan->engine->describe(plan, text, text_bytes, &length);
  sdpai_engine_explain(plan, text, text_bytes, &length);
  return length;
}
