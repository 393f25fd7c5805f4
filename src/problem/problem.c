/* problem.c - the public problem struct: reading, contiguous strides, lengths of a batch entry
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "problem/problem.h"

#include <math.h>
#include <string.h>

#include "runtime/checked_math.h"

sdpa_status sdpai_struct_read(const char *name, const void *source, uint32_t size, size_t baseline,
                              size_t full, void *copy, const void **view,
                              struct sdpai_report *report) {
  if (size < baseline)
    return sdpai_fail(report, SDPA_ERROR_STRUCT_SIZE,
                      "%s.size is %u; expected at least %zu, its first size", name, (unsigned)size,
                      baseline);
  for (size_t i = full; i < size; i++)
    if (((const unsigned char *)source)[i] != 0)
      return sdpai_fail(
          report, SDPA_ERROR_STRUCT_SIZE,
          "%s.size is %u, and byte %zu, which this version does not know, is not 0; expected "
          "zeros from byte %zu on",
          name, (unsigned)size, i, full);
  *view = source;
  if (size < full) {
    memcpy(copy, source, size);
    memset((char *)copy + size, 0, full - size);
    *view = copy;
  }
  return SDPA_OK;
}

sdpa_status sdpai_struct_init(void *object, size_t size, size_t baseline) {
  if (!object) return SDPA_ERROR_NULL;
  if (size < baseline || size > UINT32_MAX) return SDPA_ERROR_STRUCT_SIZE;
  memset(object, 0, size);
  const uint32_t stored = (uint32_t)size;
  memcpy(object, &stored, sizeof stored);
  return SDPA_OK;
}

struct sdpai_types sdpai_problem_types(const sdpa_problem *problem) {
  struct sdpai_types types = {.query = problem->query_type};
  const struct sdpai_dtype *query = sdpai_dtype(types.query);
  types.key = problem->key_type ? problem->key_type : types.query;
  types.value = problem->value_type ? problem->value_type : types.key;
  types.output = problem->output_type ? problem->output_type : types.query;
  types.bias = problem->bias_type ? problem->bias_type : types.query;
  types.compute = query ? query->compute : 0;
  return types;
}

/* Causal allows j <= p, which is a right window of 0; the narrower of the two holds. */
static void read_windows(const sdpa_problem *problem, struct sdpai_problem *result) {
  result->window_left = result->window_right = -1;
  if (problem->features & SDPA_WINDOW) {
    if (problem->window_left >= 0) result->window_left = problem->window_left;
    if (problem->window_right >= 0) result->window_right = problem->window_right;
  }
  if (problem->features & SDPA_CAUSAL) result->window_right = 0;
}

static void read_sizes(const sdpa_problem *problem, struct sdpai_problem *result) {
  result->batch = problem->batch;
  result->query_heads = problem->query_heads;
  result->kv_heads = problem->kv_heads;
  result->group = problem->kv_heads > 0 ? problem->query_heads / problem->kv_heads : 1;
  result->query_len = problem->query_len;
  result->key_len = problem->key_len;
  result->key_dim = problem->key_dim;
  result->value_dim = problem->value_dim;
}

static void read_scalars(const sdpa_problem *problem, struct sdpai_problem *result) {
  double scale = 1;
  if (problem->features & SDPA_SCALE) {
    scale = problem->scale;
  } else if (problem->key_dim > 0) {
    scale = 1 / sqrt((double)problem->key_dim);
  }
  result->scale = sdpai_dtype_round(result->types.compute, scale);
  result->softcap = sdpai_dtype_round(result->types.compute, problem->softcap);
  result->dropout = problem->dropout;
}

/* Strides that engines may multiply with, whatever stood in those that are not used: 0 along a
 * dimension of one element, but 1 from column to column, and so in all of a tensor that is empty or
 * not there. */
static sdpa_strides used_strides(const sdpa_strides *given, int declared, int64_t batch,
                                 int64_t heads, int64_t rows, int64_t cols) {
  sdpa_strides used = {0, 0, 0, 1};
  if (!declared || batch == 0 || heads == 0 || rows == 0 || cols == 0) return used;
  if (batch > 1) used.batch = given->batch;
  if (heads > 1) used.head = given->head;
  if (rows > 1) used.row = given->row;
  if (cols > 1) used.col = given->col;
  return used;
}

/* Along a dimension in which the bias repeats its gradient is one sum. */
static sdpa_strides where_not_broadcast(sdpa_strides grad, const sdpa_strides *bias) {
  if (bias->batch == 0) grad.batch = 0;
  if (bias->head == 0) grad.head = 0;
  if (bias->row == 0) grad.row = 0;
  if (bias->col == 0) grad.col = 0;
  return grad;
}

static void read_grad_strides(const sdpa_problem *p, int backward, struct sdpai_problem *result) {
  const int64_t b = p->batch, h = p->query_heads, g = p->kv_heads, n_q = p->query_len,
                n_k = p->key_len;
  const int bias = backward && (p->features & SDPA_BIAS) != 0;
  result->grad_query = used_strides(&p->grad_query, backward, b, h, n_q, p->key_dim);
  result->grad_key = used_strides(&p->grad_key, backward, b, g, n_k, p->key_dim);
  result->grad_value = used_strides(&p->grad_value, backward, b, g, n_k, p->value_dim);
  result->grad_output = used_strides(&p->grad_output, backward, b, h, n_q, p->value_dim);
  result->grad_bias =
      where_not_broadcast(used_strides(&p->grad_bias, bias, b, h, n_q, n_k), &result->bias);
}

