/* dropout.c - which weights dropout keeps: a function of seed, offset and absolute position
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/dropout.h"

#include "kernels/philox.h"

static struct sdpai_dropout_state next(const struct sdpai_dropout_state *state, uint64_t x) {
  struct sdpai_dropout_state to = {{(uint32_t)x, (uint32_t)(x >> 32), state->s[2], state->s[3]}};
  sdpai_philox(to.s, state->s[0], state->s[1]);
  return to;
}

void sdpai_dropout_start(const struct sdpai_problem *problem, const struct sdpai_args *args,
                         struct sdpai_dropout *dropout) {
  dropout->threshold = (uint32_t)(problem->dropout * 0x1p32);
  dropout->factor = 1 / (1 - problem->dropout);
  dropout->batch = args->dropout_batch;
  dropout->head = args->dropout_head;
  dropout->query = args->dropout_query;
  dropout->key = args->dropout_key;
  const struct sdpai_dropout_state seed = {
      {(uint32_t)args->dropout_seed, (uint32_t)(args->dropout_seed >> 32), 0, 0}};
  dropout->start = next(&seed, args->dropout_offset);
}

struct sdpai_dropout_state sdpai_dropout_head(const struct sdpai_dropout *dropout, int64_t batch,
                                              int64_t head) {
  const struct sdpai_dropout_state entry =
      next(&dropout->start, (uint64_t)(dropout->batch + batch));
  return next(&entry, (uint64_t)(dropout->head + head));
}

struct sdpai_dropout_state sdpai_dropout_row(const struct sdpai_dropout *dropout,
                                             const struct sdpai_dropout_state *head, int64_t row) {
  return next(head, (uint64_t)(dropout->query + row));
}

void sdpai_dropout_words(const struct sdpai_kernels *kernels, const struct sdpai_dropout *dropout,
                         const struct sdpai_dropout_state *row, int64_t first, int64_t n,
                         int64_t stride, uint32_t *words) {
  kernels->f32.dropout_words(n, row->s, (uint64_t)(dropout->key + first), dropout->threshold,
                             stride, words);
}
