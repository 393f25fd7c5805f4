/* fp_env.h - the default floating-point environment for the length of a call
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Semantics rule 20: a call computes to nearest, without flush-to-zero, traps masked, and leaves
 * rounding mode, FTZ/DAZ, traps and exception flags as it found them. No load or store moves across
 * enter and leave, also under link-time optimisation, and so no arithmetic on numbers in memory.
 * For a number that the caller has in a register, call a function that is not inlined between the
 * two.
 */
#ifndef SDPAI_FP_ENV_H
#define SDPAI_FP_ENV_H

#include "runtime/compiler.h"

#if defined(__x86_64__) && defined(__SSE2__)
/* For the compiler alone: the processor executes in order as far as MXCSR goes. */
#define SDPAI_MEMORY_BARRIER() __asm__ volatile("" : : : "memory")

/* All of the library's arithmetic runs in SSE/AVX registers: MXCSR is the whole state. Writing it
 * is about ten times cheaper than fesetenv(), which counts at n = 3. */
#include <xmmintrin.h>

struct sdpai_fp_env {
  unsigned int mxcsr;
};

SDPAI_INLINE void sdpai_fp_enter(struct sdpai_fp_env *saved) {
  const unsigned int reset_value = 0x1f80; /* Intel SDM vol. 1, 10.2.3: MXCSR at reset */
  saved->mxcsr = _mm_getcsr();
  if (saved->mxcsr != reset_value) _mm_setcsr(reset_value);
  SDPAI_MEMORY_BARRIER();
}

SDPAI_INLINE void sdpai_fp_leave(const struct sdpai_fp_env *saved) {
  SDPAI_MEMORY_BARRIER();
  _mm_setcsr(saved->mxcsr);
}

#elif defined(__aarch64__) && defined(__GNUC__)
/* FPCR holds rounding mode, flush-to-zero, default NaN and traps, and 0 is the default of each;
 * FPSR holds the exception flags (Arm Architecture Reference Manual, C5.2). glibc's fesetenv()
 * would leave the default NaN bit as it is. Writing FPCR synchronises and is slow on some cores:
 * only if it changes. */
#include <stdint.h>

struct sdpai_fp_env {
  uint64_t fpcr, fpsr;
};

SDPAI_INLINE void sdpai_fp_enter(struct sdpai_fp_env *saved) {
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved->fpcr));
  __asm__ volatile("mrs %0, fpsr" : "=r"(saved->fpsr));
  if (saved->fpcr != 0) __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)) : "memory");
}

SDPAI_INLINE void sdpai_fp_leave(const struct sdpai_fp_env *saved) {
  if (saved->fpcr != 0) __asm__ volatile("msr fpcr, %0" : : "r"(saved->fpcr) : "memory");
  __asm__ volatile("msr fpsr, %0" : : "r"(saved->fpsr) : "memory");
}

#else
/* On 32-bit x86 too: there libm computes, and functions return numbers, in the x87 unit, which has
 * modes and flags of its own. */
#include <fenv.h>

struct sdpai_fp_env {
  fenv_t env;
};

SDPAI_INLINE void sdpai_fp_enter(struct sdpai_fp_env *saved) {
  fegetenv(&saved->env);
  fesetenv(FE_DFL_ENV);
}

SDPAI_INLINE void sdpai_fp_leave(const struct sdpai_fp_env *saved) {
  fesetenv(&saved->env);
}
#endif

#endif
