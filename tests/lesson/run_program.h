/* run_program.h - runs a program and keeps what it wrote
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

struct program_result {
  int status;      /* exit status; -1: it could not be started or was killed by a signal */
  char *out, *err; /* standard output and error, terminated; owned: program_result_free() */
};

/* argv[0] is the program's path; argv ends with NULL. out_path: NULL, or a file or device that
 * takes the standard output (out is then empty). path_variable: NULL, or the child's PATH. */
struct program_result run_program(char *const argv[], const char *out_path,
                                  const char *path_variable);
void program_result_free(struct program_result *result);

#endif
