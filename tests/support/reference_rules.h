/* reference_rules.h - the parts of the reference that do not depend on the arithmetic
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which keys a row may use (semantics rules 4 to 7), the numbers of one row's head and batch entry,
 * and access to the arguments. reference_rules.c has the code.
 */
#ifndef REFERENCE_RULES_H
#define REFERENCE_RULES_H

#include "narrow_float.h"
#include "reference.h"

/* One row and what the rules say of it. */
struct row_case {
  const sdpa_problem *problem;
  const sdpa_args *args;
  int64_t batch, head, kv_head, row;
  int64_t position; /* p of rule 5 */
  int64_t keys;     /* L_k; 0 in a row from L_q on */
  uint8_t *allowed; /* [key_len] */
  int64_t n_allowed;
  uint8_t *kept; /* [key_len], 0: dropped; NULL, or no dropout: row_case_set() leaves it alone */
  uint32_t query_type, key_type, value_type, output_type, bias_type, compute_type;
  uint32_t precision; /* of struct reference_request; row_case_set() leaves it alone */
  double scale;       /* as given, converted to the compute type; without meaning if not given */
  double softcap;     /* the same; 0: off */
  double slope, sink; /* 0 and -infinity where there are none */
};

/* Sets everything; `allowed`, and with dropout `kept`, must be there already. */
void row_case_set(struct row_case *c, const sdpa_problem *problem, const sdpa_args *args,
                  int64_t batch, int64_t head, int64_t row);

/* Elements of this row, head and batch entry. Inline: they are the inner loops. */
static inline double row_load(uint32_t type, const void *base, int64_t place) {
  if (type == SDPA_F64) return ((const double *)base)[place];
  if (is_narrow_float(type)) return narrow_to_double(type, ((const uint16_t *)base)[place]);
  return (double)((const float *)base)[place];
}

static inline double row_query(const struct row_case *c, int64_t d) {
  const sdpa_strides *s = &c->problem->query;
  return row_load(c->query_type, c->args->query,
                  c->batch * s->batch + c->head * s->head + c->row * s->row + d * s->col);
}

static inline double row_key(const struct row_case *c, int64_t j, int64_t d) {
  const sdpa_strides *s = &c->problem->key;
  return row_load(c->key_type, c->args->key,
                  c->batch * s->batch + c->kv_head * s->head + j * s->row + d * s->col);
}

static inline double row_value(const struct row_case *c, int64_t j, int64_t d) {
  const sdpa_strides *s = &c->problem->value;
  return row_load(c->value_type, c->args->value,
                  c->batch * s->batch + c->kv_head * s->head + j * s->row + d * s->col);
}

static inline double row_bias(const struct row_case *c, int64_t j) {
  const sdpa_strides *s = &c->problem->bias;
  if (!(c->problem->features & SDPA_BIAS)) return 0.0;
  return row_load(c->bias_type, c->args->bias,
                  c->batch * s->batch + c->head * s->head + c->row * s->row + j * s->col);
}

/* An element of the output as memory will hold it. */
static inline double row_stored(const struct row_case *c, double value) {
  if (!is_narrow_float(c->output_type)) return value;
  return narrow_to_double(c->output_type, narrow_from_double(c->output_type, value));
}

/* z / (1 - r) of key j: what dropout multiplies its weight with. */
static inline long double row_factor(const struct row_case *c, int64_t j) {
  if (!(c->problem->features & SDPA_DROPOUT)) return 1.0L;
  return c->kept[j] ? 1.0L / (1.0L - (long double)c->problem->dropout) : 0.0L;
}

/* |scale| sum max(|q||k|, tiny) of key j, tiny the smallest normal number of the compute type. A key
 * with an infinite product has no rounding error, so 0: its score is infinite, NaN or +-softcap. */
long double row_amount(const struct row_case *c, int64_t j);

/* The magnitudes that go into score j after `stage` (0: rule 1, 1: rule 2, 2: rule 4), from that
 * amount and the score after the softcap. */
long double row_terms(const struct row_case *c, int64_t j, long double amount, long double capped,
                      int stage);

/* |p - j| as an unsigned number: the difference of two int64_t need not fit in one. */
uint64_t row_distance(const struct row_case *c, int64_t j);

#endif
