/* gradient_compare.c - the gradients that the library wrote against the reference
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "gradient_compare.h"
#include "narrow_float.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where the library wrote one gradient. */
struct target {
  const char *base; /* NULL: not asked for */
  uint32_t type;
  sdpa_strides strides;
};

static struct target target_of(const sdpa_problem *p, const sdpa_grads *grads, int kind) {
  static const enum problem_tensor tensors[] = {PROBLEM_GRAD_QUERY, PROBLEM_GRAD_KEY,
                                                PROBLEM_GRAD_VALUE, PROBLEM_GRAD_BIAS};
  const void *const bases[GRADIENT_KINDS] = {grads->grad_query, grads->grad_key,
                                             grads->grad_value, grads->grad_bias,
                                             grads->grad_sinks, grads->grad_alibi_slopes};
  struct target t = {.base = bases[kind], .type = problem_compute_type(p), .strides.head = 1};
  if (kind > GRADIENT_BIAS) return t;
  t.type = problem_type(p, tensors[kind]);
  t.strides = problem_get_strides(p, tensors[kind]);
  return t;
}

/* See struct gradient_values. Beyond `most` an infinity is what rounding gives. */
static int is_right(long double value, long double bound, long double actual, long double most) {
  if (isinf(bound)) return isfinite(value) || !isfinite(actual);
  if (isnan(value)) return isnan(actual);
  if (isnan(actual)) return 0;
  if (actual == value || fabsl(actual - value) <= bound) return 1;
  return isinf(actual) && fabsl(value) + bound > most && (actual > 0) == (value > 0);
}

static void fail(struct gradient_result *result, int kind, const int64_t at[4], long double actual,
                 long double value, long double bound) {
  result->failed = 1;
  snprintf(
      result->text, sizeof result->text,
      "%s[batch %lld, head %lld, row %lld, col %lld] is %.20Lg, expected %.20Lg (off by %.3Lg, "
      "bound %.3Lg)",
      gradient_kind_name(kind), (long long)at[0], (long long)at[1], (long long)at[2],
      (long long)at[3], actual, value, fabsl(actual - value), bound);
}

/* The n-th element that is kept: its position in the tensor. */
static void position_of(const struct gradient_values *values, int64_t n, int64_t at[4]) {
  for (int i = 3; i >= 0; i--) {
    at[i] = n % values->shape[i];
    n /= values->shape[i];
  }
  at[2] = gradient_row_number(values, at[2]);
}

static void compare_kind(const struct gradient_values *values, const struct target *t, int kind,
                         struct gradient_result *result) {
  const int64_t count = gradient_count(values);
  const int64_t bytes = (int64_t)problem_type_bytes(t->type);
  long double most = reference_limits_of(t->type).largest;
  most += 2.0L * narrow_half_step(t->type, most);
  for (int64_t n = 0; n < count; n++) {
    const long double value = values->value[n], bound = values->bound[n];
    int64_t at[4];
    if (bound < 0.0L) continue;
    position_of(values, n, at);
    const int64_t place = at[0] * t->strides.batch + at[1] * t->strides.head +
                          at[2] * t->strides.row + at[3] * t->strides.col;
    const long double actual = (long double)problem_load(
        t->type, (const void *)((uintptr_t)t->base + (uintptr_t)(place * bytes)));
    if (!is_right(value, bound, actual, most)) {
      fail(result, kind, at, actual, value, bound);
      return;
    }
    if (!isfinite(value) || !isfinite(actual) || isinf(bound)) continue;
    const long double error = fabsl(actual - value);
    if (error > result->error[kind]) result->error[kind] = error;
    if (is_narrow_float(t->type)) continue;
    if (bound > 0.0L && error / bound > result->worst[kind]) result->worst[kind] = error / bound;
  }
}

static void compare_plain(const struct gradient_reference *reference, int kind,
                          struct gradient_result *result) {
  const long double allowed =
      2.0L * fmaxl(reference->plain_error[kind], reference->plain_floor[kind]);
  if (result->error[kind] == 0.0L) return;
  result->plain[kind] = result->error[kind] / allowed;
  if (result->error[kind] <= allowed) return;
  result->failed = 1;
  snprintf(result->text, sizeof result->text,
           "%s: largest error %.3Lg, of the plain implementation %.3Lg, floor %.3Lg",
           gradient_kind_name(kind), result->error[kind], reference->plain_error[kind],
           reference->plain_floor[kind]);
}

void gradient_compare(const struct gradient_reference *reference, const sdpa_problem *problem,
                      const sdpa_grads *grads, int with_plain, struct gradient_result *result) {
  memset(result, 0, sizeof *result);
  for (int kind = 0; kind < GRADIENT_KINDS && !result->failed; kind++) {
    const struct target target = target_of(problem, grads, kind);
    if (target.base) compare_kind(&reference->kind[kind], &target, kind, result);
    if (target.base && with_plain && !result->failed) compare_plain(reference, kind, result);
  }
}

void gradient_write_inputs(const struct reference *forward, const struct problem_data *data) {
  const sdpa_problem *p = &data->problem;
  for (int64_t r = 0; r < forward->rows; r++) {
    const struct reference_row *row = &forward->row[r];
    const struct reference_values *output = &row->kind[REFERENCE_OUTPUT];
    if (p->features & SDPA_QUERY_LENS && row->row >= data->args.query_lens[row->batch]) continue;
    for (int64_t d = 0; d < output->count; d++)
      problem_store(problem_type(p, PROBLEM_OUTPUT),
                    problem_data_at(data, PROBLEM_OUTPUT, row->batch, row->head, row->row, d),
                    (double)output->value[d]);
    problem_store(problem_type(p, PROBLEM_LSE),
                  problem_data_at(data, PROBLEM_LSE, row->batch, row->head, row->row, 0),
                  (double)row->kind[REFERENCE_LSE].value[0]);
  }
}
