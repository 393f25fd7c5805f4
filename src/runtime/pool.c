/* pool.c - the library's own threads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A job is handed over through one word, `state`: how many tasks may still begin, and how many are
 * running. A worker joins by one compare-and-swap and leaves by another; the caller takes back what
 * nobody began and waits for those that run. So it never waits for a worker that is still asleep.
 *
 * Whoever goes to sleep first says so (`sleepers`, `caller_sleeps`) and then looks at `state` once
 * more; whoever changes `state` then looks for sleepers. All four are sequentially consistent
 * atomics, so one of the two sees the other, and the mutex closes the gap between looking and
 * sleeping. What is written before such a look is exchanged, not stored: in QEMU, on x86, an
 * AArch64 program was seen to sleep for ever, as if its load had overtaken the store. Fences and
 * futexes would be no faster, and ThreadSanitizer does not follow them.
 */
#define _GNU_SOURCE /* pthread_setname_np */
#include "runtime/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/checked_math.h"
#include "runtime/compiler.h"
#include "runtime/cpu_spread.h"

enum {
  SPIN_NANOSECONDS = 20000,
  STACK_BYTES = 512 * 1024,
  JOBS_BEFORE_RETRY = 1000, /* after a thread could not be started */
  OPEN_ONE = 1 << 16, /* state: tasks that may begin in the upper half, running in the lower */
  RUNNING_MASK = OPEN_ONE - 1
};

struct pool {
  alignas(64) _Atomic uint32_t state;
  alignas(64) _Atomic uint32_t stopping; /* set under the mutex */
  _Atomic uint32_t sleepers;             /* workers; changed under the mutex */
  _Atomic uint32_t caller_sleeps;
  _Atomic uint32_t spins; /* the pool does not exceed the CPUs */
  sdpai_task task;
  void *arg;
  struct sdpai_cpu_claims claims; /* of the job's threads, if the pool does not exceed the CPUs */
  int32_t has_turned_out;         /* the job moved sleeping workers */
  int32_t workers;                /* changed under the mutex */
  int32_t retry_in;               /* jobs that start no thread, as one failed lately */
  _Atomic pid_t process;          /* whose threads the workers are; 0 before the first */
  pthread_mutex_t mutex;
  pthread_cond_t wake; /* workers: a job, or the end */
  pthread_cond_t done; /* the caller: no task is running */
  struct pool *parent; /* the pool that a fork abandoned */
  struct worker {
    struct pool *pool;
    pthread_t thread;         /* under the mutex */
    int is_asleep;            /* under the mutex */
    struct sdpai_cpu_bed bed; /* under the mutex */
  } crew[SDPAI_MAX_THREADS - 1];
};

/* The pool of the process that loaded the library. A forked child makes itself another. */
static struct pool first_pool = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};
/* A caller has the pool, and with it the right to change whatever no mutex guards. */
static _Atomic uint32_t busy;
static _Atomic uint32_t closed; /* the destructor has run */
static struct pool *_Atomic current_pool = &first_pool;
static struct pool *abandoned_pool; /* the last one */
static _Atomic int fork_is_handled; /* set at load time, or by whoever is `busy` */

/* In the child, where the workers do not exist and the locks may be held by threads that do not
 * either: nothing of the parent's pool is touched again. */
static void abandon_pool(void) {
  struct pool *pool = atomic_load(&current_pool);
  if (pool) abandoned_pool = pool;
  atomic_store(&current_pool, NULL);
  atomic_store(&busy, 0);
}

/* Registering takes memory: where there is none a later job tries again. */
static int handle_fork(void) {
  if (atomic_load(&fork_is_handled)) return 1;
  if (pthread_atfork(NULL, NULL, abandon_pool) != 0) return 0;
  atomic_store(&fork_is_handled, 1);
  return 1;
}

/* At load time: handlers that were registered while fork() runs those of others, which may take
 * long, would not run in its child, and the first worker may have started by then. Where it failed,
 * for want of memory, a later attempt can meet just that fork; or a child made before
 * `fork_is_handled` is set registers once more, which does no harm. */
SDPAI_CONSTRUCTOR static void handle_fork_early(void) {
  handle_fork();
}

/* ---- waiting -------------------------------------------------------------------------------- */

static int worker_has_news(struct pool *pool) {
  return atomic_load(&pool->state) >= OPEN_ONE || atomic_load(&pool->stopping);
}

