/* test_equal_problems.c - problems that are the same by mathematics have the same results
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys in another order, a constant added to every score, every key twice with half the weight,
 * strided tensors against contiguous copies. The library is compared with itself: what it returns
 * for the changed problem must lie within the sum of both problems' error bounds of what it
 * returned for the first one, exact zeros and -infinity included.
 */
#include "property_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "numpy_random.h"

enum { PROBLEMS = 2000 };

/* A problem, the one it is turned into, and a random order of the keys for both. */
struct couple {
  struct problem_spec first_spec, second_spec;
  struct problem_data first, second;
  int64_t *order; /* key j of the second is key order[j] of the first */
  double constant;
};

static double load_at(const struct problem_data *data, enum problem_tensor t, const int64_t at[4]) {
  return problem_load(problem_type(&data->problem, t),
                      problem_data_at(data, t, at[0], at[1], at[2], at[3]));
}

static void store_at(const struct problem_data *data, enum problem_tensor t, const int64_t at[4],
                     double value) {
  problem_store(problem_type(&data->problem, t),
                problem_data_at(data, t, at[0], at[1], at[2], at[3]), value);
}

/* Second input = first input, with keys renamed by `order` (NULL: not), plus a constant. */
static void copy_tensor(const struct couple *c, enum problem_tensor tensor, const int64_t *order,
                        double constant) {
  int64_t shape[4];
  int by_row = tensor == PROBLEM_KEY || tensor == PROBLEM_VALUE;
  int by_col = tensor == PROBLEM_MASK || tensor == PROBLEM_BIAS;
  problem_shape(&c->second.problem, tensor, shape);
  for (int64_t n = 0; n < problem_positions(&c->second.problem, tensor); n++) {
    int64_t at[4] = {n / shape[3] / shape[2] / shape[1], n / shape[3] / shape[2] % shape[1],
                     n / shape[3] % shape[2], n % shape[3]};
    int64_t from[4] = {at[0], at[1], at[2], at[3]};
    if (order && by_row) from[2] = order[at[2]];
    if (order && by_col) from[3] = order[at[3]];
    if (!problem_data_is_read(&c->second, tensor, at[0], at[2], at[3])) continue;
    store_at(&c->second, tensor, at, load_at(&c->first, tensor, from) + constant);
  }
}

static void copy_inputs(const struct couple *c, const int64_t *order) {
  static const enum problem_tensor inputs[] = {PROBLEM_QUERY, PROBLEM_KEY, PROBLEM_VALUE,
                                               PROBLEM_MASK, PROBLEM_BIAS};
  for (int i = 0; i < 5; i++) {
    double constant = inputs[i] == PROBLEM_BIAS ? c->constant : 0.0;
    if (problem_declares(&c->first.problem, inputs[i])) copy_tensor(c, inputs[i], order, constant);
  }
}

static void plain_strides(sdpa_problem *problem, enum problem_tensor tensor) {
  problem_set_strides(problem, tensor, problem_default_strides(problem, tensor, "bhsd"));
}

static void plain_inputs(sdpa_problem *problem) {
  static const enum problem_tensor inputs[] = {PROBLEM_QUERY, PROBLEM_KEY, PROBLEM_VALUE,
                                               PROBLEM_MASK, PROBLEM_BIAS};
  for (int i = 0; i < 5; i++)
    if (problem_declares(problem, inputs[i])) plain_strides(problem, inputs[i]);
}

static void plain_outputs(sdpa_problem *problem) {
  static const enum problem_tensor outputs[] = {PROBLEM_OUTPUT, PROBLEM_WEIGHTS, PROBLEM_SCORES,
                                                PROBLEM_LSE};
  for (int i = 0; i < 4; i++)
    if (problem_declares(problem, outputs[i])) plain_strides(problem, outputs[i]);
}

/* Where a constant is added to biases of 16 bits, the sums are f32: in 16 bits they would round. */
static void wide_biases(sdpa_problem *problem) {
  problem->bias_type = problem_compute_type(problem);
}

/* A random problem in which a key's position means nothing: no causal, window, ALiBi, key
 * lengths or dropout. */
