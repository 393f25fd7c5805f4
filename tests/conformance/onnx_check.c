/* onnx_check.c - the comparison of sdpa-conformance, and the spoiling that tests the comparison
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "onnx_check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double tolerance_of(enum npy_type type, double expected) {
  switch (type) {
  case NPY_F64:
    return 1e-12;
  case NPY_F32:
    return 1e-5 + 1e-4 * fabs(expected);
  default:
    return 1e-3 + 1e-3 * fabs(expected);
  }
}

static int is_present(int output) {
  return output == ONNX_PRESENT_KEY || output == ONNX_PRESENT_VALUE;
}

/* 1 if element `index` differs; got, expected and tolerance are filled in either way. */
static int element_differs(const struct npy_array *result, const struct npy_array *expected,
                           struct onnx_difference *at) {
  at->got = onnx_tensor_value(result, at->index);
  at->expected = onnx_tensor_value(expected, at->index);
  if (is_present((int)at->output)) {
    const size_t bytes = npy_type_size(expected->type), offset = (size_t)at->index * bytes;
    at->tolerance = 0.0;
    return memcmp((const char *)result->data + offset, (const char *)expected->data + offset,
                  bytes) != 0;
  }
  if (isnan(at->expected) || isinf(at->expected)) {
    at->tolerance = 0.0;
    return isnan(at->expected) ? !isnan(at->got) : at->got != at->expected;
  }
  at->tolerance = tolerance_of(expected->type, at->expected);
  /* Written so that a NaN differs. */
  return !(fabs(at->got - at->expected) <= at->tolerance);
}

int onnx_check(const struct onnx_case *one, const struct onnx_result *result,
               struct onnx_difference *difference) {
  for (int i = 0; i < ONNX_OUTPUTS; i++) {
    const struct npy_array *expected = &one->output[i];
    if (!expected->data) continue;
    difference->output = (enum onnx_output)i;
    for (difference->index = 0; difference->index < expected->count; difference->index++) {
      if (element_differs(&result->output[i], expected, difference)) return 1;
    }
  }
  return 0;
}

/* Replaces a result tensor by its elements as doubles, so that half a tolerance of any type can be
 * added without a rounding of its own. */
static int widen(struct npy_array *tensor) {
  struct npy_array wide;
  char error[128];
  if (tensor->type == NPY_F64) return 0;
  if (onnx_tensor_create(&wide, NPY_F64, tensor->rank, tensor->shape, error, sizeof error) != 0) {
    return -1;
  }
  for (int64_t i = 0; i < tensor->count; i++) {
    ((double *)wide.data)[i] = onnx_tensor_value(tensor, i);
  }
  npy_free(tensor);
  *tensor = wide;
  return 0;
}

int onnx_perturb(const struct onnx_case *one, struct onnx_result *result, struct numpy_rng *rng,
                 struct onnx_difference *place) {
  int64_t total = 0;
  for (int i = 0; i < ONNX_OUTPUTS; i++) total += one->output[i].data ? one->output[i].count : 0;
  if (total == 0) return -1;
  int64_t index = (int64_t)numpy_rng_below(rng, (uint64_t)total);
  int output = 0;
  while (!one->output[output].data || index >= one->output[output].count) {
    index -= one->output[output].data ? one->output[output].count : 0;
    output++;
  }
  struct npy_array *tensor = &result->output[output];
  place->output = (enum onnx_output)output;
  place->index = index;
  element_differs(tensor, &one->output[output], place);
  if (is_present(output)) {
    const size_t bytes = npy_type_size(tensor->type);
    const uint64_t bit = numpy_rng_below(rng, 8 * bytes);
    ((uint8_t *)tensor->data)[(size_t)index * bytes + bit / 8] ^= (uint8_t)(1u << bit % 8);
    return 0;
  }
  if (widen(tensor) != 0) return -1;
  const double sign = numpy_rng_below(rng, 2) ? 1.0 : -1.0;
  double *element = (double *)tensor->data + index;
  if (isfinite(*element)) {
    *element += sign * 2.0 * place->tolerance;
  } else {
    *element = copysign(DBL_MAX, *element);
  }
  return 0;
}

void onnx_difference_describe(const struct onnx_difference *difference, const struct onnx_case *one,
                              char *text, size_t text_bytes) {
  const struct npy_array *tensor = &one->output[difference->output];
  char position[128] = "";
  int64_t index = difference->index;
  for (int i = tensor->rank - 1; i >= 0; i--) {
    char tail[128];
    memcpy(tail, position, sizeof tail);
    snprintf(position, sizeof position, "%lld%s%.100s", (long long)(index % tensor->shape[i]),
             *tail ? "," : "", tail);
    index /= tensor->shape[i];
  }
  snprintf(text, text_bytes, "%s[%s] is %.9g, expected %.9g, tolerance %.2g",
           onnx_output_name(difference->output), position, difference->got, difference->expected,
           difference->tolerance);
}
