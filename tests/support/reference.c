/* reference.c - what the function returns, by loops written from the formulas, with error bounds
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The bounds are semantics rule 18 with c = REFERENCE_BOUND, as sdpa.h and docs/numerics.md promise
 * it. L, the longest chain of additions, is max(keys, key_dim), and a sink is one more key. They
 * are sharper than the letter of the rule in that max_j, A below, goes over the keys (and the sink)
 * whose weight is a normal number of the type: a bias of the lowest finite number would make the
 * bound of its whole row infinite otherwise. tiny is the smallest normal number. By kind of output:
 *
 *   output    c eps (L + A) sum max(p|v|, tiny) + tiny sum |v|
 *   weights   c eps (L + A) p + tiny, since exp turns an error of the score into a relative one
 *   lse       c eps (L + A + |lse|)
 *   scores    eps (key_dim + c) |scale| sum max(|q||k|, tiny)
 *             + c eps (max(|s after softcap|, softcap tiny) + |m||p - j| + |bias|),
 *             as far as they go: the bound of a sum of products in any order (Higham, Accuracy and
 *             Stability of Numerical Algorithms, section 3.1), two roundings each for the scale and
 *             for the product with it, and what the later stages round
 *
 * Where tiny comes from: a product below it loses up to eps tiny and not eps of itself, so it
 * counts as tiny; and a weight below it may be 0, which loses the weight, less than tiny, times
 * |v|. Storing a result in the compute type adds nothing: c eps L holds the last operation's
 * rounding already. Storing the output in a 16-bit type adds one more rounding, half a step of that
 * type at |value| + bound, and an output that this may carry beyond the largest number may be
 * infinite (compare.c).
 *
 * The plain implementation's error is itself a matter of luck: over one row of three keys it may be
 * 0. So in the second gate of rule 18 it counts as at least what one rounding in each operation of
 * the formula costs (plain_floor, its largest over the tensor): of a score the sum of products, the
 * product with the scale and every later term, and the difference from the row's maximum, at most
 * |log p|, which exp turns into relative errors of p: R = |scale| sum |q||k| + (the terms of A) +
 * |log p|. Then
 *
 *   output    eps sum max(p|v|, tiny) (4 + R): exponential, sum, quotient, sum of products; and
 *             half a step of a 16-bit type
 *   weights   eps p (3 + R): exponential, sum, quotient
 *   lse       eps (2 + sum p R + |lse|): exponential, sum, result
 *   scores    eps R without |log p|, as far as its terms go
 *
 * and where p is below tiny, so that the library may take 0 for it, all of p in weights and p|v| in
 * the output: a sink far above all scores makes whole tensors of such.
 *
 * With dropout a weight is z p / (1 - r) wherever it stands above after the softmax, and its two
 * operations count in 4 + R and 3 + R. But p|v| counts as tiny before it is divided by 1 - r: the
 * library may divide the sum, and what an underflow took has grown by then.
 */
#include "reference.h"
#include "reference_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REAL            long double
#define REAL_NAME(name) exact_##name
#define REAL_EXP        expl
#define REAL_TANH       tanhl
#define REAL_LOG        logl
#define REAL_SQRT       sqrtl
#include "reference_loops.h"

#define REAL            double
#define REAL_NAME(name) plain64_##name
#define REAL_EXP        exp
#define REAL_TANH       tanh
#define REAL_LOG        log
#define REAL_SQRT       sqrt
#include "reference_loops.h"

#define REAL            float
#define REAL_NAME(name) plain32_##name
#define REAL_EXP        expf
#define REAL_TANH       tanhf
#define REAL_LOG        logf
#define REAL_SQRT       sqrtf
#include "reference_loops.h"

/* Room for one row in each arithmetic. */
struct scratch {
  struct row_case c;
  struct exact_row exact;
  struct plain64_row plain64;
  struct plain32_row plain32;
  long double *amount;  /* [key_len], |scale| sum |q||k| */
  long double *rounded; /* [key_len], R of the comment above; 0 where the weight is not normal */
  void *owned;
};

static int scratch_make(struct scratch *s, const sdpa_problem *problem) {
  size_t keys = (size_t)problem->key_len, columns = (size_t)problem->value_dim;
  size_t reals = 5 * keys + columns;
  memset(s, 0, sizeof *s);
  s->owned =
      malloc(reals * (2 * sizeof(long double) + sizeof(double) + sizeof(float)) + 2 * keys + 1);
  if (!s->owned) return -1;
  long double *exact = s->owned;
  double *plain64 = (void *)(exact + 2 * reals);
  float *plain32 = (void *)(plain64 + reals);
  for (size_t i = 0; i < 3; i++) {
    s->exact.score[i] = exact + i * keys;
    s->plain64.score[i] = plain64 + i * keys;
    s->plain32.score[i] = plain32 + i * keys;
  }
  s->exact.weight = exact + 3 * keys;
  s->plain64.weight = plain64 + 3 * keys;
  s->plain32.weight = plain32 + 3 * keys;
  s->exact.output = exact + 4 * keys;
  s->plain64.output = plain64 + 4 * keys;
  s->plain32.output = plain32 + 4 * keys;
  s->amount = exact + reals;
  s->rounded = s->amount + keys;
  s->c.allowed = (uint8_t *)(plain32 + reals);
  s->c.kept = s->c.allowed + keys;
  return 0;
}

