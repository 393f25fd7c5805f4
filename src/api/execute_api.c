/* execute_api.c - running a plan: floating-point environment, workspace, errno
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/execute.h"

#include <errno.h>
#include <string.h>

#include "runtime/arena.h"
#include "runtime/compiler.h"
#include "runtime/fp_env.h"

/* A workspace up to this size lives on the stack: small problems need no heap. */
enum { STACK_WORKSPACE = 8192 };

static sdpa_status run_in(const struct sdpa_plan *plan, const struct sdpai_args *args,
                          const struct sdpai_grads *grads, void *workspace) {
  return plan->backward ? plan->engine->backward_run(plan, args, grads, workspace)
                        : plan->engine->run(plan, args, workspace);
}

/* Apart, so that only calls that use it carry the buffer in their frame. */
static SDPAI_NOINLINE sdpa_status run_on_stack(const struct sdpa_plan *plan,
                                               const struct sdpai_args *args,
                                               const struct sdpai_grads *grads) {
  _Alignas(SDPAI_ARENA_ALIGNMENT) char workspace[STACK_WORKSPACE];
  return run_in(plan, args, grads, workspace);
}

/* A workspace is the caller's, on the stack or from the plan's allocator. */
static sdpa_status run_somewhere(const struct sdpa_plan *plan, const struct sdpai_args *args,
                                 const struct sdpai_grads *grads, void *workspace) {
  if (workspace) return run_in(plan, args, grads, workspace);
  if (plan->workspace <= STACK_WORKSPACE) return run_on_stack(plan, args, grads);
  void *block = sdpai_alloc(&plan->options.allocator, plan->workspace, SDPAI_ARENA_ALIGNMENT);
  const sdpa_status status = block ? run_in(plan, args, grads, block) : SDPA_ERROR_MEMORY;
  sdpai_release(&plan->options.allocator, block, plan->workspace);
  return status;
}

/* The sums over rows and keys where there are none. */
static void clear_sums(const struct sdpai_problem *p, const struct sdpai_grads *grads) {
  const size_t bytes = (size_t)p->query_heads * (size_t)p->element;
  if (grads->grad_sinks) memset(grads->grad_sinks, 0, bytes);
  if (grads->grad_slopes) memset(grads->grad_slopes, 0, bytes);
}

/* Sizes without elements are not bounded by memory: passing through them could take years. So no
 * engine is asked for nothing, nor for sums over nothing. */
sdpa_status sdpai_run(const struct sdpa_plan *plan, const struct sdpai_args *args,
                      const struct sdpai_grads *grads, void *workspace) {
  const struct sdpai_problem *p = &plan->problem;
  const int saved = errno;
  sdpa_status status = SDPA_OK;
  if (!plan->backward) {
    if (sdpai_forward_writes(p)) status = run_somewhere(plan, args, NULL, workspace);
  } else if (sdpai_gradients_flow(p)) {
    if (sdpai_backward_writes(p, grads)) status = run_somewhere(plan, args, grads, workspace);
  } else {
    struct sdpai_grads others = *grads;
    others.grad_bias = others.grad_sinks = others.grad_slopes = NULL;
    if (sdpai_backward_writes(p, &others)) status = run_somewhere(plan, args, &others, workspace);
    if (status == SDPA_OK) clear_sums(p, grads);
  }
  errno = saved; /* log() and exp() of libm set it */
  return status;
}

sdpa_status sdpa_execute(const sdpa_plan *plan, const sdpa_args *args, void *workspace,
                         size_t bytes) {
  if (!plan) return SDPA_ERROR_NULL;
  struct sdpai_args checked;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  sdpa_status status = sdpai_plan_check(plan, args, workspace, bytes, &checked, NULL);
  if (status == SDPA_OK) status = sdpai_run(plan, &checked, NULL, workspace);
  sdpai_fp_leave(&env);
  return status;
}
