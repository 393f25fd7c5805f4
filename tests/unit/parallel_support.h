/* parallel_support.h - what the tests of threads share
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PARALLEL_SUPPORT_H
#define PARALLEL_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <sys/types.h>

#include "runtime/parallel.h"

/* Longer than anything here takes on a loaded machine; reaching it is a failure. */
enum { PATIENCE_SECONDS = 60, MOST_ITEMS = 4096 };

/* How often each item ran and which slots did it, checked by counts_check(). */
struct counts {
  int64_t items;
  int32_t slots; /* 0 <= slot < slots */
  _Atomic int32_t runs[MOST_ITEMS];
  _Atomic int32_t slot_busy[SDPAI_MAX_THREADS];
  _Atomic int32_t slot_runs[SDPAI_MAX_THREADS];
  _Atomic int32_t faults; /* an item or slot out of range, or a slot used twice at a time */
};

void counts_init(struct counts *counts, int64_t items, int32_t slots);
void count_item(void *counts, int64_t item, int64_t slot); /* a sdpai_work */

/* Every item ran once, without a fault. Not an assertion: it also serves other threads and forked
 * children, where a failing assertion has nowhere to go. */
int counts_are_right(const struct counts *counts);

/* One counted run; returns whether it ended with 0 and right counts. */
int counted_run(int32_t threads, int64_t items);

/* One run of items each of which waits for all others; returns whether they met: as many threads
 * took part, and the loop did not do everything serially. */
int items_meet(const struct sdpai_parallel *parallel, int32_t items);

/* Waits until *value is at least `wanted`; returns whether it came to that. */
int wait_for(_Atomic int32_t *value, int32_t wanted);

void sleep_microseconds(long microseconds);

/* Threads of this process now, and of those the ones named "sdpa". */
int count_threads(int *named_sdpa);

/* Whether the process comes down to that many: a thread that has been joined is still listed for a
 * moment. */
int threads_become(int count);

/* Skips the test where a sanitizer does not survive its forks. ThreadSanitizer follows no fork of a
 * process with threads. AddressSanitizer's allocator (as of GCC 12) has no fork handlers: a child
 * made while other threads allocate, or are only starting, may wait for their locks for ever. The C
 * library's allocator has them. */
void skip_if_fork_with_threads_fails(void);
void skip_if_fork_beside_running_threads_fails(void);

/* A child process that runs function(arg) and exits with its result: by exit(), so that destructors
 * run. Killed after PATIENCE_SECONDS. */
pid_t start_child(int (*function)(void *arg), void *arg);
int wait_for_child(pid_t child); /* its exit status, or -1 if it had to be killed or crashed */

#endif
