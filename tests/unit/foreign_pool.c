/* foreign_pool.c - a plain thread pool that knows nothing of the library
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "foreign_pool.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST_THREADS = 16, QUEUE = 1024 };

struct foreign_pool {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct {
    void (*function)(void *);
    void *argument;
  } queue[QUEUE];
  unsigned submitted, begun, ended;
  int threads, stopping;
  pthread_t thread[MOST_THREADS];
};

static void *serve(void *arg) {
  struct foreign_pool *pool = arg;
  pthread_mutex_lock(&pool->mutex);
  for (;;) {
    if (pool->begun != pool->submitted) {
      unsigned at = pool->begun++ % QUEUE;
      void (*function)(void *) = pool->queue[at].function;
      void *argument = pool->queue[at].argument;
      pthread_mutex_unlock(&pool->mutex);
      function(argument);
      pthread_mutex_lock(&pool->mutex);
      pool->ended++;
      pthread_cond_broadcast(&pool->changed);
    } else if (pool->stopping) {
      break;
    } else {
      pthread_cond_wait(&pool->changed, &pool->mutex);
    }
  }
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

void *pool_start(int threads) {
  struct foreign_pool *pool = calloc(1, sizeof *pool);
  if (!pool) abort();
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->changed, NULL);
  for (; pool->threads < threads; pool->threads++)
    if (pthread_create(&pool->thread[pool->threads], NULL, serve, pool) != 0) abort();
  return pool;
}

void pool_submit(void *arg, void (*function)(void *), void *argument) {
  struct foreign_pool *pool = arg;
  pthread_mutex_lock(&pool->mutex);
  while (pool->submitted - pool->begun == QUEUE) pthread_cond_wait(&pool->changed, &pool->mutex);
  pool->queue[pool->submitted % QUEUE].function = function;
  pool->queue[pool->submitted % QUEUE].argument = argument;
  pool->submitted++;
  pthread_cond_broadcast(&pool->changed);
  pthread_mutex_unlock(&pool->mutex);
}

void pool_wait(void *arg) {
  struct foreign_pool *pool = arg;
  pthread_mutex_lock(&pool->mutex);
  while (pool->ended != pool->submitted) pthread_cond_wait(&pool->changed, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
}

void pool_stop(void *arg) {
  struct foreign_pool *pool = arg;
  pthread_mutex_lock(&pool->mutex);
  pool->stopping = 1;
  pthread_cond_broadcast(&pool->changed);
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < pool->threads; i++) pthread_join(pool->thread[i], NULL);
  pthread_cond_destroy(&pool->changed);
  pthread_mutex_destroy(&pool->mutex);
  free(pool);
}
