# Installation: both libraries, the header, the CMake package and the pkg-config file. Every destination is
# relative to the prefix unless the user gives an absolute one, so that the installed tree can be moved.
# Components: runtime is what a program needs to run, dev what its build needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(sdpa_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sdpa")

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
  DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/sdpa" COMPONENT runtime)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/sdpaConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/sdpaConfig.cmake" INSTALL_DESTINATION "${sdpa_cmake_dir}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sdpaConfigVersion.cmake"
  COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sdpaConfig.cmake" "${PROJECT_BINARY_DIR}/sdpaConfigVersion.cmake"
  DESTINATION "${sdpa_cmake_dir}" COMPONENT dev)

include(SdpaPkgConfig)
install(FILES "${PROJECT_BINARY_DIR}/sdpa.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

# A parent that includes GNUInstallDirs later gets defaults of its own.
sdpa_forget_new_entries("^(CMAKE_INSTALL_|_GNUInstallDirs)" ${sdpa_cache_before})
