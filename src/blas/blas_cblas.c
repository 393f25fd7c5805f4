/* blas_cblas.c - matrix products by CBLAS: the only file that includes <cblas.h>
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "blas/blas.h"

#include <cblas.h>
#include <string.h>

#include "runtime/report.h"

static int unit_lines(int64_t lines, int64_t length, int64_t line_stride, int64_t stride,
                      int64_t *ld) {
  if (length > 1 && stride != 1) return 0;
  if (lines <= 1) line_stride = length > 1 ? length : 1;
  if (line_stride < length || line_stride < 1 || line_stride > SDPAI_BLAS_MAX) return 0;
  *ld = line_stride;
  return 1;
}

int sdpai_blas_layout(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride,
                      struct sdpai_blas_layout *layout) {
  layout->transposed = 0;
  if (unit_lines(rows, cols, row_stride, col_stride, &layout->ld)) return 1;
  layout->transposed = 1;
  return unit_lines(cols, rows, col_stride, row_stride, &layout->ld);
}

static CBLAS_TRANSPOSE flag(struct sdpai_blas_layout layout) {
  return layout.transposed ? CblasTrans : CblasNoTrans;
}

#define SDPAI_GEMM(name, type, cblas_gemm)                                                         \
  void name(int64_t m, int64_t n, int64_t k, const type *a, struct sdpai_blas_layout a_layout,     \
            const type *b, struct sdpai_blas_layout b_layout, type *c, int64_t ldc, int add) {     \
    if (m == 0 || n == 0) return;                                                                  \
    if (k == 0) {                                                                                  \
      for (int64_t i = 0; !add && i < m; i++) memset(c + i * ldc, 0, (size_t)n * sizeof *c);       \
      return;                                                                                      \
    }                                                                                              \
    cblas_gemm(CblasRowMajor, flag(a_layout), flag(b_layout), (int)m, (int)n, (int)k, 1, a,        \
               (int)a_layout.ld, b, (int)b_layout.ld, add ? 1 : 0, c, (int)ldc);                   \
  }

SDPAI_GEMM(sdpai_blas_gemm_f32, float, cblas_sgemm)
SDPAI_GEMM(sdpai_blas_gemm_f64, double, cblas_dgemm)

void sdpai_blas_describe(char *text, size_t bytes, size_t *length) {
#if defined(SDPAI_HAVE_OPENBLAS_INFO)
  const char *config = openblas_get_config();
  int config_length = (int)strlen(config);
  while (config_length > 0 && config[config_length - 1] == ' ') config_length--;
  sdpai_append(text, bytes, length, "%.*s, core %s, threads %d", config_length, config,
               openblas_get_corename(), openblas_get_num_threads());
#else
  sdpai_append(text, bytes, length, "CBLAS (it does not tell its name or threads)");
#endif
}
