# sdpa.pc in the build folder, from sdpa.pc.in.
#
# The BLAS stands in Libs.private and not in Requires.private: pkgconf and pkg-config want the .pc files of
# Requires.private also for --cflags and --exists, so that a user of the shared library would need the
# BLAS's development files, and they add the BLAS's include folder to Cflags.

# Relative folders hang on the place of the .pc file itself, so that the tree can be moved. An absolute one
# is a place that the user has fixed.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(sdpa_pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(sdpa_pc_libdir "${CMAKE_INSTALL_LIBDIR}")
else()
  file(RELATIVE_PATH sdpa_pc_up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  string(REGEX REPLACE "/$" "" sdpa_pc_up "${sdpa_pc_up}")
  set(sdpa_pc_prefix "\${pcfiledir}/${sdpa_pc_up}")
  set(sdpa_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(sdpa_pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
else()
  set(sdpa_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()

# The BLAS by name: where it lies is the consumer's machine's business.
set(sdpa_pc_private "")
foreach(item IN LISTS sdpa_blas_link)
  if(item MATCHES "/lib([^/]+)\\.(so|a)$")
    set(item "-l${CMAKE_MATCH_1}")
  elseif(item MATCHES "/([^/]+)$")
    set(item "-l:${CMAKE_MATCH_1}")
  elseif(NOT item MATCHES "^-")
    set(item "-l${item}")
  endif()
  string(APPEND sdpa_pc_private " ${item}")
endforeach()
string(APPEND sdpa_pc_private " -lm -pthread")

# Without a shared library every link is a static one.
set(sdpa_pc_public "")
if(NOT SDPA_BUILD_SHARED)
  set(sdpa_pc_public "${sdpa_pc_private}")
  set(sdpa_pc_private "")
endif()

configure_file("${PROJECT_SOURCE_DIR}/cmake/sdpa.pc.in" "${PROJECT_BINARY_DIR}/sdpa.pc" @ONLY)
