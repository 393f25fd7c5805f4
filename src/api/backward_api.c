/* backward_api.c - the backward pass: its struct, running it, and what is wrong with a call
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/execute.h"

#include "runtime/fp_env.h"

sdpa_status sdpa_grads_init(sdpa_grads *grads, size_t size) {
  return sdpai_struct_init(grads, size, SDPAI_GRADS_BASELINE);
}

sdpa_status sdpa_backward(const sdpa_plan *plan, const sdpa_args *args, const sdpa_grads *grads,
                          void *workspace, size_t bytes) {
  if (!plan) return SDPA_ERROR_NULL;
  struct sdpai_args checked;
  struct sdpai_grads checked_grads;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  sdpa_status status = sdpai_plan_check_backward(plan, args, grads, workspace, bytes, &checked,
                                                 &checked_grads, NULL);
  if (status == SDPA_OK) status = sdpai_run(plan, &checked, &checked_grads, workspace);
  sdpai_fp_leave(&env);
  return status;
}

sdpa_status sdpa_backward_check(const sdpa_plan *plan, const sdpa_args *args,
                                const sdpa_grads *grads, const void *workspace, size_t bytes,
                                char *text, size_t text_bytes) {
  struct sdpai_report report;
  sdpai_report_start(&report, text, text_bytes);
  if (!plan)
    return sdpai_fail(&report, SDPA_ERROR_NULL,
                      "plan is NULL; expected one of sdpa_plan_create_backward()");
  struct sdpai_args checked;
  struct sdpai_grads checked_grads;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  sdpa_status status = sdpai_plan_check_backward(plan, args, grads, workspace, bytes, &checked,
                                                 &checked_grads, &report);
  sdpai_fp_leave(&env);
  return status;
}
