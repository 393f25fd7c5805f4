/* gradient_support.c - what the property tests of the backward pass share
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "gradient_support.h"

#include <stdlib.h>
#include <string.h>

#include "numpy_random.h"
#include "random_problem.h"

void gradient_problem(int64_t i, struct problem_spec *spec) {
  property_problem(i, spec);
  if (!getenv("SDPA_PROPERTY_PROBLEM")) random_problem_backward(spec->seed, NULL, spec);
}

static void choose_wanted(sdpa_grads *grads, uint64_t seed) {
  void **const wanted[] = {&grads->grad_query, &grads->grad_key,   &grads->grad_value,
                           &grads->grad_bias,  &grads->grad_sinks, &grads->grad_alibi_slopes};
  struct numpy_rng rng;
  numpy_rng_seed(&rng, ~seed);
  if (numpy_rng_below(&rng, 2)) grads->grad_lse = NULL;
  if (numpy_rng_below(&rng, 3)) return;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    if (numpy_rng_below(&rng, 2)) *wanted[i] = NULL;
}

void gradient_believe(struct problem_data *data, const struct problem_spec *spec) {
  const struct reference_request request = {0, 0, SDPA_PRECISION_FMA};
  struct reference forward;
  if (reference_compute(&forward, &data->problem, &data->args, &request) != 0)
    property_fail(spec, "", "no memory for the reference");
  gradient_write_inputs(&forward, data);
  reference_free(&forward);
  if (problem_data_snapshot(data) != 0) property_fail(spec, "", "no memory for a snapshot");
}

void gradient_make(struct problem_data *data, const struct problem_spec *spec) {
  char message[PROBLEM_MESSAGE_MAX];
  struct problem_data_options options = property_data_options(spec);
  if (problem_data_make(data, spec, &options, message, sizeof message) != 0)
    property_fail(spec, "", "%s", message);
  choose_wanted(&data->grads, spec->seed);
  gradient_believe(data, spec);
}

/* Strides that nobody may look at. */
static sdpa_problem noisy_problem(const struct problem_data *data, uint64_t seed) {
  sdpa_problem problem = data->problem;
  const int64_t noise = (int64_t)(seed * UINT64_C(0x9E3779B97F4A7C15));
  if (!(problem.features & SDPA_BIAS) || seed % 2 == 0) return problem;
  if (problem.bias.batch == 0) problem.grad_bias.batch = noise;
  if (problem.bias.head == 0) problem.grad_bias.head = -noise / 3;
  if (problem.bias.row == 0) problem.grad_bias.row = noise / 5;
  if (problem.bias.col == 0) problem.grad_bias.col = INT64_MAX;
  return problem;
}

void gradient_run_with(const struct problem_data *data, const struct problem_spec *spec,
                       const sdpa_options *options, const char *name) {
  const sdpa_problem problem = noisy_problem(data, spec->seed);
  const sdpa_args args = problem_data_backward_args(data);
  sdpa_plan *plan = NULL;
  size_t bytes = 0, alignment = 64;
  void *workspace = NULL;
  char text[512] = "no plan";
  sdpa_status status = sdpa_plan_create_backward(&problem, options, &plan);
  if (status == SDPA_OK) status = sdpa_plan_workspace(plan, &bytes, &alignment);
  if (status == SDPA_OK && spec->seed % 8 != 3) {
    workspace = aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    if (!workspace) property_fail(spec, name, "no memory for a workspace");
    memset(workspace, 0xFF, (bytes / alignment + 1) * alignment);
  }
  if (status == SDPA_OK) {
    status = sdpa_backward(plan, &args, &data->grads, workspace, workspace ? bytes : 0);
    if (status != SDPA_OK)
      sdpa_backward_check(plan, &args, &data->grads, workspace, bytes, text, sizeof text);
  }
  sdpa_plan_destroy(plan);
  free(workspace);
  if (status != SDPA_OK) property_fail(spec, name, "%s: %s", sdpa_status_string(status), text);
}

void gradient_run(const struct problem_data *data, const struct problem_spec *spec,
                  struct property_way way) {
  sdpa_options options;
  property_options(&options, way);
  gradient_run_with(data, spec, &options, way.name);
}
