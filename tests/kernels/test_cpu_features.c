/* test_cpu_features.c - what CPUID's registers mean, on machines that are not here
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The register values are those of published CPUID dumps, reduced to the bits that matter: leaf 1
 * ECX has FMA (12), POPCNT (23), OSXSAVE (27), AVX (28), F16C (29); leaf 7 EBX has AVX2 (5), AVX-512 F (16),
 * DQ (17), BW (30), VL (31), EDX AMX-BF16 (22), AMX-TILE (24); XCR0 has the tiles in 17 and 18.
 */
#include "kernel_tests.h"

#include <errno.h>

#include "runtime/cpu_features.h"
#include "runtime/tile_permission.h"

enum {
  AVX2 = SDPAI_CPU_AVX2,
  AVX512 = SDPAI_CPU_AVX512,
  WORTH_IT = SDPAI_CPU_512_BITS_WORTH_IT,
  AMX = SDPAI_CPU_AMX
};
#define LEAF1 (UINT32_C(1) << 12 | UINT32_C(1) << 23 | UINT32_C(7) << 27)
#define TILES (UINT32_C(1) << 22 | UINT32_C(1) << 24)
#define LEAF7 (UINT32_C(1) << 5 | UINT32_C(3) << 16 | UINT32_C(3) << 30)

static const struct {
  const char *machine;
  struct sdpai_cpuid id;
  uint32_t features;
} machines[] = {
    {"Skylake-SP", {"GenuineIntel", 22, 0x50654, LEAF1, LEAF7, 0, 0xe7}, AVX2 | AVX512 | WORTH_IT},
    {"Ice Lake-SP", {"GenuineIntel", 27, 0x606a6, LEAF1, LEAF7, 0, 0xe7}, AVX2 | AVX512 | WORTH_IT},
    {"Sapphire Rapids",
     {"GenuineIntel", 32, 0x806f8, LEAF1, LEAF7, TILES, 0x602e7},
     AVX2 | AVX512 | WORTH_IT | AMX},
    {"Granite Rapids",
     {"GenuineIntel", 35, 0xa06d1, LEAF1, LEAF7, TILES | UINT32_C(1) << 25, 0x602e7},
     AVX2 | AVX512 | WORTH_IT | AMX},
    {"tiles that the system does not save",
     {"GenuineIntel", 32, 0x806f8, LEAF1, LEAF7, TILES, 0x2e7},
     AVX2 | AVX512 | WORTH_IT},
    {"tile configuration saved alone",
     {"GenuineIntel", 32, 0x806f8, LEAF1, LEAF7, TILES, 0x202e7},
     AVX2 | AVX512 | WORTH_IT},
    {"tiles of bytes alone",
     {"GenuineIntel", 32, 0x806f8, LEAF1, LEAF7, UINT32_C(1) << 24 | UINT32_C(1) << 25, 0x602e7},
     AVX2 | AVX512 | WORTH_IT},
    {"bf16 products without tiles",
     {"GenuineIntel", 32, 0x806f8, LEAF1, LEAF7, UINT32_C(1) << 22, 0x602e7},
     AVX2 | AVX512 | WORTH_IT},
    {"tiles without AVX-512", {"GenuineIntel", 32, 0x806f8, LEAF1, 1 << 5, TILES, 0x602e7}, AVX2},
    {"Zen 4", {"AuthenticAMD", 16, 0xa60f12, LEAF1, LEAF7, 0, 0xe7}, AVX2 | AVX512 | WORTH_IT},
    {"Ice Lake client", {"GenuineIntel", 27, 0x706e5, LEAF1, LEAF7, 0, 0xe7}, AVX2 | AVX512},
    {"Tiger Lake", {"GenuineIntel", 27, 0x806c1, LEAF1, LEAF7, 0, 0xe7}, AVX2 | AVX512},
    {"Rocket Lake", {"GenuineIntel", 27, 0xa0671, LEAF1, LEAF7, 0, 0xe7}, AVX2 | AVX512},
    {"Cannon Lake", {"GenuineIntel", 22, 0x60663, LEAF1, LEAF7, 0, 0xe7}, AVX2 | AVX512},
    {"the model of Ice Lake client from another vendor",
     {"AuthenticAMD", 27, 0x706e5, LEAF1, LEAF7, 0, 0xe7},
     AVX2 | AVX512 | WORTH_IT},
    {"Zen 3", {"AuthenticAMD", 16, 0xa20f10, LEAF1, 1 << 5, 0, 0x7}, AVX2},
    {"no zmm state in the system", {"GenuineIntel", 22, 0x50654, LEAF1, LEAF7, 0, 0x7}, AVX2},
    {"no mask registers", {"GenuineIntel", 22, 0x50654, LEAF1, LEAF7, 0, 0xc7}, AVX2},
    {"no upper ymm halves", {"GenuineIntel", 22, 0x50654, LEAF1, LEAF7, 0, 0xe3}, 0},
    {"no OSXSAVE", {"GenuineIntel", 22, 0x50654, LEAF1 & ~(UINT32_C(1) << 27), LEAF7, 0, 0}, 0},
    {"no FMA", {"GenuineIntel", 22, 0x50654, LEAF1 & ~(UINT32_C(1) << 12), LEAF7, 0, 0xe7}, 0},
    {"no POPCNT", {"GenuineIntel", 22, 0x50654, LEAF1 & ~(UINT32_C(1) << 23), LEAF7, 0, 0xe7}, 0},
    {"no F16C", {"GenuineIntel", 22, 0x50654, LEAF1 & ~(UINT32_C(1) << 29), LEAF7, 0, 0xe7}, 0},
    {"no AVX-512 BW",
     {"GenuineIntel", 22, 0x50654, LEAF1, LEAF7 & ~(UINT32_C(1) << 30), 0, 0xe7},
     AVX2},
    {"no AVX-512 VL",
     {"GenuineIntel", 22, 0x50654, LEAF1, LEAF7 & ~(UINT32_C(1) << 31), 0, 0xe7},
     AVX2},
    {"no AVX-512 DQ",
     {"GenuineIntel", 22, 0x50654, LEAF1, LEAF7 & ~(UINT32_C(1) << 17), 0, 0xe7},
     AVX2},
    {"Knights Landing: F alone",
     {"GenuineIntel", 13, 0x50671, LEAF1, 1 << 5 | 1 << 16, 0, 0xe7},
     AVX2},
    {"leaves above 6 hidden", {"GenuineIntel", 6, 0x50654, LEAF1, LEAF7, 0, 0xe7}, 0},
    {"nothing", {"", 0, 0, 0, 0, 0, 0}, 0},
};

