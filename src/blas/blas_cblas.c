/* blas_cblas.c - matrix products by CBLAS: the only file that includes <cblas.h>
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* dladdr */
#include "blas/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "runtime/compiler.h"
#include "runtime/gate.h"
#include "runtime/report.h"

/* A library that was built for the plain CBLAS may yet be loaded with OpenBLAS: where that can be
 * expressed, its functions are taken if they are there. */
#if defined(SDPAI_HAVE_OPENBLAS_INFO)
#define OPENBLAS_INFO 1
#elif defined(SDPAI_WEAK)
#define OPENBLAS_INFO 1
SDPAI_WEAK char *openblas_get_config(void);
SDPAI_WEAK char *openblas_get_corename(void);
SDPAI_WEAK int openblas_get_num_threads(void);
#else
#define OPENBLAS_INFO 0
#endif

/* Weak, for it may be in a library of its own, which nothing else here needs. */
#if defined(SDPAI_WEAK)
SDPAI_WEAK int dladdr(const void *address, Dl_info *info);
#endif

/* What the BLAS says of itself, read once: openblas_get_config() puts its text together in one
 * static buffer, which is no place for two threads. */
static struct {
  char config[256]; /* "": it says nothing */
  int counts_in_long;
  int one_at_a_time; /* built without threads, OpenBLAS gives two callers one buffer */
} blas;
static pthread_once_t blas_once = PTHREAD_ONCE_INIT;

/* Whether the BLAS may be linked into the same program or library as this file: an OpenBLAS there
 * registers its fork handlers after this library's, which have to come first. Without a dynamic
 * loader there is no other place. */
static int blas_may_be_in_this_image(void) {
#if defined(SDPAI_WEAK)
  void (*const product)(void) = (void (*)(void))cblas_sgemm;
  const void *address;
  Dl_info blas_image, own_image;
  memcpy(&address, &product, sizeof address);
  return !dladdr || !dladdr(address, &blas_image) || !dladdr(&blas, &own_image) ||
         blas_image.dli_fbase == own_image.dli_fbase;
#else
  return 1;
#endif
}

static void ask_blas(void) {
  if (blas_may_be_in_this_image()) sdpai_gate_register_again();
#if OPENBLAS_INFO
#if !defined(SDPAI_HAVE_OPENBLAS_INFO)
  if (!openblas_get_config || !openblas_get_corename || !openblas_get_num_threads) return;
#endif
  const char *config = openblas_get_config();
  size_t length = strlen(config);
  while (length > 0 && config[length - 1] == ' ') length--;
  if (length > sizeof blas.config - 1) length = sizeof blas.config - 1;
  memcpy(blas.config, config, length);
  blas.counts_in_long = strstr(config, "USE64BITINT") != NULL;
  blas.one_at_a_time = strstr(config, "SINGLE_THREADED") != NULL;
#endif
}

int sdpai_blas_counts_in_int(void) {
  pthread_once(&blas_once, ask_blas);
  return !blas.counts_in_long;
}

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
    pthread_once(&blas_once, ask_blas);                                                            \
    const int entered = sdpai_gate_enter(blas.one_at_a_time);                                      \
    cblas_gemm(CblasRowMajor, flag(a_layout), flag(b_layout), (int)m, (int)n, (int)k, 1, a,        \
               (int)a_layout.ld, b, (int)b_layout.ld, add ? 1 : 0, c, (int)ldc);                   \
    sdpai_gate_leave(entered);                                                                     \
  }

SDPAI_GEMM(sdpai_blas_gemm_f32, float, cblas_sgemm)
SDPAI_GEMM(sdpai_blas_gemm_f64, double, cblas_dgemm)

void sdpai_blas_describe(char *text, size_t bytes, size_t *length) {
  pthread_once(&blas_once, ask_blas);
#if OPENBLAS_INFO
  if (blas.config[0] != '\0') {
    sdpai_append(text, bytes, length, "%s, core %s, threads %d", blas.config,
                 openblas_get_corename(), openblas_get_num_threads());
    return;
  }
#endif
  sdpai_append(text, bytes, length, "CBLAS (it does not tell its name or threads)");
}
