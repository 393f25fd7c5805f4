# Counts of lines and branches of src/ that run (SDPA_COVERAGE, gcc), for gcovr; docs/coverage.md says how they
# are taken. Only targets that compile files of src/ are counted. -O0: a branch of the source is one of the
# program, and none is folded away. Counts are atomic: torn ones of several threads come out negative.
function(sdpa_target_coverage target)
  if(SDPA_COVERAGE)
    target_compile_options(${target} PRIVATE
      -O0 --coverage -fprofile-abs-path -fprofile-update=atomic)
    target_compile_definitions(${target} PRIVATE SDPAI_COVERAGE=1)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()

if(NOT SDPA_COVERAGE)
  return()
endif()
if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "SDPA_COVERAGE needs gcc: ${CMAKE_C_COMPILER} is ${CMAKE_C_COMPILER_ID}")
endif()
find_program(SDPA_GCOVR gcovr DOC "Adds up the counts of lines and branches" REQUIRED)
mark_as_advanced(SDPA_GCOVR)

# Every build sets the counts back to 0, so that a report holds the tests that ran since the last one.
add_custom_target(sdpa_coverage_zero ALL
  COMMAND "${CMAKE_COMMAND}" -D "BUILD_DIR=${PROJECT_BINARY_DIR}"
    -P "${CMAKE_CURRENT_LIST_DIR}/coverage_zero.cmake"
  COMMENT "Setting the counts of lines and branches to 0" VERBATIM)

# The report: fails below the thresholds of gcovr.cfg.
set(sdpa_coverage_report "${PROJECT_BINARY_DIR}/coverage")
add_custom_target(coverage
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${sdpa_coverage_report}"
  COMMAND "${SDPA_GCOVR}" --config "${CMAKE_CURRENT_LIST_DIR}/gcovr.cfg"
    --root "${PROJECT_SOURCE_DIR}" --object-directory "${PROJECT_BINARY_DIR}"
    --txt "${sdpa_coverage_report}/lines.txt" --html-details "${sdpa_coverage_report}/index.html"
    --json "${sdpa_coverage_report}/coverage.json" --print-summary "${PROJECT_BINARY_DIR}"
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  COMMENT "Lines and branches of src/, in ${sdpa_coverage_report}/index.html" VERBATIM)
