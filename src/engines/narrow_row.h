/* narrow_row.h - the caller's tensors that are stored in 16 bits: the kernels of their type
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * `type` is SDPA_BF16 or SDPA_F16. Contracts: kernels.h.
 */
#ifndef SDPAI_NARROW_ROW_H
#define SDPAI_NARROW_ROW_H

#include <stdint.h>

#include "kernels/kernels.h"

/* row_load and row_store at any column stride; the floats are contiguous. */
void sdpai_narrow_load(const struct sdpai_kernels *kernels, uint32_t type, int64_t n,
                       const void *from, int64_t stride, float *to);
void sdpai_narrow_store(const struct sdpai_kernels *kernels, uint32_t type, int64_t n,
                        const float *from, void *to, int64_t stride);

/* The kernels of these names, with column stride 1. */
int sdpai_narrow_rows_finite(const struct sdpai_kernels *kernels, uint32_t type, int64_t rows,
                             int64_t cols, const void *x, int64_t ld);
void sdpai_narrow_product_nt(const struct sdpai_kernels *kernels, uint32_t type, int64_t m,
                             int64_t n, int64_t k, const float *a, int64_t lda, const void *b,
                             int64_t ldb, float *c, int64_t ldc);
void sdpai_narrow_product_nn(const struct sdpai_kernels *kernels, uint32_t type, int64_t m,
                             int64_t n, int64_t k, const float *a, int64_t lda, const void *b,
                             int64_t ldb, float *c, int64_t ldc);

#endif
