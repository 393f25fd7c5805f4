/* property_support.h - what the property tests share: ISAs, counts, one call of the library
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Environment:
 *   SDPA_PROPERTY_COUNT    number of random problems instead of a test's own (sanitizers, hunts)
 *   SDPA_PROPERTY_FIRST    first seed instead of 0
 *   SDPA_PROPERTY_PROBLEM  a problem string: that problem alone (replays a failure)
 */
#ifndef PROPERTY_SUPPORT_H
#define PROPERTY_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare.h"
#include "problem_data.h"
#include "problem_string.h"

/* One way to compute a problem. */
struct property_way {
  uint32_t engine, isa;
  int32_t threads;
  const char *name;
  uint32_t precision; /* SDPA_PRECISION_... */
};

enum { PROPERTY_WAYS_MAX = 9 };

/* The engines with each ISA that they can be made to use here, by asking the library. At least one.
 */
int property_ways(struct property_way ways[PROPERTY_WAYS_MAX]);

/* A test's problems: `count` by default. property_problem() gives the i-th spec of the run. */
int64_t property_count(int64_t count);
void property_problem(int64_t i, struct problem_spec *spec);

/* Where and how the data of a random problem lies, from its seed alone. */
struct problem_data_options property_data_options(const struct problem_spec *spec);

/* Makes the data or fails the test. With a snapshot. */
void property_make(struct problem_data *data, const struct problem_spec *spec);

/* One call. Fails the test with the library's own sentence unless it succeeds. */
void property_run(const struct problem_data *data, const struct problem_spec *spec,
                  struct property_way way);

/* The bits that the way's arithmetic may leave out, as struct reference_request's precision: on a
 * matrix unit what its precision says, else none. */
uint32_t property_precision(struct property_way way);

/* Compares what the way wrote with `strict`, a reference for SDPA_PRECISION_FMA with or without the
 * plain implementation, or where the way may do more, with one of its own. */
void property_compare(const struct reference *strict, const struct problem_data *data,
                      const struct problem_spec *spec, struct property_way way, int with_plain,
                      struct compare_result *result);

/* The way's options, and a call with such options changed; `name` is for the failure. */
void property_options(sdpa_options *options, struct property_way way);
void property_run_with(const struct problem_data *data, const struct problem_spec *spec,
                       const sdpa_options *options, const char *name);

/* What a plan for these options, backward where the gradients are asked for, says of itself; and
 * whether its description has `words`. */
sdpa_plan_info property_plan_info(const struct problem_spec *spec, const sdpa_options *options);
int property_plan_says(const struct problem_spec *spec, const sdpa_options *options,
                       const char *words);

/* The problem of one head of one batch entry, on the same memory; not to be freed. */
void property_narrow(const struct problem_data *data, int64_t b, int64_t h,
                     struct problem_data *one);

/* Ends the test: the problem string and what is wrong. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4), noreturn))
#endif
void property_fail(const struct problem_spec *spec, const char *isa, const char *format, ...);

/* The bits of every output element, in a fixed order: what "not one bit changes" compares. The
 * caller frees *bits. */
size_t property_output_bits(const struct problem_data *data, unsigned char **bits);

/* Compares two such arrays of the same problem and fails at the first element that differs. */
void property_same_bits(const struct problem_data *data, const struct problem_spec *spec,
                        const char *isa, const unsigned char *before, const unsigned char *after,
                        const char *what);

#endif
