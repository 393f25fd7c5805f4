/* bench_work.h - how much a problem is: allowed pairs, operations, bytes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <stdint.h>

#include <sdpa/sdpa.h>

/* Pairs of query row and key that the rules and the data allow, over all batch entries and heads.
 */
int64_t bench_work_pairs(const sdpa_problem *problem, const sdpa_args *args);

/* Operations a pair: 2 (d_k + d_v) forward, 6 d_k + 4 d_v backward. */
double bench_work_flops_per_pair(const sdpa_problem *problem, int backward);

/* Bytes of Q, K and V within the lengths, once where a stride of 0 repeats them, V only where there
 * is an output; and of all outputs. Backward: of Q, K and V likewise, output, log-sum-exp and dO,
 * and of the gradients of Q, K, V and the bias. */
int64_t bench_work_bytes(const sdpa_problem *problem, const sdpa_args *args, int backward);

#endif