static int is_asked(const sdpa_problem *problem, int kind) {
  static const uint32_t bits[REFERENCE_KINDS] = {0, SDPA_WEIGHTS, SDPA_SCORES, SDPA_LSE};
  if (kind == REFERENCE_OUTPUT) return (problem->features & SDPA_NO_OUTPUT) == 0;
  return (problem->features & bits[kind]) != 0;
}

static int64_t kind_count(const sdpa_problem *problem, int kind) {
  if (!is_asked(problem, kind)) return 0;
  return kind == REFERENCE_OUTPUT ? problem->value_dim
         : kind == REFERENCE_LSE  ? 1
                                  : problem->key_len;
}

static int stage_of(const sdpa_problem *problem) {
  return problem->score_stage == SDPA_STAGE_SCALED       ? 0
         : problem->score_stage == SDPA_STAGE_SOFTCAPPED ? 1
                                                         : 2;
}

static void set_amounts(struct scratch *s) {
  for (int64_t j = 0; j < s->c.problem->key_len; j++)
    s->amount[j] = j < s->c.keys ? row_amount(&s->c, j) : 0.0L;
}

static long double score_terms(const struct scratch *s, int64_t j, int stage) {
  return row_terms(&s->c, j, s->amount[j], s->exact.score[1][j], stage);
}

/* What all bounds of a row are made of. */
struct row_bounds {
  struct reference_limits limits;
  long double chain, largest; /* L and A of the comments above */
  long double rounded;        /* sum p R */
  struct reference_allowance allowance;
};

static struct row_bounds row_bounds_of(struct scratch *s) {
  const struct row_case *c = &s->c;
  struct row_bounds r = {.limits = reference_limits_of(c->compute_type),
                         .allowance = reference_allowance_of(c->problem, c->precision)};
  const int has_sink = isfinite(c->sink) && !s->exact.is_nan && !s->exact.is_empty;
  const int64_t sums = c->keys + has_sink;
  r.chain = (long double)(sums > c->problem->key_dim ? sums : c->problem->key_dim);
  for (int64_t j = 0; j < c->problem->key_len; j++) s->rounded[j] = 0.0L;
  for (int64_t j = 0; j < c->keys && !s->exact.is_nan; j++) {
    if (!c->allowed[j] || s->exact.weight[j] < r.limits.smallest) continue;
    long double terms = score_terms(s, j, 2);
    if (terms > r.largest) r.largest = terms;
    s->rounded[j] = s->amount[j] + terms + fabsl(logl(s->exact.weight[j]));
    r.rounded += s->exact.weight[j] * s->rounded[j];
  }
  if (has_sink && expl((long double)c->sink - s->exact.log_sum_exp) >= r.limits.smallest)
    r.largest = fmaxl(r.largest, fabsl((long double)c->sink));
  return r;
}

/* Appends a value with its bound and raises the floor of the kind. */
static void put(struct reference_values *values, int64_t i, long double value, long double bound,
                long double *floor, long double small) {
  values->value[i] = value;
  values->bound[i] = isfinite(value) ? bound : 0.0L;
  if (floor && isfinite(value) && small > *floor) *floor = small;
}

static void put_output(const struct scratch *s, const struct row_bounds *r,
                       struct reference_row *row, long double *floor) {
  const struct row_case *c = &s->c;
  struct reference_values *values = &row->kind[REFERENCE_OUTPUT];
  long double eps = r->limits.roundoff, tiny = r->limits.smallest;
  const long double dropped = c->problem->features & SDPA_DROPOUT ? 2.0L : 0.0L;
  for (int64_t d = 0; d < values->count; d++) {
    long double value = s->exact.output[d], weighted = 0.0L, whole = 0.0L, rounded = 0.0L;
    long double lost = 0.0L;
    int any_nan = s->exact.is_nan;
    for (int64_t j = 0; j < c->keys && !s->exact.is_empty; j++) {
      if (!c->allowed[j]) continue;
      long double v = fabsl((long double)row_value(c, j, d));
      any_nan |= isnan(v);
      const long double factor = row_factor(c, j);
      long double product = factor > 0.0L ? factor * fmaxl(s->exact.weight[j] * v, tiny) : 0.0L;
      weighted += product;
      rounded += product * (4.0L + dropped + s->rounded[j]);
      whole += factor * v;
      if (s->exact.weight[j] < tiny) lost += factor * s->exact.weight[j] * v;
    }
    long double bound = REFERENCE_BOUND * eps * (r->chain + r->largest) * weighted + tiny * whole;
    bound +=
        (REFERENCE_BOUND * r->allowance.products * (1.0L + r->largest) + r->allowance.weights) *
        weighted;
    bound += narrow_half_step(c->output_type, fabsl(value) + bound);
    if (s->exact.is_empty) bound = 0.0L;
    row->summed[d] = weighted;
    put(values, d, value, bound, floor,
        eps * rounded + lost + r->allowance.weights * weighted +
            narrow_half_step(c->output_type, value));
    if (!isfinite(value) && !any_nan) values->bound[d] = (long double)INFINITY;
  }
}

