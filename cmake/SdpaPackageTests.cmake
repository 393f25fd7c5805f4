# Tests of the package: shell scripts that get this build's tools and folders by the environment.
find_program(SDPA_PKG_CONFIG NAMES pkgconf pkg-config DOC "pkg-config, for the tests of sdpa.pc")
mark_as_advanced(SDPA_PKG_CONFIG)

set(sdpa_kinds "")
foreach(kind shared static)
  if(TARGET sdpa_${kind})
    string(APPEND sdpa_kinds " ${kind}")
  endif()
endforeach()
string(STRIP "${sdpa_kinds}" sdpa_kinds)
# Consumers are built by a generator that puts a program where its build folder is.
set(sdpa_consumer_generator "${CMAKE_GENERATOR}")
if(sdpa_multi_config)
  set(sdpa_consumer_generator Ninja)
endif()
set(sdpa_consumer_flags "")
if(SDPA_SANITIZE)
  set(sdpa_consumer_flags "-fsanitize=address,undefined")
endif()
set(sdpa_blas_library "")
if(SDPA_WITH_BLAS)
  list(GET sdpa_blas_link -1 sdpa_blas_library)
endif()
set(sdpa_stage "${PROJECT_BINARY_DIR}/tests/install/install_stage/moved")
set(sdpa_pkg_config "")
if(SDPA_PKG_CONFIG)
  set(sdpa_pkg_config "${SDPA_PKG_CONFIG}")
endif()
set(sdpa_cxx "")
if(CMAKE_CXX_COMPILER)
  set(sdpa_cxx "${CMAKE_CXX_COMPILER}")
endif()

# sdpa_add_script_test(<name> <script of the calling folder> [argument...]): one ctest, labelled with the
# folder's name, and `reports` too if its name starts with report_. What the script gets is in install_lib.sh.
function(sdpa_add_script_test name script)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME labels)
  if(name MATCHES "^report_")
    list(APPEND labels reports)
  endif()
  add_test(NAME ${name} COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/${script}.sh" ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 600 SKIP_RETURN_CODE 77
    ENVIRONMENT "SDPA_CMAKE=${CMAKE_COMMAND};SDPA_GENERATOR=${sdpa_consumer_generator};SDPA_CC=${CMAKE_C_COMPILER};\
SDPA_CXX=${sdpa_cxx};SDPA_SOURCE=${PROJECT_SOURCE_DIR};SDPA_BUILD=${PROJECT_BINARY_DIR};\
SDPA_CONFIG=$<CONFIG>;SDPA_FLAGS=${sdpa_consumer_flags};SDPA_STAGE=${sdpa_stage};\
SDPA_VERSION=${PROJECT_VERSION};SDPA_KINDS=${sdpa_kinds};SDPA_PKG_CONFIG=${sdpa_pkg_config};\
SDPA_WITH_BLAS=${SDPA_WITH_BLAS};SDPA_BLAS_LIBRARY=${sdpa_blas_library};SDPA_BLAS_VENDOR=${sdpa_bla_vendor};\
SDPA_CBLAS_INCLUDE=${SDPA_CBLAS_INCLUDE_DIR};SDPA_WORK=${CMAKE_CURRENT_BINARY_DIR}/${name}")
endfunction()

# The same for a script that uses the staged install.
function(sdpa_add_stage_test name)
  sdpa_add_script_test(${name} ${ARGN})
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED sdpa_stage)
endfunction()
