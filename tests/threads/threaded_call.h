/* threaded_call.h - two attention calls that engine tiled gives to several threads, and their bits
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a call returns is compared with what one thread returns, bit by bit (semantics rule 19).
 * None of this asserts or allocates: it serves other threads, their small stacks and forked
 * children, where a failing assertion has nowhere to go.
 */
#ifndef THREADED_CALL_H
#define THREADED_CALL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sdpa/sdpa.h>

/* MANY: query blocks of 8 grouped heads, causal, with a bias. FEW: few queries, keys in parts. */
enum threaded_which { THREADED_MANY, THREADED_FEW, THREADED_CALLS };

enum { THREADED_OUTPUT_MAX = 8 * 96 * 16, THREADED_ROWS_MAX = 8 * 96 };

/* What one caller gets. */
struct threaded_output {
  float output[THREADED_OUTPUT_MAX], lse[THREADED_ROWS_MAX];
};

/* Fills inputs and computes, on one thread, what is expected. Once, before anything else; it uses
 * the library, but starts no thread. Returns whether that went well. */
int threaded_init(void);

/* The first half of that: the inputs alone, without a call of the library. */
void threaded_fill(void);

/* The problem, and args that read the common inputs and write `out`, if it is not NULL. */
sdpa_problem threaded_problem(enum threaded_which which);
sdpa_args threaded_args(enum threaded_which which, struct threaded_output *out);

/* Default options with engine tiled and that many threads. */
sdpa_options threaded_options(int32_t threads);

/* Whether `out` holds the expected bits. */
int threaded_is_right(enum threaded_which which, const struct threaded_output *out);

/* One call of each kind; returns whether they succeed with the expected bits. */
int threaded_run(int32_t threads, struct threaded_output *out);
int threaded_run_with(const sdpa_options *options, struct threaded_output *out);

#endif
