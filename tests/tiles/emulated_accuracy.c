/* emulated_accuracy.c - sdpa-bench --accuracy on a machine with AMX, made of one without
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A program of the emulated library: errors do not depend on how fast the unit is, so they can be
 * measured where there is none. Options, output and exit status are those of sdpa-bench --accuracy;
 * the engine is tiled and the ISA amx.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench_accuracy.h"
#include "bench_args.h"

int main(int argc, char **argv) {
  struct bench_args args;
  char message[1024];
  int status = 2;
  if (bench_args_read(&args, argc, argv, message, sizeof message) != 0 ||
      args.mode != BENCH_ACCURACY || args.engine != SDPA_ENGINE_AUTO || args.isa != SDPA_ISA_AUTO) {
    if (message[0] != '\0') fprintf(stderr, "emulated-accuracy: %s\n", message);
    fputs("usage: emulated-accuracy --accuracy [--problem STRING | --shapes FILE]... [--threads N] "
          "[--json]\n",
          stderr);
  } else {
    const struct bench_choice choice = {SDPA_ENGINE_TILED, SDPA_ISA_AMX, args.threads};
    fprintf(args.json ? stderr : stdout, "matrix unit:  emulated in software\n");
    status = bench_accuracy_run(args.problem, args.problems, &choice, args.json) == 0
                 ? EXIT_SUCCESS
                 : EXIT_FAILURE;
  }
  bench_args_free(&args);
  return status;
}
