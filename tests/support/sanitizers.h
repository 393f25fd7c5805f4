/* sanitizers.h - which sanitizer the program is compiled for
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * GCC says it by macros, clang by __has_feature.
 */
#ifndef SANITIZERS_H
#define SANITIZERS_H

#ifdef __has_feature
#define COMPILER_FEATURE(name) __has_feature(name)
#else
#define COMPILER_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || COMPILER_FEATURE(address_sanitizer)
#define ADDRESS_SANITIZER 1
#else
#define ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || COMPILER_FEATURE(thread_sanitizer)
#define THREAD_SANITIZER 1
#else
#define THREAD_SANITIZER 0
#endif

#define SANITIZED (ADDRESS_SANITIZER || THREAD_SANITIZER)

#endif
