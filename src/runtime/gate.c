/* gate.c - threads pass into a section of foreign code, and no fork() happens while one is in it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The forking thread keeps the mutex from the moment nobody is inside until fork() has returned in
 * the parent. `forks` keeps others from entering while it waits, so that it is never starved.
 */
#include "runtime/gate.h"

#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int64_t inside, forks; /* under the mutex */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Under the mutex; the calls of this library are no cancellation points. */
static void wait_for_change(void) {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_cond_wait(&change, &mutex);
  pthread_setcancelstate(state, &state);
}

static void before_fork(void) {
  pthread_mutex_lock(&mutex);
  forks++;
  while (inside > 0) wait_for_change();
}

static void after_fork_in_parent(void) {
  forks--;
  pthread_cond_broadcast(&change);
  pthread_mutex_unlock(&mutex);
}

/* The threads that waited, here or for another fork, do not exist. */
static void after_fork_in_child(void) {
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  change = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  inside = forks = 0;
}

/* If the system refuses, forks are as they would be without the gate. */
static void handle_forks(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void sdpai_gate_enter(int alone) {
  pthread_once(&once, handle_forks);
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
