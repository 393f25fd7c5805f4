/* narrow_row.h - rows of the caller's tensors that are stored in 16 bits, as floats and back
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels' row_load and row_store at any column stride. `type` is SDPA_BF16 or SDPA_F16; `to`
 * and `from` on the other side are contiguous.
 */
#ifndef SDPAI_NARROW_ROW_H
#define SDPAI_NARROW_ROW_H

#include <stdint.h>

#include "kernels/kernels.h"

void sdpai_narrow_load(const struct sdpai_kernels *kernels, uint32_t type, int64_t n,
                       const void *from, int64_t stride, float *to);
void sdpai_narrow_store(const struct sdpai_kernels *kernels, uint32_t type, int64_t n,
                        const float *from, void *to, int64_t stride);

#endif