static int job_is_over(struct pool *pool) {
  return atomic_load(&pool->state) == 0;
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns whether `ready` came true while it was worth spinning. */
static int spin(struct pool *pool, int (*ready)(struct pool *)) {
  if (ready(pool)) return 1;
  if (!atomic_load_explicit(&pool->spins, memory_order_relaxed)) return 0;
  int64_t start = nanoseconds();
  do {
    SDPAI_PAUSE();
    if (ready(pool)) return 1;
  } while (nanoseconds() - start < SPIN_NANOSECONDS);
  return 0;
}

/* ---- workers -------------------------------------------------------------------------------- */

/* The number of the task that this worker may begin, or 0. */
static int64_t join_job(struct pool *pool) {
  uint32_t state = atomic_load(&pool->state);
  while (state >= OPEN_ONE)
    if (atomic_compare_exchange_weak(&pool->state, &state, state - OPEN_ONE + 1))
      return state / OPEN_ONE;
  return 0;
}

/* The work is used up, so nobody else need begin. */
static void leave_job(struct pool *pool) {
  uint32_t state = atomic_load(&pool->state), left;
  do {
    left = (state & RUNNING_MASK) - 1;
  } while (!atomic_compare_exchange_weak(&pool->state, &state, left));
  if (left == 0 && atomic_load(&pool->caller_sleeps)) {
    pthread_mutex_lock(&pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    pthread_cond_signal(&pool->done);
  }
}

static void sleep_worker(struct worker *worker) {
  struct pool *pool = worker->pool;
  pthread_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->sleepers, 1);
  sdpai_cpu_lie_down(&worker->bed);
  worker->is_asleep = 1;
  while (!worker_has_news(pool)) pthread_cond_wait(&pool->wake, &pool->mutex);
  worker->is_asleep = 0;
  const struct sdpai_cpu_bed bed = worker->bed;
  worker->bed.is_moved = 0;
  atomic_fetch_sub(&pool->sleepers, 1);
  pthread_mutex_unlock(&pool->mutex);
  sdpai_cpu_get_up(&bed, pthread_self());
}

static void *work_for_pool(void *arg) {
  struct worker *worker = arg;
  struct pool *pool = worker->pool;
  pthread_setname_np(pthread_self(), "sdpa");
  while (!atomic_load(&pool->stopping)) {
    int64_t task = join_job(pool);
    if (task > 0) {
      if (atomic_load_explicit(&pool->spins, memory_order_relaxed)) sdpai_cpu_claim(&pool->claims);
      pool->task(pool->arg, task);
      leave_job(pool);
    } else if (!spin(pool, worker_has_news)) {
      sleep_worker(worker);
    }
  }
  return NULL;
}

/* The application's signal handlers run on its own threads, but for faults of this thread and for
 * profilers, which count each thread's time. */
static void block_signals(sigset_t *previous) {
  static const int open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF};
  sigset_t set;
  sigfillset(&set);
  for (size_t i = 0; i < sizeof open / sizeof *open; i++) sigdelset(&set, open[i]);
  pthread_sigmask(SIG_SETMASK, &set, previous);
}

/* Under the mutex. Starts workers until there are `wanted`, or fewer if the system refuses. */
static void start_workers(struct pool *pool, int32_t wanted) {
  pthread_attr_t attributes;
  sigset_t signals;
  if (pthread_attr_init(&attributes) != 0) return;
  int error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
  block_signals(&signals);
  while (!error && pool->workers < wanted) {
    struct worker *worker = &pool->crew[pool->workers];
    worker->pool = pool;
    error = pthread_create(&worker->thread, &attributes, work_for_pool, worker);
    if (!error) pool->workers++;
  }
  pthread_sigmask(SIG_SETMASK, &signals, NULL);
  pthread_attr_destroy(&attributes);
}

/* ---- the caller ----------------------------------------------------------------------------- */

/* Returns how many workers there are after growing towards `wanted`. */
static int32_t grow(struct pool *pool, int32_t wanted) {
  if (SDPAI_LIKELY(pool->workers >= wanted)) return pool->workers;
  if (pool->retry_in > 0) {
    pool->retry_in--;
    return pool->workers;
  }
  int saved = errno;
  const int handled = handle_fork();
  int32_t cpus = sdpai_cpu_count();
  pthread_mutex_lock(&pool->mutex);
  atomic_exchange(&pool->process, getpid()); /* before it looks at closed: see stop_pool */
  if (handled && !atomic_load(&closed)) {
    start_workers(pool, wanted);
    atomic_store(&pool->spins, pool->workers < cpus);
  }
  pthread_mutex_unlock(&pool->mutex);
  if (pool->workers < wanted) pool->retry_in = JOBS_BEFORE_RETRY;
  errno = saved;
  return pool->workers;
}

/* A forked child's own pool. NULL: no memory. */
static struct pool *make_pool(void) {
  struct pool *pool = aligned_alloc(alignof(struct pool), sizeof *pool);
  if (!pool) return NULL;
  memset(pool, 0, sizeof *pool);
  if (pthread_mutex_init(&pool->mutex, NULL) != 0 || pthread_cond_init(&pool->wake, NULL) != 0 ||
      pthread_cond_init(&pool->done, NULL) != 0) {
    free(pool); /* where initialising can fail at all, it is for want of memory */
    return NULL;
  }
  pool->parent = abandoned_pool;
  return pool;
}

