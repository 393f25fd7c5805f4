/* lesson_gradient.c - the derivative of both weights by the query, in one call of sdpa_backward
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * With unit vectors as values the output is the weights. Two equal query rows, one memory repeated
 * by a row stride of 0, with the two unit vectors as gradients of their outputs: row r of the
 * query's gradient is then the derivative of weight r by the query, scale * sum_j J_rj k_j.
 */
#include "lesson_gradient.h"

#include <math.h>

static const double unit[lesson_keys][lesson_keys] = {{1, 0}, {0, 1}};

/* One problem serves both plans: the backward pass ignores that a log-sum-exp is asked for. */
static sdpa_status describe(const struct lesson_case *c, sdpa_problem *problem) {
  sdpa_status status = sdpa_problem_init(problem, sizeof *problem);
  if (status != SDPA_OK) return status;
  problem->features = SDPA_LSE;
  if (!c->scaled) {
    problem->features |= SDPA_SCALE;
    problem->scale = 1;
  }
  problem->query_type = SDPA_F64;
  problem->batch = problem->query_heads = problem->kv_heads = 1;
  problem->query_len = problem->key_len = problem->value_dim = lesson_keys;
  problem->key_dim = lesson_dims;
  status = sdpa_problem_layout(problem, SDPA_LAYOUT_BHSD);
  problem->query.row = 0;
  return status;
}

/* output and lse of the forward pass are what the backward pass begins with. */
static sdpa_status forward(const sdpa_problem *problem, const sdpa_args *inputs, double *output,
                           double *lse) {
  sdpa_args args = *inputs;
  args.output = output;
  args.lse = lse;
  return sdpa_attention(problem, NULL, &args);
}

static sdpa_status backward(const sdpa_problem *problem, const sdpa_args *inputs,
                            const double *output, const double *lse, double *grad_query) {
  sdpa_grads grads;
  sdpa_status status = sdpa_grads_init(&grads, sizeof grads);
  if (status != SDPA_OK) return status;
  grads.output = output;
  grads.lse = lse;
  grads.grad_output = unit;
  grads.grad_query = grad_query;
  sdpa_plan *plan;
  status = sdpa_plan_create_backward(problem, NULL, &plan);
  if (status == SDPA_OK) status = sdpa_backward(plan, inputs, &grads, NULL, 0);
  sdpa_plan_destroy(plan);
  return status;
}

sdpa_status lesson_query_gradient(const struct lesson_case *c, double *largest) {
  sdpa_problem problem;
  sdpa_args inputs;
  double output[lesson_keys * lesson_keys], lse[lesson_keys];
  double grad_query[lesson_keys * lesson_dims];
  sdpa_status status = describe(c, &problem);
  if (status == SDPA_OK) status = sdpa_args_init(&inputs, sizeof inputs);
  if (status != SDPA_OK) return status;
  inputs.query = c->query;
  inputs.key = lesson_example_keys;
  inputs.value = unit;
  status = forward(&problem, &inputs, output, lse);
  if (status == SDPA_OK) status = backward(&problem, &inputs, output, lse, grad_query);
  if (status != SDPA_OK) return status;
  *largest = 0;
  for (int i = 0; i < lesson_keys * lesson_dims; i++)
    *largest = fmax(*largest, fabs(grad_query[i]));
  return SDPA_OK;
}

int lesson_print_gradient(FILE *out) {
  struct lesson_case cases[lesson_cases];
  if (lesson_compute_cases(cases) != 0) return -1;
  fprintf(out, "\nThe gradient that reaches q, by the backward pass: derivatives of the weights\n");
  for (int i = 0; i < lesson_cases; i++) {
    double largest;
    sdpa_status status = lesson_query_gradient(&cases[i], &largest);
    if (status != SDPA_OK) return lesson_fail("the gradient of the example", status);
    fprintf(out, "%-19s by the scores: largest = %.6f   by q: largest = %.6f\n", cases[i].name,
            cases[i].largest_gradient, largest);
  }
  fprintf(out, "on its way from the scores to q the gradient is multiplied by the scale, too\n");
  return 0;
}
