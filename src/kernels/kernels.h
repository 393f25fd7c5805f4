/* kernels.h - what each arithmetic kernel computes: the contracts, and the table of one ISA
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A kernel is pure arithmetic, the row_ ones on contiguous rows, the product_ ones on matrices with
 * leading dimensions: it cannot fail, allocate, start a thread or read past either end of a buffer.
 * Kernels run in the default floating-point environment (the api layer sets it). Every kernel of an
 * ISA is declared, registered and tested from one line of kernel_list.def.
 */
#ifndef SDPAI_KERNELS_H
#define SDPAI_KERNELS_H

#include <stdint.h>

#include "kernels/matrix_kernels.h"

/* How a row of products q_i . k_j becomes a row of scores (semantics rules 1 to 6), for the keys
 * first .. first + n - 1 of one query row; index t below counts from the first of them. */
struct sdpai_score_f32 {
  float scale;    /* s = scale * x */
  float softcap;  /* s = softcap * tanh(s / softcap); 0: off */
  float slope;    /* s = s - slope * |distance - t|; 0: off, NaN and infinity do not occur */
  float distance; /* p - first: distance of the first key from the aligned key, rounded to float */
  const float *bias;   /* [n], s = s + bias[t]; bias[t] = -inf excludes the key; NULL: none */
  const uint8_t *mask; /* [n], mask[t] = 0 excludes the key; NULL: none */
};
struct sdpai_score_f64 {
  double scale, softcap, slope, distance;
  const double *bias;
  const uint8_t *mask;
};

/* The rules for a tile of scores with queries in lanes: as struct sdpai_score, for each lane. */
struct sdpai_tile_rules_f32 {
  float scale, softcap;  /* softcap 0: off */
  const float *slope;    /* [width]; NULL: off */
  const float *distance; /* [width] p of the lane's query minus the tile's first key; with slope */
  const float *bias;     /* [keys][width], -inf excludes; NULL: none */
  const uint32_t *words; /* [ceil(keys / 32)][width], bit j % 32 of word j / 32 is 0: key j is
                            excluded; NULL: none */
};
struct sdpai_tile_rules_f64 {
  double scale, softcap;
  const double *slope, *distance, *bias;
  const uint32_t *words;
};

/* Vectors of queries in the widest panel. */
#define SDPAI_TILE_VECTORS 3

