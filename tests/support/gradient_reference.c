/* gradient_reference.c - what the backward pass returns, by loops written from the formulas
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One row after the other, each adding its terms to the gradients that it enters. Where a sample
 * is asked for, the sampled rows are computed as a whole and add to grad_query alone; then every row
 * is computed for the sampled keys, which needs no more of the others than lse and output say.
 */
#include "gradient_reference.h"
#include "gradient_bounds.h"
#include "gradient_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REAL            long double
#define REAL_NAME(name) exact_##name
#define REAL_EXP        expl
#define REAL_TANH       tanhl
#define REAL_LOG        logl
#define REAL_SQRT       sqrtl
#include "gradient_loops.h"

#define REAL            double
#define REAL_NAME(name) plain64_##name
#define REAL_EXP        exp
#define REAL_TANH       tanh
#define REAL_LOG        log
#define REAL_SQRT       sqrt
#include "gradient_loops.h"

#define REAL            float
#define REAL_NAME(name) plain32_##name
#define REAL_EXP        expf
#define REAL_TANH       tanhf
#define REAL_LOG        logf
#define REAL_SQRT       sqrtf
#include "gradient_loops.h"

const char *gradient_kind_name(int kind) {
  static const char *const names[GRADIENT_KINDS] = {
      "grad_query", "grad_key", "grad_value", "grad_bias", "grad_sinks", "grad_alibi_slopes"};
  return names[kind];
}

struct work {
  struct gradient_case g;
  struct gradient_reference *reference;
  struct exact_gradient exact;
  struct plain64_gradient plain64;
  struct plain32_gradient plain32;
  struct gradient_sums sums;
  struct gradient_largest largest;
  long double *scratch;
  int plain; /* SDPA_F64 or SDPA_F32: of which type a plain implementation runs; 0: none */
  void *owned[3];
};

int64_t gradient_row_number(const struct gradient_values *values, int64_t r) {
  return values->shape[2] > 1 ? r * (values->rows - 1) / (values->shape[2] - 1) : 0;
}

static int64_t kept_rows(int64_t rows, const struct gradient_request *request) {
  return request->rows_per_head > 0 && request->rows_per_head < rows ? request->rows_per_head
                                                                     : rows;
}

static void set_shapes(struct gradient_reference *reference, const sdpa_problem *p,
                       const struct gradient_request *request) {
  static const enum problem_tensor tensors[] = {PROBLEM_GRAD_QUERY, PROBLEM_GRAD_KEY,
                                                PROBLEM_GRAD_VALUE, PROBLEM_GRAD_BIAS};
  for (int kind = 0; kind < GRADIENT_KINDS; kind++) {
    struct gradient_values *values = &reference->kind[kind];
    const uint32_t feature = kind == GRADIENT_SINKS ? SDPA_SINKS : SDPA_ALIBI;
    memset(values->shape, 0, sizeof values->shape);
    if (kind > GRADIENT_BIAS) {
      for (int i = 0; i < 4; i++) values->shape[i] = i == 1 ? p->query_heads : 1;
      if (!(p->features & feature)) values->shape[1] = 0;
      values->rows = 1;
      continue;
    }
    if (!problem_declares(p, tensors[kind])) continue;
    problem_shape(p, tensors[kind], values->shape);
    values->rows = values->shape[2];
    if (kind < GRADIENT_BIAS) {
      values->shape[2] = kept_rows(values->rows, request);
      continue;
    }
    const int64_t strides[4] = {p->bias.batch, p->bias.head, p->bias.row, p->bias.col};
    for (int i = 0; i < 4; i++)
      if (strides[i] == 0 && values->shape[i] > 1) values->shape[i] = 1;
  }
}

/* Bytes of everything that has one element for each of the gradients', and where it lies. */
static size_t place_tensors(struct work *w, char *memory) {
  size_t at = 0;
  for (int kind = 0; kind < GRADIENT_KINDS; kind++) {
    const size_t count = (size_t)gradient_count(&w->reference->kind[kind]);
    long double *numbers = memory ? (long double *)(void *)(memory + at) : NULL;
    at += 3 * count * sizeof(long double);
    void *plain = memory ? memory + at : NULL;
    at += (count * sizeof(double) + 15) / 16 * 16;
    if (!memory) continue;
    w->exact.tensor[kind] = w->reference->kind[kind].value = numbers;
    w->sums.bound[kind] = w->reference->kind[kind].bound = numbers + count;
    w->sums.floor[kind] = numbers + 2 * count;
    w->plain64.tensor[kind] = plain;
    w->plain32.tensor[kind] = plain;
  }
  return at;
}

enum { ROW_ARRAYS = 8 };

#define PLACE_ROW(gradient, array, keys)                                                           \
  do {                                                                                             \
    for (size_t i = 0; i < 3; i++) (gradient).row.score[i] = (array) + i * (keys);                 \
    (gradient).row.weight = (array) + 3 * (keys);                                                  \
    (gradient).of_weight = (array) + 4 * (keys);                                                   \
    (gradient).of_score = (array) + 5 * (keys);                                                    \
    (gradient).of_product = (array) + 6 * (keys);                                                  \
    (gradient).slope = (array) + 7 * (keys);                                                       \
  } while (0)

