# Static analysis (SDPA_ANALYSE, preset `analyse`): every file of the project that is compiled is read by
# GCC's analyzer, clang-tidy and cppcheck too, and what one of them says fails the build. The checks of
# clang-tidy stand in .clang-tidy, GCC's flags in gcc_analyzer.sh, each with the reasons for what is off.
if(NOT SDPA_ANALYSE)
  return()
endif()
if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "SDPA_ANALYSE needs GCC: its analyzer is one of the three")
endif()
find_program(SDPA_CLANG_TIDY clang-tidy REQUIRED)
find_program(SDPA_CPPCHECK cppcheck REQUIRED)
mark_as_advanced(SDPA_CLANG_TIDY SDPA_CPPCHECK)

# A launcher, since clang-tidy, which is given the compiler's own command, knows no -fanalyzer. It runs
# the user's, if there is one.
set(CMAKE_C_COMPILER_LAUNCHER
  sh "${PROJECT_SOURCE_DIR}/cmake/gcc_analyzer.sh" ${CMAKE_C_COMPILER_LAUNCHER})
# GCC flags that clang ignores are no finding.
set(CMAKE_C_CLANG_TIDY "${SDPA_CLANG_TIDY}" --quiet --extra-arg=-Wno-ignored-optimization-argument)
# cppcheck follows a NULL into a kernel that is told of 0 elements, and calls that a dereference
# (ctunullpointer).
set(CMAKE_C_CPPCHECK "${SDPA_CPPCHECK}" -q --std=c11 --enable=warning,portability,performance
  --inline-suppr --suppress=missingInclude --suppress=ctunullpointer --error-exitcode=1)
