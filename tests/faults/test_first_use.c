/* test_first_use.c - the first calls of a process, from many threads at once
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Detection of the CPU, the choice of kernels, the default number of threads, the start of the pool
 * and the BLAS's own beginnings all happen in the first calls. Each round is this program again,
 * with an argument: a process in which nothing has been called.
 */
#define _POSIX_C_SOURCE 200809L
#include "entry_calls.h"
#include "own_program.h"
#include "parallel_support.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLERS = 14, ROUNDS = 14, CHILDREN = 3 };
enum { NO_THREAD = 1, BAD_STATUS, WRONG_BITS, BAD_CHILD };

static _Atomic int32_t ready, go;

struct first_call {
  pthread_t thread;
  enum entry_call call;
  uint32_t engine;
  sdpa_status status;
  struct entry_output out;
};

/* Every other one asks for the default number of threads, which is then read by several at once. */
static void *call_first(void *arg) {
  struct first_call *first = arg;
  const sdpa_options options = entry_options(first->engine, first->call % 2 ? 0 : 3);
  atomic_fetch_add(&ready, 1);
  while (!atomic_load(&go)) sched_yield();
  first->status = entry_run(first->call, &options, &first->out);
  return NULL;
}

static int use_in_child(void *arg) {
  static struct entry_output out;
  (void)arg;
  const sdpa_options options = entry_options(SDPA_ENGINE_TILED, 3);
  if (!entry_expect(SDPA_ENGINE_TILED)) return BAD_STATUS;
  return entry_run_all(&options, &out) == 0 ? 0 : WRONG_BITS;
}

/* Children that are made while the first calls are in the middle of whatever they begin with. */
static int make_children(int round) {
  pid_t children[CHILDREN];
  for (int i = 0; i < CHILDREN; i++) {
    sleep_microseconds(round * 7 % 100);
    children[i] = start_child(use_in_child, NULL);
  }
  for (int i = 0; i < CHILDREN; i++)
    if (wait_for_child(children[i]) != 0) return 0;
  return 1;
}

static int run_round(uint32_t engine, int round, int forks) {
  static struct first_call firsts[CALLERS];
  int result = 0;
  entry_init();
  for (int i = 0; i < CALLERS; i++) {
    firsts[i].call = (enum entry_call)((round + i) % ENTRY_CALLS);
    firsts[i].engine = engine;
    if (pthread_create(&firsts[i].thread, NULL, call_first, &firsts[i]) != 0) return NO_THREAD;
  }
  if (!wait_for(&ready, CALLERS)) return NO_THREAD;
  atomic_store(&go, 1);
  if (forks && !make_children(round)) result = BAD_CHILD;
  for (int i = 0; i < CALLERS; i++) pthread_join(firsts[i].thread, NULL);
  if (!entry_expect(engine)) return BAD_STATUS;
  for (int i = 0; i < CALLERS; i++) {
    if (firsts[i].status != SDPA_OK) return BAD_STATUS;
    if (!entry_is_right(firsts[i].call, &firsts[i].out)) return WRONG_BITS;
  }
  return result;
}

static void run_rounds(uint32_t engine, int forks) {
  for (int round = 0; round < ROUNDS; round++) {
    char engine_text[16], round_text[16];
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      snprintf(engine_text, sizeof engine_text, "%u", (unsigned)engine);
      snprintf(round_text, sizeof round_text, "%d", round);
      start_own_program(
          (const char *[]){"test_first_use", engine_text, round_text, forks ? "1" : "0", NULL});
      _exit(127);
    }
    const int status = wait_for_child(child);
    if (status != 0) fail_msg("engine %u, round %d: %d", (unsigned)engine, round, status);
  }
}

static void test_tiled(void **state) {
  (void)state;
  run_rounds(SDPA_ENGINE_TILED, 0);
}

static void test_blas(void **state) {
  (void)state;
  if (!wait_for_child(start_child(entry_offers_blas, NULL))) skip();
  run_rounds(SDPA_ENGINE_BLAS, 0);
}

static void test_forks_meanwhile(void **state) {
  (void)state;
  skip_if_fork_beside_running_threads_fails();
  run_rounds(SDPA_ENGINE_TILED, 1);
}

int main(int argc, char **argv) {
  if (argc == 4)
    return run_round((uint32_t)atoi(argv[1]), atoi(argv[2]), strcmp(argv[3], "1") == 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tiled),
      cmocka_unit_test(test_blas),
      cmocka_unit_test(test_forks_meanwhile),
  };
  return cmocka_run_group_tests_name("first_use", tests, NULL, NULL);
}
