# Read by cpack for each generator, after the variables that SdpaPackage.cmake sets. The moment that the
# archives state must be in the environment before anything is packed; see there.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  set(ENV{SOURCE_DATE_EPOCH} "${CPACK_SDPA_EPOCH}")
endif()

# Each Debian package has a summary of its own, the first line of its component's description.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
endif()
