/* narrow_row.c - the caller's tensors that are stored in 16 bits: the kernels of their type
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/narrow_row.h"

#include <sdpa/sdpa.h>

#include "runtime/checked_math.h"

enum { PART = 128 }; /* elements of a strided row that are gathered at a time */

void sdpai_narrow_load(const struct sdpai_kernels *kernels, uint32_t type, int64_t n,
                       const void *from, int64_t stride, float *to) {
  void (*const load)(int64_t, const uint16_t *, float *) =
      type == SDPA_BF16 ? kernels->bf16.row_load : kernels->f16.row_load;
  const uint16_t *x = from;
  if (stride == 1) {
    load(n, x, to);
    return;
  }
  uint16_t part[PART];
  for (int64_t t = 0; t < n; t += PART) {
    const int64_t count = sdpai_min(PART, n - t);
    for (int64_t u = 0; u < count; u++) part[u] = x[(t + u) * stride];
    load(count, part, to + t);
  }
}

void sdpai_narrow_store(const struct sdpai_kernels *kernels, uint32_t type, int64_t n,
                        const float *from, void *to, int64_t stride) {
  void (*const store)(int64_t, const float *, uint16_t *) =
      type == SDPA_BF16 ? kernels->bf16.row_store : kernels->f16.row_store;
  uint16_t *x = to;
  if (stride == 1) {
    store(n, from, x);
    return;
  }
  uint16_t part[PART];
  for (int64_t t = 0; t < n; t += PART) {
    const int64_t count = sdpai_min(PART, n - t);
    store(count, from + t, part);
    for (int64_t u = 0; u < count; u++) x[(t + u) * stride] = part[u];
  }
}

int sdpai_narrow_rows_finite(const struct sdpai_kernels *kernels, uint32_t type, int64_t rows,
                             int64_t cols, const void *x, int64_t ld) {
  return type == SDPA_BF16 ? kernels->bf16.rows_finite(rows, cols, x, ld)
                           : kernels->f16.rows_finite(rows, cols, x, ld);
}

void sdpai_narrow_product_nt(const struct sdpai_kernels *kernels, uint32_t type, int64_t m,
                             int64_t n, int64_t k, const float *a, int64_t lda, const void *b,
                             int64_t ldb, float *c, int64_t ldc) {
  if (type == SDPA_BF16) {
    kernels->bf16.product_nt(m, n, k, a, lda, b, ldb, c, ldc);
  } else {
    kernels->f16.product_nt(m, n, k, a, lda, b, ldb, c, ldc);
  }
}

void sdpai_narrow_product_nn(const struct sdpai_kernels *kernels, uint32_t type, int64_t m,
                             int64_t n, int64_t k, const float *a, int64_t lda, const void *b,
                             int64_t ldb, float *c, int64_t ldc) {
  if (type == SDPA_BF16) {
    kernels->bf16.product_nn(m, n, k, a, lda, b, ldb, c, ldc);
  } else {
    kernels->f16.product_nn(m, n, k, a, lda, b, ldb, c, ldc);
  }
}
