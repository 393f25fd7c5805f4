/* emulated_kernels.c - the library's kernels for AMX over emulated tiles
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands for kernels_amx.c, and has its functions' names.
 */
#include <math.h>
#include <stdint.h>

#include "kernels/kernel_decls.h"
#include "kernels/simd/vec_avx512.h"

#include "emulated_tiles.h"

#define SDPAI_KERNEL_ISA amx
#include "kernels/x86/amx_pack_tpl.h"
#include "kernels/x86/amx_products_tpl.h"
