/* guard_pages.h - memory that ends, or begins, at a page that cannot be touched
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A read or write past that edge is a SIGSEGV at once, also from a BLAS or from assembly, which no
 * sanitizer instruments.
 */
#ifndef GUARD_PAGES_H
#define GUARD_PAGES_H

#include <stddef.h>

enum guard_side {
  GUARD_END,  /* the byte after the last one is out of bounds */
  GUARD_BEGIN /* the byte before the first one is */
};

struct guard_block {
  unsigned char *data; /* `bytes` bytes, zero; with GUARD_END aligned only as their number allows */
  void *map;
  size_t map_bytes;
};

/* At least `before` and `after` bytes of address space on the two sides are inaccessible, apart
 * from less than a page on the side that is not guarded. bytes = 0 is legal. Returns 0, or -1. */
int guard_alloc(struct guard_block *block, size_t bytes, size_t before, size_t after,
                enum guard_side side);

/* Also for a zeroed block. */
void guard_free(struct guard_block *block);

#endif
