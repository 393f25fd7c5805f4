/* problem_shape.c - the tensors of a problem by number: name, shape, type, strides
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Stride products saturate instead of overflowing: problem strings may name sizes that no memory
 * holds.
 */
#include "problem_shape.h"

#include <string.h>

static const char *const tensor_names[PROBLEM_TENSORS_END] = {[PROBLEM_QUERY] = "query",
                                                              [PROBLEM_KEY] = "key",
                                                              [PROBLEM_VALUE] = "value",
                                                              [PROBLEM_OUTPUT] = "output",
                                                              [PROBLEM_MASK] = "mask",
                                                              [PROBLEM_BIAS] = "bias",
                                                              [PROBLEM_WEIGHTS] = "weights",
                                                              [PROBLEM_SCORES] = "scores",
                                                              [PROBLEM_LSE] = "lse",
                                                              [PROBLEM_GRAD_OUTPUT] = "grad_output",
                                                              [PROBLEM_GRAD_LSE] = "grad_lse",
                                                              [PROBLEM_GRAD_QUERY] = "grad_query",
                                                              [PROBLEM_GRAD_KEY] = "grad_key",
                                                              [PROBLEM_GRAD_VALUE] = "grad_value",
                                                              [PROBLEM_GRAD_BIAS] = "grad_bias"};

enum problem_tensor problem_next_tensor(enum problem_tensor tensor) {
  return tensor == PROBLEM_LSE ? PROBLEM_GRAD_OUTPUT : (enum problem_tensor)(tensor + 1);
}

const char *problem_tensor_name(enum problem_tensor tensor) {
  return tensor_names[tensor];
}

int problem_tensor_is_output(enum problem_tensor tensor) {
  return tensor == PROBLEM_OUTPUT || tensor == PROBLEM_WEIGHTS || tensor == PROBLEM_SCORES ||
         tensor == PROBLEM_LSE;
}

int problem_tensor_is_gradient(enum problem_tensor tensor) {
  return tensor >= PROBLEM_GRAD_QUERY && tensor <= PROBLEM_GRAD_BIAS;
}

/* The tensor whose shape and type this one has. */
static enum problem_tensor model_of(enum problem_tensor tensor) {
  switch (tensor) {
  case PROBLEM_GRAD_OUTPUT:
    return PROBLEM_OUTPUT;
  case PROBLEM_GRAD_LSE:
    return PROBLEM_LSE;
  case PROBLEM_GRAD_QUERY:
    return PROBLEM_QUERY;
  case PROBLEM_GRAD_KEY:
    return PROBLEM_KEY;
  case PROBLEM_GRAD_VALUE:
    return PROBLEM_VALUE;
  case PROBLEM_GRAD_BIAS:
    return PROBLEM_BIAS;
  default:
    return tensor;
  }
}

int problem_declares(const sdpa_problem *problem, enum problem_tensor tensor) {
  switch (tensor) {
  case PROBLEM_OUTPUT:
    return (problem->features & SDPA_NO_OUTPUT) == 0;
  case PROBLEM_MASK:
    return (problem->features & SDPA_MASK) != 0;
  case PROBLEM_BIAS:
  case PROBLEM_GRAD_BIAS:
    return (problem->features & SDPA_BIAS) != 0;
  case PROBLEM_WEIGHTS:
    return (problem->features & SDPA_WEIGHTS) != 0;
  case PROBLEM_SCORES:
    return (problem->features & SDPA_SCORES) != 0;
  case PROBLEM_LSE:
    return (problem->features & SDPA_LSE) != 0;
  default:
    return 1;
  }
}

void problem_shape(const sdpa_problem *problem, enum problem_tensor tensor, int64_t shape[4]) {
  tensor = model_of(tensor);
  int of_keys = tensor == PROBLEM_KEY || tensor == PROBLEM_VALUE;
  shape[0] = problem->batch;
  shape[1] = of_keys ? problem->kv_heads : problem->query_heads;
  shape[2] = of_keys ? problem->key_len : problem->query_len;
  switch (tensor) {
  case PROBLEM_QUERY:
  case PROBLEM_KEY:
    shape[3] = problem->key_dim;
    break;
  case PROBLEM_VALUE:
  case PROBLEM_OUTPUT:
    shape[3] = problem->value_dim;
    break;
  case PROBLEM_LSE:
    shape[3] = 1;
    break;
  default:
    shape[3] = problem->key_len;
  }
}

