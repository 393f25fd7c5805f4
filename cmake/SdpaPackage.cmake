# What cpack makes of a build: three Debian packages, of the components runtime, dev and tools; an archive of
# the installed tree, which can be moved; an archive of the sources. The preset `package` makes all of them.
#
# Debian has other packages called sdpa and libsdpa-dev, of a solver of semidefinite programs, at version 7.3.
# The epoch puts libsdpa-dev above that one, which otherwise were its upgrade; sdpam is the only package that
# asks for the solver's by that name. No file is in both sdpa and these packages.
if(NOT EXISTS "${PROJECT_SOURCE_DIR}/docs/man/names.txt"
   OR NOT EXISTS "${PROJECT_SOURCE_DIR}/tests/abi/symbols.txt")
  return() # a copy of what the library is built from, without documents or tests
endif()
find_program(SDPA_GZIP gzip DOC "gzip: compresses manual pages, changelogs and archives")
find_program(SDPA_TAR tar DOC "GNU tar: packs the archives")
mark_as_advanced(SDPA_GZIP SDPA_TAR)

# The moment that every archive states: that of the last change to the manual pages' text, so that two builds
# give the same bytes. SOURCE_DATE_EPOCH in cpack's environment goes before it.
# sdpa_seconds_of(<variable> <"Month day, year">): seconds from 1970 to that day's beginning.
function(sdpa_seconds_of variable date)
  set(months March April May June July August September October November December January February)
  if(NOT date MATCHES "^([A-Z][a-z]+) ([0-9]+), ([0-9]+)$" OR NOT CMAKE_MATCH_1 IN_LIST months)
    message(FATAL_ERROR "docs/man/names.txt: no date in \"${date}\"")
  endif()
  list(FIND months "${CMAKE_MATCH_1}" month) # years begin in March, so that a leap day ends one
  set(day "${CMAKE_MATCH_2}")
  math(EXPR year "${CMAKE_MATCH_3} - ${month} / 10")
  math(EXPR seconds "86400 * (365 * ${year} + ${year} / 4 - ${year} / 100 + ${year} / 400 \
    + (153 * ${month} + 2) / 5 + ${day} - 1 - 719468)")
  set(${variable} ${seconds} PARENT_SCOPE)
endfunction()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/man/names.txt)
file(STRINGS docs/man/names.txt sdpa_date REGEX "^date +")
string(REGEX REPLACE "^date +" "" sdpa_date "${sdpa_date}")
sdpa_seconds_of(CPACK_SDPA_EPOCH "${sdpa_date}")

# Who made the packages: Debian's own variables say it. The project has no mail address, and says so.
set(sdpa_packager "libsdpa authors <nobody@libsdpa.invalid>")
if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(sdpa_packager "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(SDPA_PACKAGER "${sdpa_packager}" CACHE STRING "Name and address in the packages: whom their users ask")

set(CPACK_PACKAGE_NAME libsdpa)
set(CPACK_PACKAGE_VENDOR "libsdpa authors")
set(CPACK_PACKAGE_CONTACT "${SDPA_PACKAGER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_FILE_NAME "libsdpa-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_OUTPUT_FILE_PREFIX "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/package_config.cmake")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL runtime dev tools)
set(CPACK_GENERATOR TGZ)
set(CPACK_SDPA_SOURCE "${PROJECT_SOURCE_DIR}")
set(CPACK_SDPA_GZIP "${SDPA_GZIP}")
set(CPACK_SDPA_TAR "${SDPA_TAR}")
set(CPACK_SDPA_AR "${CMAKE_AR}")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/package_debian.cmake")
set(CPACK_POST_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/package_archive.cmake")

# Sources: in a checkout what git knows, as it stands there, by package_config.cmake; else, in an unpacked
# archive, all but what builds and editors make.
find_program(SDPA_GIT git DOC "git: names the files of the source archive")
mark_as_advanced(SDPA_GIT)
string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" sdpa_source_regex "${PROJECT_SOURCE_DIR}")
string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" sdpa_binary_regex "${PROJECT_BINARY_DIR}")
set(CPACK_SDPA_GIT "${SDPA_GIT}")
set(CPACK_SDPA_BINARY "${PROJECT_BINARY_DIR}")
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME "libsdpa-${PROJECT_VERSION}")
set(CPACK_SOURCE_IGNORE_FILES "^${sdpa_source_regex}/(build/|found/|\\.git(/|$)|CMakeUserPresets\\.json$)"
  "^${sdpa_binary_regex}/" "\\.swp$" "/__pycache__/")

