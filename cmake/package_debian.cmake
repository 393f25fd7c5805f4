# Run by cpack when the files of the packages are staged and not yet packed. The Debian packages get what
# Debian's policy wants and other installs do not: compressed manual pages, in the package's own folder of
# share/doc the copyright and the changelogs, and a file for pkg-config that names the system's
# folders. Programs lose their search path.
if(NOT CPACK_GENERATOR STREQUAL "DEB" OR CPACK_SOURCE_INSTALLED_DIRECTORIES)
  return()
endif()
if(NOT CPACK_SDPA_GZIP)
  message(FATAL_ERROR "gzip was not found when the build was configured: Debian packages need it")
endif()

function(sdpa_compress)
  execute_process(COMMAND "${CPACK_SDPA_GZIP}" -9 -n -f ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changelog "libsdpa (${CPACK_SDPA_DEBIAN_VERSION}) unstable; urgency=medium

  * Made by the project itself: changelog.gz says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} key)
  set(share "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share")
  if(NOT IS_DIRECTORY "${CPACK_TEMPORARY_DIRECTORY}/${component}")
    message(FATAL_ERROR "there is no ${CPACK_TEMPORARY_DIRECTORY}/${component} to put the copyright into")
  endif()
  set(doc "${share}/doc/${CPACK_DEBIAN_${key}_PACKAGE_NAME}")
  if(IS_DIRECTORY "${share}/doc/libsdpa")
    file(RENAME "${share}/doc/libsdpa" "${doc}")
  endif()
  file(MAKE_DIRECTORY "${doc}")
  file(REMOVE "${doc}/LICENSE" "${doc}/COPYRIGHT")
  file(COPY_FILE "${CPACK_SDPA_SOURCE}/COPYRIGHT" "${doc}/copyright")
  file(WRITE "${doc}/changelog.Debian" "${changelog}")
  file(COPY_FILE "${CPACK_SDPA_SOURCE}/docs/changelog.md" "${doc}/changelog")
  file(GLOB_RECURSE pages "${share}/man/*.[0-9]")
  # A page of several names is a file and links to it.
  foreach(page IN LISTS pages)
    if(IS_SYMLINK "${page}")
      file(READ_SYMLINK "${page}" target)
      file(CREATE_LINK "${target}.gz" "${page}.gz" SYMBOLIC)
      file(REMOVE "${page}")
      list(REMOVE_ITEM pages "${page}")
    else() # where the documents lie in Debian, those of libsdpa-dev
      file(READ "${page}" text)
      string(REPLACE "\n.Pa share/doc/libsdpa/" "\n.Pa share/doc/libsdpa-dev/" text "${text}")
      string(REGEX REPLACE "(Pa )(share/)" "\\1/usr/\\2" text "${text}")
      file(WRITE "${page}" "${text}")
    endif()
  endforeach()
  sdpa_compress("${doc}/changelog" "${doc}/changelog.Debian" ${pages})
  file(GLOB_RECURSE texts "${doc}/*")
  file(CHMOD ${texts} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()

# The libraries lie where the system looks for them.
file(GLOB programs "${CPACK_TEMPORARY_DIRECTORY}/tools/usr/bin/*")
foreach(program IN LISTS programs)
  file(RPATH_REMOVE FILE "${program}")
endforeach()

# Plain folders, which pkg-config knows for the system's and leaves away.
file(GLOB_RECURSE pkg_configs "${CPACK_TEMPORARY_DIRECTORY}/dev/usr/*/sdpa.pc")
foreach(pkg_config IN LISTS pkg_configs)
  file(READ "${pkg_config}" text)
  string(REGEX REPLACE "^prefix=[^\n]*" "prefix=/usr" text "${text}")
  file(WRITE "${pkg_config}" "${text}")
endforeach()

# Folders as the installed ones, whatever the umask is.
file(GLOB_RECURSE folders LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*")
foreach(folder IN LISTS folders)
  if(IS_DIRECTORY "${folder}" AND NOT IS_SYMLINK "${folder}")
    file(CHMOD "${folder}" PERMISSIONS ${CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
  endif()
endforeach()
