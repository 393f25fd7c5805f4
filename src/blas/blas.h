/* blas.h - matrix products by CBLAS, and what the BLAS says of itself
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * blas_cblas.c is the only file that includes <cblas.h>. CBLAS answers bad arguments by a line on
 * stderr or in silence, so everything is checked before: callers pass only matrices that
 * sdpai_blas_layout() accepted, with sizes up to SDPAI_BLAS_MAX, and only to a BLAS that
 * sdpai_blas_counts_in_int(). The BLAS's own threads do the work in parallel; its thread count is
 * never changed. A fork() waits for the products of other threads: OpenBLAS's handler, which ends
 * its workers, hangs if it meets one at work.
 */
#ifndef SDPAI_BLAS_H
#define SDPAI_BLAS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* CBLAS counts in int: sizes and leading dimensions end here. */
#define SDPAI_BLAS_MAX INT_MAX

/* How a strided matrix is handed to CBLAS: by rows, or by columns as a transposed one. */
struct sdpai_blas_layout {
  int transposed;
  int64_t ld;
};

/* The layout of a rows x cols matrix with these element strides. Returns 0 where CBLAS cannot take
 * it as it lies (no unit stride, a leading dimension that is too short, negative, 0 or above
 * SDPAI_BLAS_MAX). */
int sdpai_blas_layout(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride,
                      struct sdpai_blas_layout *layout);

/* C = A B for A m x k, B k x n, C m x n by rows with leading dimension ldc; C's old contents are
 * not read, and k = 0 gives zeros. Or, with `add`, C = C + A B. */
void sdpai_blas_gemm_f32(int64_t m, int64_t n, int64_t k, const float *a,
                         struct sdpai_blas_layout a_layout, const float *b,
                         struct sdpai_blas_layout b_layout, float *c, int64_t ldc, int add);
void sdpai_blas_gemm_f64(int64_t m, int64_t n, int64_t k, const double *a,
                         struct sdpai_blas_layout a_layout, const double *b,
                         struct sdpai_blas_layout b_layout, double *c, int64_t ldc, int add);

/* The layout of the transposed matrix. */
static inline struct sdpai_blas_layout sdpai_blas_transpose(struct sdpai_blas_layout layout) {
  layout.transposed = !layout.transposed;
  return layout;
}

/* 0 if the BLAS of this process says that its integers have 64 bits. The build refuses one; but
 * OpenBLAS goes by the same file name and SONAME with either, and a program may link another. */
int sdpai_blas_counts_in_int(void);

/* Appends name, version and threads of the BLAS to a text as snprintf would. */
void sdpai_blas_describe(char *text, size_t bytes, size_t *length);

#endif