static void put_rows_of_keys(const struct scratch *s, const struct row_bounds *r,
                             struct reference_row *row, long double floor[REFERENCE_KINDS]) {
  const struct row_case *c = &s->c;
  struct reference_values *weights = &row->kind[REFERENCE_WEIGHTS];
  struct reference_values *scores = &row->kind[REFERENCE_SCORES];
  long double eps = r->limits.roundoff, tiny = r->limits.smallest;
  const long double dropped = c->problem->features & SDPA_DROPOUT ? 2.0L : 0.0L;
  int stage = stage_of(c->problem);
  for (int64_t j = 0; j < weights->count; j++) {
    const long double factor = row_factor(c, j);
    long double p = s->exact.weight[j] * factor;
    long double bound = REFERENCE_BOUND * eps * (r->chain + r->largest) * p + tiny * factor;
    bound += REFERENCE_BOUND * r->allowance.products * r->largest * p;
    if (!c->allowed[j] || s->exact.is_empty) bound = 0.0L;
    put(weights, j, p, bound, floor ? &floor[REFERENCE_WEIGHTS] : NULL,
        eps * (3.0L + dropped + s->rounded[j]) * p + (s->exact.weight[j] < tiny ? p : 0.0L));
  }
  for (int64_t j = 0; j < scores->count; j++) {
    long double terms = j < c->keys ? score_terms(s, j, stage) : 0.0L;
    long double bound = REFERENCE_BOUND * terms;
    if (j < c->keys) bound += (long double)c->problem->key_dim * s->amount[j];
    bound = eps * bound + 2.0L * r->allowance.products * s->amount[j];
    put(scores, j, s->exact.score[stage][j], bound, floor ? &floor[REFERENCE_SCORES] : NULL,
        j < c->keys ? eps * (s->amount[j] + terms) : 0.0L);
  }
}

/* Computes the row that s->c says. */
static void compute_row(struct scratch *s, struct reference_row *row,
                        long double floor[REFERENCE_KINDS]) {
  struct reference_values *lse = &row->kind[REFERENCE_LSE];
  row->batch = s->c.batch;
  row->head = s->c.head;
  row->row = s->c.row;
  exact_row_compute(&s->c, &s->exact);
  set_amounts(s);
  struct row_bounds r = row_bounds_of(s);
  row->largest = r.largest;
  put_output(s, &r, row, floor ? &floor[REFERENCE_OUTPUT] : NULL);
  put_rows_of_keys(s, &r, row, floor);
  if (lse->count == 0) return;
  long double value = s->exact.log_sum_exp;
  long double size = r.largest + fabsl(value);
  long double bound = REFERENCE_BOUND * r.limits.roundoff * (r.chain + size);
  bound += REFERENCE_BOUND * r.allowance.products * r.largest;
  put(lse, 0, value, s->exact.is_empty ? 0.0L : bound, floor ? &floor[REFERENCE_LSE] : NULL,
      r.limits.roundoff * (2.0L + r.rounded + fabsl(value)));
}

static long double worse(long double error, long double plain, long double exact) {
  long double difference = fabsl(plain - exact);
  return isfinite(exact) && isfinite(plain) && difference > error ? difference : error;
}

/* After dropout. */
static double plain_weight(const struct scratch *s, int wide, int64_t j) {
  const long double factor = row_factor(&s->c, j);
  return wide ? s->plain64.weight[j] * (double)factor
              : (double)(s->plain32.weight[j] * (float)factor);
}

