# Read by cpack for each generator, after the variables that SdpaPackage.cmake sets. The moment that the
# archives state must be in the environment before anything is packed; see there.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  set(ENV{SOURCE_DATE_EPOCH} "${CPACK_SDPA_EPOCH}")
endif()

# Each Debian package has a summary of its own, the first line of its component's description. What the
# libraries depend on is looked up for their architecture, not for this machine's.
if(CPACK_GENERATOR STREQUAL "DEB")
  if(CPACK_DEBIAN_PACKAGE_ARCHITECTURE STREQUAL "unknown")
    message(FATAL_ERROR "Debian's name of the architecture is not known, for the compiler names none of "
      "Debian's: configure with -DCPACK_DEBIAN_PACKAGE_ARCHITECTURE=...")
  endif()
  set(ENV{DEB_HOST_ARCH} "${CPACK_DEBIAN_PACKAGE_ARCHITECTURE}")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
endif()

# The sources of a checkout: a copy of the files that git names, as they stand there. A checkout that git does
# not read is an error, for what else lies in it is nobody's to publish.
if(CPACK_SOURCE_INSTALLED_DIRECTORIES AND CPACK_SDPA_GIT AND EXISTS "${CPACK_SDPA_SOURCE}/.git")
  set(sources "${CPACK_SDPA_BINARY}/source-files")
  file(REMOVE_RECURSE "${sources}")
  file(MAKE_DIRECTORY "${sources}")
  execute_process(
    COMMAND "${CPACK_SDPA_GIT}" -c "safe.directory=${CPACK_SDPA_SOURCE}" -C "${CPACK_SDPA_SOURCE}" ls-files -z
    COMMAND "${CPACK_SDPA_TAR}" --create --file=- --directory "${CPACK_SDPA_SOURCE}" --no-recursion
      --ignore-failed-read --null --verbatim-files-from --files-from=-
    COMMAND "${CPACK_SDPA_TAR}" --extract --file=- --directory "${sources}"
    COMMAND_ERROR_IS_FATAL ANY)
  set(CPACK_INSTALLED_DIRECTORIES "${sources};/")
  set(CPACK_IGNORE_FILES "")
endif()
