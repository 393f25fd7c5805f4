/* kernel_tests.h - what the kernel tests share: the list of kernels by ISA, and random numbers
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_KERNEL_TESTS_H
#define TEST_KERNEL_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/kernel_decls.h"
#include "kernels/kernels.h"
#include "sdpa/sdpa.h"

#define TEST_ISA_generic SDPA_ISA_GENERIC
#define TEST_ISA_avx2    SDPA_ISA_AVX2
#define TEST_ISA_avx512  SDPA_ISA_AVX512
#define TEST_ISA_amx     SDPA_ISA_AMX
#define TEST_ISA_neon    SDPA_ISA_NEON

/* The table of `isa`, or NULL if this CPU cannot run it. */
static inline const struct sdpai_kernels *find_table(uint32_t isa) {
  const struct sdpai_kernels *table;
  for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++)
    if (table->isa == isa) return table;
  return NULL;
}

/* Skips the running test if this CPU cannot run the kernels of `isa`. */
static inline void need_isa(uint32_t isa) {
  if (!find_table(isa)) skip();
}

/* Elements of `size` bytes in a vector of `isa`. */
static inline int lanes_of(uint32_t isa, size_t size) {
  switch (isa) {
  case SDPA_ISA_AVX2:
    return (int)(32 / size);
  case SDPA_ISA_AVX512:
  case SDPA_ISA_AMX:
    return (int)(64 / size);
  case SDPA_ISA_NEON:
    return (int)(16 / size);
  default:
    return 1;
  }
}

/* The error of exp that exp_tpl.h claims, in ulps. */
static inline double exp_claimed_ulp(const struct sdpai_kernels *table) {
  return table->isa == SDPA_ISA_GENERIC ? 1.25 : 1;
}

/* splitmix64 (Steele, Lea, Flood 2014): any seed will do. */
static inline uint64_t next_bits(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Uniform in [low, high). */
static inline double next_between(uint64_t *state, double low, double high) {
  return low + (high - low) * ((double)(next_bits(state) >> 11) * 0x1p-53);
}

#endif
