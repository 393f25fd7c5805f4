/* onnx_attention.h - the ONNX Attention operator on top of the library's public API
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Causal, windows, lengths, softcap, scale, offset and score stage go to the library as themselves.
 * Only three things are done here, because the operator means them and the library does not: past
 * ++ new, the padding of a mask that is shorter than the keys, and the strides of the 3-D layout.
 */
#ifndef ONNX_ATTENTION_H
#define ONNX_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#include "onnx_case.h"

enum onnx_outcome {
  ONNX_RAN,
  ONNX_UNSUPPORTED, /* sdpa_problem_check() says so; its sentence is in `text` */
  ONNX_ERROR        /* the case contradicts itself, or the library returned an error */
};

/* What the operator returns. Tensors have the shapes of the expected ones; scores and weights have
 * the library's compute type. A tensor that is not asked for has no data. */
struct onnx_result {
  struct npy_array output[ONNX_OUTPUTS];
};

/* Runs the case under the given engine and ISA ceiling (SDPA_ENGINE_..., SDPA_ISA_...). `text`
 * receives a description of what ran, or the sentence of the outcome. *result must be freed in
 * every case. */
enum onnx_outcome onnx_attention_run(const struct onnx_case *one, uint32_t engine, uint32_t isa,
                                     struct onnx_result *result, char *text, size_t text_bytes);
void onnx_result_free(struct onnx_result *result);

#endif
