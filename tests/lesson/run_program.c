/* run_program.c - fork, temporary files for both streams, wait
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Files and not pipes: a program that writes much to both streams cannot block.
 */
#define _POSIX_C_SOURCE 200809L

#include "run_program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *take_text(FILE *file) {
  char *text = NULL;
  long size = -1;
  if (fseek(file, 0, SEEK_END) == 0) size = ftell(file);
  if (size >= 0) text = calloc((size_t)size + 1, 1);
  rewind(file);
  if (text != NULL) text[fread(text, 1, (size_t)size, file)] = '\0';
  fclose(file);
  return text;
}

static void run_child(char *const argv[], int out, int err, const char *path_variable) {
  if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(126);
  if (path_variable != NULL && setenv("PATH", path_variable, 1) != 0) _exit(126);
  execv(argv[0], argv);
  _exit(127);
}

struct program_result run_program(char *const argv[], const char *out_path,
                                  const char *path_variable) {
  struct program_result result = {-1, NULL, NULL};
  FILE *out = tmpfile(), *err = tmpfile();
  int status, device = out_path != NULL ? open(out_path, O_WRONLY) : -1;
  if (out == NULL || err == NULL || (out_path != NULL && device < 0)) {
    perror("run_program");
    exit(1);
  }
  pid_t child = fork();
  if (child == 0) run_child(argv, device >= 0 ? device : fileno(out), fileno(err), path_variable);
  if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status))
    result.status = WEXITSTATUS(status);
  if (device >= 0) close(device);
  result.out = take_text(out);
  result.err = take_text(err);
  if (result.out == NULL || result.err == NULL) {
    perror("run_program");
    exit(1);
  }
  return result;
}

void program_result_free(struct program_result *result) {
  free(result->out);
  free(result->err);
  result->out = result->err = NULL;
}
