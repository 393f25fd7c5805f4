/* narrow_kernels_tpl.h - the kernels of the types that are stored in 16 bits and computed in f32
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: see kernels_tpl.h; real_f32.h comes first.
 */
#define B_TYPE uint16_t

#define B(op)        vf32_##op##_bf16
#define B_KERNEL(op) SDPAI_KERNEL_NAME(bf16, op, SDPAI_KERNEL_ISA)
#include "kernels/tpl/row_convert_tpl.h"
#include "kernels/tpl/rows_finite_tpl.h"
#include "kernels/tpl/product_tpl.h"
#undef B
#undef B_KERNEL

#define B(op)        vf32_##op##_f16
#define B_KERNEL(op) SDPAI_KERNEL_NAME(f16, op, SDPAI_KERNEL_ISA)
#include "kernels/tpl/row_convert_tpl.h"
#include "kernels/tpl/rows_finite_tpl.h"
#include "kernels/tpl/product_tpl.h"
#undef B
#undef B_KERNEL

#undef B_TYPE
