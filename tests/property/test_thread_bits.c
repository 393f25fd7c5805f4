/* test_thread_bits.c - threads, their order, and the neighbours of a row change no bit (rule 19)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Problems large enough for engine tiled to work on several threads, a third of them with so many
 * keys that these are cut into parts. The bits of one thread are what every other number of
 * threads, a caller's loop that runs its tasks last to first, and each head by itself must give;
 * and each head among others whose data are replaced.
 */
#include "property_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "live_elements.h"
#include "narrow_float.h"
#include "random_problem.h"

enum { PROBLEMS = 120, LEAST_WORK = 2400000, SMALLER = 50 };

/* What came out, over all problems. */
struct tally {
  int64_t threaded, split, loops;
  int64_t narrow, narrow_split; /* of `threaded` and `split`: with K or V in 16 bits */
};

/* Each of them costs as much as SMALLER of the other tests' problems, which SDPA_PROPERTY_COUNT
 * counts. */
static int64_t count_of(int64_t problems) {
  const int64_t count = property_count(SMALLER * problems);
  return count < SMALLER ? 1 : count / SMALLER;
}

static void begin(int64_t i, struct problem_spec *spec, struct problem_data *data) {
  static const struct random_problem_options large = {NULL, 0, 0, LEAST_WORK};
  property_problem(i, spec);
  if (!getenv("SDPA_PROPERTY_PROBLEM")) random_problem(spec->seed, &large, spec);
  property_make(data, spec);
}

static void backwards(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  ++*(int64_t *)ctx;
  for (int64_t i = n_tasks; i-- > 0;) task(arg, i);
}

static unsigned char *bits_with(struct problem_data *data, const struct problem_spec *spec,
                                const struct property_way *way, const sdpa_options *options) {
  unsigned char *bits;
  problem_data_restore(data, 1);
  property_run_with(data, spec, options, way->name);
  property_output_bits(data, &bits);
  return bits;
}

static void count_plan(const struct problem_spec *spec, const sdpa_options *options,
                       struct tally *tally) {
  const sdpa_plan_info info = property_plan_info(spec, options);
  const int narrow = is_narrow_float(problem_type(&spec->problem, PROBLEM_KEY)) ||
                     is_narrow_float(problem_type(&spec->problem, PROBLEM_VALUE));
  tally->threaded += info.threads > 1;
  tally->split += info.key_splits > 1;
  tally->narrow += narrow && info.threads > 1;
  tally->narrow_split += narrow && info.key_splits > 1;
}

/* Engine tiled's ways among all. */
static int tiled_ways(struct property_way ways[PROPERTY_WAYS_MAX]) {
  int n = property_ways(ways), kept = 0;
  for (int k = 0; k < n; k++)
    if (ways[k].engine == SDPA_ENGINE_TILED) ways[kept++] = ways[k];
  assert_true(kept > 0);
  return kept;
}

static void test_threads(void **state) {
  (void)state;
  static const int32_t threads[] = {1, 2, 3, 7, 7};
  enum { COUNTS = sizeof threads / sizeof *threads };
  struct property_way ways[PROPERTY_WAYS_MAX];
  struct tally tally = {0};
  const int n_ways = tiled_ways(ways);
  const int64_t problems = count_of(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    begin(i, &spec, &data);
    for (int k = 0; k < n_ways; k++) {
      unsigned char *first = NULL, *bits = NULL;
      for (int t = 0; t < COUNTS; t++) {
        sdpa_options options;
        property_options(&options, ways[k]);
        options.threads = threads[t];
        if (t == COUNTS - 1) {
          options.parallel_for = backwards;
          options.parallel_ctx = &tally.loops;
        }
        if (t == 1) count_plan(&spec, &options, &tally);
        bits = bits_with(&data, &spec, &ways[k], &options);
        if (t == 0) {
          first = bits;
          continue;
        }
        property_same_bits(&data, &spec, ways[k].name, first, bits,
                           t == COUNTS - 1 ? "a loop that runs backwards" : "a number of threads");
        free(bits);
      }
      free(first);
    }
    problem_data_free(&data);
  }
  printf(
      "%lld problems with %d ISAs: %lld on several threads, %lld with keys in parts; of these %lld "
      "and %lld with K or V in 16 bits\n",
      (long long)problems, n_ways, (long long)tally.threaded, (long long)tally.split,
      (long long)tally.narrow, (long long)tally.narrow_split);
  if (problems < PROBLEMS) return;
  assert_true(tally.threaded > problems * n_ways * 2 / 3);
  assert_true(tally.split > problems * n_ways / 8);
  assert_true(tally.narrow > problems * n_ways / 20 && tally.narrow_split > problems * n_ways / 60);
  assert_true(tally.loops > problems * n_ways * 2 / 3);
}

