/* training_step.c - gradients of causal self-attention with dropout, for a program that trains
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Q, K and V of all heads lie side by side in one row a token, as a projection leaves them, and the
 * gradients go into rows of the same kind. Two plans are made once: one of the forward pass, which
 * also gives the log-sum-exp, one of the backward pass. Each step has a dropout mask of its own,
 * since the step's number is the offset; nothing of a mask is kept between the passes, nor anything
 * of the size of tokens x tokens.
 *
 * The loss here is half the squared distance from a target, and half PENALTY times the squared
 * log-sum-exp, which keeps scores from growing; so both results have a gradient.
 *
 * The plain loops below draw the mask anew from the header's description.
 */
#include <sdpa/sdpa.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, TOKENS = 80, DIM = 32, STEPS = 3 };
enum { KEY_AT = HEADS * DIM, VALUE_AT = KEY_AT + KV_HEADS * DIM, ROW = VALUE_AT + KV_HEADS * DIM };

static const double DROPOUT = 0.1, PENALTY = 0.01;
static const uint64_t SEED = 2026;

static float packed[BATCH][TOKENS][ROW], grad_packed[BATCH][TOKENS][ROW];
static float output[BATCH][TOKENS][HEADS][DIM], target[BATCH][TOKENS][HEADS][DIM];
static float grad_output[BATCH][TOKENS][HEADS][DIM];
static float lse[BATCH][HEADS][TOKENS], grad_lse[BATCH][HEADS][TOKENS];
static double exact[BATCH][TOKENS][ROW]; /* gradients by plain loops */

/* Between -1 and 1. */
static float next_number(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 0x800000 - 1;
}

static void describe(sdpa_problem *p) {
  const sdpa_strides rows = {TOKENS * ROW, DIM, ROW, 1};
  sdpa_problem_init(p, sizeof *p);
  p->query_type = SDPA_F32;
  p->features = SDPA_CAUSAL | SDPA_DROPOUT | SDPA_LSE;
  p->alignment = SDPA_ALIGN_TOP_LEFT;
  p->dropout = DROPOUT;
  p->batch = BATCH;
  p->query_heads = HEADS;
  p->kv_heads = KV_HEADS;
  p->query_len = p->key_len = TOKENS;
  p->key_dim = p->value_dim = DIM;
  sdpa_problem_layout(p, SDPA_LAYOUT_BSHD); /* of the output, its gradient and the log-sum-exp */
  p->query = p->key = p->value = rows;
  p->grad_query = p->grad_key = p->grad_value = rows;
}

/* What both passes read. The same offset gives them the same mask. */
static void inputs(sdpa_args *a, uint64_t step) {
  sdpa_args_init(a, sizeof *a);
  a->query = packed[0][0];
  a->key = packed[0][0] + KEY_AT;
  a->value = packed[0][0] + VALUE_AT;
  a->dropout_seed = SEED;
  a->dropout_offset = step;
}

/* The gradients of the loss by the two results of the forward pass. */
static void differentiate_loss(void) {
  float *o = &output[0][0][0][0], *t = &target[0][0][0][0], *d = &grad_output[0][0][0][0];
  for (int i = 0; i < BATCH * TOKENS * HEADS * DIM; i++) d[i] = o[i] - t[i];
  for (int i = 0; i < BATCH * HEADS * TOKENS; i++)
    (&grad_lse[0][0][0])[i] = (float)PENALTY * (&lse[0][0][0])[i];
}

static sdpa_status run_step(const sdpa_plan *forward, const sdpa_plan *backward, uint64_t step,
                            void *workspace, size_t bytes) {
  sdpa_args a;
  inputs(&a, step);
  a.output = output;
  a.lse = lse;
  sdpa_status status = sdpa_execute(forward, &a, workspace, bytes);
  if (status != SDPA_OK) return status;
  differentiate_loss();

  sdpa_grads g;
  sdpa_grads_init(&g, sizeof g);
  g.output = output;
  g.lse = lse;
  g.grad_output = grad_output;
  g.grad_lse = grad_lse;
  g.grad_query = grad_packed[0][0];
  g.grad_key = grad_packed[0][0] + KEY_AT;
  g.grad_value = grad_packed[0][0] + VALUE_AT;
  inputs(&a, step); /* without the outputs: the backward pass writes none */
  return sdpa_backward(backward, &a, &g, workspace, bytes);
}

