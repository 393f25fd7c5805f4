/* raw_struct.h - public structs whose bytes a fuzzer chooses
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef RAW_STRUCT_H
#define RAW_STRUCT_H

#include "fuzz_support.h"

/* A struct in a block of as many bytes as its size field says, to the byte: one that claims less
 * than it has is cut there, one that claims more has a tail. */
struct raw_struct {
  unsigned char *bytes; /* what the library gets */
  size_t count;
  unsigned char *copy;
};

/* Changes up to a few fields of `object`, or all its bytes. */
void raw_edit(struct fuzz_bytes *in, void *object, size_t bytes);

/* Makes the block from `object`, `bytes` bytes with its size field first. A tail holds 0, or now
 * and then something else in one byte. Sizes beyond some thousand bytes are reduced. */
void raw_make(struct raw_struct *raw, struct fuzz_bytes *in, const void *object, size_t bytes);

/* That the library has written nothing there. */
void raw_unchanged(const struct raw_struct *raw, const char *name);

void raw_free(struct raw_struct *raw);

/* A number of any magnitude, most often a small one. */
int64_t raw_number(struct fuzz_bytes *in);

/* A problem that the library would mostly accept, then edited. */
void raw_problem(struct fuzz_bytes *in, int backward, sdpa_problem *problem);

#endif
