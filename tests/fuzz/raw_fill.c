/* raw_fill.c - the functions that fill in structs, and sdpa_merge(), with raw arguments
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "raw_calls.h"

#include <stdlib.h>
#include <string.h>

#include "problem_data.h"
#include "raw_struct.h"

enum { MOST_INIT = 4096 };

/* What an init function may be told a struct has: sizes beyond the block are not drawn, but for
 * those that are refused. */
static void init(struct fuzz_bytes *in) {
  const uint32_t which = fuzz_below(in, 4);
  const size_t size = fuzz_below(in, 8) == 0 ? (size_t)UINT32_MAX + 1 + (size_t)fuzz_take(in, 2)
                                             : (size_t)fuzz_take(in, 2) % MOST_INIT;
  const size_t count = size > MOST_INIT ? 0 : size;
  unsigned char *block = fuzz_below(in, 16) == 1 ? NULL : fuzz_block(count);
  if (block) memset(block, 0xC3, count);
  void *object = block;
  const sdpa_status status = which == 0   ? sdpa_problem_init(object, size)
                             : which == 1 ? sdpa_options_init(object, size)
                             : which == 2 ? sdpa_args_init(object, size)
                                          : sdpa_grads_init(object, size);
  fuzz_known_status(status);
  fuzz_require(status == SDPA_OK || status == SDPA_ERROR_STRUCT_SIZE ||
                   (status == SDPA_ERROR_NULL && !block),
               "init: status %d", (int)status);
  for (size_t i = status == SDPA_OK ? sizeof(uint32_t) : 0; block && i < count; i++)
    fuzz_require(block[i] == (status == SDPA_OK ? 0 : 0xC3), "init: byte %zu, status %d", i,
                 (int)status);
  free(block);
}

static void layout(struct fuzz_bytes *in) {
  sdpa_problem problem;
  struct raw_struct raw;
  raw_problem(in, 0, &problem);
  raw_make(&raw, in, &problem, sizeof problem);
  const uint32_t order = fuzz_below(in, 4) ? 1 + fuzz_below(in, 2) : (uint32_t)fuzz_take(in, 4);
  const sdpa_status status = sdpa_problem_layout((sdpa_problem *)(void *)raw.bytes, order);
  fuzz_known_status(status);
  if (status != SDPA_OK) raw_unchanged(&raw, "the problem");
  fuzz_require(memcmp(raw.bytes, raw.copy,
                      offsetof(sdpa_problem, query) < raw.count ? offsetof(sdpa_problem, query)
                                                                : raw.count) == 0,
               "the layout changes what is not a stride");
  raw_free(&raw);
}

static void broadcast(struct fuzz_bytes *in) {
  sdpa_problem problem;
  struct raw_struct raw;
  sdpa_strides strides, before;
  raw_problem(in, 0, &problem);
  raw_make(&raw, in, &problem, sizeof problem);
  const int64_t sizes[4] = {problem.batch, problem.query_heads, problem.query_len, problem.key_len};
  const int32_t rank =
      fuzz_below(in, 8) == 0 ? (int32_t)fuzz_take(in, 4) : (int32_t)fuzz_below(in, 5);
  const size_t count = rank < 0 || rank > 4 ? 0 : (size_t)rank;
  int64_t *shape = fuzz_block(count * sizeof *shape);
  for (size_t i = 0; i < count; i++) {
    const uint32_t way = fuzz_below(in, 8);
    shape[i] = way == 0 ? raw_number(in) : way < 4 ? 1 : sizes[4 - count + i];
  }
  memset(&strides, 0xC3, sizeof strides);
  before = strides;
  const sdpa_status status =
      sdpa_problem_broadcast((const sdpa_problem *)(const void *)raw.bytes, rank, shape, &strides);
  fuzz_known_status(status);
  raw_unchanged(&raw, "the problem");
  fuzz_require(status == SDPA_OK || memcmp(&strides, &before, sizeof strides) == 0,
               "strides written, status %d", (int)status);
  free(shape);
  raw_free(&raw);
}

void raw_fill(struct fuzz_bytes *in) {
  static void (*const functions[])(struct fuzz_bytes *) = {init, layout, broadcast};
  functions[fuzz_below(in, 3)](in);
}

/* Two parts with data of their own, where the problem is one that may be run. */
static void merge_parts(struct fuzz_bytes *in, const struct problem_spec *spec,
                        const sdpa_problem *problem, const sdpa_options *options) {
  struct problem_data whole, part;
  char message[PROBLEM_MESSAGE_MAX];
  if (problem_data_make(&whole, spec, NULL, message, sizeof message) != 0 ||
      problem_data_make(&part, spec, NULL, message, sizeof message) != 0 ||
      problem_data_snapshot(&whole) != 0 || problem_data_snapshot(&part) != 0)
    fuzz_require(0, "%s", message);
  void *at[4] = {whole.args.output, whole.args.lse, part.args.output, part.args.lse};
  const uint32_t odd = fuzz_below(in, 16);
  if (odd < 4) at[odd] = NULL;
  if (odd >= 4 && odd < 8 && at[odd - 4]) at[odd - 4] = (char *)at[odd - 4] + 1;
  const sdpa_status status = sdpa_merge(problem, options, at[0], at[1], at[2], at[3]);
  fuzz_known_status(status);
  fuzz_require(problem_data_untouched(&whole, status != SDPA_OK, message, sizeof message) == 0,
               "status %d: %s", (int)status, message);
  fuzz_require(problem_data_untouched(&part, 1, message, sizeof message) == 0, "the part: %s",
               message);
  problem_data_free(&whole);
  problem_data_free(&part);
}

void raw_merge(struct fuzz_bytes *in) {
  static struct problem_spec spec;
  struct raw_struct raw;
  sdpa_options options = {.size = sizeof options, .threads = (int32_t)fuzz_below(in, 5)};
  memset(&spec, 0, sizeof spec);
  raw_problem(in, fuzz_below(in, 4) > 0, &spec.problem);
  raw_make(&raw, in, &spec.problem, sizeof spec.problem);
  const sdpa_problem *problem = (const sdpa_problem *)(const void *)raw.bytes;
  const int legal = sdpa_problem_check(problem, &options, NULL, 0) == SDPA_OK;
  if (legal && raw.count < sizeof spec.problem)
    memset((char *)&spec.problem + raw.count, 0, sizeof spec.problem - raw.count);
  if (legal && fuzz_is_small(&spec.problem, 0))
    merge_parts(in, &spec, problem, &options);
  else
    fuzz_known_status(sdpa_merge(problem, &options, NULL, NULL, NULL, NULL));
  raw_unchanged(&raw, "the problem");
  raw_free(&raw);
}
