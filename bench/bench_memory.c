/* bench_memory.c - the child that runs a problem alone, and the parent's side of it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * From /proc/self/status and not from getrusage(): the latter's high-water mark is handed on
 * through fork and exec, so that the child would report its parent's.
 */
#define _POSIX_C_SOURCE 200809L

#include "bench_memory.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_names.h"
#include "plain_products.h"

extern char **environ;

/* A line "VmRSS:    1234 kB" of /proc/self/status in bytes, -1 if there is none. */
static int64_t status_bytes(const char *name) {
  char line[256];
  int64_t bytes = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) {
    const size_t length = strlen(name);
    if (strncmp(line, name, length) != 0 || line[length] != ':') continue;
    bytes = (int64_t)strtoll(line + length + 1, NULL, 10) * 1024;
    break;
  }
  if (file) fclose(file);
  return bytes;
}

int bench_memory_child(const char *problem, const struct bench_choice *choice) {
  char message[PROBLEM_MESSAGE_MAX];
  const int64_t start = status_bytes("VmRSS");
  struct bench_case *c = malloc(sizeof *c);
  if (!c) return EXIT_FAILURE;
  int status = EXIT_FAILURE;
  if (choice->threads > 0) blas_set_threads(choice->threads);
  if (bench_case_open(c, problem, choice, message, sizeof message) == 0 &&
      bench_case_fill(c, message, sizeof message) == 0) {
    bench_case_run(c, 1);
    if (c->status == SDPA_OK &&
        printf("%lld %lld\n", (long long)start, (long long)status_bytes("VmHWM")) > 0)
      status = EXIT_SUCCESS;
  }
  bench_case_close(c);
  free(c);
  return status;
}

/* Starts the child with its standard output in `out`. Returns its process, or -1. */
static pid_t start_child(char *const argv[], int out) {
  pid_t child = -1;
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  const int bad =
      posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) != 0 ||
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) != 0 ||
      posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ) != 0;
  posix_spawn_file_actions_destroy(&actions);
  return bad ? -1 : child;
}

/* A child that fails prints nothing, which reads as 0. */
static void read_answer(int from, struct bench_memory *memory) {
  char line[64] = "", *end = line;
  FILE *answer = fdopen(from, "r");
  if (!answer) {
    close(from);
    return;
  }
  if (fgets(line, sizeof line, answer)) {
    const long long start = strtoll(line, &end, 10), peak = strtoll(end, NULL, 10);
    if (start > 0 && peak > 0) *memory = (struct bench_memory){(int64_t)start, (int64_t)peak};
  }
  fclose(answer);
}

/* Copies: posix_spawn wants arguments that it could write to. */
static char *const *child_arguments(char text[6][PROBLEM_STRING_MAX], const char *problem,
                                    const struct bench_choice *choice, char *argv[8]) {
  snprintf(text[0], PROBLEM_STRING_MAX, "sdpa-bench");
  snprintf(text[1], PROBLEM_STRING_MAX, "--%s", BENCH_MEMORY_OPTION);
  snprintf(text[2], PROBLEM_STRING_MAX, "--problem=%s", problem);
  snprintf(text[3], PROBLEM_STRING_MAX, "--engine=%s",
           bench_name_of(bench_engines, choice->engine));
  snprintf(text[4], PROBLEM_STRING_MAX, "--isa=%s", bench_name_of(bench_isas, choice->isa));
  snprintf(text[5], PROBLEM_STRING_MAX, "--threads=%d", choice->threads);
  const int count = choice->threads > 0 ? 6 : 5;
  for (int i = 0; i < count; i++) argv[i] = text[i];
  argv[count] = NULL;
  return argv;
}

void bench_memory_measure(const char *problem, const struct bench_choice *choice,
                          struct bench_memory *memory) {
  static char text[6][PROBLEM_STRING_MAX];
  char *argv[8];
  int ends[2], status = 0;
  struct bench_memory answer = {-1, -1};
  *memory = answer;
  if (strlen(problem) + sizeof "--problem=" > PROBLEM_STRING_MAX || pipe(ends) != 0) return;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  const pid_t child = start_child(child_arguments(text, problem, choice, argv), ends[1]);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return;
  }
  read_answer(ends[0], &answer);
  if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    *memory = answer;
}
