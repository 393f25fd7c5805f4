/* problem_data.c - memory for a problem spec: allocation, snapshot, comparison
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The strides of a tensor span a range of element places on both sides of its origin. Under a guard
 * only the places that may be touched are accessible, so unread keys at an end of the range are
 * not.
 */
#define _GNU_SOURCE
#include "problem_data.h"
#include "narrow_float.h"
#include "problem_fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 64 };

double problem_load(uint32_t type, const void *element) {
  double wide;
  float narrow;
  uint16_t bits;
  if (type == 0) return *(const unsigned char *)element;
  if (type == SDPA_F64) {
    memcpy(&wide, element, sizeof wide);
    return wide;
  }
  if (is_narrow_float(type)) {
    memcpy(&bits, element, sizeof bits);
    return narrow_to_double(type, bits);
  }
  memcpy(&narrow, element, sizeof narrow);
  return (double)narrow;
}

void problem_store(uint32_t type, void *element, double value) {
  if (type == 0) {
    *(unsigned char *)element = (unsigned char)value;
  } else if (type == SDPA_F64) {
    memcpy(element, &value, sizeof value);
  } else if (is_narrow_float(type)) {
    const uint16_t bits = narrow_from_double(type, value);
    memcpy(element, &bits, sizeof bits);
  } else {
    const float narrow = (float)value;
    memcpy(element, &narrow, sizeof narrow);
  }
}

static int64_t place_of(sdpa_strides s, int64_t b, int64_t h, int64_t i, int64_t j) {
  return b * s.batch + h * s.head + i * s.row + j * s.col;
}

void *problem_data_at(const struct problem_data *data, enum problem_tensor tensor, int64_t batch,
                      int64_t head, int64_t row, int64_t col) {
  sdpa_strides strides = problem_get_strides(&data->problem, tensor);
  int64_t bytes = (int64_t)problem_type_bytes(problem_type(&data->problem, tensor));
  return (void *)((uintptr_t)data->block[tensor].origin +
                  (uintptr_t)(place_of(strides, batch, head, row, col) * bytes));
}

int problem_data_is_read(const struct problem_data *data, enum problem_tensor tensor, int64_t batch,
                         int64_t row, int64_t col) {
  const sdpa_problem *problem = &data->problem;
  const int64_t *key_lens = data->args.key_lens, *query_lens = data->args.query_lens;
  int64_t keys = key_lens ? key_lens[batch] : problem->key_len;
  int64_t queries = query_lens ? query_lens[batch] : problem->query_len;
  switch (tensor) {
  case PROBLEM_QUERY:
  case PROBLEM_GRAD_OUTPUT:
  case PROBLEM_GRAD_LSE:
    return row < queries;
  case PROBLEM_KEY:
  case PROBLEM_VALUE:
    return row < keys;
  case PROBLEM_MASK:
  case PROBLEM_BIAS:
    return row < queries && col < keys;
  default:
    return 1;
  }
}

/* Range of places of a box of positions: rows below shape[2], columns below shape[3]. -1: too
 * large. */
static int box_range(sdpa_strides strides, const int64_t shape[4], int64_t *low, int64_t *high) {
  const int64_t stride[4] = {strides.batch, strides.head, strides.row, strides.col};
  for (int i = 0; i < 4; i++) {
    int64_t reach;
    if (__builtin_mul_overflow(stride[i], shape[i] - 1, &reach)) return -1;
    if (__builtin_add_overflow(reach < 0 ? *low : *high, reach, reach < 0 ? low : high)) return -1;
  }
  return *low < -(INT64_MAX / 64) || *high > INT64_MAX / 64 ? -1 : 0;
}

/* Range of the places that may be touched: over the batch entries, since their lengths differ. */
static int touched_range(const struct problem_data *data, enum problem_tensor tensor, int64_t *low,
                         int64_t *high) {
  sdpa_strides strides = problem_get_strides(&data->problem, tensor);
  int64_t shape[4];
  int any = 0;
  problem_shape(&data->problem, tensor, shape);
  for (int64_t b = 0; b < shape[0]; b++) {
    int64_t box[4] = {1, shape[1], shape[2], shape[3]};
    int64_t from = place_of(strides, b, 0, 0, 0), to = from;
    while (box[2] > 0 && !problem_data_is_read(data, tensor, b, box[2] - 1, 0)) box[2]--;
    while (box[3] > 0 && !problem_data_is_read(data, tensor, b, 0, box[3] - 1)) box[3]--;
    if (box[1] == 0 || box[2] == 0 || box[3] == 0) continue;
    if (box_range(strides, box, &from, &to) != 0) return -1;
    *low = any && *low < from ? *low : from;
    *high = any && *high > to ? *high : to;
    any = 1;
  }
  if (!any) *low = 0, *high = -1;
  return 0;
}

