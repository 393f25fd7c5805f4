/* failing_alloc.c - an allocator for sdpa_options that counts, checks and fails on order
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Before each block stands a header with its size and a tag, so that a release can be checked.
 * Blocks begin at an odd multiple of the alignment: who needs more than was asked for is found.
 */
#include "failing_alloc.h"

#include <stdlib.h>
#include <string.h>

struct header {
  void *raw;
  size_t bytes;
  uint64_t tag;
};

static const uint64_t live_tag = UINT64_C(0x5d9a11f3c0de7a60);

static void *counted_alloc(void *context, size_t bytes, size_t alignment) {
  struct failing_alloc *state = context;
  struct header header = {NULL, bytes, live_tag};
  state->calls++;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    state->bad_size++;
    return NULL;
  }
  if (state->calls == state->fail_at) return NULL;
  if (bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 8) return NULL;
  header.raw = malloc(bytes + 3 * alignment + sizeof header);
  if (!header.raw) return NULL;
  uintptr_t place = (uintptr_t)header.raw + sizeof header;
  place = (place + alignment - 1) / alignment * alignment;
  if (place / alignment % 2 == 0) place += alignment;
  unsigned char *block = (unsigned char *)header.raw + (place - (uintptr_t)header.raw);
  memcpy(block - sizeof header, &header, sizeof header);
  memset(block, 0xA5, bytes);
  state->live++;
  return block;
}

static void counted_release(void *context, void *block, size_t bytes) {
  struct failing_alloc *state = context;
  struct header header;
  memcpy(&header, (unsigned char *)block - sizeof header, sizeof header);
  if (header.tag != live_tag || header.bytes != bytes) {
    state->bad_free++;
    return;
  }
  state->live--;
  free(header.raw);
}

void failing_alloc_install(struct failing_alloc *state, sdpa_options *options) {
  options->alloc = counted_alloc;
  options->release = counted_release;
  options->alloc_ctx = state;
}
