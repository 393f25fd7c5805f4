/* reference_loops.h - one row of attention in one arithmetic, to be included once for each
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The includer defines REAL (a floating type), REAL_NAME(name) (its suffix) and the four functions
 * REAL_EXP, REAL_TANH, REAL_LOG, REAL_SQRT of libm, and includes reference_rules.h before. In long
 * double this is the reference; in float and double it is the plain implementation of semantics
 * rule 18: three loops, sequential sums, no trick. gradient_loops.h continues this file.
 */

struct REAL_NAME(row) {
  REAL *score[3]; /* [key_len] each: after rule 1, 2 and 4; -infinity from key L_k on */
  REAL *weight;   /* [key_len] */
  REAL *output;   /* [value_dim] */
  REAL log_sum_exp;
  int is_nan;   /* rule 12: the row's output, allowed weights and log-sum-exp are NaN */
  int is_empty; /* rule 10: no allowed key with a score above -infinity */
};

static inline REAL REAL_NAME(row_scale)(const struct row_case *c) {
  const sdpa_problem *p = c->problem;
  if (p->features & SDPA_SCALE) return (REAL)c->scale;
  return p->key_dim > 0 ? (REAL)1 / REAL_SQRT((REAL)p->key_dim) : (REAL)1;
}

/* The scores of a key within the length. */
static inline void REAL_NAME(row_score)(const struct row_case *c, struct REAL_NAME(row) * r,
                                        int64_t j, REAL scale) {
  const sdpa_problem *p = c->problem;
  REAL s = 0;
  for (int64_t d = 0; d < p->key_dim; d++) s += (REAL)row_query(c, d) * (REAL)row_key(c, j, d);
  s *= scale;
  r->score[0][j] = s;
  if (c->softcap > 0.0) s = (REAL)c->softcap * REAL_TANH(s / (REAL)c->softcap);
  r->score[1][j] = s;
  r->score[2][j] = (REAL)-INFINITY;
  if (!c->allowed[j]) return;
  if (p->features & SDPA_ALIBI) s -= (REAL)c->slope * (REAL)row_distance(c, j);
  if (p->features & SDPA_BIAS) s += (REAL)row_bias(c, j);
  r->score[2][j] = s;
}

static inline void REAL_NAME(row_scores)(const struct row_case *c, struct REAL_NAME(row) * r) {
  const REAL scale = REAL_NAME(row_scale)(c);
  for (int64_t j = 0; j < c->problem->key_len; j++) {
    for (int stage = 0; stage < 3; stage++) r->score[stage][j] = (REAL)-INFINITY;
    if (j < c->keys) REAL_NAME(row_score)(c, r, j, scale);
  }
}

static inline void REAL_NAME(row_softmax)(const struct row_case *c, struct REAL_NAME(row) * r) {
  const REAL *s = r->score[2];
  REAL largest = (REAL)-INFINITY, sum = 0;
  int64_t used = 0;
  r->is_nan = 0;
  for (int64_t j = 0; j < c->problem->key_len; j++) {
    r->weight[j] = 0;
    if (!c->allowed[j]) continue;
    if (isnan(s[j]) || s[j] == (REAL)INFINITY) r->is_nan = 1;
    if (s[j] > largest) largest = s[j];
    used += s[j] > (REAL)-INFINITY;
  }
  r->is_empty = !r->is_nan && used == 0;
  r->log_sum_exp = (REAL)c->sink;
  if (r->is_empty) return;
  if (isnan(c->sink) || c->sink == (double)INFINITY) r->is_nan = 1;
  if (r->is_nan) {
    for (int64_t j = 0; j < c->problem->key_len; j++) r->weight[j] = c->allowed[j] ? (REAL)NAN : 0;
    r->log_sum_exp = (REAL)NAN;
    return;
  }
  if ((REAL)c->sink > largest) largest = (REAL)c->sink;
  for (int64_t j = 0; j < c->problem->key_len; j++) {
    if (c->allowed[j]) sum += r->weight[j] = REAL_EXP(s[j] - largest);
  }
  sum += REAL_EXP((REAL)c->sink - largest);
  for (int64_t j = 0; j < c->problem->key_len; j++) r->weight[j] /= sum;
  r->log_sum_exp = largest + REAL_LOG(sum);
}

static inline void REAL_NAME(row_compute)(const struct row_case *c, struct REAL_NAME(row) * r) {
  REAL_NAME(row_scores)(c, r);
  REAL_NAME(row_softmax)(c, r);
  if (c->problem->features & SDPA_NO_OUTPUT) return;
  for (int64_t d = 0; d < c->problem->value_dim; d++) {
    REAL sum = r->is_nan ? (REAL)NAN : 0;
    for (int64_t j = 0; j < c->keys && !r->is_empty; j++) {
      if (c->allowed[j]) sum += r->weight[j] * (REAL)row_factor(c, j) * (REAL)row_value(c, j, d);
    }
    r->output[d] = sum;
  }
}

#ifndef REFERENCE_LOOPS_GO_ON
#undef REAL
#undef REAL_NAME
#undef REAL_EXP
#undef REAL_TANH
#undef REAL_LOG
#undef REAL_SQRT
#endif
