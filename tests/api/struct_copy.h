/* struct_copy.h - a struct of any size with a size field, at the end of a page
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The page behind it may not be touched. Where the size is no multiple of 8, the bytes up to there
 * are 0xFF: taken for a field or for a tail they would change the result.
 */
#ifndef SDPA_TESTS_STRUCT_COPY_H
#define SDPA_TESTS_STRUCT_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "guard_pages.h"

/* What 0.1 has. These numbers never change: they are the ABI of 64-bit platforms. */
enum { PROBLEM_0_1 = 424, OPTIONS_0_1 = 64, ARGS_0_1 = 120, INFO_0_1 = 40 };

/* What 0.4 has, likewise. */
enum { PROBLEM_0_4 = 592, ARGS_0_4 = 168, GRADS_0_4 = 88 };

/* Larger sizes are tried up to this many bytes beyond the library's own. */
enum { TAIL = 72 };

/* `size` bytes: what fits of the valid struct, then zeros, with the size field set. To be freed by
 * guard_free(). */
struct guard_block struct_copy(const void *valid, size_t own, uint32_t size);

/* Asserts that behind the struct's `bytes` nothing was written. */
void struct_copy_assert_intact(const struct guard_block *block, size_t bytes);

#endif