/* Room for one row in each arithmetic, and for what rows share. */
static int place_rows(struct work *w, const sdpa_problem *p) {
  const size_t keys = (size_t)p->key_len, dims = (size_t)(p->key_dim + p->value_dim);
  const size_t wide = (ROW_ARRAYS + 3) * keys + dims;
  w->owned[1] = calloc(wide * sizeof(long double) + ROW_ARRAYS * keys * (8 + 4) + 1, 1);
  w->owned[2] = calloc(keys * (sizeof(struct gradient_key) + 2) + 1, 1);
  if (!w->owned[1] || !w->owned[2]) return -1;
  long double *exact = w->owned[1];
  double *plain64 = (void *)(exact + wide);
  float *plain32 = (void *)(plain64 + ROW_ARRAYS * keys);
  PLACE_ROW(w->exact, exact, keys);
  PLACE_ROW(w->plain64, plain64, keys);
  PLACE_ROW(w->plain32, plain32, keys);
  w->scratch = exact + ROW_ARRAYS * keys;
  w->largest.key = w->scratch + 3 * keys;
  w->largest.value = w->largest.key + p->key_dim;
  w->g.list = w->owned[2];
  w->g.c.allowed = (uint8_t *)(w->g.list + keys);
  w->g.c.kept = w->g.c.allowed + keys;
  return 0;
}

/* The keys of the row that is set, and where its terms go. sample: only the keys that are kept. */
static void set_list(struct work *w, int sample) {
  struct gradient_case *g = &w->g;
  const struct gradient_values *keys = &w->reference->kind[GRADIENT_KEY];
  const int64_t n = sample ? keys->shape[2] : g->c.problem->key_len;
  g->n_list = 0;
  for (int64_t k = 0; k < n; k++) {
    const int64_t j = sample ? gradient_row_number(keys, k) : k;
    if (g->c.allowed[j]) g->list[g->n_list++] = (struct gradient_key){j, k};
  }
}

static void set_places(struct work *w, int64_t kept_row) {
  struct gradient_case *g = &w->g;
  const struct row_case *c = &g->c;
  const struct gradient_values *kind = w->reference->kind;
  const int64_t *q = kind[GRADIENT_QUERY].shape, *k = kind[GRADIENT_KEY].shape,
                *v = kind[GRADIENT_VALUE].shape, *b = kind[GRADIENT_BIAS].shape;
  g->query_at = ((c->batch * q[1] + c->head) * q[2] + kept_row) * q[3];
  g->key_at = (c->batch * k[1] + c->kv_head) * k[2] * k[3];
  g->value_at = (c->batch * v[1] + c->kv_head) * v[2] * v[3];
  g->bias_at = (((b[0] > 1 ? c->batch : 0) * b[1] + (b[1] > 1 ? c->head : 0)) * b[2] +
                (b[2] > 1 ? c->row : 0)) *
               b[3];
  g->bias_step = b[3] > 1 ? 1 : 0;
}

static void add_row(struct work *w) {
  const struct exact_gradient *e = &w->exact;
  exact_gradient_row(&w->g, 0, &w->exact);
  if (w->plain == SDPA_F64) plain64_gradient_row(&w->g, 1, &w->plain64);
  if (w->plain == SDPA_F32) plain32_gradient_row(&w->g, 1, &w->plain32);
  if (e->row.is_empty) return;
  const struct gradient_terms terms = {e->row.weight, e->row.score[1], e->of_weight,
                                       e->of_score,   e->of_product,   e->slope,
                                       e->inner,      e->lse,          e->row.is_nan};
  gradient_bounds_add(&w->g, &terms, &w->largest, w->scratch, &w->sums);
}

static void set_largest(struct work *w) {
  const struct row_case *c = &w->g.c;
  for (int64_t d = 0; d < c->problem->key_dim; d++) {
    w->largest.key[d] = 0.0L;
    for (int64_t j = 0; j < c->keys; j++)
      w->largest.key[d] = fmaxl(w->largest.key[d], fabsl((long double)row_key(c, j, d)));
  }
  for (int64_t d = 0; d < c->problem->value_dim; d++) {
    w->largest.value[d] = 0.0L;
    for (int64_t j = 0; j < c->keys; j++)
      w->largest.value[d] = fmaxl(w->largest.value[d], fabsl((long double)row_value(c, j, d)));
  }
}

