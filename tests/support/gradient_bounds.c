/* gradient_bounds.c - how far the gradients of one row may be off
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Semantics rule 18 carried on through rule 23, with the same c, eps, tiny and A (reference.c).
 * Magnitudes, f_j being z / (1 - r) or 1:
 *
 *   M_j = f_j sum_d |dO_d v_jd|    goes into dP_j
 *   W   = sum_j p_j M_j            into the inner product D, whether it is formed from the weights
 *                                  or from dO and the output
 *   G_j = M_j + W + |dlse|         into ds_j / p_j
 *   S   = sum_d |dO_d| half a step of the output's type: D from an output that was rounded to 16
 *         bits, and nothing is known where it became infinite; else 0
 *   R   = L + A + |lse|            p_j = exp(s_j - lse) has the error of both. L, the longest chain
 *                                  of additions, is max(keys, key_dim, value_dim)
 *
 * Then, g_j being 1 - tanh^2 or 1:
 *
 *   ds_j   e_j = c eps R max(p_j G_j, tiny) + p_j S + tiny G_j   (a weight below tiny may be 0)
 *   du_j   u_j = e_j g_j + p_j G_j eps (c + 2 g_j (key_dim + c) |scale| sum|q||k| / softcap): the
 *                rounding of tanh, and what it makes of the score's error
 *   dQ     |scale| sum_j u_j |k_jd|
 *   dK     |scale| sum_i (u_ij + c eps N p G g) |q_id|, N the rows that the sum goes over
 *   dV     sum_i (c eps (R + N) max(p f |dO|, tiny) + tiny f |dO|)
 *   dbias  sum (e_j + c eps n p_j G_j) over the n positions that are summed; dslope the same times
 *          |p - j| with n = N + keys
 *   dsink  sum_i (c eps (R + N) max(x, tiny) + tiny (|dlse| + W)) + exp(sink - lse) S,
 *          x = exp(sink - lse) (|dlse| + W)
 *
 * and every product of the last sums that is below tiny loses c eps tiny at most. dbias, dslope and
 * dK hold sums of sums, so L and N are added.
 *
 * The floor of the plain implementation's error is, as there, one rounding an operation: 2 M_j for
 * dP_j, sum_j p_j M_j (6 + R_j) for D through the output, and for the weight R_j of reference.c, to
 * which come |lse| and the terms of the score once more: the score is formed by sums as well as
 * products, and what rounding leaves in it is not taken off again with a maximum that shares it.
 * And a p below tiny counts whole, since the library may take 0 for it.
 */
#include "gradient_bounds.h"

#include <math.h>

/* What the bounds of a row have in common. */
struct row_sizes {
  struct reference_limits limits;
  long double scale;    /* its magnitude */
  long double relative; /* c eps R */
  long double products; /* W */
  long double stored;   /* S */
  long double of_lse;   /* |dlse| */
  long double inner;    /* error of D in the floor's sense */
  long double rows;     /* c eps N */
  long double *amount, *rounded,
      *into; /* [key_len] of the listed keys: |scale| sum|q||k|, R_j, M_j */
};

static long double magnitude_of_weight(const struct gradient_case *g, int64_t j) {
  const long double tiny = reference_limits_of(g->c.compute_type).smallest;
  long double sum = 0.0L;
  for (int64_t d = 0; d < g->c.problem->value_dim; d++)
    sum += fmaxl(fabsl((long double)gradient_of_output(g, d) * (long double)row_value(&g->c, j, d)),
                 tiny);
  return row_factor(&g->c, j) * sum;
}

/* A and W of a row whose keys are not all known: of the largest ones that there are. */
static long double bound_by_largest(const struct gradient_case *g,
                                    const struct gradient_largest *largest, struct row_sizes *r) {
  const sdpa_problem *p = g->c.problem;
  long double amount = 0.0L, products = 0.0L;
  for (int64_t d = 0; d < p->key_dim; d++)
    amount += fabsl((long double)row_query(&g->c, d)) * largest->key[d];
  for (int64_t d = 0; d < p->value_dim; d++)
    products += fabsl((long double)gradient_of_output(g, d)) * largest->value[d];
  if (p->features & SDPA_DROPOUT) products /= 1.0L - (long double)p->dropout;
  r->products = products;
  r->inner = 6.0L * products;
  return r->scale * amount;
}

static long double scale_of(const struct row_case *c) {
  if (c->problem->features & SDPA_SCALE) return fabsl((long double)c->scale);
  return c->problem->key_dim > 0 ? 1.0L / sqrtl((long double)c->problem->key_dim) : 1.0L;
}

static long double largest_of(int64_t a, int64_t b, int64_t c) {
  const int64_t ab = a > b ? a : b;
  return (long double)(ab > c ? ab : c);
}