/* Each head alone on one thread against all of them on seven. */
static void test_heads_alone(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = tiled_ways(ways);
  for (int64_t i = 0; i < count_of(PROBLEMS); i++) {
    struct problem_spec spec;
    struct problem_data data;
    begin(i, &spec, &data);
    for (int k = 0; k < n_ways; k++) {
      unsigned char *together, *alone;
      sdpa_options options;
      property_options(&options, ways[k]);
      options.threads = 7;
      together = bits_with(&data, &spec, &ways[k], &options);
      options.threads = 1;
      problem_data_restore(&data, 1);
      for (int64_t b = 0; b < spec.problem.batch; b++) {
        for (int64_t h = 0; h < spec.problem.query_heads; h++) {
          struct problem_data one;
          property_narrow(&data, b, h, &one);
          property_run_with(&one, &spec, &options, ways[k].name);
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

/* The bits of one head, with garbage in what only the others read. */
static void test_other_data(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = tiled_ways(ways);
  int64_t planted = 0, problems = count_of(PROBLEMS / 4);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data, one;
    struct live_elements live;
    struct numpy_rng rng;
    begin(i, &spec, &data);
    numpy_rng_seed(&rng, spec.seed);
    const int64_t b = (int64_t)numpy_rng_below(&rng, (uint64_t)spec.problem.batch);
    const int64_t h = (int64_t)numpy_rng_below(&rng, (uint64_t)spec.problem.query_heads);
    live_elements_make(&live, &data, b, h, 0);
    property_narrow(&data, b, h, &one);
    for (int k = 0; k < n_ways; k++) {
      unsigned char *before, *after;
      sdpa_options options;
      property_options(&options, ways[k]);
      options.threads = 3;
      problem_data_restore(&data, 0);
      property_run_with(&data, &spec, &options, ways[k].name);
      property_output_bits(&one, &before);
      planted += live_elements_plant(&live, &data, &rng);
      property_run_with(&data, &spec, &options, ways[k].name);
      property_output_bits(&one, &after);
      property_same_bits(&one, &spec, ways[k].name, before, after, "the data of other heads");
      free(before);
      free(after);
    }
    live_elements_free(&live);
    problem_data_free(&data);
  }
  printf("%lld elements of garbage in %lld problems\n", (long long)planted, (long long)problems);
  assert_true(planted >= 100 * problems);
}

/* One way, on one thread and on four: the same bits, and those are right. */
static void check_parts(const struct problem_spec *spec, struct property_way way) {
  struct problem_data data;
  struct reference reference;
  struct compare_result result;
  const struct reference_request request = {0, 0, SDPA_PRECISION_FMA};
  sdpa_options options;
  unsigned char *alone, *together;
  property_make(&data, spec);
  if (reference_compute(&reference, &data.problem, &data.args, &request) != 0)
    property_fail(spec, "", "no memory for the reference");
  property_options(&options, way);
  options.threads = 1;
  assert_false(property_plan_says(spec, &options, "parts at a time"));
  alone = bits_with(&data, spec, &way, &options);
  options.threads = 4;
  assert_true(property_plan_says(spec, &options, "parts at a time"));
  together = bits_with(&data, spec, &way, &options);
  property_same_bits(&data, spec, way.name, alone, together, "parts of the keys at a time");
  property_compare(&reference, &data, spec, way, 0, &result);
  if (result.failed) property_fail(spec, way.name, "%s", result.text);
  free(alone);
  free(together);
  reference_free(&reference);
  problem_data_free(&data);
}

/* Few queries and many keys: the parts that follow one another on one thread run at a time on
 * several, and are joined; in each type by rows and in lanes, with parts that no row attends. */
static void test_parts_of_keys(void **state) {
  (void)state;
  static const char *const problems[] = {"f64:h2:q1:k7000:d40/48:lse:seed=1",
                                         "f64:q40:k5000:d16:mask:sink:lse:seed=2",
                                         "f64:q40:k6500:d24:win=900,0:align-br:dropout=0.2:seed=3",
                                         "f32:h4/1:q1:k6200:d64:lens=[2500]:alibi:align-br:seed=4",
                                         "f32:q50:k5000:d24/20:causal-br:softcap=20:lse:seed=5",
                                         "bf16:q33:k4600:d32:bias:seed=6"};
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = tiled_ways(ways);
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    struct problem_spec spec;
    char message[PROBLEM_MESSAGE_MAX];
    if (problem_parse(problems[i], &spec, message, sizeof message) != 0)
      fail_msg("%s: %s", problems[i], message);
    for (int k = 0; k < n_ways; k++) check_parts(&spec, ways[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_threads), cmocka_unit_test(test_parts_of_keys),
      cmocka_unit_test(test_heads_alone), cmocka_unit_test(test_other_data)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
