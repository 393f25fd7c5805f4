/* parallel.c - one loop of independent items over several threads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "runtime/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "runtime/checked_math.h"
#include "runtime/fp_env.h"
#include "runtime/pool.h"

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): which is the purpose */
struct loop {
  sdpai_work work;
  void *arg;
  int64_t items;
  alignas(64) _Atomic int64_t next; /* the first item not handed out; on a line of its own */
};

/* Takes items until none is left. */
static void work_off(struct loop *loop, int64_t slot) {
  struct sdpai_fp_env saved;
  sdpai_fp_enter(&saved);
  for (;;) {
    int64_t item = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed);
    if (item >= loop->items) break;
    loop->work(loop->arg, item, slot);
  }
  sdpai_fp_leave(&saved);
}

static void run_pool_task(void *arg, int64_t task) {
  work_off(arg, task);
}

/* A loop through the caller's parallel_for, which is not trusted. */
struct callback_loop {
  struct loop loop;
  int64_t tasks;
  _Atomic uint64_t begun[SDPAI_MAX_THREADS / 64]; /* one bit a task */
  _Atomic int64_t ended;                          /* tasks */
  _Atomic int32_t running;                        /* calls of run_callback_task */
  _Atomic int32_t fault;                          /* a task that does not exist, or ran twice */
};

static void run_callback_task(void *arg, int64_t task) {
  struct callback_loop *callback = arg;
  atomic_fetch_add(&callback->running, 1);
  if (task < 0 || task >= callback->tasks) {
    atomic_store(&callback->fault, 1);
  } else {
    uint64_t bit = UINT64_C(1) << (task % 64);
    if (atomic_fetch_or(&callback->begun[task / 64], bit) & bit) {
      atomic_store(&callback->fault, 1);
    } else {
      work_off(&callback->loop, task);
      atomic_fetch_add(&callback->ended, 1);
    }
  }
  atomic_fetch_sub(&callback->running, 1); /* the last access: the loop may be gone after it */
}

static int run_callback(const struct sdpai_parallel *parallel, int64_t tasks, int64_t items,
                        sdpai_work work, void *arg) {
  struct callback_loop callback = {.loop = {work, arg, items, 0}, .tasks = tasks};
  int cancel;
  /* As in sdpai_pool_run(): the loop is on this stack, and it may wait for the tasks of others. */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  parallel->parallel_for(parallel->ctx, tasks, run_callback_task, &callback);
  pthread_setcancelstate(cancel, &cancel);
  if (atomic_load(&callback.ended) == tasks && !atomic_load(&callback.fault) &&
      atomic_load(&callback.running) == 0)
    return 0;
  /* A parallel_for that returns too early would leave tasks at work on memory that the caller of
   * the library is about to reuse: no more items for them, and an end to those at hand. */
  atomic_store(&callback.loop.next, items);
  while (atomic_load(&callback.running) > 0) sched_yield();
  return 1;
}

int32_t sdpai_parallel_threads(const struct sdpai_parallel *parallel, int64_t items) {
  int64_t threads = parallel->threads > 0 ? parallel->threads : sdpai_default_threads();
  return (int32_t)sdpai_max(1, sdpai_min(sdpai_min(threads, SDPAI_MAX_THREADS), items));
}

int sdpai_parallel_run(const struct sdpai_parallel *parallel, int64_t items, sdpai_work work,
                       void *arg) {
  int64_t tasks = items > 1 ? sdpai_parallel_threads(parallel, items) : 1;
  if (tasks > 1 && parallel->parallel_for) return run_callback(parallel, tasks, items, work, arg);
  struct loop loop = {work, arg, items, 0};
  if (tasks > 1) {
    sdpai_pool_run(tasks, run_pool_task, &loop);
  } else {
    work_off(&loop, 0);
  }
  return 0;
}
