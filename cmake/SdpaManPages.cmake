# Manual pages of the functions and types, made from the public header by docs/reference/man_pages.py: the
# target sdpa_man, and sdpa_man_dir, where man3/ lies. Without Python there are none.
find_program(SDPA_PYTHON3 python3 DOC "Python 3: makes manual pages; reads JSON in a test")
mark_as_advanced(SDPA_PYTHON3)
set(sdpa_python_version "0")
if(SDPA_PYTHON3)
  execute_process(COMMAND "${SDPA_PYTHON3}" -c "import sys; print('%d.%d' % sys.version_info[:2])"
    OUTPUT_VARIABLE sdpa_python_version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(sdpa_python_version VERSION_LESS 3.9)
  message(STATUS "No manual pages of the functions: Python 3.9 was not found (SDPA_PYTHON3 names another)")
  return()
endif()

set(sdpa_man_dir "${PROJECT_BINARY_DIR}/man")
set(sdpa_man_source "${PROJECT_SOURCE_DIR}/docs/reference")
add_custom_command(OUTPUT "${sdpa_man_dir}/man3/sdpa.3"
  COMMAND "${SDPA_PYTHON3}" -B "${sdpa_man_source}/man_pages.py" "${PROJECT_SOURCE_DIR}/include/sdpa/sdpa.h"
    "${PROJECT_SOURCE_DIR}/docs/man/names.txt" "${sdpa_man_dir}/man3"
  DEPENDS "${PROJECT_SOURCE_DIR}/include/sdpa/sdpa.h" "${PROJECT_SOURCE_DIR}/docs/man/names.txt"
    "${sdpa_man_source}/header_text.py" "${sdpa_man_source}/man_pages.py" "${sdpa_man_source}/mdoc.py"
  COMMENT "Making manual pages from sdpa.h" VERBATIM)
add_custom_target(sdpa_man ALL DEPENDS "${sdpa_man_dir}/man3/sdpa.3")
