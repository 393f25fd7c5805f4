/* kernels_generic.c - the kernels in plain C, for any CPU
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "kernels/simd/vec_generic.h"

#define SDPAI_KERNEL_ISA generic
#include "kernels/tpl/kernels_tpl.h"
