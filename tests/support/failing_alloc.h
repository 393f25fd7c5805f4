/* failing_alloc.h - an allocator for sdpa_options that counts, checks and fails on order
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include <sdpa/sdpa.h>

struct failing_alloc {
  int64_t fail_at;  /* the call that returns NULL, counted from 1; 0: none */
  int64_t calls;    /* calls so far */
  int64_t live;     /* blocks that are not released */
  int64_t bad_free; /* releases with another size, or of what was not allocated */
  int64_t bad_size; /* requests with an alignment that is no power of two */
};

/* Sets alloc, release and alloc_ctx of the options; `state` must outlive what is made with them.
 * New blocks hold 0xA5 in every byte and are aligned to the request and to no more. */
void failing_alloc_install(struct failing_alloc *state, sdpa_options *options);

#endif
