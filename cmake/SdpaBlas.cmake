# The CBLAS: OpenBLAS, or what BLA_VENDOR names. FindBLAS finds the libraries only, so the header and
# the functions are checked here. Sets SDPA_CBLAS_INCLUDE_DIR and the imported target BLAS::BLAS.
include(CheckSymbolExists)
include(CMakePushCheckState)

set(sdpa_bla_vendor "${BLA_VENDOR}")
if(NOT BLA_VENDOR)
  set(BLA_VENDOR OpenBLAS)
endif()
find_package(BLAS REQUIRED)
set(BLA_VENDOR "${sdpa_bla_vendor}")

find_path(SDPA_CBLAS_INCLUDE_DIR cblas.h
  PATH_SUFFIXES openblas blis mkl atlas "${CMAKE_LIBRARY_ARCHITECTURE}"
  DOC "Folder of cblas.h")
mark_as_advanced(SDPA_CBLAS_INCLUDE_DIR)
if(NOT SDPA_CBLAS_INCLUDE_DIR)
  message(FATAL_ERROR "cblas.h was not found beside ${BLAS_LIBRARIES}: set SDPA_CBLAS_INCLUDE_DIR to its folder")
endif()

cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_INCLUDES "${SDPA_CBLAS_INCLUDE_DIR}")
set(CMAKE_REQUIRED_LIBRARIES BLAS::BLAS)
set(CMAKE_REQUIRED_QUIET ON)
check_symbol_exists(cblas_dgemm "cblas.h" SDPA_HAVE_CBLAS_DGEMM)
check_symbol_exists(openblas_get_config "cblas.h" SDPA_HAVE_OPENBLAS_INFO)
cmake_pop_check_state()
if(NOT SDPA_HAVE_CBLAS_DGEMM)
  message(FATAL_ERROR "${BLAS_LIBRARIES} with ${SDPA_CBLAS_INCLUDE_DIR}/cblas.h does not offer cblas_dgemm: "
    "name another CBLAS with BLA_VENDOR")
endif()
