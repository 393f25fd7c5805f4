/* problem.h - the checked problem that engines work from
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of problem/ are the only ones that read the public structs. What comes out is complete
 * (defaults filled in), consistent, and safe to compute addresses from.
 */
#ifndef SDPAI_PROBLEM_H
#define SDPAI_PROBLEM_H

#include <stddef.h>

#include <sdpa/sdpa.h>

#include "problem/dtype.h"
#include "runtime/alloc.h"
#include "runtime/report.h"

struct sdpai_problem {
  uint32_t features; /* SDPA_CAUSAL ... */
  struct sdpai_types types;
  uint32_t element;              /* bytes of one element of the compute type */
  uint8_t bytes[SDPAI_ELEMENTS]; /* of an element of each tensor, by enum sdpai_element */
  uint32_t alignment, score_stage;
  int64_t batch, query_heads, kv_heads;
  int64_t group; /* query heads per kv head; 1 without kv heads */
  int64_t query_len, key_len, key_dim, value_dim;
  double scale, softcap;             /* in the compute type; softcap 0: off */
  int64_t window_left, window_right; /* -1: unbounded; causal is window_right 0 */
  int64_t offset;
  /* Along a dimension of one element, and in all of an empty or undeclared tensor: 0, col 1. */
  sdpa_strides query, key, value, output, mask, bias, weights, scores, lse;
  double dropout; /* as given; 0: off */
  /* Of a backward problem, else as undeclared. grad_bias is 0 wherever bias is: summed there. */
  sdpa_strides grad_query, grad_key, grad_value, grad_output, grad_bias;
};

/* Where the data is, after every check. An undeclared tensor is NULL; `bias` etc. as in sdpa_args.
 */
struct sdpai_args {
  const void *query, *key, *value;
  void *output;
  const uint8_t *mask;
  const void *bias, *alibi_slopes, *sinks;
  const int64_t *key_lens, *query_lens, *offsets;
  void *weights, *scores, *lse;
  uint64_t dropout_seed, dropout_offset;
  int64_t dropout_batch, dropout_head, dropout_query, dropout_key; /* sums with indices fit */
};

/* What a backward pass gets beside sdpai_args, and where its results go; NULL: not wanted, or
 * without elements. grad_lse NULL: 0. */
struct sdpai_grads {
  const void *output, *lse, *grad_output, *grad_lse;
  void *grad_query, *grad_key, *grad_value, *grad_bias, *grad_sinks, *grad_slopes;
};

struct sdpai_options {
  uint32_t engine, isa, precision;
  int32_t threads;
  sdpa_parallel_for parallel_for;
  void *parallel_ctx;
  struct sdpai_allocator allocator;
};

/* Public struct -> checked one. On an error nothing is written to *result; the report, if any, gets
 * the sentence. `options` may be NULL: all defaults. A problem that is read for a backward pass has
 * no output of the forward one: its features lack those bits, and lse and output are inputs. */
sdpa_status sdpai_problem_read(const sdpa_problem *problem, int backward,
                               struct sdpai_problem *result, struct sdpai_report *report);
sdpa_status sdpai_options_read(const sdpa_options *options, struct sdpai_options *result,
                               struct sdpai_report *report);
sdpa_status sdpai_args_read(const struct sdpai_problem *problem, int backward,
                            const sdpa_args *args, struct sdpai_args *result,
                            struct sdpai_report *report);
sdpa_status sdpai_grads_read(const struct sdpai_problem *problem, const sdpa_grads *grads,
                             struct sdpai_grads *result, struct sdpai_report *report);

/* The types that the fields of a problem name, 0 being the one it stands for. */
struct sdpai_types sdpai_problem_types(const sdpa_problem *problem);

/* Whether there are rows and keys. Without them a gradient that is a sum over both is 0, or, that
 * of a bias, has no elements. */
int sdpai_gradients_flow(const struct sdpai_problem *problem);

/* Whether the forward pass writes any element; the backward pass, asked for these gradients, of
 * which those that are sums are asked for only where they flow. */
int sdpai_forward_writes(const struct sdpai_problem *problem);
int sdpai_backward_writes(const struct sdpai_problem *problem, const struct sdpai_grads *grads);

/* Every check of a problem of full size (validate.c). */
sdpa_status sdpai_validate_problem(const sdpa_problem *problem, int backward,
                                   struct sdpai_report *report);

/* Outputs of the forward pass, by their features. */
#define SDPAI_OUTPUT_FEATURES ((uint32_t)(SDPA_WEIGHTS | SDPA_LSE | SDPA_SCORES | SDPA_NO_OUTPUT))

/* First sizes of the public structs: they ended with these fields. Never change these lines. */
#define SDPAI_PROBLEM_BASELINE (offsetof(sdpa_problem, lse) + sizeof(sdpa_strides))
#define SDPAI_OPTIONS_BASELINE (offsetof(sdpa_options, alloc_ctx) + sizeof(void *))
#define SDPAI_ARGS_BASELINE    (offsetof(sdpa_args, lse) + sizeof(void *))
#define SDPAI_GRADS_BASELINE   (offsetof(sdpa_grads, grad_alibi_slopes) + sizeof(void *))

/* The size-field rule of all public input structs (Linux's, openat2(2)): `size` below `baseline`
 * (its first size) is an error; between that and `full` the rest is zero; above `full` the unknown
 * tail must be zero. *view becomes a struct of full size: *source itself, or *copy, `full` bytes
 * that are filled from it. */
sdpa_status sdpai_struct_read(const char *name, const void *source, uint32_t size, size_t baseline,
                              size_t full, void *copy, const void **view,
                              struct sdpai_report *report);

/* Sets `size` bytes of *object to 0 and its size field to `size`, which comes from the caller's
 * header: not more than the caller's struct holds may be written. SDPA_ERROR_NULL,
 * SDPA_ERROR_STRUCT_SIZE. */
sdpa_status sdpai_struct_init(void *object, size_t size, size_t baseline);

/* Contiguous strides of problem->query .. lse in `layout`, and of the gradients as far as the
 * problem's size reaches; on an error the problem is untouched. */
sdpa_status sdpai_problem_layout(sdpa_problem *problem, uint32_t layout);
sdpa_status sdpai_problem_broadcast(const sdpa_problem *problem, int32_t rank, const int64_t *shape,
                                    sdpa_strides *strides);

/* Lengths and alignment of one batch entry. */
int64_t sdpai_query_length(const struct sdpai_problem *problem, const struct sdpai_args *args,
                           int64_t batch);
int64_t sdpai_key_length(const struct sdpai_problem *problem, const struct sdpai_args *args,
                         int64_t batch);
/* p of row 0: the key that row 0 is aligned with. */
int64_t sdpai_alignment_offset(const struct sdpai_problem *problem, const struct sdpai_args *args,
                               int64_t batch);

#endif
