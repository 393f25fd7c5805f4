/* cpu_features.c - CPUID and XGETBV, asked and read by hand
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * By hand and not by __builtin_cpu_supports: that one keeps the answer in a table filled by a
 * constructor of the compiler's runtime, and it has no word for the policy. Bit positions: Intel 64
 * and IA-32 Architectures Software Developer's Manual, volume 2 (CPUID) and volume 1, chapter 13
 * (XCR0).
 */
#include "runtime/cpu_features.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

enum {
  LEAF1_ECX_FMA = 1 << 12,
  LEAF1_ECX_POPCNT = 1 << 23,
  LEAF1_ECX_OSXSAVE = 1 << 27,
  LEAF1_ECX_AVX = 1 << 28,
  LEAF1_ECX_F16C = 1 << 29,
  LEAF7_EBX_AVX2 = 1 << 5,
  LEAF7_EBX_AVX512F = 1 << 16,
  LEAF7_EBX_AVX512DQ = 1 << 17,
  LEAF7_EBX_AVX512BW = 1 << 30,
  LEAF7_EDX_AMX_BF16 = 1 << 22,
  LEAF7_EDX_AMX_TILE = 1 << 24
};
#define LEAF7_EBX_AVX512VL (UINT32_C(1) << 31)

enum {
  XCR0_YMM = 0x06,     /* xmm and the upper halves of ymm */
  XCR0_ZMM = 0xe6,     /* those, the mask registers, the upper halves of zmm0-15, and zmm16-31 */
  XCR0_TILES = 3 << 17 /* tile configuration and tile data */
};

static int has_all(uint64_t word, uint64_t bits) {
  return (word & bits) == bits;
}

/* Intel's client cores Cannon Lake, Ice Lake, Tiger Lake and Rocket Lake build their one 512-bit
 * FMA unit from the two 256-bit ones of ports 0 and 1; the second unit on port 5 is in the server
 * cores only. Peak arithmetic is then the same for both widths, while 512-bit work lowers the
 * clock, so 256-bit vectors are at least as fast. Some small Xeons lack the unit too, but share
 * their model number with those that have it. AMD's cores keep their clock at either width. */
static int has_single_512_bit_fma(const struct sdpai_cpuid *id) {
  if (memcmp(id->vendor, "GenuineIntel", 12) != 0) return 0;
  uint32_t family = (id->leaf1_eax >> 8) & 0xf;
  if (family != 6) return 0;
  uint32_t model = ((id->leaf1_eax >> 12) & 0xf0) | ((id->leaf1_eax >> 4) & 0x0f);
  switch (model) {
  case 0x66: /* Cannon Lake */
  case 0x7d: /* Ice Lake, client */
  case 0x7e:
  case 0x8c: /* Tiger Lake */
  case 0x8d:
  case 0xa7: /* Rocket Lake */
    return 1;
  default:
    return 0;
  }
}

uint32_t sdpai_cpu_decode(const struct sdpai_cpuid *id) {
  uint32_t features = 0;
  if (id->max_leaf < 7) return 0;
  if (!has_all(id->leaf1_ecx, LEAF1_ECX_OSXSAVE | LEAF1_ECX_AVX)) return 0;
  if (has_all(id->leaf1_ecx, LEAF1_ECX_FMA | LEAF1_ECX_POPCNT | LEAF1_ECX_F16C) &&
      has_all(id->leaf7_ebx, LEAF7_EBX_AVX2) && has_all(id->xcr0, XCR0_YMM))
    features |= SDPAI_CPU_AVX2;
  if ((features & SDPAI_CPU_AVX2) && has_all(id->xcr0, XCR0_ZMM) &&
      has_all(id->leaf7_ebx,
              LEAF7_EBX_AVX512F | LEAF7_EBX_AVX512DQ | LEAF7_EBX_AVX512BW | LEAF7_EBX_AVX512VL))
    features |= SDPAI_CPU_AVX512;
  if ((features & SDPAI_CPU_AVX512) && has_all(id->xcr0, XCR0_TILES) &&
      has_all(id->leaf7_edx, LEAF7_EDX_AMX_TILE | LEAF7_EDX_AMX_BF16))
    features |= SDPAI_CPU_AMX;
  if ((features & SDPAI_CPU_AVX512) && !has_single_512_bit_fma(id))
    features |= SDPAI_CPU_512_BITS_WORTH_IT;
  return features;
}

#if defined(__x86_64__) && defined(__GNUC__)
/* XCR0. The instruction itself and not _xgetbv(), which needs -mxsave in a file that must run
 * anywhere; legal only where CPUID shows OSXSAVE. */
static uint64_t read_xcr0(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return ((uint64_t)high << 32) | low;
}

uint32_t sdpai_cpu_detect(void) {
  struct sdpai_cpuid id;
  uint32_t eax, ebx, ecx, edx;
  memset(&id, 0, sizeof id);
  if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx)) return 0;
  id.max_leaf = eax;
  memcpy(id.vendor, &ebx, 4);
  memcpy(id.vendor + 4, &edx, 4);
  memcpy(id.vendor + 8, &ecx, 4);
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return 0;
  id.leaf1_eax = eax;
  id.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    id.leaf7_ebx = ebx;
    id.leaf7_edx = edx;
  }
  if (id.leaf1_ecx & LEAF1_ECX_OSXSAVE) id.xcr0 = read_xcr0();
  return sdpai_cpu_decode(&id);
}
#else
uint32_t sdpai_cpu_detect(void) {
  return 0;
}
#endif
