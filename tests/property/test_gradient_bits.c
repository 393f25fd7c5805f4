/* test_gradient_bits.c - what may not change a bit of the gradients
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Garbage wherever semantics rule 11 says that nothing is read into a result, and in what a row
 * without a key has (rule 24); threads, and the order in which a caller's loop runs its tasks; the
 * other batch entries and heads, which share no sum with this one (rule 19).
 */
#include "gradient_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "live_elements.h"
#include "random_problem.h"

enum { PROBLEMS = 1500, THREADED = 60, SMALLER = 50, LEAST_WORK = 2400000 };

static unsigned char *bits_with(struct problem_data *data, const struct problem_spec *spec,
                                const sdpa_options *options, const char *name) {
  unsigned char *bits;
  problem_data_restore(data, 1);
  gradient_run_with(data, spec, options, name);
  property_output_bits(data, &bits);
  return bits;
}

static void test_excluded(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = property_ways(ways);
  int64_t planted = 0, problems = property_count(PROBLEMS);
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    struct numpy_rng rng;
    struct live_elements live;
    gradient_problem(i, &spec);
    gradient_make(&data, &spec);
    numpy_rng_seed(&rng, spec.seed);
    live_elements_make(&live, &data, -1, -1, (int)(spec.seed / 32 % 2));
    for (int k = 0; k < n_ways; k++) {
      unsigned char *before, *after;
      sdpa_options options;
      property_options(&options, ways[k]);
      problem_data_restore(&data, 0);
      before = bits_with(&data, &spec, &options, ways[k].name);
      planted += live_elements_plant(&live, &data, &rng);
      after = bits_with(&data, &spec, &options, ways[k].name);
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

static void backwards(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  ++*(int64_t *)ctx;
  for (int64_t i = n_tasks; i-- > 0;) task(arg, i);
}

static void large_problem(int64_t i, struct problem_spec *spec) {
  static const struct random_problem_options large = {NULL, 0, 0, LEAST_WORK};
  property_problem(i, spec);
  if (!getenv("SDPA_PROPERTY_PROBLEM")) random_problem_backward(spec->seed, &large, spec);
}

/* Every number of threads, and last to first, on engine tiled. */
static void test_threads(void **state) {
  (void)state;
  static const int32_t threads[] = {1, 2, 3, 7, 7};
  enum { COUNTS = sizeof threads / sizeof *threads };
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = property_ways(ways);
  const int64_t count = property_count(SMALLER * THREADED) / SMALLER;
  const int64_t problems = count > 0 ? count : 1;
  int64_t loops = 0, threaded = 0, runs = 0;
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    large_problem(i, &spec);
    gradient_make(&data, &spec);
    for (int k = 0; k < n_ways; k++) {
      unsigned char *first = NULL;
      if (ways[k].engine != SDPA_ENGINE_TILED) continue;
      runs++;
      for (int t = 0; t < COUNTS; t++) {
        sdpa_options options;
        property_options(&options, ways[k]);
        options.threads = threads[t];
        if (t == COUNTS - 1) options.parallel_for = backwards, options.parallel_ctx = &loops;
        if (t == 1) threaded += property_plan_info(&spec, &options).threads > 1;
        unsigned char *bits = bits_with(&data, &spec, &options, ways[k].name);
        if (first)
          property_same_bits(&data, &spec, ways[k].name, first, bits,
                             t == COUNTS - 1 ? "a loop that runs backwards"
                                             : "a number of threads");
        if (first)
          free(bits);
        else
          first = bits;
      }
      free(first);
    }
    problem_data_free(&data);
  }
  printf("%lld problems, %lld runs, %lld on several threads, %lld loops\n", (long long)problems,
         (long long)runs, (long long)threaded, (long long)loops);
  if (problems < THREADED) return;
  assert_true(threaded > runs * 2 / 3);
  assert_true(loops > runs * 2 / 3);
}

/* One way, on one thread and on four: the same bits, and those are right. */
static void check_groups(const struct problem_spec *spec, struct property_way way) {
  struct problem_data data;
  struct gradient_reference reference;
  struct gradient_result result;
  const struct gradient_request request = {0, 0};
  sdpa_options options;
  gradient_make(&data, spec);
  if (gradient_compute(&reference, &data.problem, &data.args, &data.grads, &request) != 0)
    property_fail(spec, "", "no memory for the reference");
  property_options(&options, way);
  options.threads = 1;
  assert_false(property_plan_says(spec, &options, "groups at a time"));
  unsigned char *alone = bits_with(&data, spec, &options, way.name);
  options.threads = 4;
  assert_true(property_plan_says(spec, &options, "groups at a time"));
  unsigned char *together = bits_with(&data, spec, &options, way.name);
  property_same_bits(&data, spec, way.name, alone, together, "groups of keys at a time");
  gradient_compare(&reference, &data.problem, &data.grads, 0, &result);
  if (result.failed) property_fail(spec, way.name, "%s", result.text);
  free(alone);
  free(together);
  gradient_free(&reference);
  problem_data_free(&data);
}

/* Few heads and many keys: the groups of keys that follow one another on one thread run at a time
 * on several, and their sums are joined. */
static void test_groups_of_keys(void **state) {
  (void)state;
  static const char *const problems[] = {
      "f32:h2:q100:k900:d40/24:causal-br:mask:alibi:sink:bwd:seed=1",
      "f32:q333:k520:d24:win=300,10:align-br:dropout=0.2:bwd:seed=2",
      "bf16:h4/1:q30:k700:d16:bias:softcap=20:bwd:seed=3",
      "f64:q150:k600:d0/24:mask:bwd:seed=4",
      "f64:b2:q64:k640:d9/16:scale=-1:lens:qlens:bwd:seed=5",
      "f32:q40:k8300:d8:causal-br:bwd:seed=6"}; /* as many groups as there are */
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = property_ways(ways);
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    struct problem_spec spec;
    char message[PROBLEM_MESSAGE_MAX];
    if (problem_parse(problems[i], &spec, message, sizeof message) != 0)
      fail_msg("%s: %s", problems[i], message);
    for (int k = 0; k < n_ways; k++)
      if (ways[k].engine == SDPA_ENGINE_TILED) check_groups(&spec, ways[k]);
  }
}

