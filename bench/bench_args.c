/* bench_args.c - options, problem strings and shape files
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L

#include "bench_args.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_memory.h"
#include "bench_names.h"
#include "problem_string.h"

const char bench_usage[] =
    "usage: sdpa-bench [--problem STRING | --shapes FILE]... [--engine auto|blas|tiled] "
    "[--isa auto|generic|avx2|avx512|amx|neon] [--threads N] [--seconds S] [--json] | "
    "--accuracy [--problem STRING | --shapes FILE]... [--engine ENGINE] [--isa ISA] [--threads N] "
    "[--json] | --peak [--isa ISA] [--threads N] [--json] | [--threads N] | --help\n";

/* Which options were given, one bit each. */
enum {
  GIVEN_PROBLEM = 1 << 0,
  GIVEN_ENGINE = 1 << 1,
  GIVEN_ISA = 1 << 2,
  GIVEN_SECONDS = 1 << 3,
  GIVEN_JSON = 1 << 4,
  GIVEN_PEAK = 1 << 5,
  GIVEN_MEMORY = 1 << 6,
  GIVEN_HELP = 1 << 7,
  GIVEN_THREADS = 1 << 8,
  GIVEN_ACCURACY = 1 << 9
};

/* Appends a copy of a problem that parses. `where` names its place in messages. */
static int add_problem(struct bench_args *args, const char *text, const char *where, char *message,
                       size_t message_bytes) {
  char fault[PROBLEM_MESSAGE_MAX];
  struct problem_spec *spec = malloc(sizeof *spec);
  char **problem = realloc(args->problem, ((size_t)args->problems + 1) * sizeof *problem);
  if (problem) args->problem = problem;
  char *copy = strdup(text);
  if (!spec || !problem || !copy) {
    snprintf(message, message_bytes, "no memory for the problems");
  } else if (problem_parse(text, spec, fault, sizeof fault) != 0) {
    snprintf(message, message_bytes, "%s: %s", where, fault);
  } else {
    args->problem[args->problems++] = copy;
    free(spec);
    return 0;
  }
  free(copy);
  free(spec);
  return -1;
}

/* Cuts comment and blanks off a line; returns where the rest begins. */
static char *trimmed(char *line) {
  line[strcspn(line, "#\r\n")] = '\0';
  line += strspn(line, " \t");
  size_t length = strlen(line);
  while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) line[--length] = '\0';
  return line;
}

int bench_args_read_shapes(struct bench_args *args, const char *path, char *message,
                           size_t message_bytes) {
  const int before = args->problems;
  FILE *file = fopen(path, "r");
  if (!file) {
    snprintf(message, message_bytes, "%s: %s", path, strerror(errno));
    return -1;
  }
  char *line = NULL, where[512];
  size_t room = 0;
  int status = 0;
  for (int number = 1; status == 0 && getline(&line, &room, file) >= 0; number++) {
    const char *text = trimmed(line);
    snprintf(where, sizeof where, "%s:%d", path, number);
    if (*text != '\0') status = add_problem(args, text, where, message, message_bytes);
  }
  if (status == 0 && ferror(file)) {
    snprintf(message, message_bytes, "%s: cannot be read", path);
    status = -1;
  } else if (status == 0 && args->problems == before) {
    snprintf(message, message_bytes, "%s: there is no problem in it", path);
    status = -1;
  }
  free(line);
  fclose(file);
  return status;
}

static int read_threads(const char *text, int *threads) {
  char *end;
  const long value = strtol(text, &end, 10);
  if (!isdigit((unsigned char)text[0]) || *end != '\0') return -1;
  if (value < 1 || value > BENCH_MOST_THREADS) return -1;
  *threads = (int)value;
  return 0;
}

static int read_seconds(const char *text, double *seconds) {
  char *end;
  *seconds = strtod(text, &end);
  if (end == text || *end != '\0') return -1;
  return *seconds > 0.0 && *seconds <= 86400.0 ? 0 : -1;
}

