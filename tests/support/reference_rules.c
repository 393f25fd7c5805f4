/* reference_rules.c - which keys a row may use, and access to the arguments
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "reference_rules.h"
#include "dropout_mask.h"
#include "problem_shape.h"

#include <math.h>

uint64_t row_distance(const struct row_case *c, int64_t j) {
  return c->position > j ? (uint64_t)c->position - (uint64_t)j
                         : (uint64_t)j - (uint64_t)c->position;
}

static int64_t saturated_sum(int64_t a, int64_t b) {
  if (b > 0 && a > INT64_MAX - b) return INT64_MAX;
  if (b < 0 && a < INT64_MIN - b) return INT64_MIN;
  return a + b;
}

static int64_t length(const int64_t *lens, uint32_t feature, const sdpa_problem *p, int64_t b,
                      int64_t n) {
  return p->features & feature ? lens[b] : n;
}

static int64_t offset(const struct row_case *c) {
  const sdpa_problem *p = c->problem;
  switch (p->alignment) {
  case SDPA_ALIGN_BOTTOM_RIGHT:
    return length(c->args->key_lens, SDPA_KEY_LENS, p, c->batch, p->key_len) -
           length(c->args->query_lens, SDPA_QUERY_LENS, p, c->batch, p->query_len);
  case SDPA_ALIGN_OFFSET:
    return p->features & SDPA_OFFSETS ? c->args->offsets[c->batch] : p->offset;
  default:
    return 0;
  }
}

static int is_allowed(const struct row_case *c, int64_t j) {
  const sdpa_problem *p = c->problem;
  if (j >= c->keys) return 0;
  /* In long double: its 64 bits hold every sum of three such integers. */
  long double distance = (long double)c->row + (long double)offset(c) - (long double)j;
  if (p->features & SDPA_CAUSAL && distance < 0.0L) return 0;
  if (p->features & SDPA_WINDOW) {
    if (p->window_left >= 0 && distance > (long double)p->window_left) return 0;
    if (p->window_right >= 0 && -distance > (long double)p->window_right) return 0;
  }
  if (p->features & SDPA_MASK && !c->args->mask[c->batch * p->mask.batch + c->head * p->mask.head +
                                                c->row * p->mask.row + j * p->mask.col])
    return 0;
  return row_bias(c, j) != (double)-INFINITY;
}

/* A scalar of the problem as the compute type holds it. */
static double rounded(const struct row_case *c, double value) {
  return c->compute_type == SDPA_F64 ? value : (double)(float)value;
}

static void set_types(struct row_case *c, const sdpa_problem *problem) {
  c->query_type = problem_type(problem, PROBLEM_QUERY);
  c->key_type = problem_type(problem, PROBLEM_KEY);
  c->value_type = problem_type(problem, PROBLEM_VALUE);
  c->output_type = problem_type(problem, PROBLEM_OUTPUT);
  c->bias_type = problem_type(problem, PROBLEM_BIAS);
  c->compute_type = problem_compute_type(problem);
}

void row_case_set(struct row_case *c, const sdpa_problem *problem, const sdpa_args *args,
                  int64_t batch, int64_t head, int64_t row) {
  c->problem = problem;
  c->args = args;
  c->batch = batch;
  c->head = head;
  c->row = row;
  set_types(c, problem);
  c->kv_head = head / (problem->query_heads / problem->kv_heads);
  c->keys = length(args->key_lens, SDPA_KEY_LENS, problem, batch, problem->key_len);
  if (row >= length(args->query_lens, SDPA_QUERY_LENS, problem, batch, problem->query_len))
    c->keys = 0;
  c->position = saturated_sum(row, offset(c));
  c->scale = rounded(c, problem->scale);
  c->softcap = rounded(c, problem->softcap);
  c->slope =
      problem->features & SDPA_ALIBI ? row_load(c->compute_type, args->alibi_slopes, head) : 0.0;
  c->sink = problem->features & SDPA_SINKS ? row_load(c->compute_type, args->sinks, head)
                                           : (double)-INFINITY;
  if (c->kept && problem->features & SDPA_DROPOUT)
    dropout_mask_row(problem, args, batch, head, row, c->kept);
  c->n_allowed = 0;
  for (int64_t j = 0; j < problem->key_len; j++) {
    c->allowed[j] = (uint8_t)is_allowed(c, j);
    c->n_allowed += c->allowed[j];
  }
}

long double row_amount(const struct row_case *c, int64_t j) {
  const int64_t size = c->problem->key_dim;
  const long double tiny = reference_limits_of(c->compute_type).smallest;
  const long double scale = c->problem->features & SDPA_SCALE ? (long double)c->scale
                            : size > 0                        ? 1.0L / sqrtl((long double)size)
                                                              : 1.0L;
  long double sum = 0.0L;
  for (int64_t d = 0; d < size; d++)
    sum += fmaxl(fabsl((long double)row_query(c, d) * (long double)row_key(c, j, d)), tiny);
  return isfinite(sum) ? fabsl(scale) * sum : 0.0L;
}

long double row_terms(const struct row_case *c, int64_t j, long double amount, long double capped,
                      int stage) {
  const long double tiny = reference_limits_of(c->compute_type).smallest;
  long double terms = fmaxl(amount, tiny);
  if (stage > 0 && c->softcap > 0.0) terms += fmaxl(fabsl(capped), (long double)c->softcap * tiny);
  if (stage > 1) {
    terms += fabsl((long double)c->slope * (long double)row_distance(c, j));
    terms += fabsl((long double)row_bias(c, j));
  }
  return terms;
}

struct reference_limits reference_limits_of(uint32_t type) {
  if (type == SDPA_F64)
    return (struct reference_limits){0x1.fffffffffffffp1023L, 0x1p-1022L, 0x1p-53L};
  if (type == SDPA_BF16) return (struct reference_limits){0x1.fep127L, 0x1p-126L, 0x1p-8L};
  if (type == SDPA_F16) return (struct reference_limits){0x1.ffcp15L, 0x1p-14L, 0x1p-11L};
  return (struct reference_limits){0x1.fffffep127L, 0x1p-126L, 0x1p-24L};
}

struct reference_allowance reference_allowance_of(const sdpa_problem *problem, uint32_t precision) {
  struct reference_allowance allowance = {0};
  const uint32_t value = problem_type(problem, PROBLEM_VALUE);
  const uint32_t output = problem_type(problem, PROBLEM_OUTPUT);
  const int narrow_output = is_narrow_float(value) && is_narrow_float(output);
  const int all_narrow = narrow_output && is_narrow_float(problem_type(problem, PROBLEM_QUERY)) &&
                         is_narrow_float(problem_type(problem, PROBLEM_KEY));
  if (precision == SDPA_PRECISION_FMA || problem_compute_type(problem) != SDPA_F32)
    return allowance;
  if (narrow_output)
    allowance.weights =
        fminl(reference_limits_of(value).roundoff, reference_limits_of(output).roundoff);
  if (precision == SDPA_PRECISION_REDUCED && !all_narrow) allowance.products = REFERENCE_REDUCED;
  return allowance;
}
