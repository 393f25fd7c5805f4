/* bench_head.h - one head of attention with random data, as the bench times it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_HEAD_H
#define BENCH_HEAD_H

#include <stdint.h>

#include <sdpa/sdpa.h>

/* Contiguous row-major matrices of doubles (is_f64) or floats. */
struct bench_head {
  int is_f64;
  int64_t query_len, key_len, key_dim, value_dim;
  void *query, *key, *value, *output;
  sdpa_status status; /* the first error of bench_head_run(), SDPA_OK if there was none */
};

/* Allocates the matrices and fills the inputs with standard normal numbers, the same in every run.
 * Returns 0, or -1 if memory is short; bench_head_destroy() is due in both cases. */
int bench_head_create(struct bench_head *head, int is_f64, int64_t query_len, int64_t key_len,
                      int64_t key_dim, int64_t value_dim);
void bench_head_destroy(struct bench_head *head);

/* For struct timed: the one-shot call sdpa_attention_f32() or sdpa_attention_f64(), without
 * weights; arg is the struct bench_head. */
void bench_head_run(void *arg, int64_t calls);

/* Element `index` of one of the head's matrices. */
double bench_head_value(const struct bench_head *head, const void *matrix, int64_t index);

/* `bytes` of memory at a cache line's start, NULL if there is none; release with free(). */
void *bench_allocate(int64_t bytes);

#endif
