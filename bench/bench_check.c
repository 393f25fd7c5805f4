/* bench_check.c - the outputs of a case against the reference
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench_check.h"

#include <math.h>
#include <stdio.h>

#include "compare.h"
#include "gradient_compare.h"
#include "reference.h"

/* Pairs of row and key, times columns: the reference does about 10^8 of them in a second. */
#define MOST_STEPS ((double)(INT64_C(1) << 29))

int64_t bench_check_rows(const sdpa_problem *p, int backward) {
  const double pairs = (double)p->key_len + (backward ? (double)p->query_len : 0.0);
  const double steps_of_row = (double)p->batch * (double)p->query_heads * pairs *
                              (double)(p->key_dim + p->value_dim) * (backward ? 4.0 : 1.0);
  const double rows = steps_of_row > 0.0 ? MOST_STEPS / steps_of_row : BENCH_CHECK_ROWS;
  if (rows >= BENCH_CHECK_ROWS) return BENCH_CHECK_ROWS;
  return rows > BENCH_CHECK_LEAST_ROWS ? (int64_t)rows : BENCH_CHECK_LEAST_ROWS;
}

uint32_t bench_check_precision(const struct bench_case *c) {
  const int unit = c->info.engine == SDPA_ENGINE_TILED && c->info.isa == SDPA_ISA_AMX;
  return unit ? c->info.precision : (uint32_t)SDPA_PRECISION_FMA;
}

static int check_gradients(const struct bench_case *c, struct bench_verdict *verdict) {
  const sdpa_problem *problem = &c->data.problem;
  const struct gradient_request request = {bench_check_rows(problem, 1), 1};
  struct gradient_reference reference;
  struct gradient_result result;
  if (gradient_compute(&reference, problem, &c->data.args, &c->data.grads, &request) != 0)
    return -1;
  gradient_compare(&reference, problem, &c->data.grads, request.with_plain, &result);
  gradient_free(&reference);
  if (result.failed) {
    snprintf(verdict->text, sizeof verdict->text, "%s", result.text);
    return 0;
  }
  verdict->verified = 1;
  verdict->max_error = 0.0;
  for (int kind = 0; kind < GRADIENT_KINDS; kind++)
    verdict->max_error = fmax(verdict->max_error, (double)result.error[kind]);
  return 0;
}

int bench_check(const struct bench_case *c, struct bench_verdict *verdict) {
  const sdpa_problem *problem = &c->data.problem;
  const struct reference_request request = {.rows_per_head = bench_check_rows(problem, 0),
                                            .with_plain =
                                                c->info.precision != SDPA_PRECISION_REDUCED,
                                            .precision = bench_check_precision(c)};
  struct reference reference;
  struct compare_result result;
  *verdict = (struct bench_verdict){.max_error = NAN};
  if (c->spec.backward) return check_gradients(c, verdict);
  if (reference_compute(&reference, problem, &c->data.args, &request) != 0) return -1;
  compare_with_reference(&reference, problem, &c->data.args, request.with_plain, &result);
  reference_free(&reference);
  if (result.failed) {
    snprintf(verdict->text, sizeof verdict->text, "%s", result.text);
    return 0;
  }
  verdict->verified = 1;
  verdict->max_error = 0.0;
  for (int kind = 0; kind < REFERENCE_KINDS; kind++)
    verdict->max_error = fmax(verdict->max_error, (double)result.error[kind]);
  return 0;
}
