/* bench_table.h - the table that sdpa-bench prints without arguments
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

/* What its columns are. */
extern const char bench_table_legend[];

/* Times sdpa_attention_f64() and sdpa_attention_f32() for one head of d = 64 and a few lengths,
 * beside the plain products. All lines, also after a failure, which is a sentence on stderr.
 * Returns 0, or -1 if a result is wrong or could not be had. */
int bench_table_run(int threads);

#endif
