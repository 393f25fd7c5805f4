/* versioned_program.c - a program that meets a library of another version than its header
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every byte behind its structs is 0xFF, so that a library that reads past their size fails.
 * Compiled with GROWN against a header whose structs have one field more, which it leaves 0; with
 * GROWN_FIELD it sets that field of the struct named; with GROWN_FUNCTION it calls the function
 * that came with it. Prints the status of the call and whether the loaded library is the grown one.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <sdpa/sdpa.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POISON = 64 };

/* A struct and the memory behind it. */
#define POISONED(type)                                                                             \
  union {                                                                                          \
    type part;                                                                                     \
    unsigned char bytes[sizeof(type) + POISON];                                                    \
  }

int main(void) {
  const double query[1] = {1.0986122886681098}, key[2] = {1, 0}, value[2] = {4, 8};
  double output[1] = {0};
  POISONED(sdpa_problem) problem;
  POISONED(sdpa_options) options;
  POISONED(sdpa_args) args;
  memset(&problem, 0xFF, sizeof problem);
  memset(&options, 0xFF, sizeof options);
  memset(&args, 0xFF, sizeof args);
  if (sdpa_problem_init(&problem.part, sizeof problem.part) != SDPA_OK) return 2;
  if (sdpa_options_init(&options.part, sizeof options.part) != SDPA_OK) return 2;
  if (sdpa_args_init(&args.part, sizeof args.part) != SDPA_OK) return 2;
  problem.part.query_type = SDPA_F64;
  problem.part.batch = problem.part.query_heads = problem.part.kv_heads = 1;
  problem.part.query_len = 1, problem.part.key_len = 2;
  problem.part.key_dim = problem.part.value_dim = 1;
  if (sdpa_problem_layout(&problem.part, SDPA_LAYOUT_BHSD) != SDPA_OK) return 2;
  args.part.query = query, args.part.key = key, args.part.value = value;
  args.part.output = output;
#ifdef GROWN_FIELD
  GROWN_FIELD.part.grown = 1;
#endif
#ifdef GROWN_FUNCTION
  if (sdpa_grown() != 1) return 2;
#endif

  sdpa_status status = sdpa_attention(&problem.part, &options.part, &args.part);
  for (int i = 0; i < POISON; i++) {
    if (problem.bytes[sizeof problem.part + (size_t)i] != 0xFF) return 3;
    if (options.bytes[sizeof options.part + (size_t)i] != 0xFF) return 3;
    if (args.bytes[sizeof args.part + (size_t)i] != 0xFF) return 3;
  }
  if (status == SDPA_OK && !(fabs(output[0] - 5) < 1e-13)) return 1;
  if (status != SDPA_OK && !(fabs(output[0]) <= 0)) return 1;
  printf("status %d from the %s library\n", (int)status,
         dlsym(RTLD_DEFAULT, "sdpa_grown") ? "grown" : "present");
  return 0;
}
