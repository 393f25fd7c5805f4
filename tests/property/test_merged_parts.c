/* test_merged_parts.c - attention over parts of the keys, merged, is attention over all of them
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The keys of a random problem are cut into 1 to 5 parts, some of them empty. Each is computed
 * apart, with its own offset, lengths and views of K, V, mask and bias, the sink in one of them,
 * and the results are merged in any order. The whole's reference and its error bound judge, as if
 * there had been no parts.
 */
#include "property_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "numpy_random.h"
#include "random_problem.h"

enum { PROBLEMS = 20000, MOST_PARTS = 5, MOST_BATCH = 3 };

struct cut {
  int parts, sink;               /* sink: which part has it */
  int64_t begin[MOST_PARTS + 1]; /* part i is keys begin[i] to begin[i + 1] */
  int order[MOST_PARTS];         /* in which the parts are merged */
  int starts_empty;              /* the first is merged too, into a result over no keys */
  int64_t key_lens[MOST_BATCH], offsets[MOST_BATCH];
};

static void shuffle(struct numpy_rng *rng, int *items, int n) {
  for (int i = n - 1; i > 0; i--) {
    int other = (int)numpy_rng_below(rng, (uint64_t)i + 1), kept = items[i];
    items[i] = items[other];
    items[other] = kept;
  }
}

