# Installation: both libraries, the header, the CMake package and the pkg-config file. Every destination is
# relative to the prefix unless the user gives an absolute one, so that the installed tree can be moved.
# Components: runtime is what a program needs to run, dev what its build needs and its author reads, tools
# the programs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(sdpa_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sdpa")
# Below share/ everything is of libsdpa: Debian's package sdpa, a solver, has folders of that name.
set(sdpa_doc_dir "${CMAKE_INSTALL_DATAROOTDIR}/doc/libsdpa")

# An export set for each library, since each comes into being without the other: only the static one
# needs a BLAS of the consumer.
foreach(kind shared static)
  if(TARGET sdpa_${kind})
    install(TARGETS sdpa_${kind} EXPORT sdpa-${kind}-targets
      LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev
      ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
      INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(EXPORT sdpa-${kind}-targets NAMESPACE sdpa::
      DESTINATION "${sdpa_cmake_dir}" COMPONENT dev)
  endif()
endforeach()

install(FILES "${PROJECT_SOURCE_DIR}/include/sdpa/sdpa.h"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sdpa" COMPONENT dev)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${sdpa_doc_dir}" COMPONENT runtime)
if(SDPA_BUILD_BENCH OR SDPA_BUILD_DOCS)
  # The programs hold numbers of others, whose notices go with them.
  install(FILES "${PROJECT_SOURCE_DIR}/COPYRIGHT" DESTINATION "${sdpa_doc_dir}" COMPONENT tools)
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/sdpaConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/sdpaConfig.cmake" INSTALL_DESTINATION "${sdpa_cmake_dir}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sdpaConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sdpaConfig.cmake" "${PROJECT_BINARY_DIR}/sdpaConfigVersion.cmake"
  DESTINATION "${sdpa_cmake_dir}" COMPONENT dev)

include(SdpaPkgConfig)
install(FILES "${PROJECT_BINARY_DIR}/sdpa.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

if(TARGET sdpa_man)
  install(DIRECTORY "${sdpa_man_dir}/man3" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT dev
    FILES_MATCHING PATTERN "*.3")
endif()
# What the pages refer to: the documents with their pictures, and programs to learn from.
if(EXISTS "${PROJECT_SOURCE_DIR}/docs/examples")
  file(GLOB sdpa_documents CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md")
  install(FILES ${sdpa_documents} DESTINATION "${sdpa_doc_dir}" COMPONENT dev)
  install(FILES "${PROJECT_SOURCE_DIR}/docs/lesson/README.md"
    DESTINATION "${sdpa_doc_dir}/lesson" COMPONENT dev)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/pictures" "${PROJECT_SOURCE_DIR}/docs/examples"
    DESTINATION "${sdpa_doc_dir}" COMPONENT dev
    FILES_MATCHING PATTERN "*.svg" PATTERN "*.md" PATTERN "*.c" PATTERN "*.cpp" PATTERN "*.f90" PATTERN "*.py"
    PATTERN "__pycache__" EXCLUDE)
endif()
if(TARGET docs)
  # Only where somebody has built it.
  install(DIRECTORY "${sdpa_reference_dir}/html" DESTINATION "${sdpa_doc_dir}" COMPONENT dev OPTIONAL)
endif()

# Programs find a shared library from where they lie, so that the tree can be moved; they have no use for that
# where they link the static one. A package for the system's folders sets CMAKE_SKIP_INSTALL_RPATH, or takes
# the path away as package_debian.cmake does.
set(sdpa_man1_dir "${CMAKE_INSTALL_MANDIR}/man1")
set(sdpa_shapes_dir "${CMAKE_INSTALL_DATADIR}/libsdpa/shapes")
set(sdpa_tool_rpath "")
if((SDPA_SHARED_TOOLS OR NOT SDPA_BUILD_STATIC)
   AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_BINDIR}")
  file(RELATIVE_PATH sdpa_tool_rpath "/prefix/${CMAKE_INSTALL_BINDIR}" "/prefix/${CMAKE_INSTALL_LIBDIR}")
  set(sdpa_tool_rpath "$ORIGIN/${sdpa_tool_rpath}")
endif()

# sdpa_install_tool(<target> <name>): a program and its manual page. Those of packages look for the library from
# where they lie also before they are installed, so that their bytes do not depend on the build's folder.
function(sdpa_install_tool target name)
  set_target_properties(${target} PROPERTIES
    INSTALL_RPATH "${sdpa_tool_rpath}" BUILD_RPATH_USE_ORIGIN ${SDPA_SHARED_TOOLS})
  install(TARGETS ${target} RUNTIME COMPONENT tools)
  install(FILES "${PROJECT_SOURCE_DIR}/docs/man/${name}.1" DESTINATION "${sdpa_man1_dir}" COMPONENT tools)
endfunction()

# A parent that includes GNUInstallDirs later gets defaults of its own.
sdpa_forget_new_entries("^(CMAKE_INSTALL_|_GNUInstallDirs)" ${sdpa_cache_before})
