/* dtype.c - the table of data types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "problem/dtype.h"

#include <sdpa/sdpa.h>

/* By id. */
static const struct sdpai_dtype dtypes[] = {
    [SDPA_F64] = {SDPA_F64, SDPA_F64, 8, 1, "f64"},
    [SDPA_F32] = {SDPA_F32, SDPA_F32, 4, 1, "f32"},
    [SDPA_BF16] = {SDPA_BF16, SDPA_F32, 2, 0, "bf16"},
    [SDPA_F16] = {SDPA_F16, SDPA_F32, 2, 0, "f16"},
};

const struct sdpai_dtype *sdpai_dtype(uint32_t id) {
  return id < sizeof dtypes / sizeof *dtypes && dtypes[id].id == id && id != 0 ? &dtypes[id] : NULL;
}

double sdpai_dtype_round(uint32_t compute, double value) {
  return compute == SDPA_F32 ? (double)(float)value : value;
}
