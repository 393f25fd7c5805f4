/* alloc.h - the allocator of a plan: the caller's pair of functions, or the C library's
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_ALLOC_H
#define SDPAI_ALLOC_H

#include <stddef.h>

struct sdpai_allocator {
  void *(*alloc)(void *ctx, size_t bytes, size_t alignment); /* NULL: the C library's */
  void (*release)(void *ctx, void *block, size_t bytes);
  void *ctx;
};

/* `bytes` > 0 bytes at `alignment` (a power of two), or NULL. A block of a caller's allocator that
 * is not aligned as asked is given back and counts as a failure. Both leave errno as it was. */
void *sdpai_alloc(const struct sdpai_allocator *allocator, size_t bytes, size_t alignment);
void sdpai_release(const struct sdpai_allocator *allocator, void *block, size_t bytes);

#endif
