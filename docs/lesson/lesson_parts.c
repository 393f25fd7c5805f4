/* lesson_parts.c - softmax saturation, the variance of dot products, the full attention matrix
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Dot products are asked of the library as raw scores: a problem whose values have no column
 * (value_dim 0) has scores and nothing to add up. Without SDPA_SCALE they are divided by sqrt(d_k);
 * with it and scale 1 they are the plain products.
 */
#include "lesson_parts.h"

#include "numpy_random.h"
#include "numpy_sum.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { pairs = 100000, pairs_at_once = 1000, head_dim = 64 };

const double lesson_example_keys[lesson_keys][lesson_dims] = {{1, 0, 1, 0}, {0, 1, 0, 1}};

int lesson_fail(const char *what, sdpa_status status) {
  fprintf(stderr, "sdpa-lesson: %s: %s\n", what, sdpa_status_string(status));
  return -1;
}

char *lesson_group_digits(int64_t n, char *text) {
  char digits[24];
  int length = snprintf(digits, sizeof digits, "%" PRId64, n);
  int sign = n < 0;
  char *to = text;
  for (int i = 0; i < length; i++) {
    if (i > sign && (length - i) % 3 == 0) *to++ = ',';
    *to++ = digits[i];
  }
  *to = '\0';
  return text;
}

/* A plan for the scores of query_len x key_len float64 vectors in each of batch entries. */
static sdpa_status plan_scores(int64_t batch, int64_t query_len, int64_t key_len, int64_t key_dim,
                               int scaled, sdpa_plan **plan) {
  sdpa_problem problem;
  sdpa_status status = sdpa_problem_init(&problem, sizeof problem);
  if (status != SDPA_OK) return status;
  problem.features = SDPA_SCORES;
  problem.score_stage = SDPA_STAGE_SCALED;
  if (!scaled) {
    problem.features |= SDPA_SCALE;
    problem.scale = 1;
  }
  problem.query_type = SDPA_F64;
  problem.batch = batch;
  problem.query_heads = problem.kv_heads = 1;
  problem.query_len = query_len;
  problem.key_len = key_len;
  problem.key_dim = key_dim;
  status = sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD);
  if (status != SDPA_OK) return status;
  return sdpa_plan_create(&problem, NULL, plan);
}

static sdpa_status run_scores(const sdpa_plan *plan, const double *query, const double *key,
                              double *scores) {
  sdpa_args args;
  sdpa_status status = sdpa_args_init(&args, sizeof args);
  if (status != SDPA_OK) return status;
  args.query = query;
  args.key = key;
  args.scores = scores;
  return sdpa_execute(plan, &args, NULL, 0);
}

static sdpa_status score_example(struct lesson_case *c) {
  sdpa_plan *plan;
  sdpa_status status = plan_scores(1, 1, lesson_keys, lesson_dims, c->scaled, &plan);
  if (status != SDPA_OK) return status;
  status = run_scores(plan, c->query, lesson_example_keys[0], c->scores);
  sdpa_plan_destroy(plan);
  return status;
}

static sdpa_status complete_case(struct lesson_case *c) {
  double jacobian[lesson_keys * lesson_keys];
  sdpa_status status =
      sdpa_softmax_f64(1, lesson_keys, 1, c->scores, lesson_keys, NULL, 0, c->weights, lesson_keys);
  if (status != SDPA_OK) return status;
  status = sdpa_softmax_jacobian_f64(lesson_keys, c->weights, jacobian, lesson_keys);
  if (status != SDPA_OK) return status;
  c->largest_gradient = 0;
  for (int i = 0; i < lesson_keys * lesson_keys; i++)
    c->largest_gradient = fmax(c->largest_gradient, fabs(jacobian[i]));
  return SDPA_OK;
}

int lesson_compute_cases(struct lesson_case cases[lesson_cases]) {
  cases[0] = (struct lesson_case){.name = "[6, 4] unscaled", .query = {2, 3, 4, 1}};
  cases[1] = (struct lesson_case){.name = "[3, 2] scaled by 2", .query = {2, 3, 4, 1}, .scaled = 1};
  cases[2] = (struct lesson_case){.name = "[10, 1]", .query = {5, 0.5, 5, 0.5}};
  for (int i = 0; i < lesson_cases; i++) {
    sdpa_status status = score_example(&cases[i]);
    if (status != SDPA_OK) return lesson_fail("the scores of the example", status);
    status = complete_case(&cases[i]);
    if (status != SDPA_OK) return lesson_fail("the softmax of the example", status);
  }
  return 0;
}

int lesson_print_softmax(FILE *out) {
  struct lesson_case cases[lesson_cases];
  if (lesson_compute_cases(cases) != 0) return -1;
  for (int i = 0; i < lesson_cases; i++)
    fprintf(out, "%-19s softmax = [%.5f, %.5f]   largest gradient = %.6f\n", cases[i].name,
            cases[i].weights[0], cases[i].weights[1], cases[i].largest_gradient);
  return 0;
}

