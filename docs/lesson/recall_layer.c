/* recall_layer.c - forward pass, loss, backward pass, step
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every sequence is asked for all symbols in turn, so Q is the table of queries itself, the same
 * for all sequences: a batch stride of 0, and no copy. Its gradient has a batch stride of its own
 * and comes out for each sequence, to be added up here. K is the table of keys in the order of the
 * sequence.
 */
#include "recall_layer.h"

#include "numpy_random.h"

#include <stdlib.h>
#include <string.h>

enum { table_max = recall_symbols * recall_dims_max, vectors = recall_questions * recall_width };

struct layer {
  size_t d_k;
  double query_table[table_max], key_table[table_max];
  size_t symbol_at[recall_sequences][recall_symbols]; /* of each pair */
  double value[recall_sequences][recall_symbols][recall_width];
  double target[recall_sequences][recall_symbols][recall_width]; /* the same by symbol */
  double key[recall_sequences * table_max];
  double output[vectors], lse[recall_questions], grad_output[vectors];
  double grad_query[recall_sequences * table_max], grad_key[recall_sequences * table_max];
  sdpa_plan *forward, *backward;
  void *workspace; /* of both */
  size_t bytes;
};

static void draw(struct layer *l, uint64_t seed) {
  struct numpy_rng rng;
  numpy_rng_seed(&rng, seed);
  numpy_rng_fill_normal(&rng, l->query_table, recall_symbols * l->d_k);
  numpy_rng_fill_normal(&rng, l->key_table, recall_symbols * l->d_k);
  for (int s = 0; s < recall_sequences; s++) {
    size_t *symbol = l->symbol_at[s];
    for (size_t i = 0; i < recall_symbols; i++) symbol[i] = i;
    for (size_t i = recall_symbols - 1; i > 0; i--) {
      size_t other = (size_t)numpy_rng_below(&rng, i + 1), kept = symbol[i];
      symbol[i] = symbol[other];
      symbol[other] = kept;
    }
    numpy_rng_fill_normal(&rng, l->value[s][0], recall_symbols * recall_width);
    for (int i = 0; i < recall_symbols; i++)
      memcpy(l->target[s][symbol[i]], l->value[s][i], sizeof l->value[s][i]);
  }
}

static sdpa_status describe(const struct recall_run *run, sdpa_problem *problem) {
  sdpa_status status = sdpa_problem_init(problem, sizeof *problem);
  if (status != SDPA_OK) return status;
  problem->features = SDPA_LSE;
  if (!run->scaled) {
    problem->features |= SDPA_SCALE;
    problem->scale = 1;
  }
  problem->query_type = SDPA_F64;
  problem->batch = recall_sequences;
  problem->query_heads = problem->kv_heads = 1;
  problem->query_len = problem->key_len = recall_symbols;
  problem->key_dim = run->d_k;
  problem->value_dim = recall_width;
  status = sdpa_problem_layout(problem, SDPA_LAYOUT_BHSD);
  problem->query.batch = 0;
  return status;
}

/* Plans of both passes, and a workspace that is enough for either. */
static sdpa_status prepare(struct layer *l, const struct recall_run *run) {
  sdpa_problem problem;
  sdpa_options options;
  size_t forward_bytes = 0, backward_bytes = 0, alignment = 0, backward_alignment = 0;
  sdpa_status status = describe(run, &problem);
  if (status == SDPA_OK) status = sdpa_options_init(&options, sizeof options);
  if (status != SDPA_OK) return status;
  options.threads = 1;
  status = sdpa_plan_create(&problem, &options, &l->forward);
  if (status == SDPA_OK) status = sdpa_plan_create_backward(&problem, &options, &l->backward);
  if (status == SDPA_OK) status = sdpa_plan_workspace(l->forward, &forward_bytes, &alignment);
  if (status == SDPA_OK)
    status = sdpa_plan_workspace(l->backward, &backward_bytes, &backward_alignment);
  if (status != SDPA_OK) return status;
  if (alignment < backward_alignment) alignment = backward_alignment;
  l->bytes = forward_bytes > backward_bytes ? forward_bytes : backward_bytes;
  l->bytes = (l->bytes + alignment) / alignment * alignment; /* not 0 */
  l->workspace = aligned_alloc(alignment, l->bytes);
  return l->workspace != NULL ? SDPA_OK : SDPA_ERROR_MEMORY;
}

