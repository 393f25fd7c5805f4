/* guard_pages.c - memory that ends, or begins, at a page that cannot be touched
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One anonymous mapping without access rights, of which the middle pages are opened.
 */
#define _GNU_SOURCE
#include "guard_pages.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int guard_alloc(struct guard_block *block, size_t bytes, size_t before, size_t after,
                enum guard_side side) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  memset(block, 0, sizeof *block);
  if (bytes > SIZE_MAX / 8 || before > SIZE_MAX / 8 || after > SIZE_MAX / 8) return -1;
  size_t low = (before / page + 1) * page, high = (after / page + 1) * page;
  size_t middle = (bytes + page - 1) / page * page;
  unsigned char *map = mmap(NULL, low + middle + high, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return -1;
  if (middle > 0 && mprotect(map + low, middle, PROT_READ | PROT_WRITE) != 0) {
    munmap(map, low + middle + high);
    return -1;
  }
  block->map = map;
  block->map_bytes = low + middle + high;
  block->data = side == GUARD_END ? map + low + middle - bytes : map + low;
  return 0;
}

void guard_free(struct guard_block *block) {
  if (block->map) munmap(block->map, block->map_bytes);
  memset(block, 0, sizeof *block);
}