static void test_machines(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    uint32_t features = sdpai_cpu_decode(&machines[i].id);
    if (features != machines[i].features) print_error("%s\n", machines[i].machine);
    assert_int_equal(features, machines[i].features);
  }
}

/* This machine against the compiler's own opinion of it. clang 14 knows no name for F16C, which
 * every CPU with AVX2 has had so far. */
static void test_this_machine(void **state) {
  (void)state;
  uint32_t features = sdpai_cpu_detect();
#if defined(SDPAI_ARCH_X86) && defined(__GNUC__)
  int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#ifndef __clang__
  avx2 = avx2 && __builtin_cpu_supports("f16c");
#endif
  int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  assert_int_equal(!!(features & SDPAI_CPU_AVX2), avx2);
  assert_int_equal(!!(features & SDPAI_CPU_AVX512), avx512);
  /* gcc 12 and clang 14 have no opinion of tiles */
  if (features & SDPAI_CPU_AMX) assert_true(avx512);
#else
  assert_int_equal(features, 0);
#endif
  assert_int_equal(features, sdpai_cpu_detect());
}

#ifdef SDPAI_ARCH_X86
/* A CPU without tiles has none to lend. The answer stays, and errno is the caller's. */
static void test_tile_permission(void **state) {
  (void)state;
  errno = 77;
  const int permitted = sdpai_tiles_permitted();
  assert_int_equal(errno, 77);
  if (!(sdpai_cpu_detect() & SDPAI_CPU_AMX)) assert_false(permitted);
  assert_int_equal(sdpai_tiles_permitted(), permitted);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_machines),
      cmocka_unit_test(test_this_machine),
#ifdef SDPAI_ARCH_X86
      cmocka_unit_test(test_tile_permission),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
