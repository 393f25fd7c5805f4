/* set_blas_threads.c - preloaded: gives OpenBLAS SDPA_BLAS_THREADS threads at the program's start
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * OPENBLAS_NUM_THREADS counts for no more than the machine's CPUs; this does.
 */
#include <cblas.h>
#include <stdlib.h>

__attribute__((constructor)) static void set_blas_threads(void) {
  const char *threads = getenv("SDPA_BLAS_THREADS");
  if (threads) openblas_set_num_threads(atoi(threads));
}
