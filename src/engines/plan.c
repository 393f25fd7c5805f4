/* plan.c - building a plan, and checking args and workspace against it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/plan.h"

#include "problem/mask.h"
#include "runtime/arena.h"
#include "runtime/checked_math.h"

sdpa_status sdpai_plan_build(const sdpa_problem *problem, const sdpa_options *options, int backward,
                             struct sdpa_plan *plan, struct sdpai_report *report) {
  plan->backward = backward;
  sdpa_status status = sdpai_problem_read(problem, backward, &plan->problem, report);
  if (status == SDPA_OK) status = sdpai_options_read(options, &plan->options, report);
  if (status != SDPA_OK) return status;
  plan->kernels = sdpai_kernels_select(plan->options.isa);
  status = sdpai_engine_choose(plan, report);
  if (status != SDPA_OK) return status;
  return backward ? plan->engine->backward_layout(plan, report)
                  : plan->engine->layout(plan, report);
}

static sdpa_status check_kind(const struct sdpa_plan *plan, int backward,
                              struct sdpai_report *report) {
  if (plan->backward == backward) return SDPA_OK;
  return sdpai_fail(report, SDPA_ERROR_UNSUPPORTED,
                    "plan is one of %s(); expected one of %s() for the %s pass",
                    plan->backward ? "sdpa_plan_create_backward" : "sdpa_plan_create",
                    backward ? "sdpa_plan_create_backward" : "sdpa_plan_create",
                    backward ? "backward" : "forward");
}

static sdpa_status check_workspace(const struct sdpa_plan *plan, const void *workspace,
                                   size_t bytes, struct sdpai_report *report) {
  if (!workspace) return SDPA_OK;
  if (bytes < plan->workspace)
    return sdpai_fail(report, SDPA_ERROR_WORKSPACE,
                      "bytes is %zu; expected at least %zu, what sdpa_plan_workspace() tells",
                      bytes, plan->workspace);
  if ((uintptr_t)workspace % SDPAI_ARENA_ALIGNMENT != 0)
    return sdpai_fail(report, SDPA_ERROR_ALIGNMENT,
                      "workspace is %p; expected a multiple of %d bytes", workspace,
                      SDPAI_ARENA_ALIGNMENT);
  return SDPA_OK;
}

sdpa_status sdpai_plan_check(const struct sdpa_plan *plan, const sdpa_args *args,
                             const void *workspace, size_t bytes, struct sdpai_args *checked,
                             struct sdpai_report *report) {
  sdpa_status status = check_kind(plan, 0, report);
  if (status == SDPA_OK) status = sdpai_args_read(&plan->problem, 0, args, checked, report);
  if (status == SDPA_OK) status = check_workspace(plan, workspace, bytes, report);
  return status;
}

sdpa_status sdpai_plan_check_backward(const struct sdpa_plan *plan, const sdpa_args *args,
                                      const sdpa_grads *grads, const void *workspace, size_t bytes,
                                      struct sdpai_args *checked_args,
                                      struct sdpai_grads *checked_grads,
                                      struct sdpai_report *report) {
  sdpa_status status = check_kind(plan, 1, report);
  if (status == SDPA_OK) status = sdpai_args_read(&plan->problem, 1, args, checked_args, report);
  if (status == SDPA_OK) status = sdpai_grads_read(&plan->problem, grads, checked_grads, report);
  if (status == SDPA_OK) status = check_workspace(plan, workspace, bytes, report);
  return status;
}

/* Sum of `rows` numbers from `first` to `last` in steps of -1, 0 or 1. */
static int64_t sum_of_steps(int64_t rows, int64_t first, int64_t last) {
  const int64_t least = sdpai_saturating_mul(rows, sdpai_min(first, last));
  if (first == last) return least;
  const int64_t half = rows % 2 == 0 ? rows / 2 : (rows - 1) / 2;
  return sdpai_saturating_add(least, sdpai_saturating_mul(half, rows % 2 == 0 ? rows - 1 : rows));
}

/* Rows between which the number of a row's keys grows, falls or stays as it was: where either end
 * of the interval reaches key 0 or the last one. In order, 0 first and query_len last. */
enum { EDGES = 6 };
static void find_edges(const struct sdpai_problem *problem, int64_t offset, int64_t edges[EDGES]) {
  const int64_t left = problem->window_left, right = problem->window_right;
  const int64_t keys = problem->key_len, rows = problem->query_len;
  const int64_t p[] = {left, sdpai_saturating_add(keys, left), -1 - right, keys - 1 - right};
  edges[0] = 0;
  for (int i = 0; i < 4; i++) {
    const int bounded = (i < 2 ? left : right) >= 0;
    const int64_t row = bounded ? sdpai_saturating_sub(p[i], offset) : 0;
    int place = i + 1;
    for (; edges[place - 1] > sdpai_max(row, 0); place--) edges[place] = edges[place - 1];
    edges[place] = sdpai_min(sdpai_max(row, 0), rows);
  }
  edges[EDGES - 1] = rows;
}

int64_t sdpai_plan_pairs(const struct sdpai_problem *problem) {
  const struct sdpai_args none = {0};
  const int64_t heads = sdpai_saturating_mul(problem->batch, problem->query_heads);
  int64_t pairs = sdpai_saturating_mul(problem->query_len, problem->key_len);
  if (pairs > 0 && !(problem->features & SDPA_OFFSETS)) {
    const struct sdpai_mask_view view = {.problem = problem,
                                         .query_len = problem->query_len,
                                         .key_len = problem->key_len,
                                         .offset = sdpai_alignment_offset(problem, &none, 0)};
    int64_t edges[EDGES];
    find_edges(problem, view.offset, edges);
    pairs = 0;
    for (int i = 0; i + 1 < EDGES; i++) {
      if (edges[i] == edges[i + 1]) continue;
      const struct sdpai_interval first = sdpai_mask_interval(&view, edges[i]);
      const struct sdpai_interval last = sdpai_mask_interval(&view, edges[i + 1] - 1);
      pairs =
          sdpai_saturating_add(pairs, sum_of_steps(edges[i + 1] - edges[i], first.end - first.begin,
                                                   last.end - last.begin));
    }
  }
  return sdpai_saturating_mul(pairs, heads);
}

