/* bench_case.h - one problem made ready to run: data, plan, workspace
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include <stddef.h>
#include <stdint.h>

#include <sdpa/sdpa.h>

#include "problem_data.h"
#include "problem_string.h"

struct bench_case {
  struct problem_spec spec;
  sdpa_options options;
  sdpa_plan *plan;
  sdpa_plan_info info; /* what the library chose */
  struct problem_data data;
  sdpa_args backward_args; /* for `bwd`: those of data without the outputs */
  void *workspace;
  size_t workspace_bytes;
  int one_shot;       /* bench_case_run() calls sdpa_attention_f32() or _f64() instead */
  sdpa_status status; /* the first error of bench_case_run(), SDPA_OK if there was none */
};

/* What to run it on. threads 0: the library's default. */
struct bench_choice {
  uint32_t engine, isa;
  int threads;
};

/* Makes a plan for a problem string that parses. Returns 0, or -1 and a sentence in `message`, the
 * library's own where it does not serve the problem. bench_case_close() is due in both cases. */
int bench_case_open(struct bench_case *c, const char *problem, const struct bench_choice *choice,
                    char *message, size_t message_bytes);

/* Makes data and workspace for it, after bench_case_open(); for `bwd` also runs the forward pass,
 * whose output and log-sum-exp the backward pass reads. The same returns. */
int bench_case_fill(struct bench_case *c, char *message, size_t message_bytes);
void bench_case_close(struct bench_case *c);

/* Threads that it runs on: those of the BLAS for engine blas, else the plan's. Where the BLAS does
 * not tell, those asked for, or 1. */
int bench_case_threads(const struct bench_case *c);

/* For struct timed; arg is the struct bench_case. A call is sdpa_execute() with a workspace, for
 * `bwd` sdpa_backward() for every gradient that there is, without one of the log-sum-exp. */
double bench_case_run(void *arg, int64_t calls);

#endif
