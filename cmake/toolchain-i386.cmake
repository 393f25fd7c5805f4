# 32-bit x86 Linux with SSE2: kernels in plain C, 32-bit pointers.
#
#   dpkg --add-architecture i386 && apt-get update
#   apt-get install gcc-i686-linux-gnu libopenblas-dev:i386 libcmocka-dev:i386 \
#     libmpfr-dev:i386 libgomp1:i386
#
# SSE2 is asked for because the x87 unit computes in another precision than the type's, which the library
# refuses to be compiled with: its results would not be those that it promises.
set(CMAKE_SYSTEM_PROCESSOR i686)
set(sdpa_cross i686-linux-gnu)
set(sdpa_cross_emulator qemu-i386)
set(sdpa_cross_loader /lib/ld-linux.so.2)
set(CMAKE_C_FLAGS_INIT "-msse2 -mfpmath=sse")
set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")
include("${CMAKE_CURRENT_LIST_DIR}/debian_cross.cmake")
