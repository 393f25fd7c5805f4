/* onnx_case.h - one ONNX Attention conformance case: attributes, inputs, expected outputs
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A case is a folder with case.txt and one .npy file a tensor. Reading is strict: an attribute,
 * tensor or type that this program does not know fails the case, so that nothing a case asks for is
 * passed over.
 */
#ifndef ONNX_CASE_H
#define ONNX_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "onnx_tensor.h"

enum onnx_input {
  ONNX_QUERY,
  ONNX_KEY,
  ONNX_VALUE,
  ONNX_MASK,
  ONNX_PAST_KEY,
  ONNX_PAST_VALUE,
  ONNX_KEY_LENS,
  ONNX_INPUTS
};
enum onnx_output { ONNX_Y, ONNX_PRESENT_KEY, ONNX_PRESENT_VALUE, ONNX_SCORES, ONNX_OUTPUTS };

/* Integer attributes. An attribute that is not given has `given` 0 and the operator's default in
 * `value`. */
enum onnx_attribute {
  ONNX_Q_NUM_HEADS,
  ONNX_KV_NUM_HEADS,
  ONNX_IS_CAUSAL,
  ONNX_LEFT_WINDOW,
  ONNX_RIGHT_WINDOW,
  ONNX_SCORE_MODE,
  ONNX_SOFTMAX_PRECISION,
  ONNX_ATTRIBUTES
};

struct onnx_case {
  int64_t value[ONNX_ATTRIBUTES];
  int given[ONNX_ATTRIBUTES];
  double scale, softcap;
  int scale_given;
  struct npy_array input[ONNX_INPUTS];   /* data NULL: the case has no such input */
  struct npy_array output[ONNX_OUTPUTS]; /* what is expected; data NULL: not asked for */
};

/* The tensor's name in case.txt. */
const char *onnx_output_name(enum onnx_output output);

/* Reads the case of folder `folder` into *one. Returns 0, or -1 with a sentence in `error`; *one
 * must be freed with onnx_case_free() in both cases. */
int onnx_case_read(struct onnx_case *one, const char *folder, char *error, size_t error_bytes);
void onnx_case_free(struct onnx_case *one);

#endif
