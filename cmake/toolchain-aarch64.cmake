# Cross build for AArch64 Linux on another Debian machine; programs run in qemu's user emulation.
#
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install gcc-aarch64-linux-gnu qemu-user libopenblas-dev:arm64 libcmocka-dev:arm64 libmpfr-dev:arm64
#
# The libraries lie where Debian's multiarch puts them, which CMake finds by the compiler's own name for
# the architecture, so no root path is set. g++-aarch64-linux-gnu, if installed, compiles the C++ test.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
find_program(SDPA_AARCH64_CXX aarch64-linux-gnu-g++)
mark_as_advanced(SDPA_AARCH64_CXX)
set(CMAKE_CXX_COMPILER ${SDPA_AARCH64_CXX}) # not found: there is none, and not this machine's own

# The C library of libc6:arm64 where that is installed, which the packages above depend on, and the cross
# compiler's otherwise: never the loader of one with the library of the other.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
if(NOT EXISTS /lib/ld-linux-aarch64.so.1)
  list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -L /usr/aarch64-linux-gnu)
endif()