static int allocate(struct memory_block *block, const struct problem_data_options *options,
                    int64_t low, int64_t high, int64_t full_low, int64_t full_high, size_t element,
                    size_t skew) {
  size_t bytes = (size_t)(high - low + 1) * element;
  size_t unit = element;
  if (options->placement == PLACE_GUARD_END || options->placement == PLACE_GUARD_BEGIN) {
    enum guard_side side = options->placement == PLACE_GUARD_END ? GUARD_END : GUARD_BEGIN;
    if (guard_alloc(&block->guard, bytes, low > full_low ? (size_t)(low - full_low) * element : 0,
                    full_high > high ? (size_t)(full_high - high) * element : 0, side) != 0)
      return -1;
    block->begin = block->guard.data;
    block->bytes = bytes;
    block->origin = (unsigned char *)((uintptr_t)block->begin - (uintptr_t)(low * (int64_t)unit));
    return 0;
  }
  size_t front = MARGIN + (options->placement == PLACE_SKEWED ? skew * element : 0);
  block->bytes = (front + bytes + MARGIN + 63) / 64 * 64;
  block->owned = aligned_alloc(64, block->bytes);
  if (!block->owned) return -1;
  block->begin = block->owned;
  block->origin =
      (unsigned char *)((uintptr_t)block->begin + front - (uintptr_t)(low * (int64_t)unit));
  return 0;
}

int problem_data_is_written(const struct problem_data *data, int block) {
  const int is_tensor = block < PROBLEM_TENSORS || block >= PROBLEM_GRAD_OUTPUT;
  if (!data->backward) return is_tensor && problem_tensor_is_output((enum problem_tensor)block);
  return block == BLOCK_GRAD_SINKS || block == BLOCK_GRAD_SLOPES ||
         (is_tensor && problem_tensor_is_gradient((enum problem_tensor)block));
}

static int make_tensor(struct problem_data *data, enum problem_tensor tensor, uint64_t seed,
                       const struct problem_data_options *options) {
  int64_t low = 0, high = 0, full_low = 0, full_high = 0, shape[4];
  struct memory_block *block = &data->block[tensor];
  size_t element = problem_type_bytes(problem_type(&data->problem, tensor));
  int guarded = options->placement == PLACE_GUARD_END || options->placement == PLACE_GUARD_BEGIN;
  problem_shape(&data->problem, tensor, shape);
  if (problem_positions(&data->problem, tensor) == 0) {
    full_high = -1;
  } else if (box_range(problem_get_strides(&data->problem, tensor), shape, &full_low, &full_high)) {
    return -1;
  }
  low = full_low, high = full_high;
  if (guarded && high >= low && touched_range(data, tensor, &low, &high) != 0) return -1;
  if (allocate(block, options, low, high, full_low, full_high, element,
               1 + (size_t)((seed + tensor) % 15)))
    return -1;
  if (block->bytes > 0)
    memset(block->begin,
           problem_data_is_written(data, (int)tensor) || problem_tensor_is_output(tensor)
               ? options->output_fill
               : 0xFF,
           block->bytes);
  return 0;
}

static int make_array(struct problem_data *data, enum problem_block which, int64_t count,
                      size_t element, const struct problem_data_options *options) {
  struct memory_block *block = &data->block[which];
  if (count > (int64_t)1 << 40) return -1;
  if (allocate(block, options, 0, count - 1, 0, count - 1, element, 1 + (size_t)which)) return -1;
  if (block->bytes > 0)
    memset(block->begin, problem_data_is_written(data, (int)which) ? options->output_fill : 0xFF,
           block->bytes);
  return 0;
}

static int make_arrays(struct problem_data *data, const struct problem_data_options *options) {
  const sdpa_problem *problem = &data->problem;
  const size_t scalar = problem_type_bytes(problem_compute_type(problem));
  const uint32_t features = problem->features;
  int bad = 0;
  if (features & SDPA_KEY_LENS) bad |= make_array(data, BLOCK_KEY_LENS, problem->batch, 8, options);
  if (features & SDPA_QUERY_LENS)
    bad |= make_array(data, BLOCK_QUERY_LENS, problem->batch, 8, options);
  if (features & SDPA_OFFSETS) bad |= make_array(data, BLOCK_OFFSETS, problem->batch, 8, options);
  if (features & SDPA_ALIBI)
    bad |= make_array(data, BLOCK_SLOPES, problem->query_heads, scalar, options);
  if (features & SDPA_SINKS)
    bad |= make_array(data, BLOCK_SINKS, problem->query_heads, scalar, options);
  if (data->backward && features & SDPA_ALIBI)
    bad |= make_array(data, BLOCK_GRAD_SLOPES, problem->query_heads, scalar, options);
  if (data->backward && features & SDPA_SINKS)
    bad |= make_array(data, BLOCK_GRAD_SINKS, problem->query_heads, scalar, options);
  return bad;
}

