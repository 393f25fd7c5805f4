# What the toolchain files have in common: a cross build for Linux on a Debian machine of another
# architecture, whose programs run in QEMU's user emulation: version 10, docs/porting.md says why and from
# where. Nothing is run while configuring.
#
# Before including it, set
#   CMAKE_SYSTEM_PROCESSOR   the processor, as uname -m names it there
#   sdpa_cross               the compilers' prefix: ${sdpa_cross}-gcc. It is GNU's name of the architecture
#   sdpa_cross_emulator      the program that runs what was built: qemu-...
#   sdpa_cross_loader        the C library's loader on such a machine
#
# The libraries lie where Debian's multiarch puts them, which CMake finds by the compiler's own name for
# the architecture, so no root path is set. ${sdpa_cross}-g++ and -gfortran, if installed, compile what is in
# C++ and Fortran.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${sdpa_cross}-gcc)
find_program(SDPA_CROSS_CXX ${sdpa_cross}-g++)
find_program(SDPA_CROSS_FORTRAN ${sdpa_cross}-gfortran)
mark_as_advanced(SDPA_CROSS_CXX SDPA_CROSS_FORTRAN)
set(CMAKE_CXX_COMPILER ${SDPA_CROSS_CXX}) # not found: there is none, and not this machine's own
set(CMAKE_Fortran_COMPILER ${SDPA_CROSS_FORTRAN})

# The C library of the architecture's own libc6 where that is installed, which the libraries that tests
# need depend on, and the cross compiler's otherwise: never the loader of one with the library of the other.
set(CMAKE_CROSSCOMPILING_EMULATOR ${sdpa_cross_emulator})
if(NOT EXISTS ${sdpa_cross_loader})
  list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -L /usr/${sdpa_cross})
endif()
