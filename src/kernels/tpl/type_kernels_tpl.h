/* type_kernels_tpl.h - the kernels of one type; clears the type's parameters at its end
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: see kernels_tpl.h.
 */
#include "kernels/tpl/exp_tpl.h"
#include "kernels/tpl/row_reduce_tpl.h"
#include "kernels/tpl/row_scores_tpl.h"
#include "kernels/tpl/row_exp_tpl.h"
#include "kernels/tpl/row_map_tpl.h"

#define B_TYPE       real
#define B(op)        V(op)
#define B_KERNEL(op) KERNEL(op)
#include "kernels/tpl/rows_finite_tpl.h"
#include "kernels/tpl/product_tpl.h"
#undef B_TYPE
#undef B
#undef B_KERNEL

#include "kernels/tpl/tile_products_tpl.h"
#include "kernels/tpl/tile_values_tpl.h"
#include "kernels/tpl/tile_softmax_tpl.h"
#include "kernels/tpl/tile_pack_tpl.h"
#include "kernels/tpl/mask_words_tpl.h"
#include "kernels/tpl/tile_backward_tpl.h"
#include "kernels/tpl/tile_sums_tpl.h"

#undef real
#undef vec
#undef V
#undef LANES
#undef SCORE
#undef TILE_RULES
#undef KERNEL
#undef EXP_MIN
#undef EXP_CAP
#undef TANH_CAP
#undef LOG2_E
#undef LN2_HIGH
#undef LN2_LOW
#undef ROUND_MAGIC
#undef EXP_G_HIGHEST
#undef EXP_G_LOWER
