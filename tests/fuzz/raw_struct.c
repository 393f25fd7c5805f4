/* raw_struct.c - public structs whose bytes a fuzzer chooses
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Bytes that are drawn alone hardly ever pass the checks, so an edit changes one field of a struct
 * that is right: the next check is then reached with all the others passed.
 */
#include "raw_struct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random_problem.h"

enum { MOST_EDITS = 6, MOST_SIZE = 2048 };

int64_t raw_number(struct fuzz_bytes *in) {
  static const int64_t edges[] = {INT64_MAX, INT64_MIN,       INT64_MIN + 1,    INT64_MAX / 2,
                                  INT32_MAX, UINT32_MAX,      INT64_C(1) << 31, INT64_C(1) << 36,
                                  -1,        INT64_C(1) << 20};
  const uint32_t kind = fuzz_below(in, 16);
  if (kind == 0) return (int64_t)fuzz_take(in, 8);
  if (kind == 1) return edges[fuzz_below(in, sizeof edges / sizeof *edges)];
  if (kind == 2) return (int8_t)fuzz_take(in, 1);
  return (int64_t)fuzz_below(in, 12);
}

/* One field of four or eight bytes. */
static void edit_field(struct fuzz_bytes *in, unsigned char *object, size_t bytes) {
  static const double reals[] = {(double)NAN, (double)INFINITY, -1.0, 1e300, 1e-320, 0.5, 1.0,
                                 -0.0};
  const size_t at = (size_t)fuzz_take(in, 1) * 4 % (bytes / 4 * 4);
  size_t width = at + 8 <= bytes ? 8 : 4;
  uint64_t value;
  memcpy(&value, object + at, width == 8 ? 8 : 4);
  const uint32_t kind = fuzz_below(in, 8);
  if (kind < 3) {
    value = (uint64_t)raw_number(in);
    if (kind > 0) width = 4;
  } else if (kind < 5) {
    value = UINT64_C(1) << fuzz_below(in, 32);
    width = 4;
    uint32_t old;
    memcpy(&old, object + at, sizeof old);
    value ^= old;
  } else if (kind < 6) {
    memcpy(&value, &reals[fuzz_below(in, sizeof reals / sizeof *reals)], sizeof value);
  } else {
    value = fuzz_take(in, (int)width);
  }
  memcpy(object + at, &value, width);
}

void raw_edit(struct fuzz_bytes *in, void *object, size_t bytes) {
  const uint32_t edits = fuzz_below(in, MOST_EDITS + 2);
  if (edits > MOST_EDITS) {
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)object)[i] = (uint8_t)fuzz_take(in, 1);
    return;
  }
  for (uint32_t i = 0; i < edits; i++) edit_field(in, object, bytes);
}

void raw_make(struct raw_struct *raw, struct fuzz_bytes *in, const void *object, size_t bytes) {
  uint32_t size;
  memcpy(&size, object, sizeof size);
  if (size > MOST_SIZE) size = (uint32_t)bytes + size % MOST_SIZE;
  raw->count = size < sizeof size ? sizeof size : size;
  raw->bytes = fuzz_block(raw->count);
  raw->copy = fuzz_block(raw->count);
  memset(raw->bytes, 0, raw->count);
  memcpy(raw->bytes, object, raw->count < bytes ? raw->count : bytes);
  memcpy(raw->bytes, &size, sizeof size);
  if (size > bytes && fuzz_below(in, 4) == 1)
    raw->bytes[bytes + fuzz_take(in, 2) % (size - bytes)] = (uint8_t)fuzz_take(in, 1);
  memcpy(raw->copy, raw->bytes, raw->count);
}

void raw_unchanged(const struct raw_struct *raw, const char *name) {
  fuzz_require(memcmp(raw->bytes, raw->copy, raw->count) == 0, "%s was written", name);
}

void raw_free(struct raw_struct *raw) {
  free(raw->bytes);
  free(raw->copy);
  raw->bytes = raw->copy = NULL;
}

void raw_problem(struct fuzz_bytes *in, int backward, sdpa_problem *problem) {
  static const struct random_problem_options little = {.most_work = 2000};
  static struct problem_spec spec;
  random_problem_tape(NULL, 0, fuzz_take(in, 2), backward, &little, &spec);
  *problem = spec.problem;
  raw_edit(in, problem, sizeof *problem);
}
