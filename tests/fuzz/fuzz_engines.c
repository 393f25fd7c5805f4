/* fuzz_engines.c - fuzzes the computation: every engine and ISA against the reference
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The input is how to run (one byte), the seed of the data (four) and the tape that a random
 * problem is drawn from (random_problem.h), so that whatever an input reaches, its neighbours are
 * near. Forward or backward, every element is held to its bound, on every engine and ISA; no other
 * byte may change; on engine tiled the number of threads changes no bit. Some runs have NaN and
 * infinity in their data.
 *
 * What is wrong is told, with the problem string, by property_fail(), which ends a process that is
 * not a CMocka test.
 */
#include "fuzz_support.h"

#include <stdlib.h>

#include "gradient_support.h"
#include "nonfinite_plant.h"
#include "random_problem.h"

enum { MOST_WORK = 6000 };

/* The bits of the first byte. */
enum { BACKWARD = 1, NONFINITE = 2, PRECISION = 4 | 8, ONE_THREAD = 16 };

struct run {
  struct problem_spec spec;
  struct problem_data data;
  struct property_way ways[PROPERTY_WAYS_MAX];
  int n_ways, with_plain;
  int one_thread; /* too */
};

/* As the tests of the property suite plant them. */
static void plant(struct run *run) {
  static const enum problem_tensor inputs[] = {PROBLEM_QUERY,       PROBLEM_KEY,
                                               PROBLEM_VALUE,       PROBLEM_BIAS,
                                               PROBLEM_GRAD_OUTPUT, PROBLEM_GRAD_LSE};
  struct numpy_rng rng;
  numpy_rng_seed(&rng, run->spec.seed);
  for (uint64_t n = 1 + numpy_rng_below(&rng, 3); n > 0; n--)
    nonfinite_plant(&run->data, &rng, inputs[numpy_rng_below(&rng, run->spec.backward ? 6 : 4)]);
  if (numpy_rng_below(&rng, 4) == 0) nonfinite_plant_sink(&run->data, &rng);
}

static void no_other_byte(const struct run *run, const char *name) {
  char message[PROBLEM_MESSAGE_MAX];
  if (problem_data_untouched(&run->data, 0, message, sizeof message) != 0)
    property_fail(&run->spec, name, "%s", message);
}

static void call(struct run *run, struct property_way way) {
  problem_data_restore(&run->data, 1);
  if (run->spec.backward)
    gradient_run(&run->data, &run->spec, way);
  else
    property_run(&run->data, &run->spec, way);
}

/* The outputs hold the results of `way`, on several threads: one thread has the same. */
static void check_bits(struct run *run, struct property_way way) {
  unsigned char *many, *one;
  if (!run->one_thread || way.engine != SDPA_ENGINE_TILED || way.threads == 1) return;
  property_output_bits(&run->data, &many);
  way.threads = 1;
  call(run, way);
  property_output_bits(&run->data, &one);
  property_same_bits(&run->data, &run->spec, way.name, many, one, "one thread");
  free(many);
  free(one);
}

static void check_forward(struct run *run) {
  const struct reference_request request = {0, run->with_plain, SDPA_PRECISION_FMA};
  struct reference reference;
  struct compare_result result;
  if (reference_compute(&reference, &run->data.problem, &run->data.args, &request) != 0)
    property_fail(&run->spec, "", "no memory for the reference");
  for (int i = 0; i < run->n_ways; i++) {
    call(run, run->ways[i]);
    property_compare(&reference, &run->data, &run->spec, run->ways[i], run->with_plain, &result);
    if (result.failed) property_fail(&run->spec, run->ways[i].name, "%s", result.text);
    no_other_byte(run, run->ways[i].name);
    check_bits(run, run->ways[i]);
  }
  reference_free(&reference);
}

static void check_backward(struct run *run) {
  const struct gradient_request request = {0, run->with_plain};
  struct gradient_reference reference;
  struct gradient_result result;
  if (gradient_compute(&reference, &run->data.problem, &run->data.args, &run->data.grads,
                       &request) != 0)
    property_fail(&run->spec, "", "no memory for the reference");
  for (int i = 0; i < run->n_ways; i++) {
    call(run, run->ways[i]);
    gradient_compare(&reference, &run->data.problem, &run->data.grads, run->with_plain, &result);
    if (result.failed) property_fail(&run->spec, run->ways[i].name, "%s", result.text);
    no_other_byte(run, run->ways[i].name);
    check_bits(run, run->ways[i]);
  }
  gradient_free(&reference);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct random_problem_options small = {.most_work = MOST_WORK};
  static struct run run;
  struct fuzz_bytes in = {data, data + size};
  const uint32_t manner = (uint32_t)fuzz_take(&in, 1);
  const uint64_t seed = fuzz_take(&in, 4);
  const int backward = (manner & BACKWARD) != 0;
  random_problem_tape(in.at, (size_t)(in.end - in.at), seed, backward, &small, &run.spec);
  run.n_ways = property_ways(run.ways);
  run.with_plain = !(manner & NONFINITE);
  run.one_thread = (manner & ONE_THREAD) != 0;
  run.spec.precision = (manner & PRECISION) / 4 % 3;
  for (int i = 0; i < run.n_ways; i++) run.ways[i].precision = run.spec.precision;
  if (backward)
    gradient_make(&run.data, &run.spec);
  else
    property_make(&run.data, &run.spec);
  if (manner & NONFINITE) {
    plant(&run);
    if (backward)
      gradient_believe(&run.data, &run.spec);
    else if (problem_data_snapshot(&run.data) != 0)
      property_fail(&run.spec, "", "no memory for a snapshot");
  }
  if (backward)
    check_backward(&run);
  else
    check_forward(&run);
  problem_data_free(&run.data);
  return 0;
}
