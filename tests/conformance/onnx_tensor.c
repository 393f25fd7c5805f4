/* onnx_tensor.c - makes, reads and looks into the tensors of a conformance case
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "onnx_tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sdpa/sdpa.h>

#include "narrow_float.h"

static const struct {
  const char *name;
  enum npy_type type;
  uint32_t sdpa_type;
} types[] = {
    {"float64", NPY_F64, SDPA_F64}, {"float32", NPY_F32, SDPA_F32}, {"float16", NPY_F16, SDPA_F16},
    {"int64", NPY_I64, 0},          {"bool", NPY_BOOL, 0},
};
enum { N_TYPES = sizeof types / sizeof types[0] };

uint32_t onnx_type_sdpa(enum npy_type type) {
  for (int i = 0; i < N_TYPES; i++) {
    if (types[i].type == type) return types[i].sdpa_type;
  }
  return 0;
}

int onnx_type_find(const char *name, enum npy_type *type) {
  for (int i = 0; i < N_TYPES; i++) {
    if (strcmp(types[i].name, name) == 0) {
      *type = types[i].type;
      return 0;
    }
  }
  return -1;
}

int onnx_tensor_create(struct npy_array *tensor, enum npy_type type, int rank, const int64_t *dims,
                       char *error, size_t error_bytes) {
  memset(tensor, 0, sizeof *tensor);
  tensor->type = type;
  tensor->rank = rank;
  tensor->count = 1;
  for (int i = 0; i < rank; i++) {
    tensor->shape[i] = dims[i];
    tensor->count *= dims[i];
  }
  const size_t bytes = (size_t)tensor->count * npy_type_size(type);
  tensor->data = malloc(bytes > 0 ? bytes : 1);
  if (!tensor->data) {
    snprintf(error, error_bytes, "no memory for a tensor of %zu bytes", bytes);
    return -1;
  }
  memset(tensor->data, 0xff, bytes);
  return 0;
}

int onnx_tensor_read(struct npy_array *tensor, const char *path, enum npy_type type, int rank,
                     const int64_t *dims, char *error, size_t error_bytes) {
  if (npy_read(path, tensor, error, error_bytes) != 0) return -1;
  int same = tensor->type == type && tensor->rank == rank;
  for (int i = 0; i < rank && same; i++) same = tensor->shape[i] == dims[i];
  if (same) return 0;
  snprintf(error, error_bytes, "%s does not hold the type and shape that case.txt names", path);
  npy_free(tensor);
  return -1;
}

double onnx_tensor_value(const struct npy_array *tensor, int64_t index) {
  switch (tensor->type) {
  case NPY_F64:
    return ((const double *)tensor->data)[index];
  case NPY_F32:
    return (double)((const float *)tensor->data)[index];
  case NPY_F16:
    return narrow_to_double(SDPA_F16, ((const uint16_t *)tensor->data)[index]);
  default:
    return (double)NAN;
  }
}