/* The problem of one kv head with its query heads in one batch entry, on the same memory. What is
 * summed over heads or batch entries is not asked for. */
static void narrow(const struct problem_data *data, int64_t b, int64_t kv_head,
                   struct problem_data *one) {
  const int64_t groups = data->problem.query_heads / data->problem.kv_heads;
  const int64_t h = kv_head * groups;
  property_narrow(data, b, h, one);
  one->problem.query_heads = groups;
  for (int t = PROBLEM_GRAD_OUTPUT; t < PROBLEM_TENSORS_END; t++) {
    const enum problem_tensor tensor = (enum problem_tensor)t;
    const int64_t head = t == PROBLEM_GRAD_KEY || t == PROBLEM_GRAD_VALUE ? kv_head : h;
    if (data->block[t].bytes > 0)
      one->block[t].origin = problem_data_at(data, tensor, b, head, 0, 0);
  }
  one->grads.output = one->block[PROBLEM_OUTPUT].origin;
  one->grads.lse = one->block[PROBLEM_LSE].origin;
  one->grads.grad_output = one->block[PROBLEM_GRAD_OUTPUT].origin;
  if (one->grads.grad_lse) one->grads.grad_lse = one->block[PROBLEM_GRAD_LSE].origin;
  one->grads.grad_query = one->block[PROBLEM_GRAD_QUERY].origin;
  one->grads.grad_key = one->block[PROBLEM_GRAD_KEY].origin;
  one->grads.grad_value = one->block[PROBLEM_GRAD_VALUE].origin;
}

/* Each kv head of each batch entry alone gives the bits that it gives among the others; and with
 * the base indices of dropout its part of the whole mask. */
static void test_heads_alone(void **state) {
  (void)state;
  struct property_way ways[PROPERTY_WAYS_MAX];
  const int n_ways = property_ways(ways);
  int64_t problems = property_count(PROBLEMS), dropouts = 0;
  for (int64_t i = 0; i < problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    gradient_problem(i, &spec);
    gradient_make(&data, &spec);
    sdpa_grads *g = &data.grads;
    dropouts += spec.problem.dropout > 0.0;
    g->grad_query = data.block[PROBLEM_GRAD_QUERY].origin;
    g->grad_key = data.block[PROBLEM_GRAD_KEY].origin;
    g->grad_value = data.block[PROBLEM_GRAD_VALUE].origin;
    g->grad_bias = g->grad_sinks = g->grad_alibi_slopes = NULL;
    for (int k = 0; k < n_ways; k++) {
      unsigned char *together, *alone;
      sdpa_options options;
      property_options(&options, ways[k]);
      together = bits_with(&data, &spec, &options, ways[k].name);
      problem_data_restore(&data, 1);
      for (int64_t b = 0; b < spec.problem.batch; b++) {
        for (int64_t h = 0; h < spec.problem.kv_heads; h++) {
          struct problem_data one;
          narrow(&data, b, h, &one);
          gradient_run(&one, &spec, ways[k]);
        }
      }
      property_output_bits(&data, &alone);
      property_same_bits(&data, &spec, ways[k].name, together, alone, "leaving out other heads");
      free(together);
      free(alone);
    }
    problem_data_free(&data);
  }
  if (problems >= PROBLEMS) assert_true(dropouts > problems / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_excluded), cmocka_unit_test(test_threads),
      cmocka_unit_test(test_groups_of_keys), cmocka_unit_test(test_heads_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
