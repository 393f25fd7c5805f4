# Run by cpack when it has packed, and before the files go to their folder: what is left in them of the file
# system's order and of the builder's umask goes, so that two builds give the same bytes.

# An archive's files lie in it in the order in which the file system names them: packed again, sorted.
if(CPACK_GENERATOR STREQUAL "TGZ")
  if(NOT CPACK_SDPA_GZIP OR NOT CPACK_SDPA_TAR)
    message(FATAL_ERROR "gzip or tar was not found when the build was configured: archives need them")
  endif()
  cmake_path(GET CPACK_TEMPORARY_DIRECTORY PARENT_PATH staged)
  cmake_path(GET CPACK_TEMPORARY_DIRECTORY FILENAME folder)
  execute_process(
    COMMAND "${CPACK_SDPA_TAR}" --create --sort=name --format=gnu --owner=0 --group=0 --numeric-owner
      "--mode=u=rwX,go=rX" "--mtime=@$ENV{SOURCE_DATE_EPOCH}" --directory "${staged}" "${folder}"
    COMMAND "${CPACK_SDPA_GZIP}" -9 -n
    OUTPUT_FILE "${CPACK_PACKAGE_FILES}" COMMAND_ERROR_IS_FATAL ANY)
endif()

# A Debian package is an ar archive of three members, whose modes are by the umask.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(work "${CPACK_TOPLEVEL_DIRECTORY}/members")
  foreach(package IN LISTS CPACK_PACKAGE_FILES)
    file(REMOVE_RECURSE "${work}")
    file(MAKE_DIRECTORY "${work}")
    execute_process(COMMAND "${CPACK_SDPA_AR}" x "${package}"
      WORKING_DIRECTORY "${work}" COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB parts RELATIVE "${work}" "${work}/control.tar.*" "${work}/data.tar.*")
    list(SORT parts)
    file(REMOVE "${package}")
    execute_process(COMMAND "${CPACK_SDPA_AR}" rcDS "${package}" debian-binary ${parts}
      WORKING_DIRECTORY "${work}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
