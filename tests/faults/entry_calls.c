/* entry_calls.c - a call of every function that computes, and the bits it must give
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "entry_calls.h"

#include <string.h>

#include "threaded_call.h"

enum { PATTERN = 0xA7, SMALL_LEN = 5, SMALL_DIM = 8, JACOBIAN = 64 };

static struct entry_output expected[ENTRY_CALLS];
static float some_lse[THREADED_ROWS_MAX]; /* gradients follow by the formulas, whatever it is */

void entry_init(void) {
  threaded_fill();
  for (size_t i = 0; i < THREADED_ROWS_MAX; i++) some_lse[i] = 4;
}

sdpa_options entry_options(uint32_t engine, int32_t threads) {
  sdpa_options options = threaded_options(threads);
  options.engine = engine;
  return options;
}

static enum threaded_which which_problem(enum entry_call call) {
  return call == ENTRY_PLAN_FEW ? THREADED_FEW : THREADED_MANY;
}

sdpa_problem entry_problem(enum entry_call call) {
  return threaded_problem(which_problem(call));
}

int entry_offers(uint32_t engine) {
  const sdpa_problem problem = entry_problem(ENTRY_PLAN);
  const sdpa_options options = entry_options(engine, 1);
  return sdpa_problem_check(&problem, &options, NULL, 0) == SDPA_OK;
}

int entry_offers_blas(void *unused) {
  (void)unused;
  return entry_offers(SDPA_ENGINE_BLAS);
}

static size_t output_numbers(const sdpa_problem *p) {
  return (size_t)(p->query_heads * p->query_len * p->value_dim);
}

/* The floats that a number of the compute type takes. */
static int64_t step(const sdpa_problem *problem) {
  return problem->query_type == SDPA_F64 ? 2 : 1;
}

static sdpa_args inputs_of(enum entry_call call, const sdpa_problem *problem) {
  sdpa_args args = threaded_args(which_problem(call), NULL);
  if (!(problem->features & SDPA_BIAS)) args.bias = NULL;
  return args;
}

static sdpa_args forward_args(enum entry_call call, const sdpa_problem *problem,
                              struct entry_output *out) {
  sdpa_args args = inputs_of(call, problem);
  args.output = out->numbers;
  args.lse = out->numbers + output_numbers(problem) * (size_t)step(problem);
  return args;
}

static sdpa_status backward(const sdpa_plan *plan, const sdpa_problem *p, void *workspace,
                            size_t bytes, struct entry_output *out) {
  const sdpa_args args = inputs_of(ENTRY_BACKWARD, p);
  float *query = out->numbers, *key = query + p->query_heads * p->query_len * p->key_dim * step(p);
  float *value = key + p->kv_heads * p->key_len * p->key_dim * step(p);
  float *bias = value + p->kv_heads * p->key_len * p->value_dim * step(p);
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = args.query,
                            .lse = some_lse,
                            .grad_output = args.query,
                            .grad_query = query,
                            .grad_key = key,
                            .grad_value = value,
                            .grad_bias = args.bias ? bias : NULL};
  return sdpa_backward(plan, &args, &grads, workspace, bytes);
}

static sdpa_status execute(enum entry_call call, const sdpa_problem *problem, const sdpa_plan *plan,
                           void *workspace, size_t bytes, struct entry_output *out) {
  memset(out, PATTERN, sizeof *out);
  if (call == ENTRY_BACKWARD) return backward(plan, problem, workspace, bytes, out);
  const sdpa_args args = forward_args(call, problem, out);
  return sdpa_execute(plan, &args, workspace, bytes);
}

sdpa_status entry_execute(enum entry_call call, const sdpa_plan *plan, void *workspace,
                          size_t bytes, struct entry_output *out) {
  const sdpa_problem problem = entry_problem(call);
  return execute(call, &problem, plan, workspace, bytes, out);
}

sdpa_status entry_execute_as(enum entry_call call, const sdpa_problem *problem,
                             const sdpa_plan *plan, struct entry_output *out) {
  return execute(call, problem, plan, NULL, 0, out);
}