static void begin_without_places(int64_t i, struct couple *c) {
  sdpa_problem *p = &c->first_spec.problem;
  memset(c, 0, sizeof *c);
  property_problem(i, &c->first_spec);
  memset(&c->first_spec.key_lens, 0, sizeof c->first_spec.key_lens);
  memset(&c->first_spec.offsets, 0, sizeof c->first_spec.offsets);
  p->features &= ~(uint32_t)(SDPA_CAUSAL | SDPA_WINDOW | SDPA_ALIBI | SDPA_KEY_LENS | SDPA_OFFSETS |
                             SDPA_DROPOUT);
  p->dropout = 0.0;
  p->alignment = SDPA_ALIGN_NONE;
  p->offset = p->window_left = p->window_right = 0;
}

static void make_couple(struct couple *c) {
  property_make(&c->first, &c->first_spec);
  property_make(&c->second, &c->second_spec);
}

static void end(struct couple *c) {
  problem_data_free(&c->first);
  problem_data_free(&c->second);
  free(c->order);
}

static void shuffle(struct couple *c, int64_t copies) {
  int64_t keys = c->first_spec.problem.key_len;
  struct numpy_rng rng;
  numpy_rng_seed(&rng, c->first_spec.seed);
  c->order = malloc((size_t)(keys * copies) * sizeof *c->order + 1);
  assert_non_null(c->order);
  for (int64_t j = 0; j < keys * copies; j++) c->order[j] = j % keys;
  for (int64_t j = keys * copies - 1; j > 0; j--) {
    int64_t other = (int64_t)numpy_rng_below(&rng, (uint64_t)j + 1), kept = c->order[j];
    c->order[j] = c->order[other];
    c->order[other] = kept;
  }
}

/* The value of the first problem that corresponds to one of the second, as the library wrote it. */
static long double first_value(const struct couple *c, const struct reference_row *row, int kind,
                               int64_t col) {
  static const enum problem_tensor tensors[REFERENCE_KINDS] = {PROBLEM_OUTPUT, PROBLEM_WEIGHTS,
                                                               PROBLEM_SCORES, PROBLEM_LSE};
  const int64_t at[4] = {row->batch, row->head, row->row, col};
  long double value = (long double)load_at(&c->first, tensors[kind], at);
  return kind == REFERENCE_LSE || kind == REFERENCE_SCORES ? value + (long double)c->constant
                                                           : value;
}

/* Values of the second problem's reference become what the library returned for the first; with
 * `bounds`, bounds become those of both. Keys of the second must be a renaming of the first's. */
static void adopt_first(const struct couple *c, const struct reference *first,
                        struct reference *second, int bounds) {
  for (int64_t r = 0; r < second->rows; r++) {
    struct reference_row *row = &second->row[r];
    for (int kind = 0; kind < REFERENCE_KINDS; kind++) {
      int by_key = c->order && (kind == REFERENCE_WEIGHTS || kind == REFERENCE_SCORES);
      for (int64_t j = 0; j < row->kind[kind].count; j++) {
        int64_t from = by_key ? c->order[j] : j;
        row->kind[kind].value[j] = first_value(c, row, kind, from);
        if (bounds) row->kind[kind].bound[j] += first->row[r].kind[kind].bound[from];
      }
    }
  }
}

/* Those of the ways that promise what `precision` says. */
static void compare_ways(struct couple *c, const struct property_way *ways, int n_ways,
                         uint32_t precision) {
  struct reference first, second;
  struct compare_result result;
  const struct reference_request request = {0, 0, precision};
  int compared = 0;
  if (reference_compute(&first, &c->first.problem, &c->first.args, &request) != 0 ||
      reference_compute(&second, &c->second.problem, &c->second.args, &request) != 0)
    property_fail(&c->first_spec, "", "no memory for the reference");
  for (int i = 0; i < n_ways; i++) {
    if (property_precision(ways[i]) != precision) continue;
    property_run(&c->first, &c->first_spec, ways[i]);
    property_run(&c->second, &c->second_spec, ways[i]);
    adopt_first(c, &first, &second, compared++ == 0);
    compare_with_reference(&second, &c->second.problem, &c->second.args, 0, &result);
    if (result.failed) property_fail(&c->first_spec, ways[i].name, "%s", result.text);
  }
  reference_free(&first);
  reference_free(&second);
}