static sdpa_status inputs(const struct layer *l, sdpa_args *args) {
  sdpa_status status = sdpa_args_init(args, sizeof *args);
  args->query = l->query_table;
  args->key = l->key;
  args->value = l->value;
  return status;
}

static sdpa_status answer(struct layer *l) {
  sdpa_args args;
  sdpa_status status = inputs(l, &args);
  if (status != SDPA_OK) return status;
  for (size_t s = 0; s < recall_sequences; s++)
    for (size_t i = 0; i < recall_symbols; i++)
      memcpy(l->key + (s * recall_symbols + i) * l->d_k, l->key_table + l->symbol_at[s][i] * l->d_k,
             l->d_k * sizeof *l->key);
  args.output = l->output;
  args.lse = l->lse;
  return sdpa_execute(l->forward, &args, l->workspace, l->bytes);
}

/* The loss, and its gradient by the output. */
static double judge(struct layer *l) {
  const double *target = l->target[0][0];
  double sum = 0;
  for (int i = 0; i < vectors; i++) {
    double error = l->output[i] - target[i];
    sum += error * error;
    l->grad_output[i] = 2 * error / vectors;
  }
  return sum / vectors;
}

/* Through attention to the tables, and a step down. */
static sdpa_status learn(struct layer *l, double rate) {
  sdpa_args args;
  sdpa_grads grads;
  sdpa_status status = inputs(l, &args);
  if (status == SDPA_OK) status = sdpa_grads_init(&grads, sizeof grads);
  if (status != SDPA_OK) return status;
  grads.output = l->output;
  grads.lse = l->lse;
  grads.grad_output = l->grad_output;
  grads.grad_query = l->grad_query;
  grads.grad_key = l->grad_key;
  status = sdpa_backward(l->backward, &args, &grads, l->workspace, l->bytes);
  if (status != SDPA_OK) return status;
  for (size_t s = 0; s < recall_sequences; s++)
    for (size_t i = 0; i < recall_symbols; i++) {
      const size_t row = (s * recall_symbols + i) * l->d_k;
      double *query = l->query_table + i * l->d_k;
      double *key = l->key_table + l->symbol_at[s][i] * l->d_k;
      for (size_t d = 0; d < l->d_k; d++) {
        query[d] -= rate * l->grad_query[row + d];
        key[d] -= rate * l->grad_key[row + d];
      }
    }
  return SDPA_OK;
}

static double distance(const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < recall_width; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

static int count_recalled(const struct layer *l) {
  int count = 0;
  for (int s = 0; s < recall_sequences; s++)
    for (int i = 0; i < recall_symbols; i++) {
      const double *output = l->output + (s * recall_symbols + i) * recall_width;
      const double own = distance(output, l->target[s][i]);
      int nearer = 0;
      for (int other = 0; other < recall_symbols; other++)
        nearer += other != i && !(own < distance(output, l->target[s][other]));
      count += nearer == 0;
    }
  return count;
}

static sdpa_status train(struct layer *l, struct recall_run *run) {
  draw(l, run->seed);
  for (int step = 0;; step++) {
    sdpa_status status = answer(l);
    if (status != SDPA_OK) return status;
    run->loss[step] = judge(l);
    if (step == recall_steps) break;
    status = learn(l, run->rate);
    if (status != SDPA_OK) return status;
  }
  run->recalled = count_recalled(l);
  return SDPA_OK;
}

sdpa_status recall_train(struct recall_run *run) {
  if (run->d_k < 1 || run->d_k > recall_dims_max) return SDPA_ERROR_SHAPE;
  struct layer *l = calloc(1, sizeof *l);
  if (l == NULL) return SDPA_ERROR_MEMORY;
  l->d_k = (size_t)run->d_k;
  sdpa_status status = prepare(l, run);
  if (status == SDPA_OK) status = train(l, run);
  sdpa_plan_destroy(l->backward);
  sdpa_plan_destroy(l->forward);
  free(l->workspace);
  free(l);
  return status;
}