static sdpa_status plan_and_execute(enum entry_call call, const sdpa_options *options,
                                    struct entry_output *out) {
  const sdpa_problem problem = entry_problem(call);
  sdpa_plan *plan = NULL;
  sdpa_status status = call == ENTRY_BACKWARD ? sdpa_plan_create_backward(&problem, options, &plan)
                                              : sdpa_plan_create(&problem, options, &plan);
  if (status == SDPA_OK) status = entry_execute(call, plan, NULL, 0, out);
  sdpa_plan_destroy(plan);
  return status;
}

static sdpa_status one_shot(const sdpa_options *options, struct entry_output *out) {
  const sdpa_problem problem = entry_problem(ENTRY_ONE_SHOT);
  const sdpa_args args = forward_args(ENTRY_ONE_SHOT, &problem, out);
  return sdpa_attention(&problem, options, &args);
}

static sdpa_status merge(const sdpa_options *options, struct entry_output *out) {
  const sdpa_problem problem = entry_problem(ENTRY_MERGE);
  const sdpa_args inputs = threaded_args(THREADED_MANY, NULL);
  const size_t n = output_numbers(&problem), rows = n / (size_t)problem.value_dim;
  float *output = out->numbers, *lse = output + n;
  const float *query = inputs.query; /* wider than an output: its beginning and its end */
  const float *part = query + rows * (size_t)(problem.key_dim - problem.value_dim);
  memcpy(output, query, n * sizeof *output);
  memcpy(lse, inputs.key, rows * sizeof *lse);
  return sdpa_merge(&problem, options, output, lse, part, inputs.value);
}

static sdpa_status softmax(struct entry_output *out) {
  const sdpa_problem p = entry_problem(ENTRY_SOFTMAX);
  const int64_t rows = p.query_len, cols = p.key_len;
  const float *scores = threaded_args(THREADED_MANY, NULL).bias;
  float *weights = out->numbers, *gradient = weights + rows * cols;
  float *jacobian = gradient + rows * cols;
  sdpa_status status = sdpa_softmax_f32(rows, cols, 1, scores, cols, NULL, 0, weights, cols);
  if (status == SDPA_OK)
    status = sdpa_softmax_backward_f32(rows, cols, weights, cols, scores, cols, gradient, cols);
  if (status == SDPA_OK) status = sdpa_softmax_jacobian_f32(JACOBIAN, weights, jacobian, JACOBIAN);
  return status;
}

sdpa_status entry_run(enum entry_call call, const sdpa_options *options, struct entry_output *out) {
  memset(out, PATTERN, sizeof *out);
  const sdpa_args inputs = threaded_args(THREADED_MANY, NULL);
  switch (call) {
  case ENTRY_ONE_SHOT:
    return one_shot(options, out);
  case ENTRY_MERGE:
    return merge(options, out);
  case ENTRY_SOFTMAX:
    return softmax(out);
  case ENTRY_SMALL:
    return sdpa_attention_f32(SMALL_LEN, SMALL_LEN, SMALL_DIM, SMALL_DIM, inputs.query, inputs.key,
                              inputs.value, out->numbers, NULL);
  default:
    return plan_and_execute(call, options, out);
  }
}

int entry_is_untouched(const struct entry_output *out) {
  const unsigned char *bytes = (const unsigned char *)out;
  for (size_t i = 0; i < sizeof *out; i++)
    if (bytes[i] != PATTERN) return 0;
  return 1;
}

int entry_expect(uint32_t engine) {
  const sdpa_options options = entry_options(engine, 1);
  int right = 1;
  for (int call = 0; call < ENTRY_CALLS; call++) {
    right &= entry_run((enum entry_call)call, &options, &expected[call]) == SDPA_OK;
    right &= !entry_is_untouched(&expected[call]);
  }
  return right;
}

int entry_is_right(enum entry_call call, const struct entry_output *out) {
  return memcmp(out, &expected[call], sizeof *out) == 0;
}

int entry_run_all(const sdpa_options *options, struct entry_output *out) {
  int wrong = 0;
  for (int call = 0; call < ENTRY_CALLS; call++)
    wrong += entry_run((enum entry_call)call, options, out) != SDPA_OK ||
             !entry_is_right((enum entry_call)call, out);
  return wrong;
}

const char *entry_name(enum entry_call call) {
  static const char *const names[ENTRY_CALLS] = {
      "sdpa_attention", "sdpa_execute", "sdpa_execute, keys in parts", "sdpa_backward",
      "sdpa_merge",     "sdpa_softmax", "sdpa_attention_f32"};
  return names[call];
}
