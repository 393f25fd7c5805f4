/* api_support.h - a small attention call with exactly sized buffers, for the tests of the public
 * API
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * It uses the public header only. Each tensor is a heap block of its own of exactly the size that
 * its shape needs, so that AddressSanitizer sees a read or write beyond it. Outputs start as
 * sentinel bytes, so that a test can tell whether anything was written.
 */
#ifndef SDPA_TESTS_API_SUPPORT_H
#define SDPA_TESTS_API_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sdpa/sdpa.h>

/* The tensors and arrays of a call, as in struct sdpa_args. */
enum {
  API_QUERY,
  API_KEY,
  API_VALUE,
  API_OUTPUT,
  API_MASK,
  API_BIAS,
  API_SLOPES,
  API_SINKS,
  API_KEY_LENS,
  API_QUERY_LENS,
  API_OFFSETS,
  API_WEIGHTS,
  API_SCORES,
  API_LSE,
  API_TENSORS
};

/* What the features declare is allocated and set in args; the rest of args is NULL. */
struct api_call {
  sdpa_problem problem;
  sdpa_args args;
  void *block[API_TENSORS];
  size_t bytes[API_TENSORS];
};

struct api_sizes {
  int64_t batch, query_heads, kv_heads, query_len, key_len, key_dim, value_dim;
};

/* A BHSD problem of `type` (all tensors). Inputs hold small numbers, the mask ones, lengths their
 * maximum, offsets 0, slopes and sinks 0. `alignment` and the other fields may still be changed. */
void api_call_init(struct api_call *call, uint32_t type, struct api_sizes sizes, uint32_t features,
                   uint32_t alignment);
void api_call_free(struct api_call *call);

/* One batch entry and one head. */
struct api_sizes api_one_head(int64_t query_len, int64_t key_len, int64_t key_dim,
                              int64_t value_dim);

/* Fails the running test unless every output still holds its sentinel bytes. */
void api_assert_untouched(const struct api_call *call);

/* Runs the call, asserts success, then runs it again without weights, scores and lse and asserts
 * that the output agrees: what else is asked for must not change it. */
void api_run(struct api_call *call);

/* The backward pass by a plan of its own, without a workspace: check and call succeed. */
void api_backward(const sdpa_problem *problem, const sdpa_options *options, const sdpa_args *args,
                  const sdpa_grads *grads);

/* 1 if the library under test has this SDPA_ENGINE_...; a test of one that it lacks skips. */
int api_offers(uint32_t engine);
void api_needs(uint32_t engine);

size_t api_element_size(uint32_t type);

/* Element i of a tensor of `type`, as double. */
double api_get(uint32_t type, const void *data, int64_t i);
void api_put(uint32_t type, void *data, int64_t i, double x);
void api_put_all(uint32_t type, void *data, int64_t n, const double *x);

/* The inputs of a call are const in sdpa_args: these give the test's own block back. */
void *api_query(const struct api_call *call);
void *api_key(const struct api_call *call);
void *api_value(const struct api_call *call);
void *api_bias(const struct api_call *call);
void *api_slopes(const struct api_call *call);
void *api_sinks(const struct api_call *call);
uint8_t *api_mask(const struct api_call *call);
int64_t *api_key_lens(const struct api_call *call);
int64_t *api_query_lens(const struct api_call *call);
int64_t *api_offsets(const struct api_call *call);

/* Whether the address may be that of an element of so many bytes, as C aligns their type: 32-bit x86
 * aligns those of 8 bytes to 4. */
int api_is_aligned(const void *address, size_t bytes);

/* Asserts |actual - expected| <= 4 * u * 16 * magnitude, u being the unit roundoff of the compute
 * type of `type`: semantics rule 18 for chains of at most 8 additions and scores of at most 8. In
 * 16 bits plus one step, since both may have been rounded to them. NaN equals NaN, and an infinity
 * equals itself. */
void api_assert_near(uint32_t type, double actual, double expected, double magnitude);
/* The same for n elements, with the element's index in the failure. */
void api_assert_all_near(uint32_t type, const void *actual, int64_t n, const double *expected,
                         double magnitude);

/* Asserts that a check's sentence says "<field> is <value>", or names the field if value is NULL,
 * in whole words. */
void api_assert_says(const char *text, const char *field, const char *value);

#endif
