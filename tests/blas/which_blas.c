/* which_blas.c - prints the file that cblas_sgemm comes from, and what sdpa_build_info() says
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <sdpa/sdpa.h>

int main(void) {
  char info[2048];
  Dl_info symbol;
  void *gemm = dlsym(RTLD_DEFAULT, "cblas_sgemm");
  if (!gemm || !dladdr(gemm, &symbol)) return EXIT_FAILURE;
  char *file = realpath(symbol.dli_fname, NULL);
  sdpa_build_info(info, sizeof info);
  printf("%s\n%s\n", file ? file : symbol.dli_fname, info);
  free(file);
  return EXIT_SUCCESS;
}