static int64_t product(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

int64_t problem_positions(const sdpa_problem *problem, enum problem_tensor tensor) {
  int64_t shape[4], positions = 1;
  problem_shape(problem, tensor, shape);
  for (int i = 0; i < 4; i++) {
    if (shape[i] == 0) return 0;
    positions = product(positions, shape[i]);
  }
  return positions;
}

static size_t strides_place(enum problem_tensor tensor) {
  static const size_t places[PROBLEM_TENSORS_END] = {
      [PROBLEM_QUERY] = offsetof(sdpa_problem, query),
      [PROBLEM_KEY] = offsetof(sdpa_problem, key),
      [PROBLEM_VALUE] = offsetof(sdpa_problem, value),
      [PROBLEM_OUTPUT] = offsetof(sdpa_problem, output),
      [PROBLEM_MASK] = offsetof(sdpa_problem, mask),
      [PROBLEM_BIAS] = offsetof(sdpa_problem, bias),
      [PROBLEM_WEIGHTS] = offsetof(sdpa_problem, weights),
      [PROBLEM_SCORES] = offsetof(sdpa_problem, scores),
      [PROBLEM_LSE] = offsetof(sdpa_problem, lse),
      [PROBLEM_GRAD_OUTPUT] = offsetof(sdpa_problem, grad_output),
      [PROBLEM_GRAD_LSE] = offsetof(sdpa_problem, lse),
      [PROBLEM_GRAD_QUERY] = offsetof(sdpa_problem, grad_query),
      [PROBLEM_GRAD_KEY] = offsetof(sdpa_problem, grad_key),
      [PROBLEM_GRAD_VALUE] = offsetof(sdpa_problem, grad_value),
      [PROBLEM_GRAD_BIAS] = offsetof(sdpa_problem, grad_bias)};
  return places[tensor];
}

/* Strides of grad_bias: 0 where bias has 0. */
static sdpa_strides summed_strides(const sdpa_problem *problem, sdpa_strides strides) {
  if (problem->bias.batch == 0) strides.batch = 0;
  if (problem->bias.head == 0) strides.head = 0;
  if (problem->bias.row == 0) strides.row = 0;
  if (problem->bias.col == 0) strides.col = 0;
  return strides;
}

sdpa_strides problem_get_strides(const sdpa_problem *problem, enum problem_tensor tensor) {
  sdpa_strides strides;
  memcpy(&strides, (const char *)problem + strides_place(tensor), sizeof strides);
  return tensor == PROBLEM_GRAD_BIAS ? summed_strides(problem, strides) : strides;
}

void problem_set_strides(sdpa_problem *problem, enum problem_tensor tensor, sdpa_strides strides) {
  memcpy((char *)problem + strides_place(tensor), &strides, sizeof strides);
}

uint32_t problem_compute_type(const sdpa_problem *problem) {
  return problem->query_type == SDPA_F64 ? SDPA_F64 : SDPA_F32;
}

uint32_t problem_type(const sdpa_problem *problem, enum problem_tensor tensor) {
  uint32_t query = problem->query_type;
  uint32_t key = problem->key_type ? problem->key_type : query;
  switch (model_of(tensor)) {
  case PROBLEM_QUERY:
    return query;
  case PROBLEM_KEY:
    return key;
  case PROBLEM_VALUE:
    return problem->value_type ? problem->value_type : key;
  case PROBLEM_OUTPUT:
    return problem->output_type ? problem->output_type : query;
  case PROBLEM_BIAS:
    return problem->bias_type ? problem->bias_type : query;
  case PROBLEM_MASK:
    return 0;
  default:
    return problem_compute_type(problem);
  }
}

size_t problem_type_bytes(uint32_t type) {
  switch (type) {
  case SDPA_F64:
    return 8;
  case SDPA_F32:
    return 4;
  case SDPA_BF16:
  case SDPA_F16:
    return 2;
  default:
    return 1;
  }
}

sdpa_strides problem_order_strides(const int64_t shape[4], const char *order, int64_t gap) {
  int64_t strides[4] = {0, 0, 0, 0};
  int64_t step = 1;
  for (size_t i = strlen(order); i-- > 0;) {
    int dimension = order[i] == 'b' ? 0 : order[i] == 'h' ? 1 : order[i] == 's' ? 2 : 3;
    strides[dimension] = step;
    step = product(step, shape[dimension] > 0 ? shape[dimension] : 1);
    if (order[i + 1] == '\0' && __builtin_add_overflow(step, gap, &step)) step = INT64_MAX;
  }
  return (sdpa_strides){strides[0], strides[1], strides[2], strides[3]};
}

sdpa_strides problem_default_strides(const sdpa_problem *problem, enum problem_tensor tensor,
                                     const char *order) {
  int64_t shape[4];
  problem_shape(problem, tensor, shape);
  if (tensor == PROBLEM_GRAD_BIAS)
    return summed_strides(problem, problem_order_strides(shape, "bhsd", 0));
  tensor = model_of(tensor);
  if (tensor == PROBLEM_LSE) return problem_order_strides(shape, "bhs", 0);
  return problem_order_strides(shape, tensor <= PROBLEM_OUTPUT ? order : "bhsd", 0);
}

static int same_places(const int64_t shape[4], sdpa_strides a, sdpa_strides b) {
  return (shape[0] < 2 || a.batch == b.batch) && (shape[1] < 2 || a.head == b.head) &&
         (shape[2] < 2 || a.row == b.row) && (shape[3] < 2 || a.col == b.col);
}

int problem_is_contiguous(const sdpa_problem *problem, enum problem_tensor tensor) {
  int64_t shape[4];
  sdpa_strides strides = problem_get_strides(problem, tensor);
  problem_shape(problem, tensor, shape);
  return same_places(shape, strides, problem_order_strides(shape, "bhsd", 0)) ||
         same_places(shape, strides, problem_order_strides(shape, "bshd", 0));
}
