# Refuses a BLAS of 64-bit integers, by what its header declares, its functions are called, its file says
# of itself, and one of its functions does. Included by SdpaBlas.cmake, which says what to compile and link.

# The header: cblas_sdot's integers, whatever the type is called there; a long has 32 bits on some systems.
check_c_source_compiles("#include <stddef.h>
#include <cblas.h>
#define TAKES(type) float (*)(type, const float *, type, const float *, type)
#define BYTES _Generic(&cblas_sdot, TAKES(long): sizeof(long), TAKES(long long): 8, default: 0)
int main(void) { _Static_assert(BYTES == 8, \"\"); return 0; }" SDPA_CBLAS_H_ILP64)
if(SDPA_CBLAS_H_ILP64)
  sdpa_refuse_ilp64("so says ${SDPA_CBLAS_INCLUDE_DIR}/cblas.h")
endif()

# The suffix by which it lives beside an LP64 one.
if(NOT SDPA_HAVE_CBLAS_SGEMM)
  check_function_exists(cblas_sgemm64_ SDPA_HAVE_CBLAS_SGEMM64)
  if(SDPA_HAVE_CBLAS_SGEMM64)
    sdpa_refuse_ilp64("${BLAS_LIBRARIES} offers cblas_sgemm64_")
  endif()
endif()

# OpenBLAS holds the text that openblas_get_config() returns.
foreach(library IN LISTS BLAS_LIBRARIES)
  if(SDPA_HAVE_OPENBLAS_INFO AND EXISTS "${library}")
    file(STRINGS "${library}" sdpa_blas_says REGEX "OpenBLAS.* USE64BITINT" LIMIT_COUNT 1)
    if(sdpa_blas_says)
      sdpa_refuse_ilp64("so says ${library}")
    endif()
  endif()
endforeach()

# What it does: the integers of the Fortran interface are passed by address. Where 32 bits are read, n is 1
# and a number is copied; 64 bits of the little-endian pair are negative, and nothing is. A run that
# goes wrong says nothing; a cross build has no run.
if(SDPA_HAVE_CBLAS_SGEMM AND NOT CMAKE_CROSSCOMPILING AND CMAKE_C_BYTE_ORDER STREQUAL "LITTLE_ENDIAN")
  if(NOT DEFINED SDPA_BLAS_RUN_ILP64)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/blas_integers.c" "
void scopy_(const int *n, const float *x, const int *incx, float *y, const int *incy);
int main(void) {
  const int n[2] = {1, -1}, step[2] = {1, 0};
  const float x[1] = {1};
  float y[1] = {0};
  scopy_(n, x, step, y, step);
  return y[0] == 1 ? 32 : 64;
}")
    try_run(sdpa_blas_bits sdpa_blas_compiled "${CMAKE_CURRENT_BINARY_DIR}/blas_integers"
      "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/blas_integers.c" LINK_LIBRARIES ${sdpa_blas_link})
    set(SDPA_BLAS_RUN_ILP64 OFF)
    if(sdpa_blas_compiled AND sdpa_blas_bits EQUAL 64)
      set(SDPA_BLAS_RUN_ILP64 ON)
    endif()
    set(SDPA_BLAS_RUN_ILP64 ${SDPA_BLAS_RUN_ILP64} CACHE INTERNAL "The BLAS reads integers of 64 bits")
    unset(sdpa_blas_bits CACHE)
    unset(sdpa_blas_compiled CACHE)
  endif()
  if(SDPA_BLAS_RUN_ILP64)
    sdpa_refuse_ilp64("scopy_ of ${BLAS_LIBRARIES} reads them so")
  endif()
endif()
