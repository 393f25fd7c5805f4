/* raw_loops.c - parallel_for callbacks for fuzzed options, right ones and wrong ones
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "raw_loops.h"

enum { NONE, FORWARDS, BACKWARDS, WITHOUT_LAST, TWICE, NOTHING, KINDS };

static void run_tasks(void *context, int64_t tasks, sdpa_task task, void *arg) {
  const struct raw_loop *loop = context;
  switch (loop->kind) {
  case BACKWARDS:
    for (int64_t i = tasks; i-- > 0;) task(arg, i);
    break;
  case WITHOUT_LAST:
    for (int64_t i = 0; i + 1 < tasks; i++) task(arg, i);
    break;
  case NOTHING:
    break;
  default:
    for (int64_t i = 0; i < tasks; i++) task(arg, i);
    for (int64_t i = 0; loop->kind == TWICE && i < tasks; i++) task(arg, i);
  }
}

void raw_loop_install(struct raw_loop *loop, struct fuzz_bytes *in, sdpa_options *options) {
  loop->kind = fuzz_below(in, 2 * KINDS);
  options->parallel_for = NULL;
  options->parallel_ctx = NULL;
  if (loop->kind == NONE || loop->kind >= KINDS) return;
  options->parallel_for = run_tasks;
  options->parallel_ctx = loop;
}

int raw_loop_is_wrong(const struct raw_loop *loop) {
  return loop->kind == WITHOUT_LAST || loop->kind == TWICE || loop->kind == NOTHING;
}
