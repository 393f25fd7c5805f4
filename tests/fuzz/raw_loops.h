/* raw_loops.h - parallel_for callbacks for fuzzed options, right ones and wrong ones
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef RAW_LOOPS_H
#define RAW_LOOPS_H

#include "fuzz_support.h"

struct raw_loop {
  uint32_t kind;
};

/* Sets parallel_for and parallel_ctx: one of the loops, or none. `loop` must outlive the plan. */
void raw_loop_install(struct raw_loop *loop, struct fuzz_bytes *in, sdpa_options *options);

/* 1 if the loop does not run every task once. */
int raw_loop_is_wrong(const struct raw_loop *loop);

#endif
