/* onnx_tensor.h - the tensors of a conformance case, as struct npy_array
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tensors are contiguous and in C order. A tensor whose data is NULL is one that the case does not
 * have.
 */
#ifndef ONNX_TENSOR_H
#define ONNX_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "npy.h"

enum { ONNX_MAX_RANK = 4 };

/* The SDPA_... constant of a floating-point type, 0 for the others. */
uint32_t onnx_type_sdpa(enum npy_type type);

/* Finds the type named in case.txt ("float32"). Returns 0, or -1 if there is none. */
int onnx_type_find(const char *name, enum npy_type *type);

/* Allocates exactly the tensor's bytes, so that a sanitizer sees every access past the end, all
 * 0xff: NaN in every floating-point type, so that an element which nothing writes is never taken
 * for a result. Returns 0, or -1 with a sentence in `error`. Free with npy_free(). */
int onnx_tensor_create(struct npy_array *tensor, enum npy_type type, int rank, const int64_t *dims,
                       char *error, size_t error_bytes);

/* Reads the .npy file at `path`, which must hold the given type and shape. */
int onnx_tensor_read(struct npy_array *tensor, const char *path, enum npy_type type, int rank,
                     const int64_t *dims, char *error, size_t error_bytes);

/* Element `index` of a floating-point tensor. */
double onnx_tensor_value(const struct npy_array *tensor, int64_t index);

#endif
