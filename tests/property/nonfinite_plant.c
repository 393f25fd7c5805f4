/* nonfinite_plant.c - NaN and infinity put where a call may read them
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "nonfinite_plant.h"

#include <math.h>

static double awkward(struct numpy_rng *rng) {
  const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
  return values[numpy_rng_below(rng, 3)];
}

void nonfinite_plant(struct problem_data *data, struct numpy_rng *rng, enum problem_tensor tensor) {
  int64_t shape[4], at[4];
  problem_shape(&data->problem, tensor, shape);
  if (!problem_declares(&data->problem, tensor) || problem_positions(&data->problem, tensor) == 0)
    return;
  for (int i = 0; i < 4; i++) at[i] = (int64_t)numpy_rng_below(rng, (uint64_t)shape[i]);
  if (!problem_data_is_read(data, tensor, at[0], at[2], at[3])) return;
  problem_store(problem_type(&data->problem, tensor),
                problem_data_at(data, tensor, at[0], at[1], at[2], at[3]), awkward(rng));
}

void nonfinite_plant_sink(struct problem_data *data, struct numpy_rng *rng) {
  const uint32_t type = problem_compute_type(&data->problem);
  if (!data->args.sinks || data->problem.query_heads == 0) return;
  const uint64_t h = numpy_rng_below(rng, (uint64_t)data->problem.query_heads);
  problem_store(type, data->block[BLOCK_SINKS].origin + h * problem_type_bytes(type), awkward(rng));
}
