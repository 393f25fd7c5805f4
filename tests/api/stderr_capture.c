/* stderr_capture.c - runs a group of tests and fails if anything was written to stderr
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L

#include "stderr_capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Copies what comes out of `from` to stderr until its end; returns the number of bytes. */
static size_t relay(int from) {
  char buffer[4096];
  size_t total = 0;
  ssize_t got;
  while ((got = read(from, buffer, sizeof buffer)) > 0) {
    total += (size_t)got;
    fwrite(buffer, 1, (size_t)got, stderr);
  }
  return total;
}

int run_silent_group(const char *name, const struct CMUnitTest *tests, size_t n) {
  int ends[2], status;
  if (pipe(ends) != 0) return 1;
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    close(ends[0]);
    if (dup2(ends[1], STDERR_FILENO) < 0) return 1;
    close(ends[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP); /* its default writes a summary to stderr */
    return _cmocka_run_group_tests(name, tests, n, NULL, NULL);
  }
  close(ends[1]);
  size_t bytes = relay(ends[0]);
  close(ends[0]);
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
  if (bytes == 0) return WEXITSTATUS(status);
  printf("%zu bytes were written to stderr\n", bytes);
  return 1;
}
