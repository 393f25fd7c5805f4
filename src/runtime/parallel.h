/* parallel.h - one loop of independent items over several threads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads are the library's own pool (pool.h) or whatever the caller's parallel_for uses. Either
 * way the items of a run are handed out by one counter, so that a thread that comes late, or never,
 * costs time and not results. Knows nothing of attention.
 */
#ifndef SDPAI_PARALLEL_H
#define SDPAI_PARALLEL_H

#include <stdint.h>

/* More threads than this are never used, whatever is asked. */
#define SDPAI_MAX_THREADS 256

/* The caller's loop: runs task(arg, i) exactly once for each 0 <= i < tasks, in any order, on any
 * threads, serially too, and returns when all have ended. */
typedef void (*sdpai_task)(void *arg, int64_t task);
typedef void (*sdpai_parallel_for)(void *ctx, int64_t tasks, sdpai_task task, void *arg);

struct sdpai_parallel {
  int32_t threads; /* the most to use, the caller's included; 0: default; 1: no other */
  sdpai_parallel_for parallel_for; /* NULL: the library's pool */
  void *ctx;
};

/* One item, with the number of the scratch that it may use. */
typedef void (*sdpai_work)(void *arg, int64_t item, int64_t slot);

/* Runs work(arg, item, slot) for every 0 <= item < items exactly once and returns when all have
 * ended. Items are handed out in increasing order; each runs in the default floating-point
 * environment, and what the thread had before is restored. 0 <= slot < sdpai_parallel_threads(),
 * and no two items with one slot run at the same time. Where a single slot suffices the caller's
 * parallel_for is not called and no other thread is involved.
 *
 * Returns 0, or non-zero if the caller's parallel_for did not run each task exactly once before it
 * returned. Then some items may be missing; but still none was computed twice, none ran beside
 * another of its slot, and none is running any more. The pool always returns 0.
 *
 * Safe from any thread, and from within work: a run that finds the pool busy is done by the calling
 * thread alone. work must not throw, longjmp or end its thread. No cancellation point. Leaves errno
 * alone. */
int sdpai_parallel_run(const struct sdpai_parallel *parallel, int64_t items, sdpai_work work,
                       void *arg);

/* The most slots that a run of `items`, or of fewer, may use: 1 .. SDPAI_MAX_THREADS. */
int32_t sdpai_parallel_threads(const struct sdpai_parallel *parallel, int64_t items);

/* What threads = 0 means, 1 .. SDPAI_MAX_THREADS: SDPA_NUM_THREADS, else the first number of
 * OMP_NUM_THREADS, else sdpai_cpu_count(). A text without a number from 1 upwards is ignored. Read
 * at the first call of this or the next two functions and constant afterwards. */
int32_t sdpai_default_threads(void);

/* CPUs that the process may use: those of the first caller's affinity mask, but no more than its
 * control group's CPU quota, rounded up. At least 1. */
int32_t sdpai_cpu_count(void);

/* The beginning of SDPA_NUM_THREADS if it is set and was ignored, else NULL. */
const char *sdpai_ignored_threads(void);

#endif
