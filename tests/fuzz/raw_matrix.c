/* raw_matrix.c - the functions on matrices, with raw sizes and leading dimensions
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A matrix whose sizes are legal and too large for memory is NULL: then the call has to refuse it.
 */
#include "raw_calls.h"

#include <stdlib.h>
#include <string.h>

#include "raw_struct.h"

enum { MATRICES = 5, MOST_ELEMENTS = 1 << 12, FILL = 0xC3 };

struct matrix {
  unsigned char *block, *copy;
  void *at; /* what the library gets */
  size_t bytes;
  int output;
};

struct call {
  struct fuzz_bytes *in;
  struct matrix matrix[MATRICES];
  int count;
};

/* Elements from the first to the last, 0 where the library must refuse before it looks, and more
 * than MOST_ELEMENTS where they cannot be had. */
static double reach(int64_t rows, int64_t cols, int64_t ld) {
  if (rows <= 0 || cols <= 0) return 0;
  if (rows == 1) ld = 0;
  if (ld < 0) return 0;
  return (double)(rows - 1) * (double)ld + (double)cols;
}

/* The next matrix of a call: a block of its very size, now and then NULL or not aligned. */
static void *add(struct call *call, int64_t rows, int64_t cols, int64_t ld, size_t element,
                 int output) {
  struct matrix *m = &call->matrix[call->count++];
  const double elements = reach(rows, cols, ld);
  const uint32_t way = fuzz_below(call->in, 16);
  const int odd = way == 1 && element > 1;
  m->output = output;
  if (elements > (double)MOST_ELEMENTS || way == 0) return NULL;
  m->bytes = (size_t)elements * element + (odd ? 1 : 0);
  m->block = fuzz_block(m->bytes);
  m->copy = fuzz_block(m->bytes);
  memset(m->block, FILL, m->bytes);
  for (size_t i = 0; !output && i < m->bytes && call->in->at < call->in->end; i++)
    m->block[i] = (unsigned char)fuzz_take(call->in, 1);
  memcpy(m->copy, m->block, m->bytes);
  m->at = m->block + (odd ? 1 : 0);
  return m->at;
}

static void finish(struct call *call, sdpa_status status) {
  fuzz_known_status(status);
  for (int i = 0; i < call->count; i++) {
    struct matrix *m = &call->matrix[i];
    const int may_write = m->output && status == SDPA_OK;
    if (m->block && !may_write)
      fuzz_require(memcmp(m->block, m->copy, m->bytes) == 0, "matrix %d was written, status %d", i,
                   (int)status);
    free(m->block);
    free(m->copy);
  }
}

/* A leading dimension: mostly the columns or a little more. */
static int64_t leading(struct call *call, int64_t cols) {
  const uint32_t way = fuzz_below(call->in, 8);
  if (way == 0) return raw_number(call->in);
  return way == 1 && cols < INT64_MAX ? cols + 1 : way == 2 ? 0 : cols;
}

/* In place where the bit says so and the caller may. */
static void *output_or(struct call *call, void *input, int64_t input_ld, int64_t rows, int64_t cols,
                       int64_t ld, size_t element) {
  if (fuzz_below(call->in, 4) != 1 || input_ld != ld || !input)
    return add(call, rows, cols, ld, element, 1);
  for (int i = 0; i < call->count; i++)
    if (call->matrix[i].at == input) call->matrix[i].output = 1;
  return input;
}

static void softmax(struct call *call, int wide) {
  const int64_t rows = raw_number(call->in), cols = raw_number(call->in);
  const int64_t ld = leading(call, cols), out_ld = leading(call, cols);
  const size_t element = wide ? 8 : 4;
  double scale;
  const uint64_t bits = fuzz_take(call->in, 1) % 4 ? 0x3FF0000000000000 : fuzz_take(call->in, 8);
  memcpy(&scale, &bits, sizeof scale);
  void *scores = add(call, rows, cols, ld, element, 0);
  const int64_t mask_ld = leading(call, cols);
  const uint8_t *mask = fuzz_below(call->in, 2) ? add(call, rows, cols, mask_ld, 1, 0) : NULL;
  void *weights = output_or(call, scores, ld, rows, cols, out_ld, element);
  finish(call, wide
                   ? sdpa_softmax_f64(rows, cols, scale, scores, ld, mask, mask_ld, weights, out_ld)
                   : sdpa_softmax_f32(rows, cols, (float)scale, scores, ld, mask, mask_ld, weights,
                                      out_ld));
}

static void jacobian(struct call *call, int wide) {
  const int64_t n = raw_number(call->in), ld = leading(call, n);
  const size_t element = wide ? 8 : 4;
  void *weights = add(call, 1, n, n, element, 0), *out = add(call, n, n, ld, element, 1);
  finish(call, wide ? sdpa_softmax_jacobian_f64(n, weights, out, ld)
                    : sdpa_softmax_jacobian_f32(n, weights, out, ld));
}

static void backward(struct call *call, int wide) {
  const int64_t rows = raw_number(call->in), cols = raw_number(call->in);
  const int64_t ld = leading(call, cols), grad_ld = leading(call, cols),
                out_ld = leading(call, cols);
  const size_t element = wide ? 8 : 4;
  void *weights = add(call, rows, cols, ld, element, 0);
  void *grad = add(call, rows, cols, grad_ld, element, 0);
  void *out = output_or(call, grad, grad_ld, rows, cols, out_ld, element);
  finish(call,
         wide ? sdpa_softmax_backward_f64(rows, cols, weights, ld, grad, grad_ld, out, out_ld)
              : sdpa_softmax_backward_f32(rows, cols, weights, ld, grad, grad_ld, out, out_ld));
}

static void attention(struct call *call, int wide) {
  const int64_t n_q = raw_number(call->in), n_k = raw_number(call->in);
  const int64_t d_k = raw_number(call->in), d_v = raw_number(call->in);
  const size_t element = wide ? 8 : 4;
  void *q = add(call, n_q, d_k, d_k, element, 0), *k = add(call, n_k, d_k, d_k, element, 0);
  void *v = add(call, n_k, d_v, d_v, element, 0), *out = add(call, n_q, d_v, d_v, element, 1);
  void *weights = fuzz_below(call->in, 2) ? add(call, n_q, n_k, n_k, element, 1) : NULL;
  finish(call, wide ? sdpa_attention_f64(n_q, n_k, d_k, d_v, q, k, v, out, weights)
                    : sdpa_attention_f32(n_q, n_k, d_k, d_v, q, k, v, out, weights));
}

void raw_matrix(struct fuzz_bytes *in) {
  static void (*const functions[])(struct call *, int) = {softmax, jacobian, backward, attention};
  struct call call = {.in = in};
  const uint32_t which = fuzz_below(in, 8);
  functions[which / 2](&call, (int)(which % 2));
}
