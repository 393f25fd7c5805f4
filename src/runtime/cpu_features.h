/* cpu_features.h - what this CPU and operating system can run, and what is worth running
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Capability ("these instructions work") and policy ("they are worth it here") are separate bits,
 * so that a caller can insist on what the policy advises against. Knows nothing of attention.
 */
#ifndef SDPAI_CPU_FEATURES_H
#define SDPAI_CPU_FEATURES_H

#include <stdint.h>

enum {
  SDPAI_CPU_AVX2 = 1 << 0, /* AVX2, FMA, F16C and POPCNT, and the system saves ymm registers */
  SDPAI_CPU_AVX512 =
      1 << 1, /* AVX-512 F, DQ, BW, VL, and the system saves zmm and mask registers */
  SDPAI_CPU_512_BITS_WORTH_IT = 1 << 2, /* policy: prefer 512-bit vectors to 256-bit ones */
  SDPAI_CPU_AMX = 1 << 3 /* AMX-TILE and AMX-BF16 beside AVX-512, and the system saves tiles, after
                            the permission of tile_permission.h */
};

/* The registers that the decision rests on, as CPUID and XGETBV deliver them. */
struct sdpai_cpuid {
  char vendor[12];   /* leaf 0, EBX EDX ECX: "GenuineIntel"; not terminated */
  uint32_t max_leaf; /* leaf 0, EAX */
  uint32_t leaf1_eax, leaf1_ecx;
  uint32_t leaf7_ebx, leaf7_edx; /* 0 where max_leaf < 7 */
  uint64_t xcr0;                 /* 0 where the system has not switched XGETBV on */
};

/* Bits of SDPAI_CPU_... that `id` means. Pure: the same answer for the same registers. */
uint32_t sdpai_cpu_decode(const struct sdpai_cpuid *id);

/* Bits of this machine; 0 on an architecture other than x86-64. Asks the CPU on every call, which a
 * virtual machine may make slow (CPUID leaves the guest): keep the answer. Safe from any thread. */
uint32_t sdpai_cpu_detect(void);

#endif
