/* problem_api.c - filling in and checking the public structs
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sdpa/sdpa.h>

#include "engines/plan.h"
#include "runtime/fp_env.h"

sdpa_status sdpa_problem_init(sdpa_problem *problem, size_t size) {
  return sdpai_struct_init(problem, size, SDPAI_PROBLEM_BASELINE);
}

sdpa_status sdpa_options_init(sdpa_options *options, size_t size) {
  return sdpai_struct_init(options, size, SDPAI_OPTIONS_BASELINE);
}

sdpa_status sdpa_args_init(sdpa_args *args, size_t size) {
  return sdpai_struct_init(args, size, SDPAI_ARGS_BASELINE);
}

sdpa_status sdpa_problem_layout(sdpa_problem *problem, uint32_t layout) {
  return sdpai_problem_layout(problem, layout);
}

sdpa_status sdpa_problem_broadcast(const sdpa_problem *problem, int32_t rank, const int64_t *shape,
                                   sdpa_strides *strides) {
  return sdpai_problem_broadcast(problem, rank, shape, strides);
}

static sdpa_status check(const sdpa_problem *problem, const sdpa_options *options, int backward,
                         char *text, size_t text_bytes) {
  struct sdpai_report report;
  sdpai_report_start(&report, text, text_bytes);
  struct sdpa_plan plan;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  sdpa_status status = sdpai_plan_build(problem, options, backward, &plan, &report);
  sdpai_fp_leave(&env);
  return status;
}

sdpa_status sdpa_problem_check(const sdpa_problem *problem, const sdpa_options *options, char *text,
                               size_t text_bytes) {
  return check(problem, options, 0, text, text_bytes);
}

sdpa_status sdpa_problem_check_backward(const sdpa_problem *problem, const sdpa_options *options,
                                        char *text, size_t text_bytes) {
  return check(problem, options, 1, text, text_bytes);
}

sdpa_status sdpa_args_check(const sdpa_plan *plan, const sdpa_args *args, const void *workspace,
                            size_t bytes, char *text, size_t text_bytes) {
  struct sdpai_report report;
  sdpai_report_start(&report, text, text_bytes);
  if (!plan)
    return sdpai_fail(&report, SDPA_ERROR_NULL, "plan is NULL; expected one of sdpa_plan_create()");
  struct sdpai_args checked;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  sdpa_status status = sdpai_plan_check(plan, args, workspace, bytes, &checked, &report);
  sdpai_fp_leave(&env);
  return status;
}
