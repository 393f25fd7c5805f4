/* parallel_support.c - what the tests of threads share
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L
#include "parallel_support.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sanitizers.h"
#include "seconds.h"

void counts_init(struct counts *counts, int64_t items, int32_t slots) {
  memset(counts, 0, sizeof *counts);
  counts->items = items;
  counts->slots = slots;
}

void count_item(void *arg, int64_t item, int64_t slot) {
  struct counts *counts = arg;
  if (item < 0 || item >= counts->items || slot < 0 || slot >= counts->slots) {
    atomic_fetch_add(&counts->faults, 1);
    return;
  }
  if (atomic_exchange(&counts->slot_busy[slot], 1)) atomic_fetch_add(&counts->faults, 1);
  atomic_fetch_add(&counts->runs[item], 1);
  atomic_fetch_add(&counts->slot_runs[slot], 1);
  atomic_store(&counts->slot_busy[slot], 0);
}

int counts_are_right(const struct counts *counts) {
  int right = atomic_load(&counts->faults) == 0;
  for (int64_t i = 0; i < counts->items; i++) right &= atomic_load(&counts->runs[i]) == 1;
  return right;
}

int counted_run(int32_t threads, int64_t items) {
  const struct sdpai_parallel parallel = {.threads = threads};
  struct counts counts; /* not on the heap: a fork beside it would leak in the child */
  counts_init(&counts, items, sdpai_parallel_threads(&parallel, items));
  return sdpai_parallel_run(&parallel, items, count_item, &counts) == 0 &&
         counts_are_right(&counts);
}

void sleep_microseconds(long microseconds) {
  struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&time, NULL);
}

int wait_for(_Atomic int32_t *value, int32_t wanted) {
  double end = seconds_now() + PATIENCE_SECONDS;
  while (atomic_load(value) < wanted) {
    if (seconds_now() > end) return 0;
    sleep_microseconds(100);
  }
  return 1;
}

struct meeting {
  int32_t expected;
  _Atomic int32_t arrived, late;
};
static void meet(void *arg, int64_t item, int64_t slot) {
  struct meeting *meeting = arg;
  (void)item, (void)slot;
  atomic_fetch_add(&meeting->arrived, 1);
  if (!wait_for(&meeting->arrived, meeting->expected)) atomic_store(&meeting->late, 1);
}

int items_meet(const struct sdpai_parallel *parallel, int32_t items) {
  struct meeting meeting = {.expected = items};
  return sdpai_parallel_run(parallel, items, meet, &meeting) == 0 &&
         atomic_load(&meeting.late) == 0;
}

int count_threads(int *named_sdpa) {
  DIR *folder = opendir("/proc/self/task");
  int count = 0, named = 0;
  assert_non_null(folder);
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    FILE *file = fopen(path, "r");
    if (!file) continue;
    if (!fgets(name, sizeof name, file)) name[0] = '\0';
    fclose(file);
    count++;
    named += strcmp(name, "sdpa\n") == 0;
  }
  closedir(folder);
  if (named_sdpa) *named_sdpa = named;
  return count;
}

int threads_become(int count) {
  double end = seconds_now() + PATIENCE_SECONDS;
  while (count_threads(NULL) != count) {
    if (seconds_now() > end) return 0;
    sleep_microseconds(100);
  }
  return 1;
}

void skip_if_fork_with_threads_fails(void) {
  if (THREAD_SANITIZER) skip();
}

void skip_if_fork_beside_running_threads_fails(void) {
  if (SANITIZED) skip();
}

static int is_child;

#if ADDRESS_SANITIZER
/* LeakSanitizer asks this at exit. It would wait for locks of threads that a child does not have. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
  return is_child;
}
#endif

pid_t start_child(int (*function)(void *arg), void *arg) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    is_child = 1;
    exit(function(arg));
  }
  return child;
}

int wait_for_child(pid_t child) {
  double end = seconds_now() + PATIENCE_SECONDS;
  int status, killed = 0;
  if (child < 0) return -1;
  for (;;) {
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended < 0) return -1;
    if (ended == child) return !killed && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (!killed && seconds_now() > end) {
      kill(child, SIGKILL);
      killed = 1;
    }
    sleep_microseconds(500);
  }
}
