/* bench_machine.h - what a measurement was made on and with: the lines above the results
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdio.h>

#include "bench_case.h"

/* CPU, compiler and build type, library version, what sdpa_build_info() says, engine and ISA that
 * `choice` leads to, and the BLAS's threads. */
void bench_machine_print(FILE *stream, const struct bench_choice *choice);

/* The ISA in force: the best that CPU, `ceiling` and SDPA_MAX_ISA allow, as the library sees it. */
uint32_t bench_machine_isa(uint32_t ceiling);

#endif
