/* kernels_amx.c - the kernels of the matrix unit: AMX-TILE and AMX-BF16, beside AVX-512
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled with flags of its own: call only where sdpai_kernels_select() chose the table, which
 * also asks the system for the permission to use tiles.
 */
#include <math.h>
#include <stdint.h>

#include "kernels/kernel_decls.h"
#include "kernels/simd/vec_avx512.h"
#include "kernels/x86/amx_tiles.h"

#define SDPAI_KERNEL_ISA amx
#include "kernels/x86/amx_pack_tpl.h"
#include "kernels/x86/amx_products_tpl.h"
