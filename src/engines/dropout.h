/* dropout.h - which weights dropout keeps: a function of seed, offset and absolute position
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every draw is one 32-bit word of Philox4x32-10 (kernels/philox.h), reached by a chain of five
 * blocks from the seed. Let philox(k0, k1; c0, c1, c2, c3) be the block of counter c under key k,
 * and lo(x), hi(x) the halves of a 64-bit number:
 *
 *     s = (lo(seed), hi(seed), 0, 0)
 *     for x in offset, batch, head, query, floor(key / 4):
 *       s = philox(s[0], s[1]; lo(x), hi(x), s[2], s[3])
 *     draw = s[key mod 4]
 *
 * batch, head (of the queries), query and key are absolute: the base index in args plus that of
 * this call. The weight is kept if draw >= floor(dropout * 2^32), formed in double. So a mask does
 * not depend on types, strides, engine, ISA, tiles or threads, and any part of it can be had alone.
 */
#ifndef SDPAI_DROPOUT_H
#define SDPAI_DROPOUT_H

#include <stdint.h>

#include "kernels/kernels.h"
#include "problem/problem.h"

/* Keys of a row whose draws are made at a time. */
enum { SDPAI_DROP_KEYS = 256 };

/* Where in the chain: after offset, head or query. */
struct sdpai_dropout_state {
  uint32_t s[4];
};

/* One call's dropout. */
struct sdpai_dropout {
  uint32_t threshold;              /* a draw from here on keeps its weight */
  double factor;                   /* 1 / (1 - dropout), what a kept weight is multiplied with */
  int64_t batch, head, query, key; /* base indices */
  struct sdpai_dropout_state start;
};

/* Whether weights are dropped at all: without it nothing below is needed, and the factor is 1. */
static inline int sdpai_drops(const struct sdpai_problem *problem) {
  return problem->dropout > 0;
}

void sdpai_dropout_start(const struct sdpai_problem *problem, const struct sdpai_args *args,
                         struct sdpai_dropout *dropout);

/* The state of a query head, and from it of one of its rows; indices are this call's. */
struct sdpai_dropout_state sdpai_dropout_head(const struct sdpai_dropout *dropout, int64_t batch,
                                              int64_t head);
struct sdpai_dropout_state sdpai_dropout_row(const struct sdpai_dropout *dropout,
                                             const struct sdpai_dropout_state *head, int64_t row);

/* Bit t % 32 of words[t / 32 * stride] becomes 1 if the row keeps this call's key first + t, for t
 * < n; bits from n on in the last word become 0. */
void sdpai_dropout_words(const struct sdpai_kernels *kernels, const struct sdpai_dropout *dropout,
                         const struct sdpai_dropout_state *row, int64_t first, int64_t n,
                         int64_t stride, uint32_t *words);

#endif