static void compare_couple(struct couple *c) {
  struct property_way ways[PROPERTY_WAYS_MAX];
  int n_ways = property_ways(ways), others = 0;
  for (int i = 0; i < n_ways; i++) others += property_precision(ways[i]) != SDPA_PRECISION_FMA;
  compare_ways(c, ways, n_ways, SDPA_PRECISION_FMA);
  if (others > 0) compare_ways(c, ways, n_ways, SDPA_PRECISION_FULL);
}

static void test_key_order(void **state) {
  (void)state;
  for (int64_t i = 0; i < property_count(PROBLEMS); i++) {
    struct couple c;
    begin_without_places(i, &c);
    c.second_spec = c.first_spec;
    plain_inputs(&c.second_spec.problem);
    make_couple(&c);
    shuffle(&c, 1);
    copy_inputs(&c, c.order);
    compare_couple(&c);
    end(&c);
  }
}

/* All biases of a problem plus a constant: the log-sum-exp grows by it, the weights stay. */
static void test_constant(void **state) {
  (void)state;
  for (int64_t i = 0; i < property_count(PROBLEMS); i++) {
    struct couple c;
    begin_without_places(i, &c);
    c.first_spec.problem.features |= SDPA_BIAS;
    c.first_spec.problem.features &= ~(uint32_t)SDPA_SINKS;
    if (c.first_spec.problem.features & SDPA_SCORES)
      c.first_spec.problem.score_stage = SDPA_STAGE_BIASED;
    c.first_spec.seed |= 16; /* no lowest finite biases: a constant is lost in them */
    plain_strides(&c.first_spec.problem, PROBLEM_BIAS);
    c.second_spec = c.first_spec;
    plain_inputs(&c.second_spec.problem);
    wide_biases(&c.second_spec.problem);
    c.constant = i % 2 ? 6.25 : -11.0;
    make_couple(&c);
    copy_inputs(&c, NULL);
    compare_couple(&c);
    end(&c);
  }
}

/* Every key twice, each with a bias of -log 2 more: output and log-sum-exp stay. */
static void test_keys_twice(void **state) {
  (void)state;
  for (int64_t i = 0; i < property_count(PROBLEMS); i++) {
    struct couple c;
    begin_without_places(i, &c);
    sdpa_problem *p = &c.first_spec.problem;
    p->features |= SDPA_BIAS | SDPA_LSE;
    p->features &= ~(uint32_t)(SDPA_WEIGHTS | SDPA_SCORES);
    p->score_stage = 0;
    sdpa_strides none = {0, 0, 0, 0};
    problem_set_strides(p, PROBLEM_WEIGHTS, none);
    problem_set_strides(p, PROBLEM_SCORES, none);
    plain_strides(p, PROBLEM_BIAS);
    plain_strides(p, PROBLEM_LSE);
    c.second_spec = c.first_spec;
    c.second_spec.problem.key_len *= 2;
    plain_inputs(&c.second_spec.problem);
    wide_biases(&c.second_spec.problem);
    make_couple(&c);
    shuffle(&c, 2);
    c.constant = -log(2.0);
    copy_inputs(&c, c.order);
    c.constant = 0.0;
    compare_couple(&c);
    end(&c);
  }
}

/* Any problem, all options, against contiguous copies of its tensors. */
static void test_strides(void **state) {
  (void)state;
  for (int64_t i = 0; i < property_count(PROBLEMS); i++) {
    struct couple c;
    memset(&c, 0, sizeof c);
    property_problem(i, &c.first_spec);
    c.second_spec = c.first_spec;
    plain_inputs(&c.second_spec.problem);
    plain_outputs(&c.second_spec.problem);
    make_couple(&c);
    copy_inputs(&c, NULL);
    compare_couple(&c);
    end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_key_order), cmocka_unit_test(test_constant),
      cmocka_unit_test(test_keys_twice), cmocka_unit_test(test_strides)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
