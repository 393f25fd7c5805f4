/* matrix_kernels.h - what the kernels of a matrix unit compute: products of tiles by bf16 parts
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A number x is the sum of its parts: part 0 is x rounded to bf16, part 1 what is left of it
 * rounded to bf16, and so on (to nearest, ties away from zero). Three parts hold an f32 exactly,
 * two an f16, one a bf16. A product of two numbers is the sum of products of their parts, which the
 * unit forms exactly and adds in f32.
 *
 * The unit takes subnormal numbers for 0, and makes 0 of subnormal sums. Numbers that `fit` are 0
 * or have a magnitude from 2^-40 to below 2^33. Their parts are multiples of 2^-63, products of
 * parts therefore multiples of 2^-126, the smallest normal f32: no part, no product and no sum of
 * products is ever flushed, and none overflows. Weights lie between 2^-126 and 1 and are packed
 * times 2^86, exactly, which makes them fit.
 *
 * Operands are packed into tiles of 16 rows of 64 bytes, each tile 1 KiB in one piece. Left
 * operands have one row of the product a row; right operands two rows of the contraction a row, in
 * pairs: [16 pairs][16 columns][2]. What fills a tile up is 0.
 */
#ifndef SDPAI_MATRIX_KERNELS_H
#define SDPAI_MATRIX_KERNELS_H

#include <stdint.h>

/* Of a product: parts of the left and the right operand, and which products of parts are formed,
 * i of the left and j of the right with i + j <= order, those of small parts first. */
struct sdpai_parts {
  uint8_t left, right, order;
};

enum { SDPAI_TILE_ROWS = 16, SDPAI_TILE_DEPTH = 32, SDPAI_TILE_ELEMENTS = 512 };

/* Tiles of `size` that hold n. */
static inline int64_t sdpai_tiles(int64_t n, int64_t size) {
  return n / size + (n % size != 0);
}

/* Does x fit? See above. */
static inline int sdpai_matrix_fits(float x) {
  const float magnitude = x < 0 ? -x : x;
  return x == 0 || (magnitude >= 0x1p-40f && magnitude < 0x1p33f);
}

/* Tiles of a packed operand, from all rows (or columns) to one tile of 16 of them. Keys: [keys /
 * 16][parts][dim / 32]; queries: [width / 16][parts][dim / 32]; values: [keys / 32][parts][dim /
 * 16]; weights: [keys / 32][parts][width / 16]; every quotient rounded up.
 *
 * configure, release
 *             Set the calling thread's unit up, and leave it as if it had never been used. The
 *             kernels below that multiply run between them.
 *
 * pack_keys   Rows of K as left operand; unfit[j] = 1 where key j has an element that does not fit,
 *             else 0. Returns how many have.
 * pack_queries
 *             A panel [dim][width] of queries in lanes as right operand; unfit[i] likewise.
 * pack_values V as left operand, transposed, with 0 in the place of elements that do not fit.
 *             Returns their number.
 * pack_weights
 *             Weights [keys][width] as right operand, times 2^86, behind `lead` keys (a multiple of
 *             16) without weight. Other numbers than 0 and those from 2^-126 to 1 spoil their lane.
 *
 * products    s[j][i] = k_j . q_i for all keys and lanes; s has room for the keys rounded up to 16,
 *             and what lies behind the last key is unspecified. A key or lane that does not fit
 *             makes its own products unspecified, and no others.
 * mask_max    s[j][i] = -inf where `words`, unless NULL, excludes key j; max[i] = the largest of
 *             them over j, -inf for no key; a NaN may be lost.
 * values      o[d][i] = (o[d][i] * alpha[i], rounded) + sum over the keys of p[j][i] v[j][d]. With
 *             alpha 1 and nothing but zeros in V, o keeps its numbers.
 *
 * The bits of a lane do not depend on the width or the other lanes, those of a score not on the
 * other keys, those of an output not on the other columns of V, and not on keys of weight 0.
 */
struct sdpai_matrix_kernels {
  void (*configure)(void);
  void (*release)(void);
  int64_t (*pack_keys)(int64_t keys, int64_t dim, const float *k, int64_t ldk, int parts,
                       uint16_t *packed, uint8_t *unfit);
  int64_t (*pack_queries)(int64_t width, int64_t dim, const float *q, int parts, uint16_t *packed,
                          uint8_t *unfit);
  int64_t (*pack_values)(int64_t keys, int64_t dim, const float *v, int64_t ldv, int parts,
                         uint16_t *packed);
  void (*pack_weights)(int64_t keys, int64_t width, int64_t lead, const float *p, int parts,
                       uint16_t *packed);
  void (*products)(int64_t keys, int64_t width, int64_t dim, const uint16_t *k, const uint16_t *q,
                   struct sdpai_parts parts, float *s);
  void (*mask_max)(int64_t keys, int64_t width, float *s, const uint32_t *words, float *max);
  void (*values)(int64_t keys, int64_t width, int64_t dim, const uint16_t *v, const uint16_t *p,
                 struct sdpai_parts parts, float *o, const float *alpha);
};

#endif
