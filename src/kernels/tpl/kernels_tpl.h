/* kernels_tpl.h - every template, for every type: the kernels of one ISA
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Included once by the one translation unit of an ISA, after
 *   a vec_<isa>.h         the vector operations,
 *   SDPAI_KERNEL_ISA      the suffix of the kernels' names: generic, avx2, ...
 * The kernels have external linkage; everything they are made of is static.
 */
#include <math.h>
#include <stdint.h>

#include "kernels/kernel_decls.h"
#include "kernels/philox.h"
#include "runtime/compiler.h"

#include "kernels/tpl/real_f32.h"
#include "kernels/tpl/dropout_words_tpl.h"
#include "kernels/tpl/narrow_kernels_tpl.h"
#include "kernels/tpl/type_kernels_tpl.h"
#include "kernels/tpl/real_f64.h"
#include "kernels/tpl/type_kernels_tpl.h"
