/* dtype.c - the table of data types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "problem/dtype.h"

/* By id. */
static const struct sdpai_dtype dtypes[] = {
    [SDPA_F64] = {SDPA_F64, SDPA_F64, 8, 1, "f64"},
    [SDPA_F32] = {SDPA_F32, SDPA_F32, 4, 1, "f32"},
    [SDPA_BF16] = {SDPA_BF16, SDPA_F32, 2, 1, "bf16"},
    [SDPA_F16] = {SDPA_F16, SDPA_F32, 2, 1, "f16"},
};

const struct sdpai_dtype *sdpai_dtype(uint32_t id) {
  return id < sizeof dtypes / sizeof *dtypes && dtypes[id].id == id && id != 0 ? &dtypes[id] : NULL;
}

void sdpai_types_bytes(const struct sdpai_types *types, uint8_t bytes[SDPAI_ELEMENTS]) {
  bytes[SDPAI_ELEMENT_QUERY] = (uint8_t)sdpai_element(types->query);
  bytes[SDPAI_ELEMENT_KEY] = (uint8_t)sdpai_element(types->key);
  bytes[SDPAI_ELEMENT_VALUE] = (uint8_t)sdpai_element(types->value);
  bytes[SDPAI_ELEMENT_OUTPUT] = (uint8_t)sdpai_element(types->output);
  bytes[SDPAI_ELEMENT_BIAS] = (uint8_t)sdpai_element(types->bias);
  bytes[SDPAI_ELEMENT_COMPUTE] = (uint8_t)sdpai_element(types->compute);
  bytes[SDPAI_ELEMENT_BYTE] = 1;
  bytes[SDPAI_ELEMENT_INT64] = sizeof(int64_t);
}

double sdpai_dtype_round(uint32_t compute, double value) {
  return compute == SDPA_F32 ? (double)(float)value : value;
}