static int compare_int64(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void draw_cut(struct numpy_rng *rng, int64_t keys, struct cut *cut) {
  memset(cut, 0, sizeof *cut);
  cut->parts = 1 + (int)numpy_rng_below(rng, MOST_PARTS);
  cut->sink = (int)numpy_rng_below(rng, (uint64_t)cut->parts);
  cut->starts_empty = numpy_rng_below(rng, 3) == 0;
  for (int i = 1; i < cut->parts; i++)
    cut->begin[i] = (int64_t)numpy_rng_below(rng, (uint64_t)keys + 1);
  qsort(cut->begin, (size_t)cut->parts, sizeof *cut->begin, compare_int64);
  cut->begin[cut->parts] = keys;
  for (int i = 0; i < cut->parts; i++) cut->order[i] = i;
  shuffle(rng, cut->order, cut->parts);
}

static int64_t clamp(int64_t x, int64_t high) {
  return x < 0 ? 0 : x < high ? x : high;
}

/* Key 0 of the row that is aligned with row 0, counted from the first key of the whole. */
static int64_t whole_offset(const struct problem_data *data, int64_t b) {
  const sdpa_problem *p = &data->problem;
  const sdpa_args *a = &data->args;
  switch (p->alignment) {
  case SDPA_ALIGN_BOTTOM_RIGHT:
    return (a->key_lens ? a->key_lens[b] : p->key_len) -
           (a->query_lens ? a->query_lens[b] : p->query_len);
  case SDPA_ALIGN_OFFSET:
    return a->offsets ? a->offsets[b] : p->offset;
  default:
    return 0;
  }
}

/* The attention of one part of `data`'s keys; the outputs are those of `to`. */
static void part_call(const struct problem_data *data, struct cut *cut, int number,
                      const struct problem_data *to, sdpa_problem *p, sdpa_args *a) {
  const int64_t begin = cut->begin[number], keys = cut->begin[number + 1] - begin;
  const uint32_t placed = SDPA_CAUSAL | SDPA_WINDOW | SDPA_ALIBI;
  *p = data->problem;
  *a = data->args;
  p->key_len = keys;
  a->output = to->args.output;
  a->lse = to->args.lse;
  a->key = problem_data_at(data, PROBLEM_KEY, 0, 0, begin, 0);
  a->value = problem_data_at(data, PROBLEM_VALUE, 0, 0, begin, 0);
  if (a->mask) a->mask = problem_data_at(data, PROBLEM_MASK, 0, 0, 0, begin);
  if (a->bias) a->bias = problem_data_at(data, PROBLEM_BIAS, 0, 0, 0, begin);
  for (int64_t b = 0; b < p->batch; b++) {
    cut->offsets[b] = whole_offset(data, b) - begin;
    cut->key_lens[b] = clamp((a->key_lens ? a->key_lens[b] : p->key_len) - begin, keys);
  }
  if (a->key_lens) a->key_lens = cut->key_lens;
  if (p->features & SDPA_DROPOUT) a->dropout_key += begin;
  p->offset = 0;
  p->alignment = SDPA_ALIGN_NONE;
  p->features &= ~(uint32_t)SDPA_OFFSETS;
  a->offsets = NULL;
  if (p->features & placed) {
    p->alignment = SDPA_ALIGN_OFFSET;
    p->features |= SDPA_OFFSETS;
    a->offsets = cut->offsets;
  }
  if (number != cut->sink) {
    p->features &= ~(uint32_t)SDPA_SINKS;
    a->sinks = NULL;
  }
}

/* A problem that declares what a merge needs, and nothing that it cannot carry. */
static void begin(int64_t i, struct problem_spec *spec) {
  const sdpa_strides none = {0, 0, 0, 0};
  sdpa_problem *p = &spec->problem;
  property_problem(i, spec);
  if (!(p->features & SDPA_LSE)) {
    p->features |= SDPA_LSE;
    problem_set_strides(p, PROBLEM_LSE, problem_default_strides(p, PROBLEM_LSE, "bhsd"));
  }
  if (p->features & SDPA_NO_OUTPUT) {
    p->features &= ~(uint32_t)SDPA_NO_OUTPUT;
    problem_set_strides(p, PROBLEM_OUTPUT, problem_default_strides(p, PROBLEM_OUTPUT, "bhsd"));
    problem_set_strides(p, PROBLEM_VALUE, problem_default_strides(p, PROBLEM_VALUE, "bhsd"));
  }
  p->output_type = problem_compute_type(p); /* a 16-bit one is not merged */
  p->features &= ~(uint32_t)(SDPA_WEIGHTS | SDPA_SCORES);
  p->score_stage = 0;
  problem_set_strides(p, PROBLEM_WEIGHTS, none);
  problem_set_strides(p, PROBLEM_SCORES, none);
}

/* An accumulator over no keys: what stands in its output does not count. */
static void make_empty(const struct problem_data *data) {
  const sdpa_problem *p = &data->problem;
  const double minus_infinity = -(double)INFINITY;
  for (int64_t b = 0; b < p->batch; b++) {
    for (int64_t h = 0; h < p->query_heads; h++) {
      for (int64_t i = 0; i < p->query_len; i++) {
        problem_store(problem_compute_type(p), problem_data_at(data, PROBLEM_LSE, b, h, i, 0),
                      minus_infinity);
        for (int64_t d = 0; d < p->value_dim; d++)
          problem_store(problem_type(p, PROBLEM_OUTPUT),
                        problem_data_at(data, PROBLEM_OUTPUT, b, h, i, d), (double)NAN);
      }
    }
  }
}

static void run_parts(const struct problem_spec *spec, struct problem_data *data,
                      const struct problem_data *part, struct cut *cut,
                      const struct property_way *way) {
  sdpa_options options;
  property_options(&options, *way);
  if (cut->starts_empty) make_empty(data);
  for (int i = 0; i < cut->parts; i++) {
    const int merges = cut->starts_empty || i > 0;
    struct problem_data call = *data;
    part_call(data, cut, cut->order[i], merges ? part : data, &call.problem, &call.args);
    property_run_with(&call, spec, &options, way->name);
    if (!merges) continue;
    sdpa_status status = sdpa_merge(&data->problem, &options, data->args.output, data->args.lse,
                                    part->args.output, part->args.lse);
    if (status != SDPA_OK)
      property_fail(spec, way->name, "sdpa_merge: %s", sdpa_status_string(status));
  }
}

static void check_problem(const struct problem_spec *spec, const struct property_way *ways,
                          int n_ways, long double worst[REFERENCE_KINDS]) {
  struct problem_data data, part;
  struct reference reference;
  struct numpy_rng rng;
  struct cut cut;
  const struct reference_request request = {0, 0, SDPA_PRECISION_FMA};
  char message[PROBLEM_MESSAGE_MAX];
  property_make(&data, spec);
  property_make(&part, spec);
  assert_true(spec->problem.batch <= MOST_BATCH);
  numpy_rng_seed(&rng, spec->seed);
  if (reference_compute(&reference, &data.problem, &data.args, &request) != 0)
    property_fail(spec, "", "no memory for the reference");
  for (int k = 0; k < n_ways; k++) {
    struct compare_result result;
    draw_cut(&rng, spec->problem.key_len, &cut);
    problem_data_restore(&data, 1);
    run_parts(spec, &data, &part, &cut, &ways[k]);
    compare_with_reference(&reference, &data.problem, &data.args, 0, &result);
    if (result.failed) property_fail(spec, ways[k].name, "%d parts: %s", cut.parts, result.text);
    if (problem_data_untouched(&data, 0, message, sizeof message) != 0)
      property_fail(spec, ways[k].name, "%d parts: %s", cut.parts, message);
    if (problem_data_untouched(&part, 0, message, sizeof message) != 0)
      property_fail(spec, ways[k].name, "%d parts, of one of them: %s", cut.parts, message);
    for (int kind = 0; kind < REFERENCE_KINDS; kind++)
      if (result.worst[kind] > worst[kind]) worst[kind] = result.worst[kind];
  }
  reference_free(&reference);
  problem_data_free(&data);
  problem_data_free(&part);
}

static void test_merged_parts(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  long double worst[REFERENCE_KINDS] = {0};
  const int n_ways = property_ways(ways);
  const int64_t problems = property_count(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    begin(i, &spec);
    check_problem(&spec, ways, n_ways, worst);
  }
  printf("%lld problems in parts, %d ways; worst error / bound: output %.2Lf, lse %.2Lf\n",
         (long long)problems, n_ways, worst[REFERENCE_OUTPUT], worst[REFERENCE_LSE]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_merged_parts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
