/* gradient_case.h - one row of the backward pass: its inputs, and where its terms are summed
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the reference that do not depend on the arithmetic; beside struct row_case, whose
 * rules say which keys the row may use.
 */
#ifndef GRADIENT_CASE_H
#define GRADIENT_CASE_H

#include "gradient_reference.h"
#include "problem_shape.h"
#include "reference_rules.h"

/* Which gradients a row adds to. */
enum { GRADIENT_OF_ROW = 1, GRADIENT_OF_KEYS = 2, GRADIENT_OF_OTHERS = 4 };

/* A key of the row, and the number under which the reference keeps its gradients. */
struct gradient_key {
  int64_t key, kept;
};

struct gradient_case {
  struct row_case c;
  const sdpa_grads *grads;
  struct gradient_key *list; /* [key_len]: the keys that are computed, all of them allowed */
  int64_t n_list;
  int whole; /* the list holds every allowed key: softmax and inner product are computed from it;
                else lse and output say what they are */
  int parts; /* GRADIENT_OF_... */
  /* Elements of the stored gradients: the first of this row, of the kept key 0, and the step from
   * one of the bias to the next. */
  int64_t query_at, key_at, value_at, bias_at, bias_step;
};

static inline int64_t gradient_row_at(const struct gradient_case *g, const sdpa_strides *s) {
  return g->c.batch * s->batch + g->c.head * s->head + g->c.row * s->row;
}

static inline double gradient_of_output(const struct gradient_case *g, int64_t d) {
  const sdpa_strides *s = &g->c.problem->grad_output;
  return row_load(g->c.output_type, g->grads->grad_output, gradient_row_at(g, s) + d * s->col);
}

/* What the forward pass wrote. */
static inline double gradient_output(const struct gradient_case *g, int64_t d) {
  const sdpa_strides *s = &g->c.problem->output;
  return row_load(g->c.output_type, g->grads->output, gradient_row_at(g, s) + d * s->col);
}

static inline double gradient_lse(const struct gradient_case *g) {
  return row_load(g->c.compute_type, g->grads->lse, gradient_row_at(g, &g->c.problem->lse));
}

static inline double gradient_of_lse(const struct gradient_case *g) {
  if (!g->grads->grad_lse) return 0.0;
  return row_load(g->c.compute_type, g->grads->grad_lse, gradient_row_at(g, &g->c.problem->lse));
}

#endif
