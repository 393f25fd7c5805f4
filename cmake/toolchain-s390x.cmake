# IBM Z Linux: big-endian, kernels in plain C.
#
#   dpkg --add-architecture s390x && apt-get update
#   apt-get install gcc-s390x-linux-gnu libopenblas-dev:s390x libcmocka-dev:s390x \
#     libmpfr-dev:s390x libgomp1:s390x
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(sdpa_cross s390x-linux-gnu)
set(sdpa_cross_emulator qemu-s390x)
set(sdpa_cross_loader /lib/ld64.so.1)
include("${CMAKE_CURRENT_LIST_DIR}/debian_cross.cmake")