static void read_strides(const sdpa_problem *problem, int backward, struct sdpai_problem *result) {
  const sdpa_problem *p = problem;
  const uint32_t features = result->features;
  const int64_t b = p->batch, h = p->query_heads, g = p->kv_heads, n_q = p->query_len,
                n_k = p->key_len;
  const int output = !(features & SDPA_NO_OUTPUT);
  result->query = used_strides(&p->query, 1, b, h, n_q, p->key_dim);
  result->key = used_strides(&p->key, 1, b, g, n_k, p->key_dim);
  result->value = used_strides(&p->value, output, b, g, n_k, p->value_dim);
  result->output = used_strides(&p->output, output, b, h, n_q, p->value_dim);
  result->mask = used_strides(&p->mask, (features & SDPA_MASK) != 0, b, h, n_q, n_k);
  result->bias = used_strides(&p->bias, (features & SDPA_BIAS) != 0, b, h, n_q, n_k);
  result->weights = used_strides(&p->weights, (features & SDPA_WEIGHTS) != 0, b, h, n_q, n_k);
  result->scores = used_strides(&p->scores, (features & SDPA_SCORES) != 0, b, h, n_q, n_k);
  result->lse = used_strides(&p->lse, backward || (features & SDPA_LSE) != 0, b, h, n_q, 1);
}

sdpa_status sdpai_problem_read(const sdpa_problem *problem, int backward,
                               struct sdpai_problem *result, struct sdpai_report *report) {
  if (!problem)
    return sdpai_fail(report, SDPA_ERROR_NULL,
                      "problem is NULL; expected a pointer to an sdpa_problem");
  sdpa_problem copy;
  const void *view = problem;
  sdpa_status status = sdpai_struct_read("sdpa_problem", problem, problem->size,
                                         SDPAI_PROBLEM_BASELINE, sizeof copy, &copy, &view, report);
  if (status == SDPA_OK) status = sdpai_validate_problem(view, backward, report);
  if (status != SDPA_OK) return status;
  problem = view;

  result->features = problem->features & ~(backward ? SDPAI_OUTPUT_FEATURES : 0);
  result->types = sdpai_problem_types(problem);
  sdpai_types_bytes(&result->types, result->bytes);
  result->element = result->bytes[SDPAI_ELEMENT_COMPUTE];
  result->alignment = problem->alignment;
  result->score_stage = backward ? 0 : problem->score_stage;
  result->offset = problem->offset;
  read_sizes(problem, result);
  read_scalars(problem, result);
  read_windows(problem, result);
  read_strides(problem, backward, result);
  read_grad_strides(problem, backward, result);
  return SDPA_OK;
}

int sdpai_forward_writes(const struct sdpai_problem *p) {
  const int output = !(p->features & SDPA_NO_OUTPUT) && p->value_dim > 0;
  const int pairs = (p->features & (SDPA_WEIGHTS | SDPA_SCORES)) != 0 && p->key_len > 0;
  return p->batch > 0 && p->query_heads > 0 && p->query_len > 0 &&
         (output || pairs || (p->features & SDPA_LSE));
}

int sdpai_gradients_flow(const struct sdpai_problem *p) {
  return p->batch > 0 && p->query_heads > 0 && p->query_len > 0 && p->key_len > 0;
}

int sdpai_backward_writes(const struct sdpai_problem *p, const struct sdpai_grads *grads) {
  const int rows = p->batch > 0 && p->query_heads > 0 && p->query_len > 0;
  const int keys = p->batch > 0 && p->kv_heads > 0 && p->key_len > 0;
  return (grads->grad_query && rows && p->key_dim > 0) ||
         (grads->grad_key && keys && p->key_dim > 0) ||
         (grads->grad_value && keys && p->value_dim > 0) || grads->grad_bias || grads->grad_sinks ||
         grads->grad_slopes;
}

int64_t sdpai_query_length(const struct sdpai_problem *problem, const struct sdpai_args *args,
                           int64_t batch) {
  return args->query_lens ? args->query_lens[batch] : problem->query_len;
}

int64_t sdpai_key_length(const struct sdpai_problem *problem, const struct sdpai_args *args,
                         int64_t batch) {
  return args->key_lens ? args->key_lens[batch] : problem->key_len;
}

int64_t sdpai_alignment_offset(const struct sdpai_problem *problem, const struct sdpai_args *args,
                               int64_t batch) {
  switch (problem->alignment) {
  case SDPA_ALIGN_BOTTOM_RIGHT:
    return sdpai_key_length(problem, args, batch) - sdpai_query_length(problem, args, batch);
  case SDPA_ALIGN_OFFSET:
    return args->offsets ? args->offsets[batch] : problem->offset;
  default:
    return 0;
  }
}
