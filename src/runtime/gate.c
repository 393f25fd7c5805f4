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

/* Whether the handlers are registered, which may not happen twice: the second one would wait for
 * the mutex that the first one holds. */
enum { NOT_REGISTERED, BEING_REGISTERED, REGISTERED };
static _Atomic int handlers = NOT_REGISTERED;

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

/* Registering takes memory. Where there is none, and while another thread registers, a fork waits
 * for nobody, and its child has the gate as it was; a later caller tries again. In a child that was
 * made while another thread registered nobody does. */
static void handle_forks(void) {
  int expected = NOT_REGISTERED;
  if (!atomic_compare_exchange_strong(&handlers, &expected, BEING_REGISTERED)) return;
  const int error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  atomic_store(&handlers, error ? NOT_REGISTERED : REGISTERED);
}

void sdpai_gate_enter(int alone) {
  handle_forks();
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
