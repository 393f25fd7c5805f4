/* bench_args.h - the command line of sdpa-bench
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_ARGS_H
#define BENCH_ARGS_H

#include <stddef.h>
#include <stdint.h>

enum bench_mode {
  BENCH_TABLE,    /* no problem is given: the fixed table */
  BENCH_PROBLEMS, /* --problem, --shapes */
  BENCH_PEAK,     /* --peak */
  BENCH_ACCURACY, /* --accuracy, with problems or without */
  BENCH_MEMORY,   /* the child that measures memory, see bench_memory.h */
  BENCH_HELP
};

struct bench_args {
  enum bench_mode mode;
  char **problem; /* problems in the order given; each parses */
  int problems;
  uint32_t engine, isa;
  int threads; /* 0: not given */
  int json;
  double seconds; /* time limit a line */
};

enum { BENCH_MOST_THREADS = 256 };
extern const char bench_usage[];

/* Returns 0, or -1 and a sentence without a newline in `message` for arguments that mean nothing;
 * an empty one where the usage line says all. bench_args_free() is due in both cases. */
int bench_args_read(struct bench_args *args, int argc, char **argv, char *message,
                    size_t message_bytes);
void bench_args_free(struct bench_args *args);

/* Appends the problems of a shapes file: one a line, blanks around it, '#' begins a comment, empty
 * lines are nothing. As bench_args_read(); a file without a problem is an error, too. */
int bench_args_read_shapes(struct bench_args *args, const char *path, char *message,
                           size_t message_bytes);

#endif
