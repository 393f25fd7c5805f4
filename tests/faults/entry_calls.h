/* entry_calls.h - a call of every function that computes, and the bits it must give
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is expected is what the library itself gives undisturbed, on one thread: these tests ask
 * whether a fault changes a bit (semantics rule 19), others whether the bits are right. None of
 * this asserts or allocates: it serves other threads, signal storms and forked children, where a
 * failing assertion has nowhere to go.
 */
#ifndef ENTRY_CALLS_H
#define ENTRY_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include <sdpa/sdpa.h>

/* The problems are those of threaded_call.h: MANY, or FEW where the name says so. SMALL has its
 * workspace on the stack. MERGE, SOFTMAX and SMALL allocate nothing; the last two take no
 * options. */
enum entry_call {
  ENTRY_ONE_SHOT,
  ENTRY_PLAN,
  ENTRY_PLAN_FEW,
  ENTRY_BACKWARD,
  ENTRY_MERGE,
  ENTRY_SOFTMAX,
  ENTRY_SMALL,
  ENTRY_CALLS
};

enum { ENTRY_NUMBERS = 40000 };

/* What one caller gets. */
struct entry_output {
  float numbers[ENTRY_NUMBERS];
};

/* Fills the inputs. Once, before anything else; does not call the library. */
void entry_init(void);

/* Default options with that engine and number of threads. */
sdpa_options entry_options(uint32_t engine, int32_t threads);

/* Whether this build has the engine. Calls the library. */
int entry_offers(uint32_t engine);
/* The same of engine blas, for start_child(): the asking process has not called the library then. */
int entry_offers_blas(void *unused);

/* Runs the call, after filling `out` with a pattern. The status is the first but SDPA_OK. */
sdpa_status entry_run(enum entry_call call, const sdpa_options *options, struct entry_output *out);

/* Whether a failed call has left `out` alone. */
int entry_is_untouched(const struct entry_output *out);

/* Computes what is_right() expects: each call on one thread of that engine. Returns whether they
 * succeed. May come after the calls that are to be judged. */
int entry_expect(uint32_t engine);
int entry_is_right(enum entry_call call, const struct entry_output *out);

/* Every call with these options, or as many as succeed: how many went wrong. */
int entry_run_all(const sdpa_options *options, struct entry_output *out);

/* For tests that make plans of their own: the problem of ENTRY_PLAN or ENTRY_BACKWARD, and an
 * execution that writes `out`, in a workspace or with NULL and 0. */
sdpa_problem entry_problem(enum entry_call call);
sdpa_status entry_execute(enum entry_call call, const sdpa_plan *plan, void *workspace,
                          size_t bytes, struct entry_output *out);

/* The same for another problem of those sizes or fewer, without a workspace. */
sdpa_status entry_execute_as(enum entry_call call, const sdpa_problem *problem,
                             const sdpa_plan *plan, struct entry_output *out);

const char *entry_name(enum entry_call call);

#endif