static void set_sizes(const struct gradient_case *g, const struct gradient_terms *t,
                      const struct gradient_largest *largest, struct row_sizes *r) {
  const sdpa_problem *p = g->c.problem;
  const int64_t groups = p->query_heads / p->kv_heads;
  long double most = 0.0L;
  r->limits = reference_limits_of(g->c.compute_type);
  r->scale = scale_of(&g->c);
  r->of_lse = fabsl((long double)gradient_of_lse(g));
  if (!g->whole) most = bound_by_largest(g, largest, r);
  for (int64_t n = 0; n < g->n_list; n++) {
    const int64_t j = g->list[n].key;
    r->amount[j] = row_amount(&g->c, j);
    r->into[j] = magnitude_of_weight(g, j);
    r->rounded[j] = fabsl(t->lse);
    if (t->weight[j] >= r->limits.smallest) {
      const long double terms = row_terms(&g->c, j, r->amount[j], t->capped[j], 2);
      most = fmaxl(most, terms);
      r->rounded[j] += r->amount[j] + 2.0L * terms + fabsl(logl(t->weight[j]));
    }
    if (!g->whole) continue;
    r->products += t->weight[j] * r->into[j];
    r->inner += t->weight[j] * r->into[j] * (6.0L + r->rounded[j]);
  }
  if (isfinite(g->c.sink) && expl((long double)g->c.sink - t->lse) >= r->limits.smallest)
    most = fmaxl(most, fabsl((long double)g->c.sink));
  for (int64_t d = 0; d < p->value_dim && is_narrow_float(g->c.output_type); d++) {
    const long double stored = fabsl((long double)gradient_output(g, d));
    r->stored += isfinite(stored) ? fabsl((long double)gradient_of_output(g, d)) *
                                        narrow_half_step(g->c.output_type, stored)
                                  : (long double)INFINITY;
  }
  const long double unit = REFERENCE_BOUND * r->limits.roundoff;
  r->relative = unit * (largest_of(g->c.keys + 1, p->key_dim, p->value_dim) + most + fabsl(t->lse));
  r->rows = unit * (long double)(p->batch * p->query_len * groups);
}

/* One product's share: bound and floor, beside what underflow takes. */
struct share {
  long double bound, floor;
};

static void add(const struct gradient_sums *sums, int kind, int64_t at, struct share share) {
  sums->bound[kind][at] += share.bound;
  sums->floor[kind][at] += share.floor;
}

/* What the library may lose of a weight. */
static long double taken_for_0(long double weight, long double tiny) {
  return weight < tiny ? weight : 0.0L;
}

/* Of one key: ds and du. */
struct key_shares {
  struct share score, product;
  long double weighted; /* p G */
};

static struct key_shares shares_of(const struct gradient_case *g, const struct gradient_terms *t,
                                   const struct row_sizes *r, int64_t j) {
  const long double eps = r->limits.roundoff, tiny = r->limits.smallest, p = t->weight[j];
  const long double into = r->into[j] + r->products + r->of_lse, slope = t->slope[j];
  struct key_shares s = {.weighted = p * into};
  long double tanh_bound = 0.0L, tanh_floor = 0.0L;
  s.score.bound = r->relative * fmaxl(s.weighted, tiny) + p * r->stored + tiny * into;
  s.score.floor = eps * fabsl(t->of_score[j]) * (5.0L + r->rounded[j]) +
                  eps * p * (2.0L * r->into[j] + r->inner + 2.0L * r->of_lse) + p * r->stored +
                  taken_for_0(p, tiny) * into;
  if (g->c.softcap > 0.0) {
    const long double moved = 2.0L * slope * r->amount[j] / (long double)g->c.softcap;
    tanh_bound =
        eps * (REFERENCE_BOUND + moved * ((long double)g->c.problem->key_dim + REFERENCE_BOUND));
    tanh_floor = eps * (4.0L + moved);
  }
  s.product.bound = s.score.bound * slope + s.weighted * tanh_bound;
  s.product.floor = s.score.floor * slope + fabsl(t->of_score[j]) * (tanh_floor + eps);
  return s;
}