/* Which options go together. */
static int settle_mode(struct bench_args *args, unsigned given) {
  static const struct {
    unsigned sign, allowed;
    enum bench_mode mode;
  } modes[] = {
      {GIVEN_HELP, 0, BENCH_HELP},
      {GIVEN_PEAK, GIVEN_ISA | GIVEN_THREADS | GIVEN_JSON, BENCH_PEAK},
      {GIVEN_ACCURACY, GIVEN_PROBLEM | GIVEN_ENGINE | GIVEN_ISA | GIVEN_THREADS | GIVEN_JSON,
       BENCH_ACCURACY},
      {GIVEN_MEMORY, GIVEN_PROBLEM | GIVEN_ENGINE | GIVEN_ISA | GIVEN_THREADS, BENCH_MEMORY},
      {GIVEN_PROBLEM, GIVEN_ENGINE | GIVEN_ISA | GIVEN_THREADS | GIVEN_SECONDS | GIVEN_JSON,
       BENCH_PROBLEMS},
      {0, GIVEN_THREADS, BENCH_TABLE},
  };
  size_t i = 0;
  while (modes[i].sign != 0 && !(given & modes[i].sign)) i++;
  args->mode = modes[i].mode;
  if (args->mode == BENCH_MEMORY && args->problems != 1) return -1;
  return given & ~(modes[i].sign | modes[i].allowed) ? -1 : 0;
}

static const struct option long_options[] = {
    {"problem", required_argument, NULL, 'p'}, {"shapes", required_argument, NULL, 's'},
    {"engine", required_argument, NULL, 'e'},  {"isa", required_argument, NULL, 'i'},
    {"threads", required_argument, NULL, 't'}, {"seconds", required_argument, NULL, 'l'},
    {"json", no_argument, NULL, 'j'},          {"peak", no_argument, NULL, 'k'},
    {"accuracy", no_argument, NULL, 'a'},      {BENCH_MEMORY_OPTION, no_argument, NULL, 'm'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};

/* One option; its bit in *bit. */
static int read_option(struct bench_args *args, int option, unsigned *bit, char *message,
                       size_t message_bytes) {
  char where[32];
  switch (option) {
  case 'p':
    *bit = GIVEN_PROBLEM;
    snprintf(where, sizeof where, "problem %d", args->problems + 1);
    return add_problem(args, optarg, where, message, message_bytes);
  case 's':
    *bit = GIVEN_PROBLEM;
    return bench_args_read_shapes(args, optarg, message, message_bytes);
  case 'e':
    *bit = GIVEN_ENGINE;
    return bench_value_of(bench_engines, optarg, &args->engine);
  case 'i':
    *bit = GIVEN_ISA;
    return bench_value_of(bench_isas, optarg, &args->isa);
  case 't':
    *bit = GIVEN_THREADS;
    return read_threads(optarg, &args->threads);
  case 'l':
    *bit = GIVEN_SECONDS;
    return read_seconds(optarg, &args->seconds);
  case 'j':
    *bit = GIVEN_JSON;
    args->json = 1;
    return 0;
  case 'k':
    *bit = GIVEN_PEAK;
    return 0;
  case 'a':
    *bit = GIVEN_ACCURACY;
    return 0;
  case 'm':
    *bit = GIVEN_MEMORY;
    return 0;
  case 'h':
    *bit = GIVEN_HELP;
    return 0;
  default:
    return -1;
  }
}

int bench_args_read(struct bench_args *args, int argc, char **argv, char *message,
                    size_t message_bytes) {
  unsigned given = 0;
  int option;
  message[0] = '\0';
  *args = (struct bench_args){.seconds = 10.0};
  opterr = 0;
  optind = 0; /* getopt anew, for tests that call this twice */
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    unsigned bit = 0;
    if (read_option(args, option, &bit, message, message_bytes) != 0) return -1;
    /* Only problems may be given more than once. */
    if (given & bit & ~(unsigned)GIVEN_PROBLEM) return -1;
    given |= bit;
  }
  if (optind != argc) return -1;
  return settle_mode(args, given);
}

void bench_args_free(struct bench_args *args) {
  for (int i = 0; i < args->problems; i++) free(args->problem[i]);
  free(args->problem);
  args->problem = NULL;
  args->problems = 0;
}
