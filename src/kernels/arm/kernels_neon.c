/* kernels_neon.c - the kernels for AArch64's Advanced SIMD (NEON)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every AArch64 processor has it, so nothing is detected.
 */
#include "kernels/simd/vec_neon.h"

#define SDPAI_KERNEL_ISA neon
#include "kernels/tpl/kernels_tpl.h"
