/* additive_attention.h - the attention that dot products replaced, for comparison
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * softmax(e) V with e_ij = v . tanh(W_q q_i + W_k k_j): a small network scores each pair (Bahdanau,
 * Cho and Bengio, Neural Machine Translation by Jointly Learning to Align and Translate, 2015).
 * Written as one would write it in earnest: W_q Q and W_k K are computed once per row, so that a
 * pair costs d_h tanh and d_h multiplications, and nothing of size n_q n_k d_h is stored.
 */
#ifndef ADDITIVE_ATTENTION_H
#define ADDITIVE_ATTENTION_H

#include <sdpa/sdpa.h>

#include <stddef.h>

/* All matrices row-major and contiguous, float64; all sizes at least 1. */
struct additive_problem {
  size_t n_q, n_k, d_k, d_v; /* as for dot-product attention */
  size_t d_h;                /* hidden size of the network */
  const double *query;       /* n_q x d_k */
  const double *key;         /* n_k x d_k */
  const double *value;       /* n_k x d_v */
  const double *w_q, *w_k;   /* d_k x d_h each: the transposes of the formula's matrices */
  const double *v;           /* d_h */
};

/* Bytes of scratch that additive_attention() needs. */
size_t additive_scratch_bytes(const struct additive_problem *problem);

/* output n_q x d_v, weights n_q x n_k; scratch aligned for double. Only the softmax, which is the
 * library's, can fail. */
sdpa_status additive_attention(const struct additive_problem *problem, double *output,
                               double *weights, double *scratch);

#endif
