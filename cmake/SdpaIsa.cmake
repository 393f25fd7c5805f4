# Per-ISA kernel files: one translation unit an ISA with flags of its own, never -march=native.
# No LTO on them or on the CPU detection: link-time inlining could move AVX code into baseline functions.
set(sdpa_flags_avx2 -mavx2 -mfma -mf16c)
set(sdpa_flags_avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512)
set(sdpa_flags_amx ${sdpa_flags_avx512} -mamx-tile -mamx-bf16)

set(sdpa_arch_x86 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(sdpa_arch_x86 ON)
endif()

# Advanced SIMD (NEON) belongs to AArch64: no flags for that. gcc's scheduling before register allocation,
# on for AArch64, moves so many loads up that two of the 24 accumulators of tile_products_3 go through memory
# in its inner loop; without it none does.
set(sdpa_flags_neon $<$<C_COMPILER_ID:GNU>:-fno-schedule-insns>)
set(sdpa_arch_arm64 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(sdpa_arch_arm64 ON)
endif()

# -fno-trapping-math: no kernel looks at exception flags, and without it gcc does not turn comparisons of
# the plain C kernels into vector code (row_exp: 3.6 against 1.3 ns an element). Values are not affected.
# For fuzzers -O0: what is unrolled there, with every sanitizer's checks in it, takes clang minutes to
# optimise. To count lines as well, which optimised code does not keep apart.
function(sdpa_kernel_source file)
  set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
    -fno-lto $<IF:$<OR:$<BOOL:${SDPA_BUILD_FUZZERS}>,$<BOOL:${SDPA_COVERAGE}>>,-O0,-O3>
    -fno-trapping-math ${ARGN})
endfunction()
