/* onnx_check.h - compares what the library returned with what a conformance case expects
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tolerance by the expected tensor's type: f32 1e-5 + 1e-4 |expected|, f16 1e-3 + 1e-3 |expected|,
 * f64 1e-12. An expected infinity or NaN must be met exactly. present_key and present_value have no
 * tolerance: their bytes are compared.
 */
#ifndef ONNX_CHECK_H
#define ONNX_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "numpy_random.h"
#include "onnx_attention.h"
#include "onnx_case.h"

/* The first element that differs, in the order of enum onnx_output and of the tensors. */
struct onnx_difference {
  enum onnx_output output;
  int64_t index;
  double got, expected, tolerance;
};

/* Returns 1 and fills *difference if something differs, else 0. */
int onnx_check(const struct onnx_case *one, const struct onnx_result *result,
               struct onnx_difference *difference);

/* Spoils one element of the result, drawn from all elements of all outputs alike: by twice its
 * tolerance, up or down; a non-finite one becomes the largest finite number of its sign; in a
 * present tensor one bit flips. Says in *place which element it was. The result must have passed
 * onnx_check(). Returns 0, or -1 if there is no element or no memory. */
int onnx_perturb(const struct onnx_case *one, struct onnx_result *result, struct numpy_rng *rng,
                 struct onnx_difference *place);

/* A sentence about a difference: tensor, position, values. */
void onnx_difference_describe(const struct onnx_difference *difference, const struct onnx_case *one,
                              char *text, size_t text_bytes);

#endif