int64_t sdpai_plan_flops(const struct sdpai_problem *problem, int backward) {
  /* Backward: Q K^T again, dQ and dK; dO V^T and dV. */
  int64_t columns = sdpai_saturating_mul(problem->key_dim, backward ? 3 : 1);
  if (!(problem->features & SDPA_NO_OUTPUT))
    columns =
        sdpai_saturating_add(columns, sdpai_saturating_mul(problem->value_dim, backward ? 2 : 1));
  return sdpai_saturating_mul(sdpai_plan_pairs(problem), sdpai_saturating_mul(2, columns));
}

/* Bytes of a tensor; a dimension along which an input repeats counts once. */
static int64_t tensor_bytes(const sdpa_strides *strides, int64_t batch, int64_t heads, int64_t rows,
                            int64_t cols, int64_t element) {
  const int64_t sizes[] = {batch, heads, rows, cols};
  const int64_t steps[] = {strides->batch, strides->head, strides->row, strides->col};
  int64_t bytes = element;
  for (int i = 0; i < 4; i++)
    bytes = sdpai_saturating_mul(bytes, steps[i] == 0 ? sdpai_min(sizes[i], 1) : sizes[i]);
  return bytes;
}

/* What a backward pass reads and writes beside the forward pass's inputs: output, dO, lse and dlse,
 * and every gradient. */
static int64_t backward_bytes(const struct sdpai_problem *p) {
  const int64_t b = p->batch, h = p->query_heads, g = p->kv_heads, n_q = p->query_len,
                n_k = p->key_len, output = sdpai_element(p->types.output),
                lse = tensor_bytes(&p->lse, b, h, n_q, 1, p->element);
  const int64_t bytes[] = {
      tensor_bytes(&p->output, b, h, n_q, p->value_dim, output),
      tensor_bytes(&p->grad_output, b, h, n_q, p->value_dim, output),
      lse,
      lse,
      tensor_bytes(&p->grad_query, b, h, n_q, p->key_dim, sdpai_element(p->types.query)),
      tensor_bytes(&p->grad_key, b, g, n_k, p->key_dim, sdpai_element(p->types.key)),
      tensor_bytes(&p->grad_value, b, g, n_k, p->value_dim, sdpai_element(p->types.value)),
      p->features & SDPA_BIAS
          ? tensor_bytes(&p->grad_bias, b, h, n_q, n_k, sdpai_element(p->types.bias))
          : 0,
      p->features & SDPA_ALIBI ? sdpai_saturating_mul(h, p->element) : 0,
      p->features & SDPA_SINKS ? sdpai_saturating_mul(h, p->element) : 0,
  };
  int64_t sum = 0;
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
    sum = sdpai_saturating_add(sum, bytes[i]);
  return sum;
}

int64_t sdpai_plan_bytes(const struct sdpai_problem *problem, int backward) {
  const struct sdpai_problem *p = problem;
  const int64_t compute = p->element;
  const int64_t b = p->batch, h = p->query_heads, n_q = p->query_len, n_k = p->key_len;
  const int output = !(p->features & SDPA_NO_OUTPUT);
  const struct {
    int64_t bytes;
    int declared;
  } tensors[] = {
      {tensor_bytes(&p->query, b, h, n_q, p->key_dim, sdpai_element(p->types.query)), 1},
      {tensor_bytes(&p->key, b, p->kv_heads, n_k, p->key_dim, sdpai_element(p->types.key)), 1},
      {tensor_bytes(&p->value, b, p->kv_heads, n_k, p->value_dim, sdpai_element(p->types.value)),
       output},
      {tensor_bytes(&p->output, b, h, n_q, p->value_dim, sdpai_element(p->types.output)),
       output && !backward},
      {tensor_bytes(&p->mask, b, h, n_q, n_k, 1), (p->features & SDPA_MASK) != 0},
      {tensor_bytes(&p->bias, b, h, n_q, n_k, sdpai_element(p->types.bias)),
       (p->features & SDPA_BIAS) != 0},
      {tensor_bytes(&p->weights, b, h, n_q, n_k, compute), (p->features & SDPA_WEIGHTS) != 0},
      {tensor_bytes(&p->scores, b, h, n_q, n_k, compute), (p->features & SDPA_SCORES) != 0},
      {tensor_bytes(&p->lse, b, h, n_q, 1, compute), (p->features & SDPA_LSE) != 0},
      {sdpai_saturating_mul(h, compute), (p->features & SDPA_ALIBI) != 0},
      {sdpai_saturating_mul(h, compute), (p->features & SDPA_SINKS) != 0},
      {sdpai_saturating_mul(b, 8), (p->features & SDPA_KEY_LENS) != 0},
      {sdpai_saturating_mul(b, 8), (p->features & SDPA_QUERY_LENS) != 0},
      {sdpai_saturating_mul(b, 8), (p->features & SDPA_OFFSETS) != 0},
  };
  int64_t bytes = backward ? backward_bytes(p) : 0;
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
    if (tensors[i].declared) bytes = sdpai_saturating_add(bytes, tensors[i].bytes);
  return bytes;
}