# Debian. CPack writes a postinst and a postrm of its own that run ldconfig, unless it is given some: a trigger
# does it instead, and the scripts named here do not exist.
set(sdpa_soname_package "libsdpa${PROJECT_VERSION_MAJOR}")
set(CPACK_DEBIAN_PACKAGE_EPOCH 1)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0upstream1) # sorts before a first revision of Debian's own
set(sdpa_debian_version
  "${CPACK_DEBIAN_PACKAGE_EPOCH}:${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(CPACK_SDPA_DEBIAN_VERSION "${sdpa_debian_version}")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE libsdpa)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/debian/triggers" CONTENT "activate-noawait ldconfig\n")

# The symbols with the version that each came with: a program depends on no newer library than it needs.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tests/abi/symbols.txt)
file(STRINGS tests/abi/symbols.txt sdpa_symbols)
set(sdpa_nodes "")
set(sdpa_symbol_lines "")
foreach(symbol IN LISTS sdpa_symbols)
  if(NOT symbol MATCHES "^(sdpa_[a-z0-9_]+)@@(SDPA_([0-9]+\\.[0-9]+))$")
    message(FATAL_ERROR "tests/abi/symbols.txt: no symbol and node in \"${symbol}\"")
  endif()
  set(since "${CPACK_DEBIAN_PACKAGE_EPOCH}:${CMAKE_MATCH_3}.0")
  list(APPEND sdpa_nodes " ${CMAKE_MATCH_2}@${CMAKE_MATCH_2} ${since}")
  list(APPEND sdpa_symbol_lines " ${CMAKE_MATCH_1}@${CMAKE_MATCH_2} ${since}")
endforeach()
list(REMOVE_DUPLICATES sdpa_nodes)
list(SORT sdpa_nodes)
list(JOIN sdpa_nodes "\n" sdpa_nodes)
list(JOIN sdpa_symbol_lines "\n" sdpa_symbol_lines)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/debian/symbols" @ONLY
  CONTENT "libsdpa.so.${PROJECT_VERSION_MAJOR} ${sdpa_soname_package} #MINVER#
* Build-Depends-Package: libsdpa-dev\n${sdpa_nodes}\n${sdpa_symbol_lines}\n")

# Debian's name of what the compiler makes code for, by GNU's, under which Debian's compilers keep libraries;
# package_config.cmake refuses to make Debian packages where it is not known.
set(sdpa_debian_archs
  aarch64-linux-gnu arm64 arm-linux-gnueabi armel arm-linux-gnueabihf armhf i386-linux-gnu i386
  loongarch64-linux-gnu loong64 mips64el-linux-gnuabi64 mips64el powerpc64le-linux-gnu ppc64el
  riscv64-linux-gnu riscv64 s390x-linux-gnu s390x x86_64-linux-gnu amd64 x86_64-linux-gnux32 x32)
if(NOT CPACK_DEBIAN_PACKAGE_ARCHITECTURE)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE unknown)
  list(FIND sdpa_debian_archs "${CMAKE_LIBRARY_ARCHITECTURE}" sdpa_at)
  if(CMAKE_LIBRARY_ARCHITECTURE AND NOT sdpa_at EQUAL -1)
    math(EXPR sdpa_at "${sdpa_at} + 1")
    list(GET sdpa_debian_archs ${sdpa_at} CPACK_DEBIAN_PACKAGE_ARCHITECTURE)
  endif()
