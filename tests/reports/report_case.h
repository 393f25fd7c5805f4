/* report_case.h - the input of a reported failure, run on every path through the library
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A report says: with this input another library was wrong. Such a fault often sits on one path
 * only, so every input runs on all of them: types, engines, instruction sets, numbers of threads,
 * with and without weights and log-sum-exp, in one call and by a plan. Whatever memory the library
 * gets to write to or to work in holds NaN bytes (0xFF) before.
 */
#ifndef REPORT_CASE_H
#define REPORT_CASE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sdpa/sdpa.h>

#include "problem_shape.h"

/* `count` numbers in memory, of which element (0, 0, 0, 0) of the tensor is number `first`. */
struct report_input {
  const double *data;
  int64_t count, first;
};

/* REPORT_INPUT(array): the whole of an array, from its first element on. */
#define REPORT_INPUT(array) ((struct report_input){(array), sizeof(array) / sizeof *(array), 0})

struct report_case {
  sdpa_problem problem; /* query_type is set by the runs */
  struct report_input query, key, value, bias, slopes, sinks;
  const uint8_t *mask;
  const int64_t *key_lens, *query_lens, *offsets;
  uint32_t only_type; /* 0: all four */
};

struct report_sizes {
  int64_t batch, query_heads, kv_heads, query_len, key_len, key_dim, value_dim;
};

/* A case of contiguous [batch][head][row][col] tensors. scale 0: the default scale. */
void report_case_init(struct report_case *c, struct report_sizes sizes, double scale);
struct report_sizes report_one_head(int64_t query_len, int64_t key_len, int64_t key_dim,
                                    int64_t value_dim);

/* One way through the library. */
struct report_path {
  uint32_t type, engine, isa;
  int32_t threads;
  int extras;  /* weights and log-sum-exp, too */
  int planned; /* by a plan with a workspace; else in one call with an allocator */
};

/* Sets *path to number i of the paths of this build and machine that `type` (0: all) leaves, and
 * returns 1; returns 0 past the last. */
int report_path(int i, uint32_t type, struct report_path *path);
/* In a buffer that the next call reuses. */
const char *report_path_text(const struct report_path *path);

/* What outputs, workspaces and allocated blocks hold before a run: 0xFF, so NaN, unless a test sets
 * it for a while. */
extern unsigned char report_memory_fill;

/* Not 0: report_execute() also fails the test where something is written to stderr, by its
 * descriptor, which is what a BLAS writes to. */
extern int report_watch_stderr;

/* Runs problem and args, which are complete and of the path's type, and fails the test unless that
 * succeeds. */
void report_execute(const struct report_path *path, const sdpa_problem *problem,
                    const sdpa_args *args);

/* Runs the backward pass: problem, args and grads are complete and of the path's type, args without
 * outputs. */
void report_execute_backward(const struct report_path *path, const sdpa_problem *problem,
                             const sdpa_args *args, const sdpa_grads *grads);

/* The numbers in a heap block of exactly their size; NULL for none. */
void *report_typed_copy(uint32_t type, const struct report_input *input);
/* Memory of a tensor that is written, from its first to its last element, full of
 * report_memory_fill; NULL if it has no element. */
void *report_output_block(const sdpa_problem *problem, enum problem_tensor tensor);
/* Its numbers in [batch][head][row][col] order. */
double *report_collect(const sdpa_problem *problem, enum problem_tensor tensor, const void *block,
                       int64_t *count);

/* Outputs as numbers in [batch][head][row][col] order, whatever their strides. */
struct report_outputs {
  int64_t n_output, n_weights, n_lse; /* the latter two 0 without extras */
  double *output, *weights, *lse;
};
void report_run(const struct report_case *c, const struct report_path *path,
                struct report_outputs *out);
void report_outputs_free(struct report_outputs *out);

/* What must come out; NULL: not looked at. Each number may be wrong by `roundoffs` unit roundoffs
 * of itself, so an expected 0 is met by 0 alone; NaN is never right. */
struct report_expected {
  const double *output, *weights, *lse;
  double roundoffs;
};

/* A few steps of rounding, of scores up to about 1 and of exp. */
#define REPORT_ROUNDOFFS 16.0

/* Runs the case on all paths and compares. */
void report_check(const struct report_case *c, struct report_expected expected);
/* The same for the output alone, within REPORT_ROUNDOFFS. */
void report_check_output(const struct report_case *c, const double *output);

/* Fails the test unless both cases give the same bits on each path. */
void report_check_same(const struct report_case *c, const struct report_case *other);

/* |actual - expected| <= roundoffs * unit roundoff of type * magnitude, and not NaN. */
int report_near(uint32_t type, double actual, double expected, double roundoffs, double magnitude);

/* Attention by three loops in double from the case's numbers, with strides, mask, bias and causal
 * top-left; other features are not known to it. output: as in report_outputs. */
void report_plain_loop(const struct report_case *c, double *output);

/* n numbers between -1 and 1 that look random; the same for the same n and salt. free() them. */
double *report_numbers(int64_t n, int salt);

#endif
