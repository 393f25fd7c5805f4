/* bench_memory.h - how much memory a problem takes, measured in a process of its own
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sdpa-bench starts itself anew with a hidden option. The child notes its resident memory, makes
 * the problem's data, runs it once and reports the high-water mark of its resident memory; nothing
 * else of the bench (yardsticks, reference) is in it.
 */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stdint.h>

#include "bench_case.h"

#define BENCH_MEMORY_OPTION "memory-of-one-run"

struct bench_memory {
  int64_t start, peak; /* bytes; both -1 where they cannot be had */
};

/* In the parent: runs the child and waits for it. */
void bench_memory_measure(const char *problem, const struct bench_choice *choice,
                          struct bench_memory *memory);

/* In the child: prints the two numbers. Returns an exit status. */
int bench_memory_child(const char *problem, const struct bench_choice *choice);

#endif