/* The kernels of one type T, in the order a row of scores meets them.
 *
 * row_max     Returns the largest scale * x[t], -inf if n = 0. A NaN may be lost or returned.
 *
 * row_scores  Turns products into scores in place, as struct sdpai_score says. An excluded key
 *             becomes -inf whatever x, and whatever the bias under a zero mask byte, held:
 *             nothing of it stays, NaN neither. For every other key NaN and infinity follow IEEE
 *             arithmetic on the formula. softcap maps +-inf to +-softcap. t enters slope's term
 *             as t converted to T (not summed up in T). Returns the largest score, -inf if n =
 *             0; a NaN may be lost or returned.
 *
 * row_exp     out[t] = exp(scale * x[t] - max), and returns the sum of out. scale * x is rounded
 *             before max is subtracted, so that the largest score gives exactly exp(0), however
 *             large it is. x and out are the same row or do not overlap. exp is within 2 ulp
 *             where its result is normal; a result below the smallest normal number is 0 (so -inf
 *             gives exactly 0 and no subnormal weight slows the product with V down); above the
 *             largest it is +inf; NaN stays NaN. Several partial sums are added in a fixed order
 *             that depends on n alone.
 *
 * row_scale x[t] = x[t] * factor, in place; a zero is +0. (In a sum of products that all underflow,
 *             keys of weight 0 decide the sign of the zero, and excluded keys must decide nothing.)
 *
 * row_finite  Returns 1 if every x[t] is finite (n = 0: 1), else 0.
 *
 * rows_finite Returns 1 if every element of a matrix by rows is finite, else 0.
 * row_dot     Returns the sum of x[t] * y[t] over the t with x[t] != 0: y is not read into the
 *             result where x is 0.
 *
 * row_softmax_backward
 *             out[t] = w[t] * (g[t] - dot), and exactly 0 where w[t] = 0, whatever g[t] holds.
 *             out may be g or w or overlap neither.
 *
 * product_nt  C = A B^T for A m x k, B n x k, C m x n, all by rows with leading dimensions; C's
 *             old contents are not read. For products so small that a BLAS call costs more than
 *             the arithmetic.
 *
 * product_nn  C = A B for B k x n, likewise. k = 0 gives zeros in both.
 *
 * The tile kernels keep queries in lanes. A panel has `width` = lanes, 2 lanes or 3 lanes queries;
 * a tile is [keys][width], a packed panel [dim][width]. They align nothing and read no element
 * beyond. The bits of a lane do not depend on the width or the other lanes, those of a score not on
 * the other keys, and those of an output not on the other columns of V.
 *
 * tile_pack   tile[t][i] = factor * x[i][t] for rows i and columns t; lanes from `rows` on are not
 *             touched.
 *
 * tile_products_1, _2, _3 (vectors of the panel)
 *             s[j][i] = k_j . q_i, or -inf where `words` (as in struct sdpai_tile_rules; NULL:
 *             none) excludes key j, and max[i] = the largest of them over j, -inf for no key; a NaN
 *             may be lost.
 *
 * tile_rules  Turns products into scores in place as row_scores does, and stores their maxima.
 *
 * tile_softmax
 *             One step of the online softmax (Milakov and Gimelshein, 2018): with m' = max(m, scale
 *             * max), s becomes exp(scale * s - m'), alpha = exp(m - m'), l = l * alpha + the sum
 *             of s over the keys, m = m'. Scores of -inf give 0 also where m' is -inf; then alpha
 *             is 0. scale > 0 where a score may be -inf. NaN scores, whether max tells of them or
 *             not, and +inf ones make l NaN for good.
 *
 * tile_values_1, _2, _3
 *             o[d][i] = o[d][i] * alpha[i] + sum over the keys of p[j][i] v[j][d]. A weight of 0
 *             does not keep a NaN or infinity of V out.
 *
 * tile_unpack x[i][t] = tile[t][i] * factor[i], every zero +0; 0 where factor[i] is 0, whatever
 *             the tile holds.
 *             Lanes from `rows` on are not read.
 *
 * tile_weights, tile_gradient and the four after them are those of the backward pass. A factor z of
 * a weight is `factor` where bit j % 32 of word j / 32 of `kept`, [ceil(keys / 32)][width], is 1,
 * and 0 where it is 0; kept NULL: 1.
 *
 * tile_weights
 *             s becomes exp(scale * s - shift[i]), and exactly 0 where s is -inf or shift[i] is
 *             +inf, whatever the other holds.
 *
 * tile_gradient
 *             g becomes p (z g - delta[i]), then p becomes z p. A weight of 0 gives exactly 0 in
 *             both, whatever g and delta hold.
 *
 * tile_dot    sum[i] = sum[i] + the sum over the keys of p z g; g is not read into the result where
 *             p is 0.
 *
 * tile_slopes sum[i] = sum[i] + the sum over the keys of g |distance[i] - j|, j converted as in
 *             tile_rules.
 *
 * tile_sums   sum[j][d] = sum[j][d] + the sum over i < rows of p[j][i] x[i][d], for d < dim: p, x
 *             and sum by rows with leading dimensions. The sum over i starts from zero. The bits of
 *             an element do not depend on the other keys and columns.
 *
 * row_softcap_backward
 *             g[t] = g[t] (1 - tanh(y)^2) for y = scale * x[t] / softcap, in place. The factor is
 *             formed without cancellation, and is 0 for infinite y. A g of 0 stays 0 for any y:
 *             the products of finite numbers of an excluded pair may be infinity or NaN.
 *
 * mask_words  Bit t of words[0], words[stride], ... is cleared where mask[t] is 0, for t < n; bits
 *             from n on in the last word are cleared.
 *
 * row_keep    x[t] becomes +0 where bit t % 32 of words[t / 32] is 0, whatever it held.
 *
 * tile_keep   s[j][i] likewise, by bit j % 32 of words[j / 32][i]; `words` is
 *             [ceil(keys / 32)][width].
 *
 * dropout_words (f32 alone: it has no type)
 *             Bit t % 32 of words[t / 32 * stride] becomes 1 where draw first + t of a row is at
 *             least `threshold`, for t < n; bits from n on in the last word become 0. Draw x is
 *             word x % 4 of the Philox4x32-10 block (philox.h) of counter (lo(x / 4), hi(x / 4),
 *             state[2], state[3]) under the key (state[0], state[1]).
 */