static void compare_plain(struct scratch *s, const struct reference_row *row,
                          long double error[REFERENCE_KINDS]) {
  int wide = s->c.compute_type == SDPA_F64, stage = stage_of(s->c.problem);
  const struct plain64_row *a = &s->plain64;
  const struct plain32_row *b = &s->plain32;
  if (wide)
    plain64_row_compute(&s->c, &s->plain64);
  else
    plain32_row_compute(&s->c, &s->plain32);
  for (int kind = 0; kind < REFERENCE_KINDS; kind++) {
    const struct reference_values *values = &row->kind[kind];
    for (int64_t i = 0; i < values->count; i++) {
      double plain = 0.0;
      if (kind == REFERENCE_OUTPUT)
        plain = row_stored(&s->c, wide ? a->output[i] : (double)b->output[i]);
      if (kind == REFERENCE_WEIGHTS) plain = plain_weight(s, wide, i);
      if (kind == REFERENCE_SCORES) plain = wide ? a->score[stage][i] : (double)b->score[stage][i];
      if (kind == REFERENCE_LSE) plain = wide ? a->log_sum_exp : (double)b->log_sum_exp;
      error[kind] = worse(error[kind], (long double)plain, values->value[i]);
    }
  }
}

static int64_t rows_of_head(const sdpa_problem *problem, const struct reference_request *request) {
  int64_t most = request->rows_per_head;
  return most > 0 && most < problem->query_len ? most : problem->query_len;
}

/* One allocation: the rows, then their values, bounds and sums. */
static int reserve(struct reference *reference, const sdpa_problem *problem, int64_t rows) {
  size_t per_row = 0;
  for (int kind = 0; kind < REFERENCE_KINDS; kind++)
    per_row += 2 * (size_t)kind_count(problem, kind);
  per_row += (size_t)kind_count(problem, REFERENCE_OUTPUT);
  size_t head = ((size_t)rows * sizeof(struct reference_row) + 15) / 16 * 16;
  reference->row = malloc(head + (size_t)rows * per_row * sizeof(long double) + 1);
  if (!reference->row) return -1;
  long double *next = (long double *)(void *)((char *)reference->row + head);
  for (int64_t r = 0; r < rows; r++) {
    for (int kind = 0; kind < REFERENCE_KINDS; kind++) {
      int64_t count = kind_count(problem, kind);
      reference->row[r].kind[kind] = (struct reference_values){count, next, next + count};
      next += 2 * count;
    }
    reference->row[r].summed = next;
    next += kind_count(problem, REFERENCE_OUTPUT);
  }
  return 0;
}

int reference_compute(struct reference *reference, const sdpa_problem *problem,
                      const sdpa_args *args, const struct reference_request *request) {
  struct scratch scratch;
  int64_t of_head = rows_of_head(problem, request);
  memset(reference, 0, sizeof *reference);
  if (scratch_make(&scratch, problem) != 0) return -1;
  if (reserve(reference, problem, problem->batch * problem->query_heads * of_head) != 0) {
    free(scratch.owned);
    return -1;
  }
  scratch.c.precision = request->precision;
  for (int64_t b = 0; b < problem->batch; b++) {
    for (int64_t h = 0; h < problem->query_heads; h++) {
      for (int64_t i = 0; i < of_head; i++) {
        struct reference_row *row = &reference->row[reference->rows++];
        int64_t which = of_head > 1 ? i * (problem->query_len - 1) / (of_head - 1) : 0;
        row_case_set(&scratch.c, problem, args, b, h, which);
        compute_row(&scratch, row, reference->plain_floor);
        if (request->with_plain) compare_plain(&scratch, row, reference->plain_error);
      }
    }
  }
  free(scratch.owned);
  return 0;
}

void reference_free(struct reference *reference) {
  free(reference->row);
  memset(reference, 0, sizeof *reference);
}

static int row_differs(const struct reference_row *a, const struct reference_row *b) {
  for (int kind = 0; kind < REFERENCE_KINDS; kind++) {
    for (int64_t i = 0; i < a->kind[kind].count; i++) {
      long double x = a->kind[kind].value[i], y = b->kind[kind].value[i];
      if (isnan(x) || isnan(y)) {
        if (!isnan(x) || !isnan(y)) return 1;
      } else if (x != y && fabsl(x - y) > a->kind[kind].bound[i]) {
        return 1;
      }
    }
  }
  return 0;
}

int reference_differs(const struct reference *reference, const sdpa_problem *other,
                      const sdpa_args *args) {
  struct scratch scratch;
  struct reference one;
  int differs = 0;
  if (scratch_make(&scratch, other) != 0) abort();
  if (reserve(&one, other, 1) != 0) abort();
  for (int64_t r = 0; r < reference->rows && !differs; r++) {
    const struct reference_row *row = &reference->row[r];
    row_case_set(&scratch.c, other, args, row->batch, row->head, row->row);
    compute_row(&scratch, &one.row[0], NULL);
    differs = row_differs(row, &one.row[0]);
  }
  free(scratch.owned);
  free(one.row);
  return differs;
}
