/* problem_string.h - one line of text that says a problem completely: parser and printer
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests, sdpa-bench and bug reports name problems by these strings, for example
 * f32:b2:h16/4:q1024:k2048:d64/80:causal-br:win=128,0:mask:softcap=30:lens:lse:seed=7.
 * docs/problem-strings.md has the grammar. A string says types, sizes, options, strides and the
 * seed of the data; it does not say whether the library at hand serves it (16-bit types and `bwd`
 * parse).
 */
#ifndef PROBLEM_STRING_H
#define PROBLEM_STRING_H

#include <stddef.h>
#include <stdint.h>

#include <sdpa/sdpa.h>

#include "problem_shape.h"

enum { PROBLEM_LIST_MAX = 64, PROBLEM_STRING_MAX = 6144, PROBLEM_MESSAGE_MAX = 256 };

/* One number a batch entry. given = 0: to be drawn from the seed; items past count are 0. */
struct problem_list {
  int32_t given;
  int32_t count;
  int64_t item[PROBLEM_LIST_MAX];
};

/* Everything a problem string says. Fields of options that are not set are 0, strides of tensors
 * that the problem does not have too, and there is no padding: equal specs have equal bytes. */
struct problem_spec {
  sdpa_problem problem;
  uint32_t precision; /* SDPA_PRECISION_... */
  uint32_t backward;  /* 1: the gradients are asked for; the problem then has output and lse */
  uint64_t seed;
  struct problem_list key_lens, query_lens, offsets;
};

/* Reads `text`. Returns 0, or -1 and a sentence with the position (characters count from 1) in
 * `message`; then *spec is not to be used. `message` is always terminated. */
int problem_parse(const char *text, struct problem_spec *spec, char *message, size_t message_bytes);

/* 1 if the spec has strides for this tensor: one that the problem declares, and one of the backward
 * pass where the gradients are asked for. grad_lse has those of lse. */
static inline int problem_spec_places(const struct problem_spec *spec, enum problem_tensor tensor) {
  if (tensor >= PROBLEM_GRAD_OUTPUT && (!spec->backward || tensor == PROBLEM_GRAD_LSE)) return 0;
  return problem_declares(&spec->problem, tensor);
}

/* Writes the canonical string of a spec, as snprintf: returns the full length, always terminates.
 * problem_parse() of the string gives the same bytes again, and no string is longer than
 * PROBLEM_STRING_MAX - 1. */
size_t problem_print(const struct problem_spec *spec, char *text, size_t text_bytes);

#endif
