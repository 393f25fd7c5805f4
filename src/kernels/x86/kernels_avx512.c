/* kernels_avx512.c - the kernels for AVX-512 F, DQ, BW, VL
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled with flags of its own: call only where sdpai_kernels_available() offers the table.
 */
#include "kernels/simd/vec_avx512.h"

#define SDPAI_KERNEL_ISA avx512
#include "kernels/tpl/kernels_tpl.h"
