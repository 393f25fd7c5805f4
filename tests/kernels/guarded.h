/* guarded.h - rows that lie directly between two pages that may not be touched
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A read or write of one byte past a row's end (or before its start) ends the test with a signal; a
 * write into the slack on the row's other side is found by guarded_check().
 */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include <stddef.h>

/* Where a row lies between its guard pages. */
enum placement {
  AT_END,          /* its last byte is the last one before the guard page */
  AT_START,        /* its first byte is the first one after the guard page */
  AT_START_PLUS_1, /* as before, one element later */
  PLACEMENTS
};

struct guarded {
  unsigned char *pages; /* writable bytes between the guards */
  size_t bytes;
  unsigned char *row; /* the last placed row */
  size_t row_bytes;
};

/* Room for rows up to `bytes`. Fails the test if there is none. */
void guarded_create(struct guarded *g, size_t bytes);
void guarded_destroy(struct guarded *g);

/* Copies `count` elements of `size` bytes from `data` (NULL: leaves the filling) to the place;
 * everything else between the guards holds bytes that read as NaN. Returns the row. */
void *guarded_place(struct guarded *g, enum placement where, size_t count, size_t size,
                    const void *data);

/* Fails the test if a byte between the guards but outside the row has changed. */
void guarded_check(const struct guarded *g);

#endif
