/* bench_case.c - from a problem string to something that runs
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench_case.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain_products.h"
#include "timing.h"

int bench_case_open(struct bench_case *c, const char *problem, const struct bench_choice *choice,
                    char *message, size_t message_bytes) {
  memset(c, 0, sizeof *c);
  if (problem_parse(problem, &c->spec, message, message_bytes) != 0) return -1;
  sdpa_options_init(&c->options, sizeof c->options);
  c->options.engine = choice->engine;
  c->options.isa = choice->isa;
  c->options.threads = choice->threads;
  c->options.precision = c->spec.precision;
  const sdpa_status checked =
      c->spec.backward
          ? sdpa_problem_check_backward(&c->spec.problem, &c->options, message, message_bytes)
          : sdpa_problem_check(&c->spec.problem, &c->options, message, message_bytes);
  if (checked != SDPA_OK) return -1;
  c->info.size = sizeof c->info;
  sdpa_status status = c->spec.backward
                           ? sdpa_plan_create_backward(&c->spec.problem, &c->options, &c->plan)
                           : sdpa_plan_create(&c->spec.problem, &c->options, &c->plan);
  if (status == SDPA_OK) status = sdpa_plan_query(c->plan, &c->info);
  if (status == SDPA_OK) return 0;
  snprintf(message, message_bytes, "%s", sdpa_status_string(status));
  return -1;
}

/* What the backward pass needs of the forward one. */
static int run_forward(struct bench_case *c, char *message, size_t message_bytes) {
  c->backward_args = problem_data_backward_args(&c->data);
  c->data.grads.grad_lse = NULL;
  const sdpa_status status = sdpa_attention(&c->data.problem, &c->options, &c->data.args);
  if (status == SDPA_OK) return 0;
  snprintf(message, message_bytes, "the forward pass: %s", sdpa_status_string(status));
  return -1;
}

int bench_case_fill(struct bench_case *c, char *message, size_t message_bytes) {
  size_t alignment = 0;
  if (problem_data_make(&c->data, &c->spec, NULL, message, message_bytes) != 0) return -1;
  if (c->spec.backward && run_forward(c, message, message_bytes) != 0) return -1;
  if (sdpa_plan_workspace(c->plan, &c->workspace_bytes, &alignment) != SDPA_OK) {
    snprintf(message, message_bytes, "the plan does not tell its workspace");
    return -1;
  }
  if (c->workspace_bytes == 0) return 0;
  c->workspace_bytes = (c->workspace_bytes + alignment - 1) / alignment * alignment;
  c->workspace = aligned_alloc(alignment, c->workspace_bytes);
  if (c->workspace) return 0;
  snprintf(message, message_bytes, "no memory for a workspace of %zu bytes", c->workspace_bytes);
  return -1;
}

void bench_case_close(struct bench_case *c) {
  sdpa_plan_destroy(c->plan);
  problem_data_free(&c->data);
  free(c->workspace);
  memset(c, 0, sizeof *c);
}

int bench_case_threads(const struct bench_case *c) {
  int threads = c->info.threads;
  if (c->info.engine == SDPA_ENGINE_BLAS) threads = blas_threads();
  if (threads <= 0) threads = c->options.threads;
  return threads > 0 ? threads : 1;
}

static sdpa_status run_once(struct bench_case *c) {
  const sdpa_problem *p = &c->spec.problem;
  const sdpa_args *args = &c->data.args;
  if (c->spec.backward)
    return sdpa_backward(c->plan, &c->backward_args, &c->data.grads, c->workspace,
                         c->workspace_bytes);
  if (!c->one_shot) return sdpa_execute(c->plan, args, c->workspace, c->workspace_bytes);
  if (p->query_type == SDPA_F64)
    return sdpa_attention_f64(p->query_len, p->key_len, p->key_dim, p->value_dim, args->query,
                              args->key, args->value, args->output, NULL);
  return sdpa_attention_f32(p->query_len, p->key_len, p->key_dim, p->value_dim, args->query,
                            args->key, args->value, args->output, NULL);
}

/* The fence stops the compiler from merging or moving calls; it costs no instruction. */
double bench_case_run(void *arg, int64_t calls) {
  struct bench_case *c = arg;
  sdpa_status status = SDPA_OK;
  const double start = timing_now();
  for (int64_t i = 0; i < calls && status == SDPA_OK; i++) {
    status = run_once(c);
    atomic_signal_fence(memory_order_seq_cst);
  }
  const double seconds = timing_now() - start;
  if (c->status == SDPA_OK) c->status = status;
  return seconds;
}
