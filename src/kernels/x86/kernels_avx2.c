/* kernels_avx2.c - the kernels for AVX2 with FMA and F16C
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled with flags of its own: call only where sdpai_kernels_available() offers the table.
 */
#include "kernels/simd/vec_avx2.h"

#define SDPAI_KERNEL_ISA avx2
#include "kernels/tpl/kernels_tpl.h"
