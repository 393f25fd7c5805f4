/* pool.h - the library's own threads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One pool for the process, started at the first use and grown to what is asked. It serves one
 * caller at a time and never makes one wait for another.
 */
#ifndef SDPAI_POOL_H
#define SDPAI_POOL_H

#include "runtime/parallel.h"

/* Runs task(arg, 0) on the calling thread and, on workers that come in time, task(arg, i) for some
 * of the 0 < i < tasks (2 .. SDPAI_MAX_THREADS), each at most once; returns when those that began
 * have ended. So tasks share their work by a counter, and none returns before it is used up: once
 * one has returned, no further one begins.
 *
 * task(arg, 0) alone runs if the pool serves another caller (or this one: nested calls), if no
 * thread could be started, and after the library's destructor has stopped the pool. */
void sdpai_pool_run(int64_t tasks, sdpai_task task, void *arg);

#endif