endif()

# sdpa_debian_package(<component> <package> <section> <summary> <text>...): also where its file goes.
function(sdpa_debian_package component package section)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_FILE_NAME
    "${package}_${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}_${CPACK_DEBIAN_PACKAGE_ARCHITECTURE}.deb"
    PARENT_SCOPE)
  list(JOIN ARGN "\n" text)
  set(CPACK_COMPONENT_${key}_DESCRIPTION "${text}" PARENT_SCOPE)
endfunction()
sdpa_debian_package(runtime ${sdpa_soname_package} libs
  "scaled dot-product attention on CPUs"
  "libsdpa computes softmax(Q K^T scale + bias) V and its gradients on strided"
  "buffers of the caller, exactly and in little memory, with kernels for several"
  "instruction sets, on all cores. Masks, windows, bias, grouped heads and other"
  "options combine." ""
  "This package holds the shared library.")
sdpa_debian_package(dev libsdpa-dev libdevel
  "scaled dot-product attention on CPUs (development files)"
  "libsdpa computes softmax(Q K^T scale + bias) V and its gradients on strided"
  "buffers of the caller, exactly and in little memory." ""
  "This package holds the header, the static library, files for CMake and"
  "pkg-config, the manual pages, documents and examples. It has nothing to do"
  "with the solver of semidefinite programs whose development files Debian has"
  "under this name.")
sdpa_debian_package(tools sdpa-tools science
  "scaled dot-product attention on CPUs (programs)"
  "libsdpa computes softmax(Q K^T scale + bias) V and its gradients on strided"
  "buffers of the caller, exactly and in little memory." ""
  "This package holds sdpa-bench, which measures how fast and how accurate the"
  "library is on a machine, and sdpa-lesson, which computes the figures of a"
  "lesson on attention.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/src") # no package has that library yet
if(SDPA_SHARED_TOOLS OR NOT SDPA_BUILD_STATIC)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${sdpa_soname_package} (>= ${sdpa_debian_version})")
endif()
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
  "${PROJECT_BINARY_DIR}/debian/triggers;${PROJECT_BINARY_DIR}/debian/symbols;\
${PROJECT_BINARY_DIR}/debian/none/postinst;\
${PROJECT_BINARY_DIR}/debian/none/postrm")
if(CMAKE_LIBRARY_ARCHITECTURE AND CMAKE_INSTALL_LIBDIR MATCHES "/${CMAKE_LIBRARY_ARCHITECTURE}$")
  foreach(key RUNTIME DEV)
    if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.31)
      set(CPACK_DEBIAN_${key}_PACKAGE_MULTIARCH same)
    else() # CPack has no variable for the field, and writes the section as it is given
      string(APPEND CPACK_DEBIAN_${key}_PACKAGE_SECTION "\nMulti-Arch: same")
    endif()
  endforeach()
endif()
# Static programs link the BLAS that the library was built for.
set(sdpa_debian_dev_depends "${sdpa_soname_package} (= ${sdpa_debian_version})")
if(sdpa_bla_vendor STREQUAL "OpenBLAS")
  string(APPEND sdpa_debian_dev_depends ", libopenblas-dev")
elseif(sdpa_bla_vendor STREQUAL "FLAME")
  string(APPEND sdpa_debian_dev_depends ", libblis-dev")
elseif(SDPA_WITH_BLAS)
  string(APPEND sdpa_debian_dev_depends ", libblas-dev")
endif()
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${sdpa_debian_dev_depends}")
set(CPACK_DEBIAN_DEV_PACKAGE_CONFLICTS sdpam)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "gnuplot, libsdpa-dev (= ${sdpa_debian_version})")

include(CPack)
