/* fuzz_support.h - what the fuzz harnesses share: reading the input, saying what is wrong
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FUZZ_SUPPORT_H
#define FUZZ_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include <sdpa/sdpa.h>

/* libFuzzer's entry point: one run on `size` bytes; 0. It ends the process where something is
 * wrong. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left of the input. */
struct fuzz_bytes {
  const uint8_t *at, *end;
};

/* The next `bytes` bytes, up to 8, lowest first; 0 beyond the end. */
static inline uint64_t fuzz_take(struct fuzz_bytes *in, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes && in->at < in->end; i++) value |= (uint64_t)*in->at++ << 8 * i;
  return value;
}

/* The next byte, reduced below n. */
static inline uint32_t fuzz_below(struct fuzz_bytes *in, uint32_t n) {
  return (uint32_t)fuzz_take(in, 1) % n;
}

/* Ends the process with a sentence unless `holds`. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void fuzz_require(int holds, const char *format, ...);

/* A block of exactly `bytes` bytes, of which a sanitizer guards the ends. Never NULL. */
void *fuzz_block(size_t bytes);

/* That a status is one that sdpa.h declares, with a text of its own. */
void fuzz_known_status(sdpa_status status);

/* That a check's text is as sdpa.h has it: cut to its room, terminated, empty for SDPA_OK only. */
void fuzz_check_text(sdpa_status status, const char *text, size_t text_bytes);

/* Whether a problem that the library accepts may be run: little memory for its tensors, those of
 * the backward pass among them if that is asked for, and little work. */
int fuzz_is_small(const sdpa_problem *problem, int backward);

#endif
