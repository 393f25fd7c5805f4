# AArch64 Linux: NEON kernels.
#
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install gcc-aarch64-linux-gnu libopenblas-dev:arm64 libcmocka-dev:arm64 \
#     libmpfr-dev:arm64 libgomp1:arm64
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(sdpa_cross aarch64-linux-gnu)
set(sdpa_cross_emulator qemu-aarch64)
set(sdpa_cross_loader /lib/ld-linux-aarch64.so.1)
include("${CMAKE_CURRENT_LIST_DIR}/debian_cross.cmake")
