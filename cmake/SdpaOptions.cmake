# Options. As a subproject the library builds itself and nothing else.
option(SDPA_BUILD_SHARED "Build libsdpa.so" ON)
option(SDPA_BUILD_STATIC "Build libsdpa.a" ON)
option(SDPA_WITH_BLAS "Build the engine that uses a CBLAS; without it only libm and pthreads are needed" ON)
option(SDPA_INSTALL "Install the library, its header and its package files" ${PROJECT_IS_TOP_LEVEL})
option(SDPA_BUILD_TESTS "Build the tests (needs CMocka and MPFR)" ${PROJECT_IS_TOP_LEVEL})
option(SDPA_BUILD_CHECKS "Test, without CMocka, what a build installs: its packages, programs and examples" OFF)
option(SDPA_BUILD_BENCH "Build sdpa-bench" ${PROJECT_IS_TOP_LEVEL})
option(SDPA_BUILD_DOCS "Build the lesson and the examples of docs/" ${PROJECT_IS_TOP_LEVEL})
option(SDPA_SHARED_TOOLS "sdpa-bench and sdpa-lesson use libsdpa.so also where there is libsdpa.a" OFF)
option(SDPA_BUILD_MAN "Build the manual pages of the functions (needs Python 3.9)" ${PROJECT_IS_TOP_LEVEL})
option(SDPA_WERROR "Treat warnings as errors (developers; never the default)" OFF)
option(SDPA_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(SDPA_BUILD_FUZZERS "Build the fuzzers of tests/fuzz, all instrumented for them (clang)" OFF)
option(SDPA_ANALYSE "Read every compiled file by GCC's analyzer, clang-tidy and cppcheck too" OFF)
option(SDPA_COVERAGE "Count the lines and branches of src/ that run" OFF)
mark_as_advanced(SDPA_BUILD_CHECKS SDPA_WERROR SDPA_SANITIZE SDPA_BUILD_FUZZERS SDPA_ANALYSE SDPA_COVERAGE)

if(SDPA_BUILD_FUZZERS AND NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "SDPA_BUILD_FUZZERS needs clang, whose libFuzzer it uses; the compiler is ${CMAKE_C_COMPILER_ID}")
endif()
if(SDPA_BUILD_FUZZERS AND NOT (SDPA_SANITIZE AND SDPA_BUILD_TESTS))
  message(FATAL_ERROR "SDPA_BUILD_FUZZERS needs SDPA_SANITIZE, without which they find little, and SDPA_BUILD_TESTS")
endif()

if(NOT SDPA_BUILD_SHARED AND NOT SDPA_BUILD_STATIC)
  message(FATAL_ERROR "SDPA_BUILD_SHARED and SDPA_BUILD_STATIC are both off: there is nothing to build")
endif()

if(SDPA_SHARED_TOOLS AND (SDPA_BUILD_TESTS OR NOT SDPA_BUILD_SHARED))
  message(FATAL_ERROR "SDPA_SHARED_TOOLS needs SDPA_BUILD_SHARED and no SDPA_BUILD_TESTS: the tests share "
    "code with the programs, and need functions that the shared library does not export")
endif()

# An optimised build unless the user of the top level says otherwise.
get_property(sdpa_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT sdpa_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
