/* lesson_compare.c - the table behind "dot-product vs additive attention"
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Both functions give output and weights. Memory is what each needs beyond inputs and output: the
 * n x n weights, and temporaries (the plan's workspace here, the projections there; the BLAS's own
 * buffers are not counted). Times are the best of several runs. Additive attention runs on the
 * calling thread; dot-product attention on what the BLAS takes.
 */
#define _POSIX_C_SOURCE 200809L

#include "lesson_compare.h"

#include "additive_attention.h"
#include "lesson_parts.h"
#include "numpy_random.h"
#include "numpy_sum.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { tokens = 512, dim = 64, dot_runs = 50, additive_runs = 3 };

struct result {
  double seconds;
  size_t temporaries; /* bytes */
  double output[tokens * dim];
  double weights[tokens * tokens];
};

struct work {
  double query[tokens * dim], key[tokens * dim], value[tokens * dim];
  double w_q[dim * dim], w_k[dim * dim], v[dim];
  struct result dot, additive;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* W_q, W_k and v are divided by sqrt(d), so that the arguments of tanh and the scores have the size
 * they have in a freshly initialised network. */
static void draw(struct work *w, uint64_t seed) {
  struct numpy_rng rng;
  numpy_rng_seed(&rng, seed);
  numpy_rng_fill_normal(&rng, w->query, tokens * dim);
  numpy_rng_fill_normal(&rng, w->key, tokens * dim);
  numpy_rng_fill_normal(&rng, w->value, tokens * dim);
  numpy_rng_fill_normal(&rng, w->w_q, dim * dim);
  numpy_rng_fill_normal(&rng, w->w_k, dim * dim);
  numpy_rng_fill_normal(&rng, w->v, dim);
  for (int i = 0; i < dim * dim; i++) {
    w->w_q[i] /= sqrt(dim);
    w->w_k[i] /= sqrt(dim);
  }
  for (int i = 0; i < dim; i++) w->v[i] /= sqrt(dim);
}

static sdpa_status plan_dot(sdpa_plan **plan) {
  sdpa_problem problem;
  sdpa_status status = sdpa_problem_init(&problem, sizeof problem);
  if (status != SDPA_OK) return status;
  problem.features = SDPA_WEIGHTS;
  problem.query_type = SDPA_F64;
  problem.batch = problem.query_heads = problem.kv_heads = 1;
  problem.query_len = problem.key_len = tokens;
  problem.key_dim = problem.value_dim = dim;
  status = sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD);
  if (status != SDPA_OK) return status;
  return sdpa_plan_create(&problem, NULL, plan);
}

static sdpa_status time_dot(const sdpa_plan *plan, const sdpa_args *args, struct result *r) {
  size_t alignment;
  sdpa_status status = sdpa_plan_workspace(plan, &r->temporaries, &alignment);
  if (status != SDPA_OK) return status;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  void *workspace = NULL;
  if (r->temporaries > 0 && posix_memalign(&workspace, alignment, r->temporaries) != 0)
    return SDPA_ERROR_MEMORY;
  r->seconds = INFINITY;
  for (int i = 0; i < dot_runs && status == SDPA_OK; i++) {
    double start = now();
    status = sdpa_execute(plan, args, workspace, r->temporaries);
    r->seconds = fmin(r->seconds, now() - start);
  }
  free(workspace);
  return status;
}

static sdpa_status run_dot(struct work *w) {
  sdpa_plan *plan;
  sdpa_status status = plan_dot(&plan);
  if (status != SDPA_OK) return status;
  sdpa_args args;
  status = sdpa_args_init(&args, sizeof args);
  if (status == SDPA_OK) {
    args.query = w->query;
    args.key = w->key;
    args.value = w->value;
    args.output = w->dot.output;
    args.weights = w->dot.weights;
    status = time_dot(plan, &args, &w->dot);
  }
  sdpa_plan_destroy(plan);
  return status;
}

static sdpa_status run_additive(struct work *w) {
  struct additive_problem problem = {
      .n_q = tokens,
      .n_k = tokens,
      .d_k = dim,
      .d_v = dim,
      .d_h = dim,
      .query = w->query,
      .key = w->key,
      .value = w->value,
      .w_q = w->w_q,
      .w_k = w->w_k,
      .v = w->v,
  };
  w->additive.temporaries = additive_scratch_bytes(&problem);
  double *scratch = malloc(w->additive.temporaries);
  if (scratch == NULL) return SDPA_ERROR_MEMORY;
  sdpa_status status = SDPA_OK;
  w->additive.seconds = INFINITY;
  for (int i = 0; i < additive_runs && status == SDPA_OK; i++) {
    double start = now();
    status = additive_attention(&problem, w->additive.output, w->additive.weights, scratch);
    w->additive.seconds = fmin(w->additive.seconds, now() - start);
  }
  free(scratch);
  return status;
}

static void print_row(FILE *out, const char *name, const struct result *r) {
  char weights[28], temporaries[28];
  fprintf(out,
          "%-11s  output (%d, %d), weights (%d, %d), rows sum to 1: %s  %10.3f ms  %s + %s bytes\n",
          name, tokens, dim, tokens, tokens,
          numpy_rows_sum_to_one(r->weights, tokens, tokens) ? "True" : "False", 1e3 * r->seconds,
          lesson_group_digits((int64_t)sizeof r->weights, weights),
          lesson_group_digits((int64_t)r->temporaries, temporaries));
}

static void print_table(FILE *out, const struct work *w) {
  char whole[28];
  double weights = (double)sizeof w->dot.weights;
  fprintf(out, "\nDot-product and additive attention, n = %d, d = %d, float64\n", tokens, dim);
  fprintf(out,
          "dot-product: softmax(Q K^T / sqrt(d)) V    additive: softmax(v . tanh(W_q q + W_k "
          "k)) V, hidden size %d\n",
          dim);
  fprintf(out, "memory: weights + temporaries\n");
  print_row(out, "dot-product", &w->dot);
  print_row(out, "additive", &w->additive);
  fprintf(out, "additive / dot-product: %.1f times the time, %.2f times the memory\n",
          w->additive.seconds / w->dot.seconds,
          (weights + (double)w->additive.temporaries) / (weights + (double)w->dot.temporaries));
  fprintf(out, "held whole, as an array library would, the tanh alone are n n d = %s bytes\n",
          lesson_group_digits((int64_t)sizeof w->dot.weights * dim, whole));
}

int lesson_print_comparison(FILE *out, uint64_t seed) {
  struct work *w = malloc(sizeof *w);
  if (w == NULL) return lesson_fail("the comparison", SDPA_ERROR_MEMORY);
  draw(w, seed);
  sdpa_status status = run_dot(w);
  if (status == SDPA_OK) status = run_additive(w);
  if (status == SDPA_OK) print_table(out, w);
  free(w);
  return status == SDPA_OK ? 0 : lesson_fail("the comparison", status);
}
