# The CBLAS: OpenBLAS, or what BLA_VENDOR names. FindBLAS finds the libraries only, so the header and the
# functions are checked here, and that both count in int. Sets SDPA_CBLAS_INCLUDE_DIR,
# SDPA_HAVE_OPENBLAS_INFO, sdpa_bla_vendor (the vendor that was found) and sdpa_blas_link (what a program
# links), and makes the target sdpa_blas.
include(CheckSymbolExists)
include(CMakePushCheckState)
include(CheckCSourceCompiles)
include(CheckFunctionExists)

get_property(sdpa_cache_before DIRECTORY PROPERTY CACHE_VARIABLES)

# A BLAS of 64-bit integers (ILP64) would read the upper halves of the ints that it is given.
macro(sdpa_refuse_ilp64 evidence)
  unset(SDPA_CBLAS_ASKED CACHE)
  message(FATAL_ERROR "The BLAS has 64-bit integers (ILP64): ${evidence}. libsdpa calls it with int: choose one of "
    "32-bit integers (LP64; Debian: libopenblas-dev and not libopenblas64-dev), for instance by BLA_VENDOR, "
    "CMAKE_PREFIX_PATH or BLA_SIZEOF_INTEGER=4, or build with SDPA_WITH_BLAS=OFF")
endmacro()
if(BLA_SIZEOF_INTEGER EQUAL 8)
  sdpa_refuse_ilp64("BLA_SIZEOF_INTEGER is 8")
endif()

set(sdpa_bla_vendor_saved "${BLA_VENDOR}")
if(NOT BLA_VENDOR)
  set(BLA_VENDOR OpenBLAS)
endif()
find_package(BLAS)
set(sdpa_bla_vendor "${BLA_VENDOR}")
set(BLA_VENDOR "${sdpa_bla_vendor_saved}")
if(NOT BLAS_FOUND)
  message(FATAL_ERROR "No BLAS was found (BLA_VENDOR is ${sdpa_bla_vendor}). Install one (Debian: libopenblas-dev), "
    "or set CMAKE_PREFIX_PATH to the prefix of one, or set BLA_VENDOR to the name of another that has a C interface")
endif()
set(sdpa_blas_link ${BLAS_LINKER_FLAGS} ${BLAS_LIBRARIES})

# The header that belongs to the library comes first: the include folders of the library's own prefix.
set(sdpa_cblas_hints "")
foreach(library IN LISTS BLAS_LIBRARIES)
  if(IS_ABSOLUTE "${library}")
    get_filename_component(folder "${library}" DIRECTORY)
    list(APPEND sdpa_cblas_hints "${folder}/../include" "${folder}/../../include")
  endif()
endforeach()
set(sdpa_cblas_suffixes openblas blis mkl atlas)
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(PREPEND sdpa_cblas_suffixes "${CMAKE_LIBRARY_ARCHITECTURE}")
endif()
find_path(SDPA_CBLAS_INCLUDE_DIR cblas.h
  HINTS ${sdpa_cblas_hints} PATH_SUFFIXES ${sdpa_cblas_suffixes} DOC "Folder of cblas.h")
mark_as_advanced(SDPA_CBLAS_INCLUDE_DIR)
if(NOT SDPA_CBLAS_INCLUDE_DIR)
  message(FATAL_ERROR "cblas.h was not found beside ${BLAS_LIBRARIES}: set SDPA_CBLAS_INCLUDE_DIR to its folder")
endif()

# The checks below remember their answers; another BLAS than the last time is asked anew.
set(sdpa_cblas_asked "${sdpa_blas_link};${SDPA_CBLAS_INCLUDE_DIR}")
if(NOT "${SDPA_CBLAS_ASKED}" STREQUAL "${sdpa_cblas_asked}")
  foreach(answer HAVE_CBLAS_SGEMM HAVE_CBLAS_DGEMM HAVE_OPENBLAS_INFO HAVE_CBLAS_SGEMM64 CBLAS_H_ILP64 BLAS_RUN_ILP64)
    unset(SDPA_${answer} CACHE)
  endforeach()
  set(SDPA_CBLAS_ASKED "${sdpa_cblas_asked}" CACHE INTERNAL "The BLAS that SDPA_HAVE_... are about")
endif()
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_INCLUDES "${SDPA_CBLAS_INCLUDE_DIR}")
set(CMAKE_REQUIRED_LIBRARIES ${sdpa_blas_link})
set(CMAKE_REQUIRED_QUIET ON)
check_symbol_exists(cblas_sgemm "cblas.h" SDPA_HAVE_CBLAS_SGEMM)
check_symbol_exists(cblas_dgemm "cblas.h" SDPA_HAVE_CBLAS_DGEMM)
check_symbol_exists(openblas_get_config "cblas.h" SDPA_HAVE_OPENBLAS_INFO)
include(SdpaBlasIntegers)
cmake_pop_check_state()
if(NOT SDPA_HAVE_CBLAS_SGEMM OR NOT SDPA_HAVE_CBLAS_DGEMM)
  unset(SDPA_CBLAS_ASKED CACHE)
  message(FATAL_ERROR "${BLAS_LIBRARIES} with ${SDPA_CBLAS_INCLUDE_DIR}/cblas.h does not offer cblas_sgemm and "
    "cblas_dgemm: set BLA_VENDOR to a BLAS that has a C interface, or SDPA_CBLAS_INCLUDE_DIR to the folder of its cblas.h")
endif()

# An ordinary target and not the imported BLAS::BLAS, which only this directory and those below could link.
add_library(sdpa_blas INTERFACE)
target_link_libraries(sdpa_blas INTERFACE ${sdpa_blas_link})

# What FindBLAS remembers would steer a search of the parent project's own for another BLAS.
sdpa_forget_new_entries("" ${sdpa_cache_before})