struct sdpai_kernels_f32 {
  int64_t lanes; /* queries that one vector holds */
  float (*row_max)(int64_t n, const float *x, float scale);
  float (*row_scores)(int64_t n, float *x, const struct sdpai_score_f32 *score);
  float (*row_exp)(int64_t n, const float *x, float scale, float max, float *out);
  void (*row_scale)(int64_t n, float *x, float factor);
  int (*row_finite)(int64_t n, const float *x);
  int (*rows_finite)(int64_t rows, int64_t cols, const float *x, int64_t ld);
  float (*row_dot)(int64_t n, const float *x, const float *y);
  void (*row_softmax_backward)(int64_t n, const float *w, const float *g, float dot, float *out);
  void (*product_nt)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                     int64_t ldb, float *c, int64_t ldc);
  void (*product_nn)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                     int64_t ldb, float *c, int64_t ldc);
  void (*tile_pack)(int64_t rows, int64_t cols, const float *x, int64_t row_stride,
                    int64_t col_stride, float factor, int64_t width, float *tile);
  void (*tile_products_1)(int64_t keys, int64_t dim, const float *q, const float *k, int64_t ldk,
                          const uint32_t *words, float *s, float *max);
  void (*tile_products_2)(int64_t keys, int64_t dim, const float *q, const float *k, int64_t ldk,
                          const uint32_t *words, float *s, float *max);
  void (*tile_products_3)(int64_t keys, int64_t dim, const float *q, const float *k, int64_t ldk,
                          const uint32_t *words, float *s, float *max);
  void (*tile_rules)(int64_t keys, int64_t width, float *s,
                     const struct sdpai_tile_rules_f32 *rules, float *max);
  void (*tile_softmax)(int64_t keys, int64_t width, float scale, float *s, const float *max,
                       float *m, float *l, float *alpha);
  void (*tile_values_1)(int64_t keys, int64_t dim, const float *p, const float *v, int64_t ldv,
                        float *o, const float *alpha);
  void (*tile_values_2)(int64_t keys, int64_t dim, const float *p, const float *v, int64_t ldv,
                        float *o, const float *alpha);
  void (*tile_values_3)(int64_t keys, int64_t dim, const float *p, const float *v, int64_t ldv,
                        float *o, const float *alpha);
  void (*tile_unpack)(int64_t rows, int64_t cols, const float *tile, int64_t width,
                      const float *factor, float *x, int64_t row_stride, int64_t col_stride);
  void (*mask_words)(int64_t n, const uint8_t *mask, int64_t stride, uint32_t *words);
  void (*tile_weights)(int64_t keys, int64_t width, float scale, float *s, const float *shift);
  void (*tile_gradient)(int64_t keys, int64_t width, float *p, float *g, const float *delta,
                        const uint32_t *kept, float factor);
  void (*tile_dot)(int64_t keys, int64_t width, const float *p, const float *g,
                   const uint32_t *kept, float factor, float *sum);
  void (*tile_slopes)(int64_t keys, int64_t width, const float *g, const float *distance,
                      float *sum);
  void (*tile_sums)(int64_t keys, int64_t rows, int64_t dim, const float *p, int64_t ldp,
                    const float *x, int64_t ldx, float *sum, int64_t lds);
  void (*row_softcap_backward)(int64_t n, const float *x, float scale, float softcap, float *g);
  void (*row_keep)(int64_t n, float *x, const uint32_t *words);
  void (*tile_keep)(int64_t keys, int64_t width, float *s, const uint32_t *words);
  void (*dropout_words)(int64_t n, const uint32_t state[4], uint64_t first, uint32_t threshold,
                        int64_t stride, uint32_t *words);
};
struct sdpai_kernels_f64 {
  int64_t lanes;
  double (*row_max)(int64_t n, const double *x, double scale);
  double (*row_scores)(int64_t n, double *x, const struct sdpai_score_f64 *score);
  double (*row_exp)(int64_t n, const double *x, double scale, double max, double *out);
  void (*row_scale)(int64_t n, double *x, double factor);
  int (*row_finite)(int64_t n, const double *x);
  int (*rows_finite)(int64_t rows, int64_t cols, const double *x, int64_t ld);
  double (*row_dot)(int64_t n, const double *x, const double *y);
  void (*row_softmax_backward)(int64_t n, const double *w, const double *g, double dot,
                               double *out);
  void (*product_nt)(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                     int64_t ldb, double *c, int64_t ldc);
  void (*product_nn)(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                     int64_t ldb, double *c, int64_t ldc);
  void (*tile_pack)(int64_t rows, int64_t cols, const double *x, int64_t row_stride,
                    int64_t col_stride, double factor, int64_t width, double *tile);
  void (*tile_products_1)(int64_t keys, int64_t dim, const double *q, const double *k, int64_t ldk,
                          const uint32_t *words, double *s, double *max);
  void (*tile_products_2)(int64_t keys, int64_t dim, const double *q, const double *k, int64_t ldk,
                          const uint32_t *words, double *s, double *max);
  void (*tile_products_3)(int64_t keys, int64_t dim, const double *q, const double *k, int64_t ldk,
                          const uint32_t *words, double *s, double *max);
  void (*tile_rules)(int64_t keys, int64_t width, double *s,
                     const struct sdpai_tile_rules_f64 *rules, double *max);
  void (*tile_softmax)(int64_t keys, int64_t width, double scale, double *s, const double *max,
                       double *m, double *l, double *alpha);
  void (*tile_values_1)(int64_t keys, int64_t dim, const double *p, const double *v, int64_t ldv,
                        double *o, const double *alpha);
  void (*tile_values_2)(int64_t keys, int64_t dim, const double *p, const double *v, int64_t ldv,
                        double *o, const double *alpha);
  void (*tile_values_3)(int64_t keys, int64_t dim, const double *p, const double *v, int64_t ldv,
                        double *o, const double *alpha);
  void (*tile_unpack)(int64_t rows, int64_t cols, const double *tile, int64_t width,
                      const double *factor, double *x, int64_t row_stride, int64_t col_stride);
  void (*mask_words)(int64_t n, const uint8_t *mask, int64_t stride, uint32_t *words);
  void (*tile_weights)(int64_t keys, int64_t width, double scale, double *s, const double *shift);
  void (*tile_gradient)(int64_t keys, int64_t width, double *p, double *g, const double *delta,
                        const uint32_t *kept, double factor);
  void (*tile_dot)(int64_t keys, int64_t width, const double *p, const double *g,
                   const uint32_t *kept, double factor, double *sum);
  void (*tile_slopes)(int64_t keys, int64_t width, const double *g, const double *distance,
                      double *sum);
  void (*tile_sums)(int64_t keys, int64_t rows, int64_t dim, const double *p, int64_t ldp,
                    const double *x, int64_t ldx, double *sum, int64_t lds);
  void (*row_softcap_backward)(int64_t n, const double *x, double scale, double softcap, double *g);
  void (*row_keep)(int64_t n, double *x, const uint32_t *words);
  void (*tile_keep)(int64_t keys, int64_t width, double *s, const uint32_t *words);
};

