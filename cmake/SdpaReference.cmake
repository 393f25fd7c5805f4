# The HTML reference: the target docs, and sdpa_reference_dir, where html/ comes to lie. Without Doxygen and
# Python there is none.
find_program(SDPA_DOXYGEN doxygen DOC "Doxygen, for the HTML reference")
mark_as_advanced(SDPA_DOXYGEN)
if(NOT SDPA_DOXYGEN OR NOT TARGET sdpa_man)
  message(STATUS "No target docs: the HTML reference needs Doxygen and what the manual pages need")
  return()
endif()

set(sdpa_reference_dir "${PROJECT_BINARY_DIR}/reference")
file(GLOB sdpa_reference_pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md")
set(sdpa_reference_input "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/include/sdpa/sdpa.h"
  ${sdpa_reference_pages} "${PROJECT_SOURCE_DIR}/docs/examples/README.md" "${PROJECT_SOURCE_DIR}/docs/lesson/README.md"
  "${PROJECT_SOURCE_DIR}/bench/compare/README.md" "${PROJECT_SOURCE_DIR}/docs/reference/pages.dox"
  "${sdpa_reference_dir}/examples.dox")
list(JOIN sdpa_reference_input "\" \"" sdpa_reference_input)
set(sdpa_reference_input "\"${sdpa_reference_input}\"")

# Doxygen gives them to a shell, which must not take a folder's name apart.
set(sdpa_reference_python "'${SDPA_PYTHON3}' -B '${PROJECT_SOURCE_DIR}/docs/reference")
set(sdpa_reference_filters "\"*.h=${sdpa_reference_python}/reference_header.py'\" \
\"*.md=${sdpa_reference_python}/reference_page.py' '${PROJECT_SOURCE_DIR}'\"")

# Each program of docs/examples/ is an example of the functions that it calls.
file(GLOB examples CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/docs/examples"
  "${PROJECT_SOURCE_DIR}/docs/examples/*.c" "${PROJECT_SOURCE_DIR}/docs/examples/*.cpp"
  "${PROJECT_SOURCE_DIR}/docs/examples/*.f90" "${PROJECT_SOURCE_DIR}/docs/examples/*.py")
set(text "")
foreach(example IN LISTS examples)
  string(APPEND text "/** @example ${example}\n * What it shows: @ref page_docs_examples_readme.\n */\n")
endforeach()
file(GENERATE OUTPUT "${sdpa_reference_dir}/examples.dox" CONTENT "${text}")

configure_file("${PROJECT_SOURCE_DIR}/docs/reference/Doxyfile.in" "${sdpa_reference_dir}/Doxyfile" @ONLY)
add_custom_target(docs
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${sdpa_reference_dir}/html"
  COMMAND "${SDPA_DOXYGEN}" "${sdpa_reference_dir}/Doxyfile"
  COMMENT "HTML reference: ${sdpa_reference_dir}/html/index.html" VERBATIM)
