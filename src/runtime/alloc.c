/* alloc.c - the allocator of a plan: the caller's pair of functions, or the C library's
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200112L
#include "runtime/alloc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

void *sdpai_alloc(const struct sdpai_allocator *allocator, size_t bytes, size_t alignment) {
  int saved = errno;
  void *block = NULL;
  if (allocator->alloc) {
    block = allocator->alloc(allocator->ctx, bytes, alignment);
    if (block && (uintptr_t)block % alignment != 0) {
      allocator->release(allocator->ctx, block, bytes);
      block = NULL;
    }
  } else if (posix_memalign(&block, alignment, bytes) != 0) {
    block = NULL;
  }
  errno = saved;
  return block;
}

void sdpai_release(const struct sdpai_allocator *allocator, void *block, size_t bytes) {
  if (!block) return;
  int saved = errno;
  if (allocator->alloc) {
    allocator->release(allocator->ctx, block, bytes);
  } else {
    free(block);
  }
  errno = saved;
}
