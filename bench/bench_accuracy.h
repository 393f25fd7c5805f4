/* bench_accuracy.h - errors of the library against exact arithmetic, on every engine and ISA
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_ACCURACY_H
#define BENCH_ACCURACY_H

#include "bench_case.h"

/* Prints a line for each problem on engine tiled with every ISA that the machine has and on engine
 * blas with the best; with `choice` naming an engine or an ISA, for that alone. Without problems:
 * those of accuracy_set.h, at every precision that the library serves. All lines, also after a
 * failure, which is a sentence on stderr and in JSON an object with `problem` and `error`. Returns
 * 0, or -1 if a result is beyond its bound or a problem could not be had. */
int bench_accuracy_run(char *const *problem, int problems, const struct bench_choice *choice,
                       int json);

#endif
