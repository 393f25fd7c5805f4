/* raw_calls.h - the groups of public functions that are called with raw arguments
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef RAW_CALLS_H
#define RAW_CALLS_H

#include "fuzz_support.h"

/* Checks, plans, execution, forward or backward. */
void raw_plan(struct fuzz_bytes *in);

/* sdpa_merge(). */
void raw_merge(struct fuzz_bytes *in);

/* Functions that fill in the structs: init, layout, broadcast. */
void raw_fill(struct fuzz_bytes *in);

/* Functions on matrices: softmax, its Jacobian, its gradient; sdpa_attention_f32() and _f64(). */
void raw_matrix(struct fuzz_bytes *in);

#endif
