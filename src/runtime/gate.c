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

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int64_t inside, forks; /* under the mutex */
static _Atomic int fork_is_handled;
static _Thread_local int forking; /* handlers of this thread's fork() that are between */

/* Under the mutex; the calls of this library are no cancellation points. */
static void wait_for_change(void) {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_cond_wait(&change, &mutex);
  pthread_setcancelstate(state, &state);
}

static void before_fork(void) {
  if (forking++ > 0) return;
  pthread_mutex_lock(&mutex);
  forks++;
  while (inside > 0) wait_for_change();
}

static void after_fork_in_parent(void) {
  if (--forking > 0) return;
  forks--;
  pthread_cond_broadcast(&change);
  pthread_mutex_unlock(&mutex);
}

/* The threads that waited, here or for another fork, do not exist. */
static void after_fork_in_child(void) {
  if (--forking > 0) return;
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  change = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  inside = forks = 0;
}

/* Registering takes memory. Where there is none forks are as they would be without the gate, and a
 * later caller tries again. Two callers, or a child made in between, may register twice: the
 * handlers bear that. */
static void handle_fork(void) {
  if (atomic_load_explicit(&fork_is_handled, memory_order_relaxed)) return;
  if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0)
    atomic_store_explicit(&fork_is_handled, 1, memory_order_relaxed);
}

void sdpai_gate_enter(int alone) {
  handle_fork();
  pthread_mutex_lock(&mutex);
  while (forks > 0 || (alone && inside > 0)) wait_for_change();
  inside++;
  pthread_mutex_unlock(&mutex);
}

void sdpai_gate_leave(void) {
  pthread_mutex_lock(&mutex);
  if (--inside == 0) pthread_cond_broadcast(&change);
  pthread_mutex_unlock(&mutex);
}