static void add_keys(const struct gradient_case *g, const struct gradient_terms *t,
                     const struct row_sizes *r, const struct gradient_sums *sums,
                     const struct key_shares *s, const struct gradient_key *key) {
  const struct row_case *c = &g->c;
  const int64_t key_dim = c->problem->key_dim, value_dim = c->problem->value_dim, j = key->key;
  const long double eps = r->limits.roundoff, tiny = r->limits.smallest;
  const long double lost = REFERENCE_BOUND * eps * tiny, factor = row_factor(c, j);
  for (int64_t d = 0; d < key_dim; d++) {
    const long double q = r->scale * fabsl((long double)row_query(c, d));
    const long double bound = s->product.bound + r->rows * s->weighted * t->slope[j];
    const long double floor = s->product.floor + 2.0L * eps * fabsl(t->of_product[j]);
    add(sums, GRADIENT_KEY, g->key_at + key->kept * key_dim + d,
        (struct share){bound * q + lost, floor * q});
  }
  for (int64_t d = 0; d < value_dim; d++) {
    const long double o = factor * fabsl((long double)gradient_of_output(g, d));
    const long double product = fmaxl(t->weight[j] * o, tiny);
    add(sums, GRADIENT_VALUE, g->value_at + key->kept * value_dim + d,
        (struct share){(r->relative + r->rows) * product + tiny * o,
                       eps * product * (6.0L + r->rounded[j]) +
                           taken_for_0(t->weight[j], tiny) * o});
  }
}

static void add_others(const struct gradient_case *g, const struct row_sizes *r,
                       const struct gradient_sums *sums, const struct key_shares *s,
                       const struct gradient_terms *t, int64_t j) {
  const struct row_case *c = &g->c;
  const sdpa_problem *p = c->problem;
  const long double eps = r->limits.roundoff, unit = REFERENCE_BOUND * eps;
  const long double score = 2.0L * eps * fabsl(t->of_score[j]);
  if (p->features & SDPA_BIAS) {
    const long double summed = (p->bias.batch == 0 ? (long double)p->batch : 1.0L) *
                               (p->bias.head == 0 ? (long double)p->query_heads : 1.0L) *
                               (p->bias.row == 0 ? (long double)p->query_len : 1.0L) *
                               (p->bias.col == 0 ? (long double)p->key_len : 1.0L);
    add(sums, GRADIENT_BIAS, g->bias_at + j * g->bias_step,
        (struct share){s->score.bound + unit * summed * s->weighted, s->score.floor + score});
  }
  if (p->features & SDPA_ALIBI) {
    const long double distance = (long double)row_distance(c, j);
    const long double sums_of = r->rows + unit * (long double)p->key_len;
    add(sums, GRADIENT_SLOPES, c->head,
        (struct share){distance * (s->score.bound + sums_of * s->weighted),
                       distance * (s->score.floor + score)});
  }
}

static void add_sink(const struct gradient_case *g, const struct gradient_terms *t,
                     const struct row_sizes *r, const struct gradient_sums *sums) {
  const long double eps = r->limits.roundoff, tiny = r->limits.smallest;
  const long double weight = expl((long double)g->c.sink - t->lse), of = r->of_lse + r->products;
  const long double rounded = 5.0L + fabsl((long double)g->c.sink) + 2.0L * fabsl(t->lse);
  add(sums, GRADIENT_SINKS, g->c.head,
      (struct share){(r->relative + r->rows) * fmaxl(weight * of, tiny) + weight * r->stored +
                         tiny * of,
                     eps * weight * (of * rounded + r->inner) + weight * r->stored +
                         taken_for_0(weight, tiny) * of});
}

void gradient_bounds_add(const struct gradient_case *g, const struct gradient_terms *t,
                         const struct gradient_largest *largest, long double *scratch,
                         const struct gradient_sums *sums) {
  const struct row_case *c = &g->c;
  const int64_t key_dim = c->problem->key_dim, key_len = c->problem->key_len;
  struct row_sizes r = {
      .amount = scratch, .rounded = scratch + key_len, .into = scratch + 2 * key_len};
  if (t->is_nan) return;
  set_sizes(g, t, largest, &r);
  const long double eps = r.limits.roundoff, lost = REFERENCE_BOUND * eps * r.limits.smallest;
  for (int64_t n = 0; n < g->n_list; n++) {
    const int64_t j = g->list[n].key;
    const struct key_shares s = shares_of(g, t, &r, j);
    for (int64_t d = 0; d < key_dim && g->parts & GRADIENT_OF_ROW; d++) {
      const long double k = r.scale * fabsl((long double)row_key(c, j, d));
      const long double floor = s.product.floor + 2.0L * eps * fabsl(t->of_product[j]);
      add(sums, GRADIENT_QUERY, g->query_at + d,
          (struct share){s.product.bound * k + lost, floor * k});
    }
    if (g->parts & GRADIENT_OF_KEYS) add_keys(g, t, &r, sums, &s, &g->list[n]);
    if (g->parts & GRADIENT_OF_OTHERS) add_others(g, &r, sums, &s, t, j);
  }
  if (g->parts & GRADIENT_OF_KEYS && c->problem->features & SDPA_SINKS &&
      c->sink != (double)-INFINITY)
    add_sink(g, t, &r, sums);
}