static void add_head(struct work *w, const sdpa_problem *p, const sdpa_args *args, int64_t b,
                     int64_t h) {
  const struct gradient_values *queries = &w->reference->kind[GRADIENT_QUERY];
  const struct gradient_values *keys = &w->reference->kind[GRADIENT_KEY];
  const int sample = queries->shape[2] < queries->rows || keys->shape[2] < keys->rows;
  w->g.whole = 1;
  w->g.parts = sample ? GRADIENT_OF_ROW : GRADIENT_OF_ROW | GRADIENT_OF_KEYS | GRADIENT_OF_OTHERS;
  for (int64_t r = 0; r < queries->shape[2]; r++) {
    row_case_set(&w->g.c, p, args, b, h, gradient_row_number(queries, r));
    set_list(w, 0);
    set_places(w, r);
    add_row(w);
  }
  w->g.whole = 0;
  w->g.parts = GRADIENT_OF_KEYS;
  for (int64_t i = 0; i < queries->rows && sample; i++) {
    row_case_set(&w->g.c, p, args, b, h, i);
    if (i == 0) set_largest(w);
    set_list(w, 1);
    set_places(w, 0);
    add_row(w);
  }
}

static uint32_t stored_type(const sdpa_problem *p, int kind) {
  static const enum problem_tensor tensors[] = {PROBLEM_QUERY, PROBLEM_KEY, PROBLEM_VALUE,
                                                PROBLEM_BIAS};
  return kind > GRADIENT_BIAS ? problem_compute_type(p) : problem_type(p, tensors[kind]);
}

/* What one element of the plain implementation is in memory. */
static long double plain_value(const struct work *w, int kind, int64_t n, double scale) {
  const uint32_t type = stored_type(w->g.c.problem, kind);
  double value;
  if (w->plain == SDPA_F64)
    value = w->plain64.tensor[kind][n] * scale;
  else
    value = (double)(w->plain32.tensor[kind][n] * (float)scale);
  if (is_narrow_float(type)) value = narrow_to_double(type, narrow_from_double(type, value));
  return (long double)value;
}

/* Scale, rounding to the type in memory, and the comparison of the plain implementation. */
static void finish(struct work *w, const sdpa_problem *p, int sample) {
  const int scaled_kinds = GRADIENT_KEY;
  for (int kind = 0; kind < GRADIENT_KINDS; kind++) {
    struct gradient_values *values = &w->reference->kind[kind];
    const uint32_t type = stored_type(p, kind);
    const int64_t count = gradient_count(values);
    const long double scale = kind > scaled_kinds || count == 0 ? 1.0L : exact_row_scale(&w->g.c);
    for (int64_t n = 0; n < count; n++) {
      long double *value = &values->value[n], *bound = &values->bound[n];
      *value *= scale;
      if (isnan(*bound)) *bound = (long double)INFINITY;
      if (isnan(*value) && !isinf(*bound)) *bound = 0.0L;
      if (isinf(*value)) *bound = (long double)INFINITY;
      if (*bound > 0.0L && isfinite(*bound)) {
        const long double small = w->sums.floor[kind][n] + narrow_half_step(type, fabsl(*value));
        if (isfinite(small) && small > w->reference->plain_floor[kind])
          w->reference->plain_floor[kind] = small;
        *bound += narrow_half_step(type, fabsl(*value) + *bound);
      }
      if (sample && (kind == GRADIENT_BIAS || kind == GRADIENT_SLOPES)) *bound = -1.0L;
      if (!w->plain || *bound < 0.0L || !isfinite(*value)) continue;
      const long double plain = plain_value(w, kind, n, (double)scale);
      const long double error = fabsl(plain - *value);
      if (isfinite(plain) && error > w->reference->plain_error[kind])
        w->reference->plain_error[kind] = error;
    }
  }
}

int gradient_compute(struct gradient_reference *reference, const sdpa_problem *problem,
                     const sdpa_args *args, const sdpa_grads *grads,
                     const struct gradient_request *request) {
  struct work w = {.g.grads = grads, .reference = reference};
  memset(reference, 0, sizeof *reference);
  set_shapes(reference, problem, request);
  if (request->with_plain) w.plain = (int)problem_compute_type(problem);
  w.owned[0] = calloc(place_tensors(&w, NULL) + 1, 1);
  const int bad = !w.owned[0] || place_rows(&w, problem) != 0;
  if (!bad) {
    const struct gradient_values *query = &reference->kind[GRADIENT_QUERY];
    const struct gradient_values *key = &reference->kind[GRADIENT_KEY];
    place_tensors(&w, w.owned[0]);
    for (int64_t b = 0; b < problem->batch; b++)
      for (int64_t h = 0; h < problem->query_heads; h++) add_head(&w, problem, args, b, h);
    w.g.c.problem = problem;
    w.g.c.scale =
        problem_compute_type(problem) == SDPA_F64 ? problem->scale : (double)(float)problem->scale;
    finish(&w, problem, query->shape[2] < query->rows || key->shape[2] < key->rows);
  }
  free(w.owned[1]);
  free(w.owned[2]);
  if (bad) free(w.owned[0]);
  return bad ? -1 : 0;
}

void gradient_free(struct gradient_reference *reference) {
  free(reference->kind[0].value); /* the first of one block */
  memset(reference, 0, sizeof *reference);
}
