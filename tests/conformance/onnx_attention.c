/* onnx_attention.c - runs an ONNX Attention case through the library
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "onnx_attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx_problem.h"

/* One run: the case, what it became, and where to say what went wrong. */
struct run {
  const struct onnx_case *one;
  struct onnx_result *result;
  struct npy_array mask; /* the padded mask; no data: the case's own serves */
  sdpa_problem problem;
  sdpa_options options;
  char *text;
  size_t text_bytes;
};

/* Copies rows of a (batch, heads, rows, size) view into the present from row `first` on. */
static void copy_rows(struct npy_array *present, int64_t first, const struct npy_array *source,
                      sdpa_strides from, int64_t rows) {
  const size_t bytes = npy_type_size(present->type);
  const int64_t size = present->shape[3];
  for (int64_t b = 0; b < present->shape[0]; b++) {
    for (int64_t h = 0; h < present->shape[1]; h++) {
      for (int64_t i = 0; i < rows; i++) {
        const int64_t to = ((b * present->shape[1] + h) * present->shape[2] + first + i) * size;
        const int64_t at = b * from.batch + h * from.head + i * from.row;
        memcpy((char *)present->data + (size_t)to * bytes,
               (const char *)source->data + (size_t)at * bytes, (size_t)size * bytes);
      }
    }
  }
}

/* present = past ++ new, for K or V. */
static int join(struct run *run, enum onnx_input past_input, enum onnx_input new_input,
                enum onnx_output output, int64_t columns) {
  const struct npy_array *past = &run->one->input[past_input];
  const struct npy_array *fresh = &run->one->input[new_input];
  struct npy_array *present = &run->result->output[output];
  const sdpa_problem *problem = &run->problem;
  const int64_t dims[] = {problem->batch, problem->kv_heads, problem->key_len, columns};
  if (onnx_tensor_create(present, fresh->type, 4, dims, run->text, run->text_bytes) != 0) return -1;
  const struct npy_array *expected = &run->one->output[output];
  if (expected->data && (expected->rank != 4 || expected->type != present->type ||
                         memcmp(expected->shape, present->shape, sizeof dims) != 0)) {
    snprintf(run->text, run->text_bytes, "%s does not have the shape of past ++ new",
             onnx_output_name(output));
    return -1;
  }
  const int64_t past_rows = past->data ? past->shape[2] : 0;
  if (past->data) copy_rows(present, 0, past, onnx_tensor_strides(past, dims[1]), past_rows);
  copy_rows(present, past_rows, fresh, onnx_tensor_strides(fresh, dims[1]),
            problem->key_len - past_rows);
  return 0;
}

/* Fills a mask that is shorter than the keys up to key_len columns: false, or -infinity. All bits
 * of the row's tail are set from one element, so that every type takes the same path. */
static int pad_mask(struct run *run) {
  static const uint8_t masked_bool[1] = {0};
  static const uint16_t masked_f16 = 0xfc00;
  static const float masked_f32 = -INFINITY;
  static const double masked_f64 = -(double)INFINITY;
  const struct npy_array *mask = &run->one->input[ONNX_MASK];
  if (!mask->data || mask->shape[mask->rank - 1] == run->problem.key_len) return 0;

  int64_t dims[ONNX_MAX_RANK];
  for (int i = 0; i < mask->rank; i++) dims[i] = mask->shape[i];
  const int64_t given = dims[mask->rank - 1], wanted = run->problem.key_len;
  dims[mask->rank - 1] = wanted;
  if (onnx_tensor_create(&run->mask, mask->type, mask->rank, dims, run->text, run->text_bytes)) {
    return -1;
  }
  const void *masked = mask->type == NPY_BOOL  ? (const void *)masked_bool
                       : mask->type == NPY_F16 ? (const void *)&masked_f16
                       : mask->type == NPY_F32 ? (const void *)&masked_f32
                                               : (const void *)&masked_f64;
  const size_t bytes = npy_type_size(mask->type);
  const int64_t rows = run->mask.count / wanted;
  for (int64_t i = 0; i < rows; i++) {
    char *row = (char *)run->mask.data + (size_t)(i * wanted) * bytes;
    memcpy(row, (const char *)mask->data + (size_t)(i * given) * bytes, (size_t)given * bytes);
    for (int64_t j = given; j < wanted; j++) memcpy(row + (size_t)j * bytes, masked, bytes);
  }
  return 0;
}

