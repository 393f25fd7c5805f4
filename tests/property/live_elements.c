/* live_elements.c - which input elements may influence an output, and garbage in all others
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "live_elements.h"
#include "reference_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which rules an `allowed` row follows. */
enum rules { RULES_ALL, RULES_BUT_BIAS, RULES_BUT_MASK, RULES_PLACE, RULES_LENGTHS, RULES };

struct marking {
  struct live_elements *live;
  const struct problem_data *data;
  int bias_first;
  uint8_t *allowed[RULES]; /* [key_len] each */
};

static void mark(struct marking *m, enum problem_tensor tensor, int64_t b, int64_t h, int64_t i,
                 int64_t j) {
  const struct memory_block *block = &m->data->block[tensor];
  unsigned char *element = problem_data_at(m->data, tensor, b, h, i, j);
  size_t bytes = problem_type_bytes(problem_type(&m->data->problem, tensor));
  memset(m->live->live[tensor] + (element - block->begin), 1, bytes);
}

static void mark_vector(struct marking *m, enum problem_tensor tensor, int64_t b, int64_t h,
                        int64_t i) {
  int64_t shape[4];
  problem_shape(&m->data->problem, tensor, shape);
  for (int64_t d = 0; d < shape[3]; d++) mark(m, tensor, b, h, i, d);
}

static void set_allowed(struct marking *m, int64_t b, int64_t h, int64_t i) {
  static const uint32_t without[RULES] = {0, SDPA_BIAS, SDPA_MASK, SDPA_BIAS | SDPA_MASK,
                                          SDPA_BIAS | SDPA_MASK | SDPA_CAUSAL | SDPA_WINDOW};
  for (int rules = 0; rules < RULES; rules++) {
    sdpa_problem problem = m->data->problem;
    struct row_case c = {.allowed = m->allowed[rules]};
    problem.features &= ~without[rules];
    row_case_set(&c, &problem, &m->data->args, b, h, i);
  }
}

static void mark_row(struct marking *m, int64_t b, int64_t h, int64_t i) {
  const sdpa_problem *p = &m->data->problem;
  int64_t kv_head = h / (p->query_heads / p->kv_heads);
  int raw = !m->data->backward && p->features & SDPA_SCORES && p->score_stage != SDPA_STAGE_BIASED;
  const int forward_wrote =
      i < (p->features & SDPA_QUERY_LENS ? m->data->args.query_lens[b] : p->query_len);
  int any = 0;
  set_allowed(m, b, h, i);
  for (int64_t j = 0; j < p->key_len; j++) {
    if (p->features & SDPA_BIAS && m->allowed[m->bias_first ? RULES_PLACE : RULES_BUT_BIAS][j])
      mark(m, PROBLEM_BIAS, b, h, i, j);
    if (p->features & SDPA_MASK && m->allowed[m->bias_first ? RULES_BUT_MASK : RULES_PLACE][j])
      mark(m, PROBLEM_MASK, b, h, i, j);
    if (m->allowed[raw ? RULES_LENGTHS : RULES_ALL][j]) {
      mark_vector(m, PROBLEM_QUERY, b, h, i);
      mark_vector(m, PROBLEM_KEY, b, kv_head, j);
    }
    any |= m->allowed[RULES_ALL][j];
    if (m->allowed[RULES_ALL][j] && !(p->features & SDPA_NO_OUTPUT))
      mark_vector(m, PROBLEM_VALUE, b, kv_head, j);
  }
  if (!m->data->backward) return;
  if (any) mark_vector(m, PROBLEM_GRAD_OUTPUT, b, h, i);
  if (any) mark_vector(m, PROBLEM_GRAD_LSE, b, h, i);
  if (forward_wrote) mark_vector(m, PROBLEM_OUTPUT, b, h, i);
  if (forward_wrote) mark_vector(m, PROBLEM_LSE, b, h, i);
}

void live_elements_make(struct live_elements *live, const struct problem_data *data, int64_t batch,
                        int64_t head, int bias_first) {
  const sdpa_problem *p = &data->problem;
  struct marking m = {.live = live, .data = data, .bias_first = bias_first};
  uint8_t *rows = malloc(RULES * (size_t)p->key_len + 1);
  if (!rows) abort();
  for (int rules = 0; rules < RULES; rules++) m.allowed[rules] = rows + rules * p->key_len;
  memset(live, 0, sizeof *live);
  for (enum problem_tensor t = 0; t < PROBLEM_TENSORS_END; t = problem_next_tensor(t)) {
    const int is_scratch = data->backward && (t == PROBLEM_WEIGHTS || t == PROBLEM_SCORES);
    if (problem_data_is_written(data, (int)t) || is_scratch || data->block[t].bytes == 0) continue;
    live->live[t] = calloc(data->block[t].bytes, 1);
    if (!live->live[t]) abort();
  }
  for (int64_t b = 0; b < p->batch; b++) {
    for (int64_t h = 0; h < p->query_heads; h++) {
      if ((batch >= 0 && b != batch) || (head >= 0 && h != head)) continue;
      for (int64_t i = 0; i < p->query_len; i++) mark_row(&m, b, h, i);
    }
  }
  free(rows);
}

void live_elements_free(struct live_elements *live) {
  for (int t = 0; t < PROBLEM_TENSORS_END; t++) free(live->live[t]);
}

static double garbage(struct numpy_rng *rng, uint32_t type) {
  const double values[] = {NAN, INFINITY, -(double)INFINITY, 1e30, -3e38};
  if (type == 0) return (double)numpy_rng_below(rng, 256);
  return values[numpy_rng_below(rng, 5)];
}

int64_t live_elements_plant(const struct live_elements *live, struct problem_data *data,
                            struct numpy_rng *rng) {
  int64_t planted = 0;
  for (int t = 0; t < PROBLEM_TENSORS_END; t++) {
    if (!live->live[t]) continue;
    struct memory_block *block = &data->block[t];
    uint32_t type = problem_type(&data->problem, (enum problem_tensor)t);
    size_t bytes = problem_type_bytes(type);
    for (size_t i = 0; i + bytes <= block->bytes; i += bytes) {
      if (live->live[t][i]) continue;
      problem_store(type, block->begin + i, garbage(rng, type));
      planted++;
    }
  }
  return planted;
}