/* The pool for one job of this thread, which then gives `busy` back; or NULL. */
static struct pool *take_pool(void) {
  if (atomic_exchange_explicit(&busy, 1, memory_order_acquire)) return NULL;
  struct pool *pool = atomic_load(&current_pool);
  if (!pool && !atomic_load(&closed)) {
    int saved = errno;
    pool = make_pool();
    atomic_store(&current_pool, pool);
    errno = saved;
  }
  if (!pool) atomic_store_explicit(&busy, 0, memory_order_release);
  return pool;
}

/* Under the mutex. Sleeping workers do not wake on the caller's CPU. */
static void make_room(struct pool *pool) {
  for (int32_t i = 0; i < pool->workers; i++) {
    struct worker *worker = &pool->crew[i];
    if (!worker->is_asleep) continue;
    sdpai_cpu_turn_out(&worker->bed, worker->thread);
    pool->has_turned_out |= worker->bed.is_moved;
  }
}

/* Of the workers that make_room() moved, some were not needed or come too late, and sleep on: they
 * would keep the smaller mask until a later job wakes them. */
static void tidy_up(struct pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  for (int32_t i = 0; i < pool->workers; i++) {
    struct worker *worker = &pool->crew[i];
    if (!worker->is_asleep || !worker->bed.is_moved) continue;
    sdpai_cpu_get_up(&worker->bed, worker->thread);
    worker->bed.is_moved = 0;
  }
  pthread_mutex_unlock(&pool->mutex);
  pool->has_turned_out = 0;
}

static void open_job(struct pool *pool, int32_t helpers) {
  const int spreads = atomic_load_explicit(&pool->spins, memory_order_relaxed) != 0;
  if (spreads) sdpai_cpu_claims_start(&pool->claims);
  atomic_exchange(&pool->state, (uint32_t)helpers * OPEN_ONE);
  if (atomic_load(&pool->sleepers) == 0) return;
  pthread_mutex_lock(&pool->mutex);
  if (spreads) make_room(pool);
  uint32_t sleepers = atomic_load(&pool->sleepers);
  uint32_t open = atomic_load(&pool->state) / OPEN_ONE;
  pthread_mutex_unlock(&pool->mutex);
  if (open >= sleepers) {
    pthread_cond_broadcast(&pool->wake);
  } else {
    while (open-- > 0) pthread_cond_signal(&pool->wake);
  }
}

static void await_workers(struct pool *pool) {
  if (spin(pool, job_is_over)) return;
  pthread_mutex_lock(&pool->mutex);
  atomic_exchange(&pool->caller_sleeps, 1);
  while (!job_is_over(pool)) pthread_cond_wait(&pool->done, &pool->mutex);
  atomic_store(&pool->caller_sleeps, 0);
  pthread_mutex_unlock(&pool->mutex);
}

static void close_job(struct pool *pool) {
  atomic_fetch_and(&pool->state, RUNNING_MASK);
  await_workers(pool);
  if (pool->has_turned_out) tidy_up(pool);
}

void sdpai_pool_run(int64_t tasks, sdpai_task task, void *arg) {
  int cancel;
  /* A thread that ended while it waits would leave its job, on its stack, to the workers. */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  struct pool *pool = take_pool();
  if (pool) {
    int32_t wanted = (int32_t)tasks - 1;
    int32_t helpers = (int32_t)sdpai_min(wanted, grow(pool, wanted));
    pool->task = task;
    pool->arg = arg;
    if (helpers > 0) open_job(pool, helpers);
    task(arg, 0);
    if (helpers > 0) close_job(pool);
    atomic_store_explicit(&busy, 0, memory_order_release);
  } else {
    task(arg, 0);
  }
  pthread_setcancelstate(cancel, &cancel);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* What forked children have made. Locks of an abandoned pool are not even destroyed. */
static void free_pools(struct pool *pool) {
  while (pool && pool != &first_pool) {
    struct pool *parent = pool->parent;
    free(pool);
    pool = parent;
  }
}

/* dlclose() and exit(): the workers end their task and are joined, for their code is about to go.
 * They return and do not call pthread_exit(), which may load the unwinder and so wait for the lock
 * that dlclose() holds. At exit other threads may still be inside a job: they finish it, and later
 * ones get no pool.
 *
 * A pool that a fork inherited has no workers here and is left alone; getpid() also finds a child
 * whose fork ran no handlers. `closed` before `process` here, the other way round in grow(): either
 * grow() starts nobody, or its workers are joined. */
SDPAI_DESTRUCTOR static void stop_pool(void) {
  atomic_exchange(&closed, 1);
  struct pool *pool = atomic_load(&current_pool);
  if (pool && atomic_load(&pool->process) == getpid()) {
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->stopping, 1);
    int32_t workers = pool->workers;
    pthread_mutex_unlock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake);
    for (int32_t i = 0; i < workers; i++) pthread_join(pool->crew[i].thread, NULL);
  }
  /* Never given back: nobody has the pool any more. A thread that has it now, at exit, keeps it. */
  if (atomic_exchange(&busy, 1)) return;
  free_pools(pool ? pool : abandoned_pool);
}
