/* bench_head.c - random data for one head, and the one-shot call on them
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench_head.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "numpy_random.h"

enum { CACHE_LINE = 64 };

void *bench_allocate(int64_t bytes) {
  const size_t lines = ((size_t)bytes + CACHE_LINE - 1) / CACHE_LINE;
  return aligned_alloc(CACHE_LINE, (lines > 0 ? lines : 1) * CACHE_LINE);
}

static void *random_matrix(int is_f64, int64_t count, struct numpy_rng *rng) {
  void *matrix = bench_allocate(count * (int64_t)(is_f64 ? sizeof(double) : sizeof(float)));
  if (!matrix) return NULL;
  if (is_f64) {
    numpy_rng_fill_normal(rng, matrix, (size_t)count);
  } else {
    numpy_rng_fill_normal_f32(rng, matrix, (size_t)count);
  }
  return matrix;
}

int bench_head_create(struct bench_head *head, int is_f64, int64_t query_len, int64_t key_len,
                      int64_t key_dim, int64_t value_dim) {
  struct numpy_rng rng;
  numpy_rng_seed(&rng, 0);
  *head = (struct bench_head){.is_f64 = is_f64,
                              .query_len = query_len,
                              .key_len = key_len,
                              .key_dim = key_dim,
                              .value_dim = value_dim,
                              .status = SDPA_OK};
  head->query = random_matrix(is_f64, query_len * key_dim, &rng);
  head->key = random_matrix(is_f64, key_len * key_dim, &rng);
  head->value = random_matrix(is_f64, key_len * value_dim, &rng);
  head->output = random_matrix(is_f64, query_len * value_dim, &rng);
  return head->query && head->key && head->value && head->output ? 0 : -1;
}

void bench_head_destroy(struct bench_head *head) {
  free(head->query);
  free(head->key);
  free(head->value);
  free(head->output);
  memset(head, 0, sizeof *head);
}

/* The fence stops the compiler from merging or moving calls; it costs no instruction. */
void bench_head_run(void *arg, int64_t calls) {
  struct bench_head *head = arg;
  sdpa_status status = SDPA_OK;
  for (int64_t i = 0; i < calls && status == SDPA_OK; i++) {
    if (head->is_f64) {
      status = sdpa_attention_f64(head->query_len, head->key_len, head->key_dim, head->value_dim,
                                  head->query, head->key, head->value, head->output, NULL);
    } else {
      status = sdpa_attention_f32(head->query_len, head->key_len, head->key_dim, head->value_dim,
                                  head->query, head->key, head->value, head->output, NULL);
    }
    atomic_signal_fence(memory_order_seq_cst);
  }
  if (head->status == SDPA_OK) head->status = status;
}

double bench_head_value(const struct bench_head *head, const void *matrix, int64_t index) {
  return head->is_f64 ? ((const double *)matrix)[index] : (double)((const float *)matrix)[index];
}