/* Types that are stored in 16 bits and computed in f32: brain floating point (the upper half of a
 * float) and IEEE 754's binary16.
 *
 * row_load    out[t] = x[t], exactly. A NaN stays one, with its sign and the bits of its fraction;
 *             one of f16 becomes quiet, one of bf16 is not changed.
 *
 * row_store   out[t] = x[t] rounded once, to nearest even: to infinity from the middle between the
 *             largest number and the power of two that would follow it on, to multiples of the
 *             smallest subnormal number below the smallest normal one. NaN becomes a quiet NaN with
 *             the sign and the leading bits of the fraction.
 *
 * rows_finite, product_nt, product_nn
 *             those of f32 on the matrix, or the matrix B, that row_load makes of the one given:
 *             the same bits. */
struct sdpai_kernels_bf16 {
  void (*row_load)(int64_t n, const uint16_t *x, float *out);
  void (*row_store)(int64_t n, const float *x, uint16_t *out);
  int (*rows_finite)(int64_t rows, int64_t cols, const uint16_t *x, int64_t ld);
  void (*product_nt)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const uint16_t *b, int64_t ldb, float *c, int64_t ldc);
  void (*product_nn)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const uint16_t *b, int64_t ldb, float *c, int64_t ldc);
};
struct sdpai_kernels_f16 {
  void (*row_load)(int64_t n, const uint16_t *x, float *out);
  void (*row_store)(int64_t n, const float *x, uint16_t *out);
  int (*rows_finite)(int64_t rows, int64_t cols, const uint16_t *x, int64_t ld);
  void (*product_nt)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const uint16_t *b, int64_t ldb, float *c, int64_t ldc);
  void (*product_nn)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const uint16_t *b, int64_t ldb, float *c, int64_t ldc);
};

/* All kernels of one ISA. Never partial but for the matrix kernels: what an ISA does not define
 * itself is the generic one. */
struct sdpai_kernels {
  uint32_t isa;     /* SDPA_ISA_... */
  const char *name; /* "generic", "avx2", "avx512", "amx", "neon" */
  struct sdpai_kernels_f32 f32;
  struct sdpai_kernels_f64 f64;
  struct sdpai_kernels_bf16 bf16;
  struct sdpai_kernels_f16 f16;
  struct sdpai_matrix_kernels matrix; /* NULL but in a table with a matrix unit */
};

/* The best table at or below `ceiling` that this CPU, the operating system and the environment's
 * SDPA_MAX_ISA allow. `ceiling` is an SDPA_ISA_... value, SDPA_ISA_AUTO for no ceiling of the
 * call's own. Never NULL. Safe from any thread. The first call that arrives at a table with a
 * matrix unit asks the system's permission for the process, see sdpai_tiles_permitted(). */
const struct sdpai_kernels *sdpai_kernels_select(uint32_t ceiling);

/* The i-th table that this CPU can run, worst first, regardless of SDPA_MAX_ISA, of whether it is
 * preferred and of the system's permission; NULL past the last. For tests and for
 * sdpa_build_info(). */
const struct sdpai_kernels *sdpai_kernels_available(int i);

/* Text of SDPA_MAX_ISA when it is set but names no ISA of this architecture (and is thus ignored),
 * or NULL. */
const char *sdpai_kernels_ignored_ceiling(void);

#endif
