/* compiler.h - the compiler's extensions that the library uses, each under one name
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_COMPILER_H
#define SDPAI_COMPILER_H

#include <float.h>

/* Error bounds, splits into exact parts and equal bits of kernels and engines all rest on it. */
#if FLT_EVAL_METHOD != 0
#error "float and double must be evaluated in their own precision: compile for 32-bit x86 with \
-msse2 -mfpmath=sse, with gcc for s390x with -fexcess-precision=fast"
#endif

/* Where lines and branches are counted, a function is counted once, not once for each caller. */
#if defined(__GNUC__) && !defined(SDPAI_COVERAGE)
#define SDPAI_INLINE static inline __attribute__((always_inline))
#else
#define SDPAI_INLINE static inline
#endif

#if defined(__GNUC__)
#define SDPAI_NOINLINE       __attribute__((noinline))
#define SDPAI_LIKELY(x)      __builtin_expect(!!(x), 1)
#define SDPAI_UNLIKELY(x)    __builtin_expect(!!(x), 0)
#define SDPAI_PRINTF(fmt, a) __attribute__((format(printf, fmt, a)))
#define SDPAI_PREFETCH(p)    __builtin_prefetch((p), 0, 3) /* for reading, into L1 */
#define SDPAI_PREFETCH_L2(p) __builtin_prefetch((p), 0, 2)
#define SDPAI_UNROLL(n)      SDPAI_PRAGMA_(GCC unroll n)
#define SDPAI_PRAGMA_(x)     _Pragma(#x)
#define SDPAI_CONSTRUCTOR    __attribute__((constructor))
#define SDPAI_DESTRUCTOR     __attribute__((destructor))
#define SDPAI_WEAK           __attribute__((weak)) /* a function that need not be there */
#else
#define SDPAI_NOINLINE
#define SDPAI_LIKELY(x)   (x)
#define SDPAI_UNLIKELY(x) (x)
#define SDPAI_PRINTF(fmt, a)
#define SDPAI_PREFETCH(p)
#define SDPAI_PREFETCH_L2(p)
#define SDPAI_UNROLL(n)
#define SDPAI_CONSTRUCTOR
#define SDPAI_DESTRUCTOR
#endif

/* In a loop that waits for another thread: leaves the core to its sibling for a moment. */
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define SDPAI_PAUSE() __builtin_ia32_pause()
#elif defined(__GNUC__) && defined(__aarch64__)
#define SDPAI_PAUSE() __asm__ volatile("isb")
#else
#define SDPAI_PAUSE() ((void)0)
#endif

#endif
