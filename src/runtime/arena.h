/* arena.h - carving one block of memory into named parts
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The same carving function runs twice: with base NULL when a plan is made, to learn the bytes, and
 * with the workspace when it is executed. So the two cannot disagree. Every part starts on a
 * multiple of SDPAI_ARENA_ALIGNMENT.
 */
#ifndef SDPAI_ARENA_H
#define SDPAI_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/checked_math.h"

/* One cache line, and one vector of the widest ISA. */
#define SDPAI_ARENA_ALIGNMENT 64

struct sdpai_arena {
  char *base;   /* NULL: only count */
  int64_t used; /* bytes so far */
  int overflow; /* the bytes do not fit in ptrdiff_t */
};

/* count * element bytes, or NULL while counting, after an overflow, and for count 0. */
SDPAI_INLINE void *sdpai_arena_take(struct sdpai_arena *arena, int64_t count, size_t element) {
  int64_t bytes, end;
  if (count == 0) return NULL;
  if (!sdpai_checked_mul(count, (int64_t)element, &bytes) ||
      !sdpai_checked_add(arena->used, bytes, &end) ||
      !sdpai_checked_add(end, SDPAI_ARENA_ALIGNMENT - 1, &end) || end > PTRDIFF_MAX) {
    arena->overflow = 1;
    return NULL;
  }
  char *part = arena->base ? arena->base + arena->used : NULL;
  arena->used = end & ~(int64_t)(SDPAI_ARENA_ALIGNMENT - 1);
  return part;
}

#endif
