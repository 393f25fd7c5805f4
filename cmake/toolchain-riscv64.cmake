# 64-bit RISC-V Linux: kernels in plain C. Debian 12 has the compiler and not the architecture, so the
# libraries come from a Debian 13 in a folder, which SDPA_RISCV64_SYSROOT names:
#
#   apt-get install gcc-riscv64-linux-gnu debootstrap
#   debootstrap --foreign --arch=riscv64 --variant=minbase \
#     --include=libc6-dev,libcmocka-dev,libmpfr-dev,libopenblas-pthread-dev,libgomp1 trixie "$SDPA_RISCV64_SYSROOT"
#   for file in "$SDPA_RISCV64_SYSROOT"/var/cache/apt/archives/*.deb; do
#     dpkg -x "$file" "$SDPA_RISCV64_SYSROOT"
#   done
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(sdpa_cross riscv64-linux-gnu)
if(NOT DEFINED SDPA_RISCV64_SYSROOT)
  set(SDPA_RISCV64_SYSROOT "$ENV{SDPA_RISCV64_SYSROOT}")
endif()
if(NOT SDPA_RISCV64_SYSROOT OR NOT EXISTS "${SDPA_RISCV64_SYSROOT}/usr/include")
  message(FATAL_ERROR "SDPA_RISCV64_SYSROOT is \"${SDPA_RISCV64_SYSROOT}\"; expected the folder of a riscv64 system")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SDPA_RISCV64_SYSROOT)
set(CMAKE_SYSROOT "${SDPA_RISCV64_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Where the alternatives of a running system would lead.
set(CMAKE_LIBRARY_PATH /usr/lib/riscv64-linux-gnu/openblas-pthread)
set(CMAKE_INCLUDE_PATH /usr/include/riscv64-linux-gnu/openblas-pthread)
# Before the C library that came with the compiler, which is older.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L=/usr/lib/riscv64-linux-gnu")
endforeach()
set(sdpa_cross_emulator qemu-riscv64 -L "${SDPA_RISCV64_SYSROOT}")
set(sdpa_cross_loader "${SDPA_RISCV64_SYSROOT}/lib/ld-linux-riscv64-lp64d.so.1")
include("${CMAKE_CURRENT_LIST_DIR}/debian_cross.cmake")
