/* compare.c - the library's outputs against the reference
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "compare.h"
#include "narrow_float.h"
#include "problem_data.h"
#include "problem_shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *compare_kind_name(int kind) {
  static const char *const names[REFERENCE_KINDS] = {"output", "weights", "scores", "lse"};
  return names[kind];
}

static const enum problem_tensor tensor_of[REFERENCE_KINDS] = {PROBLEM_OUTPUT, PROBLEM_WEIGHTS,
                                                               PROBLEM_SCORES, PROBLEM_LSE};

static const void *base_of(const sdpa_args *args, int kind) {
  const void *const bases[REFERENCE_KINDS] = {args->output, args->weights, args->scores, args->lse};
  return bases[kind];
}

/* Whether `actual` will do for this value and bound, see reference.h. An infinity does where value
 * and bound reach beyond `most`. The bound of a finite value is infinite only where long double has
 * no more range than double (POWER), and numbers are near the end of it. */
static int is_right(long double value, long double bound, long double actual, long double most) {
  if (isinf(bound) && !isfinite(value))
    return isnan(value) ? !isfinite(actual) : isnan(actual) || actual == value;
  if (isnan(value)) return isnan(actual);
  if (isnan(actual)) return 0;
  if (actual == value || fabsl(actual - value) <= bound) return 1;
  return isinf(actual) && fabsl(value) + bound > most && (actual > 0) == (value > 0);
}

static void fail(struct compare_result *result, const struct reference_row *row, int kind,
                 int64_t col, long double actual) {
  long double value = row->kind[kind].value[col], bound = row->kind[kind].bound[col];
  result->failed = 1;
  snprintf(
      result->text, sizeof result->text,
      "%s[batch %lld, head %lld, row %lld, col %lld] is %.20Lg, expected %.20Lg (off by %.3Lg, "
      "bound %.3Lg)",
      compare_kind_name(kind), (long long)row->batch, (long long)row->head, (long long)row->row,
      (long long)col, actual, value, fabsl(actual - value), bound);
}

static void compare_row(const struct reference_row *row, const sdpa_problem *problem,
                        const sdpa_args *args, int kind, struct compare_result *result) {
  const struct reference_values *values = &row->kind[kind];
  uint32_t type = problem_type(problem, tensor_of[kind]);
  sdpa_strides strides = problem_get_strides(problem, tensor_of[kind]);
  /* A 16-bit type is infinite from half a step beyond its largest number on, and the bound has half
   * a step for the rounding, too. */
  long double most = reference_limits_of(type).largest;
  most += 2.0L * narrow_half_step(type, most);
  int64_t bytes = (int64_t)problem_type_bytes(type);
  for (int64_t j = 0; j < values->count; j++) {
    int64_t place = row->batch * strides.batch + row->head * strides.head + row->row * strides.row +
                    j * strides.col;
    long double actual = (long double)problem_load(
        type, (const void *)((uintptr_t)base_of(args, kind) + (uintptr_t)(place * bytes)));
    long double value = values->value[j], bound = values->bound[j];
    if (!is_right(value, bound, actual, most)) {
      fail(result, row, kind, j, actual);
      return;
    }
    if (!isfinite(value) || !isfinite(actual)) continue;
    long double error = fabsl(actual - value);
    if (error > result->error[kind]) result->error[kind] = error;
    if (is_narrow_float(type)) continue;
    if (bound > 0.0L && error / bound > result->worst[kind]) result->worst[kind] = error / bound;
  }
}

static void compare_plain(const struct reference *reference, struct compare_result *result) {
  for (int kind = 0; kind < REFERENCE_KINDS; kind++) {
    long double allowed = 2.0L * fmaxl(reference->plain_error[kind], reference->plain_floor[kind]);
    if (result->error[kind] == 0.0L) continue;
    result->plain[kind] = result->error[kind] / allowed;
    if (result->error[kind] <= allowed) continue;
    result->failed = 1;
    snprintf(result->text, sizeof result->text,
             "%s: largest error %.3Lg, of the plain implementation %.3Lg, floor %.3Lg",
             compare_kind_name(kind), result->error[kind], reference->plain_error[kind],
             reference->plain_floor[kind]);
    return;
  }
}

void compare_with_reference(const struct reference *reference, const sdpa_problem *problem,
                            const sdpa_args *args, int with_plain, struct compare_result *result) {
  memset(result, 0, sizeof *result);
  for (int64_t r = 0; r < reference->rows; r++) {
    for (int kind = 0; kind < REFERENCE_KINDS; kind++) {
      compare_row(&reference->row[r], problem, args, kind, result);
      if (result->failed) return;
    }
  }
  if (with_plain) compare_plain(reference, result);
}
