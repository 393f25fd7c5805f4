/* fuzz_support.c - what the fuzz harnesses share: saying what is wrong
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz_support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem_shape.h"

enum {
  MOST_BYTES = 1 << 20, /* of one tensor of a problem that is run */
  MOST_WORK = 1 << 18   /* and its multiplications, an empty dimension counting as one of 1 */
};

void fuzz_require(int holds, const char *format, ...) {
  va_list arguments;
  if (holds) return;
  va_start(arguments, format);
  fputs("fuzz: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  abort();
}

void *fuzz_block(size_t bytes) {
  void *block = malloc(bytes > 0 ? bytes : 1);
  fuzz_require(block != NULL, "no memory for %zu bytes", bytes);
  return block;
}

void fuzz_known_status(sdpa_status status) {
  static const sdpa_status known[] = {SDPA_OK,
                                      SDPA_ERROR_STRUCT_SIZE,
                                      SDPA_ERROR_NULL,
                                      SDPA_ERROR_UNDECLARED,
                                      SDPA_ERROR_VALUE,
                                      SDPA_ERROR_SHAPE,
                                      SDPA_ERROR_STRIDE,
                                      SDPA_ERROR_ALIGNMENT,
                                      SDPA_ERROR_OVERFLOW,
                                      SDPA_ERROR_WORKSPACE,
                                      SDPA_ERROR_UNSUPPORTED,
                                      SDPA_ERROR_MEMORY,
                                      SDPA_ERROR_CALLBACK};
  int found = 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) found |= status == known[i];
  fuzz_require(found, "status %d is not one of sdpa.h", (int)status);
  fuzz_require(strcmp(sdpa_status_string(status), sdpa_status_string(-1)) != 0,
               "status %d has no text of its own", (int)status);
}

void fuzz_check_text(sdpa_status status, const char *text, size_t text_bytes) {
  fuzz_known_status(status);
  if (text_bytes == 0) return;
  fuzz_require(memchr(text, 0, text_bytes) != NULL, "a text of %zu bytes is not terminated",
               text_bytes);
  if (status == SDPA_OK)
    fuzz_require(!*text, "a sentence without an error: %s", text);
  else
    fuzz_require(*text || text_bytes < 2, "status %d without a sentence", (int)status);
}

/* Bytes from the first element of a tensor to the last. */
static double span_of(const sdpa_problem *problem, enum problem_tensor tensor) {
  const sdpa_strides s = problem_get_strides(problem, tensor);
  const double stride[4] = {(double)s.batch, (double)s.head, (double)s.row, (double)s.col};
  double span = 1;
  int64_t shape[4];
  problem_shape(problem, tensor, shape);
  for (int i = 0; i < 4; i++)
    span += (double)(shape[i] > 0 ? shape[i] - 1 : 0) * (stride[i] < 0 ? -stride[i] : stride[i]);
  return span * 8;
}

int fuzz_is_small(const sdpa_problem *p, int backward) {
  const double work = (1 + (double)p->batch) * (1 + (double)p->query_heads) *
                      (1 + (double)p->query_len) * (1 + (double)p->key_len) *
                      (1 + (double)p->key_dim + (double)p->value_dim);
  if (work > (double)MOST_WORK) return 0;
  for (enum problem_tensor t = 0; t < PROBLEM_TENSORS_END; t = problem_next_tensor(t)) {
    if (t >= PROBLEM_GRAD_OUTPUT && !backward) break;
    if (problem_declares(p, t) && span_of(p, t) > (double)MOST_BYTES) return 0;
  }
  return 1;
}