/* What one d_k needs. NumPy draws all of q before k, so k's numbers begin where q's end: a copy of
 * the generator is sent ahead, and both are drawn in step, a few MB at a time instead of 819. */
struct pair_work {
  double *query, *key;   /* pairs_at_once x d_k */
  double *dots, *scaled; /* pairs */
  sdpa_plan *raw_plan, *scaled_plan;
};

static sdpa_status score_pairs(const struct pair_work *w, int64_t d_k, struct numpy_rng *rng) {
  struct numpy_rng key_rng = *rng;
  for (int64_t i = 0; i < pairs * d_k; i++) numpy_rng_normal(&key_rng);
  for (int64_t first = 0; first < pairs; first += pairs_at_once) {
    numpy_rng_fill_normal(rng, w->query, (size_t)(pairs_at_once * d_k));
    numpy_rng_fill_normal(&key_rng, w->key, (size_t)(pairs_at_once * d_k));
    sdpa_status status = run_scores(w->raw_plan, w->query, w->key, w->dots + first);
    if (status == SDPA_OK) status = run_scores(w->scaled_plan, w->query, w->key, w->scaled + first);
    if (status != SDPA_OK) return status;
  }
  *rng = key_rng;
  return SDPA_OK;
}

static int print_variance(FILE *out, int64_t d_k, struct numpy_rng *rng) {
  size_t block = (size_t)(pairs_at_once * d_k);
  double *memory = malloc((2 * block + 2 * (size_t)pairs) * sizeof *memory);
  struct pair_work w = {.query = memory};
  sdpa_status status = SDPA_ERROR_MEMORY;
  if (memory != NULL) {
    w.key = w.query + block;
    w.dots = w.key + block;
    w.scaled = w.dots + pairs;
    status = plan_scores(pairs_at_once, 1, 1, d_k, 0, &w.raw_plan);
  }
  if (status == SDPA_OK) status = plan_scores(pairs_at_once, 1, 1, d_k, 1, &w.scaled_plan);
  if (status == SDPA_OK) status = score_pairs(&w, d_k, rng);
  if (status == SDPA_OK)
    fprintf(out, "d_k = %3" PRId64 ": var(q.k) = %7.2f   var(q.k / sqrt(d_k)) = %.3f\n", d_k,
            numpy_variance(w.dots, pairs), numpy_variance(w.scaled, pairs));
  sdpa_plan_destroy(w.scaled_plan);
  sdpa_plan_destroy(w.raw_plan);
  free(memory);
  return status == SDPA_OK ? 0 : lesson_fail("the random dot products", status);
}

int lesson_print_variance(FILE *out, uint64_t seed) {
  static const int64_t sizes[] = {4, 64, 512};
  struct numpy_rng rng;
  numpy_rng_seed(&rng, seed);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    if (print_variance(out, sizes[i], &rng) != 0) return -1;
  return 0;
}

/* numpy.allclose(weights.sum(1), 1); sums has room for n. */
static int print_attention(FILE *out, int64_t n, struct numpy_rng *rng) {
  size_t rows = (size_t)n, tensor = rows * head_dim, scores = rows * rows;
  double *memory = malloc((4 * tensor + scores) * sizeof *memory);
  if (memory == NULL) return lesson_fail("the attention matrix", SDPA_ERROR_MEMORY);
  double *query = memory, *key = query + tensor, *value = key + tensor, *output = value + tensor;
  double *weights = output + tensor;
  numpy_rng_fill_normal(rng, query, tensor);
  numpy_rng_fill_normal(rng, key, tensor);
  numpy_rng_fill_normal(rng, value, tensor);
  sdpa_status status =
      sdpa_attention_f64(n, n, head_dim, head_dim, query, key, value, output, weights);
  if (status == SDPA_OK) {
    char count[28], bytes[28];
    fprintf(out,
            "n = %4" PRId64 ": output (%" PRId64 ", %d), weights (%" PRId64 ", %" PRId64
            ") = %s scores, %s bytes, rows sum to 1: %s\n",
            n, n, head_dim, n, n, lesson_group_digits(n * n, count),
            lesson_group_digits(n * n * (int64_t)sizeof *weights, bytes),
            numpy_rows_sum_to_one(weights, rows, rows) ? "True" : "False");
  }
  free(memory);
  return status == SDPA_OK ? 0 : lesson_fail("the attention matrix", status);
}

int lesson_print_attention(FILE *out, uint64_t seed) {
  static const int64_t sizes[] = {3, 512, 4096};
  struct numpy_rng rng;
  numpy_rng_seed(&rng, seed);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    if (print_attention(out, sizes[i], &rng) != 0) return -1;
  return 0;
}
