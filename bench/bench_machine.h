/* bench_machine.h - what a measurement was made on and with: the lines above the table
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdio.h>

/* CPU, compiler and build type, library version, what sdpa_build_info() says, engine and ISA that a
 * default plan chooses, and the BLAS's threads. */
void bench_machine_print(FILE *stream);

#endif
