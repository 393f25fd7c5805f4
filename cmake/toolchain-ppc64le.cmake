# 64-bit little-endian POWER Linux (Debian's ppc64el): kernels in plain C.
#
#   dpkg --add-architecture ppc64el && apt-get update
#   apt-get install gcc-powerpc64le-linux-gnu libopenblas-dev:ppc64el libcmocka-dev:ppc64el \
#     libmpfr-dev:ppc64el libgomp1:ppc64el
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(sdpa_cross powerpc64le-linux-gnu)
set(sdpa_cross_emulator qemu-ppc64le)
set(sdpa_cross_loader /lib64/ld64.so.2)
include("${CMAKE_CURRENT_LIST_DIR}/debian_cross.cmake")
