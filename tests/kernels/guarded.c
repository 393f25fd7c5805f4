/* guarded.c - rows between guard pages
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "guarded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILLING = 0xff }; /* as a float or double: NaN */

void guarded_create(struct guarded *g, size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  g->bytes = (bytes / page + 1) * page;
  unsigned char *all =
      mmap(NULL, g->bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(all != MAP_FAILED);
  g->pages = all + page;
  assert_int_equal(mprotect(g->pages, g->bytes, PROT_READ | PROT_WRITE), 0);
  g->row = g->pages;
  g->row_bytes = 0;
  memset(g->pages, FILLING, g->bytes);
}

void guarded_destroy(struct guarded *g) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  munmap(g->pages - page, g->bytes + 2 * page);
}

void *guarded_place(struct guarded *g, enum placement where, size_t count, size_t size,
                    const void *data) {
  memset(g->pages, FILLING, g->bytes);
  g->row_bytes = count * size;
  assert_true(g->row_bytes + size <= g->bytes);
  switch (where) {
  case AT_END:
    g->row = g->pages + g->bytes - g->row_bytes;
    break;
  case AT_START_PLUS_1:
    g->row = g->pages + size;
    break;
  default:
    g->row = g->pages;
    break;
  }
  if (data && g->row_bytes > 0) memcpy(g->row, data, g->row_bytes);
  return g->row;
}

/* All bytes are equal if each is equal to the next. */
static int is_filling(const unsigned char *p, size_t count) {
  return count == 0 || (*p == FILLING && memcmp(p, p + 1, count - 1) == 0);
}

void guarded_check(const struct guarded *g) {
  const unsigned char *behind = g->row + g->row_bytes;
  assert_true(is_filling(g->pages, (size_t)(g->row - g->pages)));
  assert_true(is_filling(behind, (size_t)(g->pages + g->bytes - behind)));
}
