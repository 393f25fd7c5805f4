/* test_excluded_positions.c - what is excluded changes no bit (rule 11), other heads neither (19)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The same problem is computed with different garbage wherever nothing may be read into a result;
 * the bits must stay. Needs a fixed number of BLAS threads.
 */
#include "property_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_elements.h"

enum { PROBLEMS = 3000 };

static void begin(int64_t i, struct problem_spec *spec, struct problem_data *data,
                  struct numpy_rng *rng) {
  property_problem(i, spec);
  property_make(data, spec);
  numpy_rng_seed(rng, spec->seed);
}

static void test_excluded(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  int n_ways = property_ways(ways);
  int64_t planted = 0, problems = property_count(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    struct numpy_rng rng;
    struct live_elements live;
    begin(i, &spec, &data, &rng);
    live_elements_make(&live, &data, -1, -1, (int)(spec.seed / 32 % 2));
    for (int k = 0; k < n_ways; k++) {
      unsigned char *before, *after;
      problem_data_restore(&data, 0);
      property_run(&data, &spec, ways[k]);
      property_output_bits(&data, &before);
      planted += live_elements_plant(&live, &data, &rng);
      property_run(&data, &spec, ways[k]);
      property_output_bits(&data, &after);
      property_same_bits(&data, &spec, ways[k].name, before, after,
                         "garbage at excluded positions");
      free(before);
      free(after);
    }
    live_elements_free(&live);
    problem_data_free(&data);
  }
  printf("%lld elements of garbage in %lld problems\n", (long long)planted, (long long)problems);
  assert_true(planted >= 100 * problems);
}

/* Every head of every batch entry alone gives the bits that it gives among the others. */
static void test_one_by_one(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  int n_ways = property_ways(ways);
  int64_t problems = property_count(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    struct numpy_rng rng;
    begin(i, &spec, &data, &rng);
    for (int k = 0; k < n_ways; k++) {
      unsigned char *together, *alone;
      problem_data_restore(&data, 1);
      property_run(&data, &spec, ways[k]);
      property_output_bits(&data, &together);
      problem_data_restore(&data, 1);
      for (int64_t b = 0; b < spec.problem.batch; b++) {
        for (int64_t h = 0; h < spec.problem.query_heads; h++) {
          struct problem_data one;
          property_narrow(&data, b, h, &one);
          property_run(&one, &spec, ways[k]);
        }
      }
      property_output_bits(&data, &alone);
      property_same_bits(&data, &spec, ways[k].name, together, alone, "leaving out other heads");
      free(together);
      free(alone);
    }
    problem_data_free(&data);
  }
}

/* Garbage for the sinks and slopes of all other heads; only what is legal. */
static void plant_arrays(struct problem_data *data, int64_t head) {
  uint32_t type = problem_compute_type(&data->problem);
  size_t bytes = problem_type_bytes(type);
  for (int64_t h = 0; h < data->problem.query_heads; h++) {
    if (h == head) continue;
    if (data->args.sinks)
      problem_store(type, data->block[BLOCK_SINKS].origin + (size_t)h * bytes, (double)INFINITY);
    if (data->args.alibi_slopes)
      problem_store(type, data->block[BLOCK_SLOPES].origin + (size_t)h * bytes, 1e30);
  }
}

/* Elements of one head's rows that differ, by output tensor, in bits. */
static void compare_head(const struct problem_data *data, const struct problem_spec *spec,
                         const char *isa, int64_t b, int64_t h,
                         unsigned char *const before[PROBLEM_TENSORS]) {
  for (int t = 0; t < PROBLEM_TENSORS; t++) {
    enum problem_tensor tensor = (enum problem_tensor)t;
    size_t bytes = problem_type_bytes(problem_type(&data->problem, tensor));
    int64_t shape[4];
    if (!before[t]) continue;
    problem_shape(&data->problem, tensor, shape);
    for (int64_t i = 0; i < shape[2]; i++) {
      for (int64_t j = 0; j < shape[3]; j++) {
        unsigned char *element = problem_data_at(data, tensor, b, h, i, j);
        if (memcmp(element, before[t] + (element - data->block[t].begin), bytes) != 0)
          property_fail(spec, isa, "other heads' data change %s[%d, %d, %d, %d]",
                        problem_tensor_name(tensor), (int)b, (int)h, (int)i, (int)j);
      }
    }
  }
}

static void keep_outputs(const struct problem_data *data, unsigned char *kept[PROBLEM_TENSORS]) {
  for (int t = 0; t < PROBLEM_TENSORS; t++) {
    kept[t] = NULL;
    if (!problem_tensor_is_output((enum problem_tensor)t) || data->block[t].bytes == 0) continue;
    kept[t] = malloc(data->block[t].bytes);
    assert_non_null(kept[t]);
    memcpy(kept[t], data->block[t].begin, data->block[t].bytes);
  }
}

static void test_other_heads(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  int n_ways = property_ways(ways);
  int64_t problems = property_count(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    struct numpy_rng rng;
    struct live_elements live;
    begin(i, &spec, &data, &rng);
    int64_t b = (int64_t)numpy_rng_below(&rng, (uint64_t)spec.problem.batch);
    int64_t h = (int64_t)numpy_rng_below(&rng, (uint64_t)spec.problem.query_heads);
    live_elements_make(&live, &data, b, h, 0);
    for (int k = 0; k < n_ways && spec.problem.batch * spec.problem.query_heads > 1; k++) {
      unsigned char *kept[PROBLEM_TENSORS];
      problem_data_restore(&data, 0);
      property_run(&data, &spec, ways[k]);
      keep_outputs(&data, kept);
      live_elements_plant(&live, &data, &rng);
      plant_arrays(&data, h);
      property_run(&data, &spec, ways[k]);
      compare_head(&data, &spec, ways[k].name, b, h, kept);
      for (int t = 0; t < PROBLEM_TENSORS; t++) free(kept[t]);
    }
    live_elements_free(&live);
    problem_data_free(&data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_excluded),
                                     cmocka_unit_test(test_one_by_one),
                                     cmocka_unit_test(test_other_heads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