/* Philox4x32-10 (Salmon et al., 2011): the block of counter x under a key, in place. */
static void philox(uint32_t x[4], uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; round++) {
    const uint64_t a = (uint64_t)0xD2511F53u * x[0], b = (uint64_t)0xCD9E8D57u * x[2];
    const uint32_t next[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k0, (uint32_t)b,
                              (uint32_t)(a >> 32) ^ x[3] ^ k1, (uint32_t)a};
    memcpy(x, next, sizeof next);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

static int is_kept(uint64_t step, int batch, int head, int query, int key) {
  const uint64_t chain[] = {step, (uint64_t)batch, (uint64_t)head, (uint64_t)query,
                            (uint64_t)key / 4};
  uint32_t s[4] = {(uint32_t)SEED, (uint32_t)(SEED >> 32), 0, 0};
  for (int i = 0; i < 5; i++) {
    uint32_t x[4] = {(uint32_t)chain[i], (uint32_t)(chain[i] >> 32), s[2], s[3]};
    philox(x, s[0], s[1]);
    memcpy(s, x, sizeof s);
  }
  return s[key % 4] >= (uint32_t)(DROPOUT * 4294967296.0);
}

/* Adds what one query row adds to the gradients. */
static void add_row(uint64_t step, int b, int h, int i) {
  const int kv = h / (HEADS / KV_HEADS);
  const int q_at = h * DIM, k_at = KEY_AT + kv * DIM, v_at = VALUE_AT + kv * DIM;
  double weight[TOKENS], factor[TOKENS], of_weight[TOKENS], sum = 0, inner = 0, out[DIM] = {0};
  for (int j = 0; j <= i; j++) {
    double score = 0;
    for (int d = 0; d < DIM; d++)
      score += (double)packed[b][i][q_at + d] * (double)packed[b][j][k_at + d];
    sum += weight[j] = exp(score / sqrt(DIM));
    factor[j] = is_kept(step, b, h, i, j) ? 1 / (1 - DROPOUT) : 0;
  }
  for (int j = 0; j <= i; j++) {
    weight[j] /= sum;
    for (int d = 0; d < DIM; d++) out[d] += factor[j] * weight[j] * (double)packed[b][j][v_at + d];
  }
  for (int j = 0; j <= i; j++) {
    of_weight[j] = 0;
    for (int d = 0; d < DIM; d++) {
      const double of_output = out[d] - (double)target[b][i][h][d];
      of_weight[j] += factor[j] * of_output * (double)packed[b][j][v_at + d];
      exact[b][j][v_at + d] += factor[j] * weight[j] * of_output;
    }
    inner += weight[j] * of_weight[j];
  }
  for (int j = 0; j <= i; j++) {
    const double of_score = weight[j] * (of_weight[j] - inner + PENALTY * log(sum)) / sqrt(DIM);
    for (int d = 0; d < DIM; d++) {
      exact[b][i][q_at + d] += of_score * (double)packed[b][j][k_at + d];
      exact[b][j][k_at + d] += of_score * (double)packed[b][i][q_at + d];
    }
  }
}

static double largest_error(uint64_t step) {
  memset(exact, 0, sizeof exact);
  for (int b = 0; b < BATCH; b++)
    for (int h = 0; h < HEADS; h++)
      for (int i = 0; i < TOKENS; i++) add_row(step, b, h, i);
  double largest = 0, size = 0;
  for (int i = 0; i < BATCH * TOKENS * ROW; i++) {
    const double error = fabs((double)(&grad_packed[0][0][0])[i] - (&exact[0][0][0])[i]);
    if (!(error <= largest)) largest = error; /* NaN counts, too */
    size = fmax(size, fabs((&exact[0][0][0])[i]));
  }
  return largest / size;
}

/* Plain gradient descent on Q, K and V themselves, in place of a model's parameters. */
static void descend(void) {
  for (int i = 0; i < BATCH * TOKENS * ROW; i++)
    (&packed[0][0][0])[i] -= 0.05f * (&grad_packed[0][0][0])[i];
}

static int train(const sdpa_plan *forward, const sdpa_plan *backward, void *workspace,
                 size_t bytes) {
  double largest = 0;
  for (uint64_t step = 0; step < STEPS; step++) {
    const sdpa_status status = run_step(forward, backward, step, workspace, bytes);
    if (status != SDPA_OK) {
      fprintf(stderr, "training_step: %s\n", sdpa_status_string(status));
      return 1;
    }
    const double error = largest_error(step);
    if (!(error <= largest)) largest = error;
    double loss = 0;
    for (int i = 0; i < BATCH * TOKENS * HEADS * DIM; i++)
      loss += pow((double)(&grad_output[0][0][0][0])[i], 2) / 2;
    for (int i = 0; i < BATCH * HEADS * TOKENS; i++)
      loss += PENALTY * pow((double)(&lse[0][0][0])[i], 2) / 2;
    printf("step %d: loss %.2f\n", (int)step, loss);
    descend();
  }
  printf("largest difference from the plain loops, of the largest gradient: %.1e\n", largest);
  return largest <= 1e-6 ? 0 : 1;
}

int main(void) {
  sdpa_problem p;
  sdpa_plan *forward, *backward = NULL;
  size_t bytes = 0, backward_bytes = 0, alignment = 0, backward_alignment = 0;
  for (int i = 0; i < BATCH * TOKENS * ROW; i++) (&packed[0][0][0])[i] = next_number();
  for (int i = 0; i < BATCH * TOKENS * HEADS * DIM; i++) (&target[0][0][0][0])[i] = next_number();
  describe(&p);
  sdpa_status status = sdpa_plan_create(&p, NULL, &forward);
  if (status == SDPA_OK) status = sdpa_plan_create_backward(&p, NULL, &backward);
  if (status == SDPA_OK) status = sdpa_plan_workspace(forward, &bytes, &alignment);
  if (status == SDPA_OK)
    status = sdpa_plan_workspace(backward, &backward_bytes, &backward_alignment);
  int result = 1;
  if (status != SDPA_OK) {
    fprintf(stderr, "training_step: %s\n", sdpa_status_string(status));
  } else {
    /* one workspace for both, since they run one after the other */
    if (alignment < backward_alignment) alignment = backward_alignment;
    if (bytes < backward_bytes) bytes = backward_bytes;
    bytes = (bytes + alignment) / alignment * alignment;
    void *workspace = aligned_alloc(alignment, bytes);
    if (workspace != NULL) result = train(forward, backward, workspace, bytes);
    free(workspace);
  }
  sdpa_plan_destroy(backward);
  sdpa_plan_destroy(forward);
  return result;
}
