/* bench_work.c - counts pairs, operations and bytes of a problem
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Causal, windows and lengths leave an interval of keys in every row, which is counted without
 * looking at its keys: n^2 looks would take longer than the problem. Only a mask or a bias is read,
 * and for one head if all share it.
 */
#include "bench_work.h"

#include <math.h>

#include "problem_data.h"

/* One batch entry's lengths and the offset of rule 5. */
struct entry {
  int64_t batch, queries, keys, offset;
};

static struct entry entry_of(const sdpa_problem *p, const sdpa_args *args, int64_t batch) {
  struct entry e = {.batch = batch, .queries = p->query_len, .keys = p->key_len};
  if (p->features & SDPA_QUERY_LENS) e.queries = args->query_lens[batch];
  if (p->features & SDPA_KEY_LENS) e.keys = args->key_lens[batch];
  if (p->alignment == SDPA_ALIGN_BOTTOM_RIGHT) e.offset = e.keys - e.queries;
  if (p->alignment == SDPA_ALIGN_OFFSET)
    e.offset = p->features & SDPA_OFFSETS ? args->offsets[batch] : p->offset;
  return e;
}

static int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

/* Keys begin .. end - 1 that causal, window and lengths leave to a row. */
static void row_interval(const sdpa_problem *p, const struct entry *e, int64_t row, int64_t *begin,
                         int64_t *end) {
  const int64_t position = saturated_sum(row, e->offset);
  *begin = 0;
  *end = e->keys;
  if (p->features & SDPA_CAUSAL && position < *end) *end = saturated_sum(position, 1);
  if (p->features & SDPA_WINDOW && p->window_left >= 0) {
    const int64_t first = saturated_sum(position, -p->window_left);
    if (first > *begin) *begin = first;
  }
  if (p->features & SDPA_WINDOW && p->window_right >= 0) {
    const int64_t last = saturated_sum(position, p->window_right);
    if (last < *end) *end = saturated_sum(last, 1);
  }
}

static int data_allows(const sdpa_problem *p, const sdpa_args *args, int64_t batch, int64_t head,
                       int64_t row, int64_t key) {
  const sdpa_strides *m = &p->mask, *b = &p->bias;
  if (p->features & SDPA_MASK &&
      !args->mask[batch * m->batch + head * m->head + row * m->row + key * m->col])
    return 0;
  if (p->features & SDPA_BIAS) {
    const uint32_t type = problem_type(p, PROBLEM_BIAS);
    const int64_t at = batch * b->batch + head * b->head + row * b->row + key * b->col;
    const char *element = (const char *)args->bias + at * (int64_t)problem_type_bytes(type);
    return problem_load(type, element) != (double)-INFINITY;
  }
  return 1;
}

static int64_t pairs_of_head(const sdpa_problem *p, const sdpa_args *args, const struct entry *e,
                             int64_t head) {
  const int needs_data = (p->features & (SDPA_MASK | SDPA_BIAS)) != 0;
  int64_t pairs = 0;
  for (int64_t row = 0; row < e->queries; row++) {
    int64_t begin, end;
    row_interval(p, e, row, &begin, &end);
    if (end <= begin) continue;
    if (!needs_data) {
      pairs += end - begin;
      continue;
    }
    for (int64_t key = begin; key < end; key++)
      pairs += data_allows(p, args, e->batch, head, row, key);
  }
  return pairs;
}

int64_t bench_work_pairs(const sdpa_problem *p, const sdpa_args *args) {
  const int heads_differ = (p->features & SDPA_MASK && p->mask.head != 0) ||
                           (p->features & SDPA_BIAS && p->bias.head != 0);
  int64_t pairs = 0;
  for (int64_t batch = 0; batch < p->batch; batch++) {
    const struct entry e = entry_of(p, args, batch);
    if (!heads_differ && p->query_heads > 0) {
      pairs += p->query_heads * pairs_of_head(p, args, &e, 0);
      continue;
    }
    for (int64_t head = 0; head < p->query_heads; head++) pairs += pairs_of_head(p, args, &e, head);
  }
  return pairs;
}

double bench_work_flops_per_pair(const sdpa_problem *p, int backward) {
  const double key_dim = (double)p->key_dim, value_dim = (double)p->value_dim;
  return backward ? 6.0 * key_dim + 4.0 * value_dim : 2.0 * (key_dim + value_dim);
}

/* Elements of Q, K or V that lie at places of their own. */
static int64_t input_elements(const sdpa_problem *p, const sdpa_args *args,
                              enum problem_tensor tensor) {
  const sdpa_strides s = problem_get_strides(p, tensor);
  int64_t shape[4], rows = 0;
  problem_shape(p, tensor, shape);
  for (int64_t batch = 0; batch < p->batch; batch++) {
    const struct entry e = entry_of(p, args, batch);
    int64_t own = tensor == PROBLEM_QUERY ? e.queries : e.keys;
    if (s.row == 0 && own > 1) own = 1;
    if (s.batch != 0)
      rows += own;
    else if (own > rows)
      rows = own;
  }
  const int64_t heads = s.head == 0 && shape[1] > 1 ? 1 : shape[1];
  const int64_t columns = s.col == 0 && shape[3] > 1 ? 1 : shape[3];
  return rows * heads * columns;
}

/* Elements of a bias's gradient: one where it is summed. */
static int64_t bias_elements(const sdpa_problem *p) {
  const sdpa_strides s = problem_get_strides(p, PROBLEM_GRAD_BIAS);
  int64_t shape[4];
  problem_shape(p, PROBLEM_GRAD_BIAS, shape);
  return (s.batch == 0 && shape[0] > 1 ? 1 : shape[0]) *
         (s.head == 0 && shape[1] > 1 ? 1 : shape[1]) *
         (s.row == 0 && shape[2] > 1 ? 1 : shape[2]) * (s.col == 0 && shape[3] > 1 ? 1 : shape[3]);
}

/* Elements of a tensor that the pass reads or writes; masks and the bias itself do not count. */
static int64_t elements_of(const sdpa_problem *p, const sdpa_args *args, enum problem_tensor tensor,
                           int backward) {
  switch (tensor) {
  case PROBLEM_VALUE:
    if (!backward && p->features & SDPA_NO_OUTPUT) return 0;
    return input_elements(p, args, tensor);
  case PROBLEM_QUERY:
  case PROBLEM_KEY:
    return input_elements(p, args, tensor);
  case PROBLEM_OUTPUT:
  case PROBLEM_LSE:
    return problem_positions(p, tensor);
  case PROBLEM_WEIGHTS:
  case PROBLEM_SCORES:
    return backward ? 0 : problem_positions(p, tensor);
  case PROBLEM_GRAD_BIAS:
    return backward ? bias_elements(p) : 0;
  case PROBLEM_GRAD_OUTPUT:
  case PROBLEM_GRAD_QUERY:
  case PROBLEM_GRAD_KEY:
  case PROBLEM_GRAD_VALUE:
    return backward ? problem_positions(p, tensor) : 0;
  default:
    return 0;
  }
}

int64_t bench_work_bytes(const sdpa_problem *p, const sdpa_args *args, int backward) {
  int64_t bytes = 0;
  for (enum problem_tensor tensor = 0; tensor < PROBLEM_TENSORS_END;
       tensor = problem_next_tensor(tensor)) {
    if (!problem_declares(p, tensor)) continue;
    const int64_t elements = elements_of(p, args, tensor, backward);
    bytes += elements * (int64_t)problem_type_bytes(problem_type(p, tensor));
  }
  return bytes;
}
