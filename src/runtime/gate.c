/* gate.c - threads pass into a section of foreign code, and no fork() happens while one is in it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The forking thread keeps the mutex from the moment nobody is inside until fork() has returned in
 * the parent. `forks` keeps others from entering while it waits, so that it is never starved.
 */
#include "runtime/gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "runtime/compiler.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t empty = PTHREAD_COND_INITIALIZER; /* for forks: nobody is inside */
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;  /* for the others: they may enter */
static int64_t inside, forks;                           /* under the mutex */

/* The handlers may be registered more than once, see handle_forks(): the first one to run before a
 * fork and the last one after it do the work. */
static int depth;                /* handlers that have run before this fork; under the mutex */
static _Atomic pthread_t forker; /* who has the mutex for a fork, if anybody_forks */
static _Atomic int anybody_forks;

static _Atomic int handled; /* some thread has registered the handlers, as often as need be */

/* Under the mutex; the calls of this library are no cancellation points. */
static void wait_for(pthread_cond_t *change) {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_cond_wait(change, &mutex);
  pthread_setcancelstate(state, &state);
}

static int this_thread_forks(void) {
  return atomic_load(&anybody_forks) && pthread_equal(atomic_load(&forker), pthread_self());
}

static void before_fork(void) {
  if (this_thread_forks()) {
    depth++;
    return;
  }
  pthread_mutex_lock(&mutex);
  forks++;
  while (inside > 0) wait_for(&empty);
  depth = 1;
  atomic_store(&forker, pthread_self());
  atomic_store(&anybody_forks, 1);
}

static void after_fork_in_parent(void) {
  if (--depth > 0) return;
  atomic_store(&anybody_forks, 0);
  forks--;
  pthread_cond_broadcast(&turn);
  pthread_mutex_unlock(&mutex);
}

/* The threads that waited, here or for another fork, do not exist. */
static void after_fork_in_child(void) {
  if (--depth > 0) return;
  atomic_store(&anybody_forks, 0);
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  empty = turn = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  inside = forks = 0;
}

/* Whether forks wait for the caller. Nobody enters before he has registered the handlers himself or
 * found them registered, so two threads, or a child made between registering and `handled`, may
 * register twice. Registering takes memory: where there is none a later caller tries again. */
static int handle_forks(void) {
  if (atomic_load(&handled)) return 1;
  if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) return 0;
  atomic_store(&handled, 1);
  return 1;
}

void sdpai_gate_register_again(void) {
  atomic_store(&handled, 0);
}

/* At load time, so that handlers which the application registers run outside of these: its prepare
 * handler may wait for a thread that is, or wants to be, inside, and each may call the library. */
SDPAI_CONSTRUCTOR static void handle_forks_early(void) {
  handle_forks();
}

int sdpai_gate_enter(int alone) {
  if (!handle_forks() && !alone) return 0;
  pthread_mutex_lock(&mutex);
  while (forks > 0 || (alone && inside > 0)) wait_for(&turn);
  inside++;
  pthread_mutex_unlock(&mutex);
  return 1;
}

void sdpai_gate_leave(int entered) {
  if (!entered) return;
  pthread_mutex_lock(&mutex);
  if (--inside == 0) {
    if (forks > 0)
      pthread_cond_broadcast(&empty);
    else
      pthread_cond_signal(&turn); /* of those who enter alone one can */
  }
  pthread_mutex_unlock(&mutex);
}
