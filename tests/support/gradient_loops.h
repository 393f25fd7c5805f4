/* gradient_loops.h - one row of the backward pass in one arithmetic, to be included once for each
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The includer defines what reference_loops.h asks for, which this file includes and continues. The
 * formulas are those of semantics rule 23. In long double this is the reference; in float and
 * double the plain implementation: the weights from the scores and the log-sum-exp that were given,
 * the inner product from the output, sequential sums, no trick.
 */
#define REFERENCE_LOOPS_GO_ON
#include "reference_loops.h"
#undef REFERENCE_LOOPS_GO_ON

struct REAL_NAME(gradient) {
  struct REAL_NAME(row) row;
  REAL *of_weight;              /* [key_len] of the listed keys, as the next two: dP of rule 23 */
  REAL *of_score;               /* ds */
  REAL *of_product;             /* du */
  REAL *slope;                  /* 1 - tanh^2 */
  REAL inner;                   /* sum_j p_j dP_j */
  REAL lse;                     /* the row's, computed or given */
  REAL *tensor[GRADIENT_KINDS]; /* sums so far; dQ and dK without the scale */
};

/* Weights, and whether the row counts: row.is_nan, row.is_empty. */
static inline void REAL_NAME(gradient_weights)(const struct gradient_case *g, int given,
                                               struct REAL_NAME(gradient) * r) {
  const struct row_case *c = &g->c;
  const REAL scale = REAL_NAME(row_scale)(c);
  for (int64_t n = 0; n < g->n_list; n++) REAL_NAME(row_score)(c, &r->row, g->list[n].key, scale);
  if (g->whole) {
    REAL_NAME(row_softmax)(c, &r->row);
  } else {
    r->row.is_nan = isnan(gradient_lse(g)) != 0;
    r->row.is_empty = c->n_allowed == 0 || gradient_lse(g) == (double)-INFINITY;
  }
  r->lse = r->row.log_sum_exp;
  if (r->row.is_empty || !(given || !g->whole)) return;
  r->lse = (REAL)gradient_lse(g);
  for (int64_t n = 0; n < g->n_list; n++) {
    const int64_t j = g->list[n].key;
    r->row.weight[j] = r->row.is_nan ? (REAL)NAN : REAL_EXP(r->row.score[2][j] - r->lse);
  }
}

static inline void REAL_NAME(gradient_inner)(const struct gradient_case *g, int given,
                                             struct REAL_NAME(gradient) * r) {
  const struct row_case *c = &g->c;
  REAL inner = 0;
  for (int64_t n = 0; n < g->n_list; n++) {
    const int64_t j = g->list[n].key;
    REAL sum = 0;
    for (int64_t d = 0; d < c->problem->value_dim; d++)
      sum += (REAL)gradient_of_output(g, d) * (REAL)row_value(c, j, d);
    r->of_weight[j] = (REAL)row_factor(c, j) * sum;
    inner += r->row.weight[j] * r->of_weight[j];
  }
  if (given || !g->whole) {
    inner = 0;
    for (int64_t d = 0; d < c->problem->value_dim; d++)
      inner += (REAL)gradient_of_output(g, d) * (REAL)gradient_output(g, d);
  }
  r->inner = inner;
}

static inline void REAL_NAME(gradient_scores)(const struct gradient_case *g,
                                              struct REAL_NAME(gradient) * r) {
  const REAL of_lse = (REAL)gradient_of_lse(g);
  for (int64_t n = 0; n < g->n_list; n++) {
    const int64_t j = g->list[n].key;
    r->slope[j] = 1;
    if (g->c.softcap > 0.0) {
      const REAL t = REAL_TANH(r->row.score[0][j] / (REAL)g->c.softcap);
      r->slope[j] = 1 - t * t;
    }
    r->of_score[j] = r->row.weight[j] * (r->of_weight[j] - r->inner + of_lse);
    r->of_product[j] = r->of_score[j] * r->slope[j];
  }
}

static inline void REAL_NAME(gradient_add_keys)(const struct gradient_case *g,
                                                struct REAL_NAME(gradient) * r) {
  const struct row_case *c = &g->c;
  const int64_t key_dim = c->problem->key_dim, value_dim = c->problem->value_dim;
  for (int64_t n = 0; n < g->n_list; n++) {
    const int64_t j = g->list[n].key;
    REAL *key = r->tensor[GRADIENT_KEY] + g->key_at + g->list[n].kept * key_dim;
    REAL *value = r->tensor[GRADIENT_VALUE] + g->value_at + g->list[n].kept * value_dim;
    for (int64_t d = 0; d < key_dim; d++) key[d] += r->of_product[j] * (REAL)row_query(c, d);
    for (int64_t d = 0; d < value_dim; d++)
      value[d] += r->row.weight[j] * (REAL)row_factor(c, j) * (REAL)gradient_of_output(g, d);
  }
}

static inline void REAL_NAME(gradient_add)(const struct gradient_case *g,
                                           struct REAL_NAME(gradient) * r) {
  const struct row_case *c = &g->c;
  REAL *query = r->tensor[GRADIENT_QUERY] + g->query_at;
  const uint32_t features = c->problem->features;
  if (g->parts & GRADIENT_OF_KEYS) REAL_NAME(gradient_add_keys)(g, r);
  if (g->parts & GRADIENT_OF_KEYS && features & SDPA_SINKS && c->sink != (double)-INFINITY)
    r->tensor[GRADIENT_SINKS][c->head] +=
        REAL_EXP((REAL)c->sink - r->lse) * ((REAL)gradient_of_lse(g) - r->inner);
  for (int64_t n = 0; n < g->n_list; n++) {
    const int64_t j = g->list[n].key;
    for (int64_t d = 0; d < c->problem->key_dim && g->parts & GRADIENT_OF_ROW; d++)
      query[d] += r->of_product[j] * (REAL)row_key(c, j, d);
    if (!(g->parts & GRADIENT_OF_OTHERS)) continue;
    if (features & SDPA_BIAS)
      r->tensor[GRADIENT_BIAS][g->bias_at + j * g->bias_step] += r->of_score[j];
    if (features & SDPA_ALIBI)
      r->tensor[GRADIENT_SLOPES][c->head] -= r->of_score[j] * (REAL)row_distance(c, j);
  }
}

/* Adds the row's terms. `given`: as the plain implementation does it, see above. */
static inline void REAL_NAME(gradient_row)(const struct gradient_case *g, int given,
                                           struct REAL_NAME(gradient) * r) {
  REAL_NAME(gradient_weights)(g, given, r);
  if (r->row.is_empty) return;
  REAL_NAME(gradient_inner)(g, given, r);
  REAL_NAME(gradient_scores)(g, r);
  REAL_NAME(gradient_add)(g, r);
}

#undef REAL
#undef REAL_NAME
#undef REAL_EXP
#undef REAL_TANH
#undef REAL_LOG
#undef REAL_SQRT
