/* attention_api.c - the one-shot calls: plan on the stack, run, forget
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/execute.h"

#include "runtime/fp_env.h"

sdpa_status sdpa_attention(const sdpa_problem *problem, const sdpa_options *options,
                           const sdpa_args *args) {
  struct sdpa_plan plan;
  struct sdpai_args checked;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  sdpa_status status = sdpai_plan_build(problem, options, 0, &plan, NULL);
  if (status == SDPA_OK) status = sdpai_plan_check(&plan, args, NULL, 0, &checked, NULL);
  if (status == SDPA_OK) status = sdpai_run(&plan, &checked, NULL, NULL);
  sdpai_fp_leave(&env);
  return status;
}

/* One head of contiguous rows. */
static sdpa_status attention(uint32_t type, int64_t n_q, int64_t n_k, int64_t d_k, int64_t d_v,
                             const void *query, const void *key, const void *value, void *output,
                             void *weights) {
  sdpa_problem problem = {.size = sizeof problem,
                          .features = weights ? SDPA_WEIGHTS : 0,
                          .query_type = type,
                          .batch = 1,
                          .query_heads = 1,
                          .kv_heads = 1,
                          .query_len = n_q,
                          .key_len = n_k,
                          .key_dim = d_k,
                          .value_dim = d_v,
                          /* strides along one batch entry and one head are not used */
                          .query = {.row = d_k, .col = 1},
                          .key = {.row = d_k, .col = 1},
                          .value = {.row = d_v, .col = 1},
                          .output = {.row = d_v, .col = 1},
                          .weights = {.row = n_k, .col = 1}};
  const sdpa_args args = {.size = sizeof args,
                          .query = query,
                          .key = key,
                          .value = value,
                          .output = output,
                          .weights = weights};
  return sdpa_attention(&problem, NULL, &args);
}

sdpa_status sdpa_attention_f32(int64_t n_q, int64_t n_k, int64_t d_k, int64_t d_v,
                               const float *query, const float *key, const float *value,
                               float *output, float *weights) {
  return attention(SDPA_F32, n_q, n_k, d_k, d_v, query, key, value, output, weights);
}

sdpa_status sdpa_attention_f64(int64_t n_q, int64_t n_k, int64_t d_k, int64_t d_v,
                               const double *query, const double *key, const double *value,
                               double *output, double *weights) {
  return attention(SDPA_F64, n_q, n_k, d_k, d_v, query, key, value, output, weights);
}
