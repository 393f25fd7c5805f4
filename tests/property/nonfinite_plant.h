/* nonfinite_plant.h - NaN and infinity put where a call may read them
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef NONFINITE_PLANT_H
#define NONFINITE_PLANT_H

#include "numpy_random.h"
#include "problem_data.h"

/* NaN or an infinity in one element of `tensor`, drawn from all; nothing if the problem has no such
 * tensor, or if the element drawn may not be read. */
void nonfinite_plant(struct problem_data *data, struct numpy_rng *rng, enum problem_tensor tensor);

/* The same in one of the sinks, if there are any. */
void nonfinite_plant_sink(struct problem_data *data, struct numpy_rng *rng);

#endif