static void set_grads(struct problem_data *data, unsigned char *const at[PROBLEM_BLOCKS]) {
  sdpa_grads *grads = &data->grads;
  grads->size = sizeof *grads;
  grads->output = at[PROBLEM_OUTPUT];
  grads->lse = at[PROBLEM_LSE];
  grads->grad_output = at[PROBLEM_GRAD_OUTPUT];
  grads->grad_lse = at[PROBLEM_GRAD_LSE];
  grads->grad_query = at[PROBLEM_GRAD_QUERY];
  grads->grad_key = at[PROBLEM_GRAD_KEY];
  grads->grad_value = at[PROBLEM_GRAD_VALUE];
  grads->grad_bias = at[PROBLEM_GRAD_BIAS];
  grads->grad_sinks = at[BLOCK_GRAD_SINKS];
  grads->grad_alibi_slopes = at[BLOCK_GRAD_SLOPES];
}

/* Pointers of the arguments. Empty tensors are NULL or not, by the seed: both are legal. */
static void set_args(struct problem_data *data, uint64_t seed) {
  sdpa_args *args = &data->args;
  unsigned char *at[PROBLEM_BLOCKS];
  for (int i = 0; i < PROBLEM_BLOCKS; i++) {
    const int is_tensor = i < PROBLEM_TENSORS || i >= PROBLEM_GRAD_OUTPUT;
    at[i] = data->block[i].origin;
    if (is_tensor && seed % 2 && problem_positions(&data->problem, (enum problem_tensor)i) == 0)
      at[i] = NULL;
  }
  set_grads(data, at);
  args->query = at[PROBLEM_QUERY];
  args->key = at[PROBLEM_KEY];
  args->value = at[PROBLEM_VALUE];
  args->output = at[PROBLEM_OUTPUT];
  args->mask = at[PROBLEM_MASK];
  args->bias = at[PROBLEM_BIAS];
  args->weights = at[PROBLEM_WEIGHTS];
  args->scores = at[PROBLEM_SCORES];
  args->lse = at[PROBLEM_LSE];
  args->alibi_slopes = at[BLOCK_SLOPES];
  args->sinks = at[BLOCK_SINKS];
  args->key_lens = (const int64_t *)(void *)at[BLOCK_KEY_LENS];
  args->query_lens = (const int64_t *)(void *)at[BLOCK_QUERY_LENS];
  args->offsets = (const int64_t *)(void *)at[BLOCK_OFFSETS];
}

sdpa_args problem_data_backward_args(const struct problem_data *data) {
  sdpa_args args = data->args;
  args.output = args.weights = args.scores = args.lse = NULL;
  return args;
}

int problem_data_make(struct problem_data *data, const struct problem_spec *spec,
                      const struct problem_data_options *options, char *message,
                      size_t message_bytes) {
  static const struct problem_data_options plain = {PLACE_PLAIN, 0xFF, 0};
  if (!options) options = &plain;
  memset(data, 0, sizeof *data);
  data->problem = spec->problem;
  data->args.size = sizeof data->args;
  data->backward = (int)spec->backward;
  if (make_arrays(data, options) != 0) {
    snprintf(message, message_bytes, "no memory for the arrays of the problem");
    problem_data_free(data);
    return -1;
  }
  set_args(data, spec->seed);
  problem_fill_arrays(data, spec, options);
  for (enum problem_tensor tensor = 0; tensor < PROBLEM_TENSORS_END;
       tensor = problem_next_tensor(tensor)) {
    if (tensor >= PROBLEM_GRAD_OUTPUT && !data->backward) break;
    if (!problem_declares(&data->problem, tensor)) continue;
    if (make_tensor(data, tensor, spec->seed, options) != 0) {
      snprintf(message, message_bytes, "no memory for the tensor '%s'",
               problem_tensor_name(tensor));
      problem_data_free(data);
      return -1;
    }
    if (!problem_tensor_is_output(tensor) && !problem_tensor_is_gradient(tensor))
      problem_fill_tensor(data, spec, tensor, options);
  }
  set_args(data, spec->seed);
  return 0;
}

void problem_data_free(struct problem_data *data) {
  for (int i = 0; i < PROBLEM_BLOCKS; i++) {
    free(data->block[i].owned);
    free(data->block[i].copy);
    guard_free(&data->block[i].guard);
  }
  memset(data, 0, sizeof *data);
}
