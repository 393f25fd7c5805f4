/* bench_progress.h - one line on a terminal that says what the bench is at
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * On stderr, and only where that is a terminal; it is wiped before anything else is printed. One
 * process has one such line, so there is no object.
 */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

/* Item `number` of `total`, from here on. */
void bench_progress_item(int number, int total, const char *name);

/* What is being done with it: shown at once. */
void bench_progress_phase(const char *phase);

/* As timing_limits.progress: rounds and how well the median is known, a few times a second. */
void bench_progress_round(void *unused, int round, double spread);

void bench_progress_wipe(void);

#endif
