/* thread_team.c - threads that start together
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L

#include "thread_team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/cpu_spread.h"
#include "timing.h"

struct member {
  struct thread_team *team;
  int number;
  pthread_t thread;
  double end;
};

struct thread_team {
  int size, started; /* members with a thread: 1 .. started - 1 */
  pthread_mutex_t mutex;
  pthread_cond_t wake, rest;
  int run, resting, leave;        /* under the mutex: runs begun; members that wait for the next */
  atomic_int ready;               /* awake and waiting for `go` */
  atomic_int go;                  /* the last run that may start */
  struct sdpai_cpu_claims claims; /* as the library's own threads */
  void (*work)(void *arg, int thread);
  void *arg;
  struct member member[];
};

/* Waits for all threads of the run, without sleeping: they are about to come, and yields in case
 * there are more threads than CPUs. */
static void start_together(struct thread_team *team, int run) {
  sdpai_cpu_claim(&team->claims);
  atomic_fetch_add(&team->ready, 1);
  while (atomic_load(&team->go) != run) sched_yield();
}

static void *member_main(void *arg) {
  struct member *self = arg;
  struct thread_team *team = self->team;
  int done = 0;
  pthread_mutex_lock(&team->mutex);
  for (;;) {
    team->resting++;
    pthread_cond_signal(&team->rest);
    while (team->run == done && !team->leave) pthread_cond_wait(&team->wake, &team->mutex);
    if (team->leave) break;
    done = team->run;
    pthread_mutex_unlock(&team->mutex);
    start_together(team, done);
    team->work(team->arg, self->number);
    self->end = timing_now();
    pthread_mutex_lock(&team->mutex);
  }
  pthread_mutex_unlock(&team->mutex);
  return NULL;
}

struct thread_team *thread_team_create(int threads) {
  struct thread_team *team = calloc(1, sizeof *team + (size_t)threads * sizeof team->member[0]);
  if (!team) return NULL;
  team->size = threads;
  pthread_mutex_init(&team->mutex, NULL);
  pthread_cond_init(&team->wake, NULL);
  pthread_cond_init(&team->rest, NULL);
  for (team->started = 1; team->started < threads; team->started++) {
    struct member *member = &team->member[team->started];
    member->team = team;
    member->number = team->started;
    if (pthread_create(&member->thread, NULL, member_main, member) != 0) {
      thread_team_destroy(team);
      return NULL;
    }
  }
  return team;
}

void thread_team_destroy(struct thread_team *team) {
  if (!team) return;
  pthread_mutex_lock(&team->mutex);
  team->leave = 1;
  pthread_cond_broadcast(&team->wake);
  pthread_mutex_unlock(&team->mutex);
  for (int i = 1; i < team->started; i++) pthread_join(team->member[i].thread, NULL);
  pthread_mutex_destroy(&team->mutex);
  pthread_cond_destroy(&team->wake);
  pthread_cond_destroy(&team->rest);
  free(team);
}

int thread_team_size(const struct thread_team *team) {
  return team->size;
}

static void wait_for_rest(struct thread_team *team) {
  while (team->resting < team->size - 1) pthread_cond_wait(&team->rest, &team->mutex);
}

double thread_team_run(struct thread_team *team, void (*work)(void *arg, int thread), void *arg) {
  pthread_mutex_lock(&team->mutex);
  wait_for_rest(team);
  team->resting = 0;
  team->work = work;
  team->arg = arg;
  atomic_store(&team->ready, 0);
  sdpai_cpu_claims_start(&team->claims);
  const int run = ++team->run;
  pthread_cond_broadcast(&team->wake);
  pthread_mutex_unlock(&team->mutex);

  while (atomic_load(&team->ready) < team->size - 1) sched_yield();
  const double start = timing_now();
  atomic_store(&team->go, run);
  work(arg, 0);
  double end = timing_now();

  pthread_mutex_lock(&team->mutex);
  wait_for_rest(team);
  pthread_mutex_unlock(&team->mutex);
  for (int i = 1; i < team->size; i++) {
    if (team->member[i].end > end) end = team->member[i].end;
  }
  return end - start;
}