/* The result's tensors, and the operator's own work. */
static int prepare(struct run *run) {
  const sdpa_problem *problem = &run->problem;
  const struct npy_array *expected = run->one->output;
  struct npy_array *output = run->result->output;
  if (onnx_tensor_create(&output[ONNX_Y], expected[ONNX_Y].type, expected[ONNX_Y].rank,
                         expected[ONNX_Y].shape, run->text, run->text_bytes) != 0) {
    return -1;
  }
  if (expected[ONNX_SCORES].data) {
    const enum npy_type type = problem->query_type == SDPA_F64 ? NPY_F64 : NPY_F32;
    if (onnx_tensor_create(&output[ONNX_SCORES], type, 4, expected[ONNX_SCORES].shape, run->text,
                           run->text_bytes) != 0) {
      return -1;
    }
  }
  if (onnx_problem_joins(run->one) &&
      (join(run, ONNX_PAST_KEY, ONNX_KEY, ONNX_PRESENT_KEY, problem->key_dim) != 0 ||
       join(run, ONNX_PAST_VALUE, ONNX_VALUE, ONNX_PRESENT_VALUE, problem->value_dim) != 0)) {
    return -1;
  }
  return pad_mask(run);
}

static void set_args(const struct run *run, sdpa_args *args) {
  const struct npy_array *input = run->one->input;
  const struct npy_array *output = run->result->output;
  const int joins = onnx_problem_joins(run->one);
  const uint32_t features = run->problem.features;
  const void *mask = run->mask.data ? run->mask.data : input[ONNX_MASK].data;
  sdpa_args_init(args, sizeof *args);
  args->query = input[ONNX_QUERY].data;
  args->key = joins ? output[ONNX_PRESENT_KEY].data : input[ONNX_KEY].data;
  args->value = joins ? output[ONNX_PRESENT_VALUE].data : input[ONNX_VALUE].data;
  args->output = output[ONNX_Y].data;
  args->key_lens = input[ONNX_KEY_LENS].data;
  if (features & SDPA_MASK) args->mask = mask;
  if (features & SDPA_BIAS) args->bias = mask;
  if (features & SDPA_WEIGHTS) args->weights = output[ONNX_SCORES].data;
  if (features & SDPA_SCORES) args->scores = output[ONNX_SCORES].data;
}

static enum onnx_outcome execute(struct run *run) {
  sdpa_plan *plan = NULL;
  sdpa_args args;
  sdpa_status status = sdpa_plan_create(&run->problem, &run->options, &plan);
  if (status != SDPA_OK) {
    snprintf(run->text, run->text_bytes, "sdpa_plan_create: %s", sdpa_status_string(status));
    return ONNX_ERROR;
  }
  set_args(run, &args);
  status = sdpa_args_check(plan, &args, NULL, 0, run->text, run->text_bytes);
  if (status == SDPA_OK) {
    status = sdpa_execute(plan, &args, NULL, 0);
    if (status == SDPA_OK) {
      sdpa_plan_describe(plan, run->text, run->text_bytes);
    } else {
      snprintf(run->text, run->text_bytes, "sdpa_execute: %s", sdpa_status_string(status));
    }
  }
  sdpa_plan_destroy(plan);
  return status == SDPA_OK ? ONNX_RAN : ONNX_ERROR;
}

enum onnx_outcome onnx_attention_run(const struct onnx_case *one, uint32_t engine, uint32_t isa,
                                     struct onnx_result *result, char *text, size_t text_bytes) {
  struct run run = {.one = one, .result = result, .text = text, .text_bytes = text_bytes};
  memset(result, 0, sizeof *result);
  if (onnx_problem_set(&run.problem, one, text, text_bytes) != 0) return ONNX_ERROR;
  sdpa_options_init(&run.options, sizeof run.options);
  run.options.engine = engine;
  run.options.isa = isa;

  const sdpa_status status = sdpa_problem_check(&run.problem, &run.options, text, text_bytes);
  if (status == SDPA_ERROR_UNSUPPORTED) return ONNX_UNSUPPORTED;
  if (status != SDPA_OK) return ONNX_ERROR;

  const enum onnx_outcome outcome = prepare(&run) != 0 ? ONNX_ERROR : execute(&run);
  npy_free(&run.mask);
  return outcome;
}

void onnx_result_free(struct onnx_result *result) {
  for (int i = 0; i < ONNX_OUTPUTS; i++) npy_free(&result->output[i]);
}
