/* accuracy_judge.c - how far outputs are from exact arithmetic, in the units of the error bound
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "accuracy_judge.h"

#include <math.h>

#include "narrow_float.h"
#include "problem_shape.h"

/* Sums and maxima over the elements so far. */
struct tally {
  int64_t elements;
  long double largest, sum, bound_c;
};

/* 0 of 0 is nothing; anything else of 0, and a NaN, is infinitely much. */
static long double share(long double error, long double of) {
  if (error == 0.0L) return 0.0L;
  return of > 0.0L && isfinite(error) ? error / of : (long double)INFINITY;
}

static void count(struct tally *t, long double relative, long double bound_c) {
  t->elements++;
  t->sum += relative;
  t->largest = fmaxl(t->largest, relative);
  t->bound_c = fmaxl(t->bound_c, bound_c);
}

static long double stored_at(const struct problem_data *data, enum problem_tensor tensor,
                             const struct reference_row *row, int64_t col) {
  return (long double)problem_load(
      problem_type(&data->problem, tensor),
      problem_data_at(data, tensor, row->batch, row->head, row->row, col));
}

static void judge_output(const struct problem_data *data, const struct reference_row *row,
                         const struct accuracy_terms *terms, struct tally *t) {
  const struct reference_values *values = &row->kind[REFERENCE_OUTPUT];
  const uint32_t type = problem_type(&data->problem, PROBLEM_OUTPUT);
  const long double unit = terms->roundoff * ((long double)terms->chain + row->largest) +
                           terms->allowance.products * (1.0L + row->largest);
  for (int64_t d = 0; d < values->count; d++) {
    const long double stored = stored_at(data, PROBLEM_OUTPUT, row, d), exact = values->value[d];
    const long double error = fabsl(stored - exact), summed = row->summed[d];
    /* Rounding to the next power of two moves by half of the smaller of its two steps; half of the
     * larger one is taken off. */
    const long double rounding = narrow_half_step(type, fmaxl(fabsl(stored), fabsl(exact))) +
                                 terms->allowance.weights * summed;
    const long double computed = error > rounding ? error - rounding : 0.0L;
    count(t, share(error, summed), share(isfinite(error) ? computed : error, unit * summed));
  }
}

static void judge_lse(const struct problem_data *data, const struct reference_row *row,
                      const struct accuracy_terms *terms, struct tally *t) {
  if (row->kind[REFERENCE_LSE].count == 0) return;
  const long double exact = row->kind[REFERENCE_LSE].value[0];
  const long double stored = stored_at(data, PROBLEM_LSE, row, 0);
  const long double error = stored == exact ? 0.0L : fabsl(stored - exact);
  const long double unit =
      terms->roundoff * ((long double)terms->chain + row->largest + fabsl(exact)) +
      terms->allowance.products * row->largest;
  count(t, share(error, 1.0L), share(error, unit));
}

static double score_size(const struct reference *reference) {
  int64_t scores = 0;
  long double sum = 0.0L, squares = 0.0L;
  for (int64_t r = 0; r < reference->rows; r++) {
    const struct reference_values *values = &reference->row[r].kind[REFERENCE_SCORES];
    for (int64_t j = 0; j < values->count; j++) {
      if (!isfinite(values->value[j])) continue;
      scores++;
      sum += values->value[j];
      squares += values->value[j] * values->value[j];
    }
  }
  if (scores == 0) return (double)NAN;
  const long double mean = sum / (long double)scores;
  return (double)sqrtl(fmaxl(squares / (long double)scores - mean * mean, 0.0L));
}

void accuracy_judge(const struct reference *reference, const struct problem_data *data,
                    const struct accuracy_terms *terms, struct accuracy_figures *figures) {
  struct tally output = {0}, lse = {0};
  for (int64_t r = 0; r < reference->rows; r++) {
    judge_output(data, &reference->row[r], terms, &output);
    judge_lse(data, &reference->row[r], terms, &lse);
  }
  *figures = (struct accuracy_figures){.rows = reference->rows,
                                       .score_size = score_size(reference),
                                       .largest = (double)NAN,
                                       .mean = (double)NAN,
                                       .bound_c = (double)NAN,
                                       .lse_largest = (double)NAN,
                                       .lse_c = (double)NAN};
  if (output.elements > 0) {
    figures->largest = (double)output.largest;
    figures->mean = (double)(output.sum / (long double)output.elements);
    figures->bound_c = (double)output.bound_c;
  }
  if (lse.elements > 0) {
    figures->lse_largest = (double)lse.largest;
    figures->lse_c = (double)lse.bound_c;
  }
}

int accuracy_within_bound(const struct accuracy_figures *figures) {
  return !(figures->bound_c > (double)REFERENCE_BOUND) &&
         !(figures->lse_c > (double)REFERENCE_BOUND);
}
