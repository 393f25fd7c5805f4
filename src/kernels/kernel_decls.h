/* kernel_decls.h - prototypes of all kernels, from kernel_list.def
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A kernel is called sdpai_<type>_<op>__<isa>. The prototypes repeat the members of kernels.h; a
 * difference does not compile where kernel_table.c fills them.
 */
#ifndef SDPAI_KERNEL_DECLS_H
#define SDPAI_KERNEL_DECLS_H

#include "kernels/kernels.h"

/* Two steps, so that `isa` may itself be a macro. */
#define SDPAI_KERNEL_NAME(type, op, isa)  SDPAI_KERNEL_NAME_(type, op, isa)
#define SDPAI_KERNEL_NAME_(type, op, isa) sdpai_##type##_##op##__##isa

#define SDPAI_REAL_f32  float
#define SDPAI_REAL_f64  double
#define SDPAI_REAL_bf16 uint16_t
#define SDPAI_REAL_f16  uint16_t

#define SDPAI_COMPUTE_f32  float
#define SDPAI_COMPUTE_f64  double
#define SDPAI_COMPUTE_bf16 float
#define SDPAI_COMPUTE_f16  float

#define SDPAI_DECLARE_row_max(name, type, real) real name(int64_t n, const real *x, real scale);
#define SDPAI_DECLARE_row_scores(name, type, real)                                                 \
  real name(int64_t n, real *x, const struct sdpai_score_##type *score);
#define SDPAI_DECLARE_row_exp(name, type, real)                                                    \
  real name(int64_t n, const real *x, real scale, real max, real *out);
#define SDPAI_DECLARE_row_scale(name, type, real)  void name(int64_t n, real *x, real factor);
#define SDPAI_DECLARE_row_finite(name, type, real) int name(int64_t n, const real *x);
#define SDPAI_DECLARE_rows_finite(name, type, real)                                                \
  int name(int64_t rows, int64_t cols, const real *x, int64_t ld);
#define SDPAI_DECLARE_row_dot(name, type, real) real name(int64_t n, const real *x, const real *y);
#define SDPAI_DECLARE_row_softmax_backward(name, type, real)                                       \
  void name(int64_t n, const real *w, const real *g, real dot, real *out);

#define SDPAI_DECLARE_product(name, type, real)                                                    \
  void name(int64_t m, int64_t n, int64_t k, const SDPAI_COMPUTE_##type *a, int64_t lda,           \
            const real *b, int64_t ldb, SDPAI_COMPUTE_##type *c, int64_t ldc);
#define SDPAI_DECLARE_product_nt(name, type, real) SDPAI_DECLARE_product(name, type, real)
#define SDPAI_DECLARE_product_nn(name, type, real) SDPAI_DECLARE_product(name, type, real)

#define SDPAI_DECLARE_tile_pack(name, type, real)                                                  \
  void name(int64_t rows, int64_t cols, const real *x, int64_t row_stride, int64_t col_stride,     \
            real factor, int64_t width, real *tile);
#define SDPAI_DECLARE_tile_unpack(name, type, real)                                                \
  void name(int64_t rows, int64_t cols, const real *tile, int64_t width, const real *factor,       \
            real *x, int64_t row_stride, int64_t col_stride);
#define SDPAI_DECLARE_tile_products(name, real)                                                    \
  void name(int64_t keys, int64_t dim, const real *q, const real *k, int64_t ldk,                  \
            const uint32_t *words, real *s, real *max);
#define SDPAI_DECLARE_tile_products_1(name, type, real) SDPAI_DECLARE_tile_products(name, real)
#define SDPAI_DECLARE_tile_products_2(name, type, real) SDPAI_DECLARE_tile_products(name, real)
#define SDPAI_DECLARE_tile_products_3(name, type, real) SDPAI_DECLARE_tile_products(name, real)
#define SDPAI_DECLARE_tile_rules(name, type, real)                                                 \
  void name(int64_t keys, int64_t width, real *s, const struct sdpai_tile_rules_##type *rules,     \
            real *max);
#define SDPAI_DECLARE_tile_softmax(name, type, real)                                               \
  void name(int64_t keys, int64_t width, real scale, real *s, const real *max, real *m, real *l,   \
            real *alpha);
#define SDPAI_DECLARE_tile_values(name, real)                                                      \
  void name(int64_t keys, int64_t dim, const real *p, const real *v, int64_t ldv, real *o,         \
            const real *alpha);
#define SDPAI_DECLARE_tile_values_1(name, type, real) SDPAI_DECLARE_tile_values(name, real)
#define SDPAI_DECLARE_tile_values_2(name, type, real) SDPAI_DECLARE_tile_values(name, real)
#define SDPAI_DECLARE_tile_values_3(name, type, real) SDPAI_DECLARE_tile_values(name, real)
#define SDPAI_DECLARE_mask_words(name, type, real)                                                 \
  void name(int64_t n, const uint8_t *mask, int64_t stride, uint32_t *words);
#define SDPAI_DECLARE_tile_weights(name, type, real)                                               \
  void name(int64_t keys, int64_t width, real scale, real *s, const real *shift);
#define SDPAI_DECLARE_tile_gradient(name, type, real)                                              \
  void name(int64_t keys, int64_t width, real *p, real *g, const real *delta,                      \
            const uint32_t *kept, real factor);
#define SDPAI_DECLARE_tile_dot(name, type, real)                                                   \
  void name(int64_t keys, int64_t width, const real *p, const real *g, const uint32_t *kept,       \
            real factor, real *sum);
#define SDPAI_DECLARE_tile_slopes(name, type, real)                                                \
  void name(int64_t keys, int64_t width, const real *g, const real *distance, real *sum);
#define SDPAI_DECLARE_tile_sums(name, type, real)                                                  \
  void name(int64_t keys, int64_t rows, int64_t dim, const real *p, int64_t ldp, const real *x,    \
            int64_t ldx, real *sum, int64_t lds);
#define SDPAI_DECLARE_row_softcap_backward(name, type, real)                                       \
  void name(int64_t n, const real *x, real scale, real softcap, real *g);
#define SDPAI_DECLARE_row_keep(name, type, real)                                                   \
  void name(int64_t n, real *x, const uint32_t *words);
#define SDPAI_DECLARE_tile_keep(name, type, real)                                                  \
  void name(int64_t keys, int64_t width, real *s, const uint32_t *words);
#define SDPAI_DECLARE_dropout_words(name, type, real)                                              \
  void name(int64_t n, const uint32_t state[4], uint64_t first, uint32_t threshold,                \
            int64_t stride, uint32_t *words);

#define SDPAI_DECLARE_row_load(name, type, real)  void name(int64_t n, const real *x, float *out);
#define SDPAI_DECLARE_row_store(name, type, real) void name(int64_t n, const float *x, real *out);

#define SDPAI_DECLARE_configure(name) void name(void);
#define SDPAI_DECLARE_release(name)   void name(void);
#define SDPAI_DECLARE_pack_keys(name)                                                              \
  int64_t name(int64_t keys, int64_t dim, const float *k, int64_t ldk, int parts,                  \
               uint16_t *packed, uint8_t *unfit);
#define SDPAI_DECLARE_pack_queries(name)                                                           \
  int64_t name(int64_t width, int64_t dim, const float *q, int parts, uint16_t *packed,            \
               uint8_t *unfit);
#define SDPAI_DECLARE_pack_values(name)                                                            \
  int64_t name(int64_t keys, int64_t dim, const float *v, int64_t ldv, int parts, uint16_t *packed);
#define SDPAI_DECLARE_pack_weights(name)                                                           \
  void name(int64_t keys, int64_t width, int64_t lead, const float *p, int parts, uint16_t *packed);
#define SDPAI_DECLARE_products(name)                                                               \
  void name(int64_t keys, int64_t width, int64_t dim, const uint16_t *k, const uint16_t *q,        \
            struct sdpai_parts parts, float *s);
#define SDPAI_DECLARE_mask_max(name)                                                               \
  void name(int64_t keys, int64_t width, float *s, const uint32_t *words, float *max);
#define SDPAI_DECLARE_values(name)                                                                 \
  void name(int64_t keys, int64_t width, int64_t dim, const uint16_t *v, const uint16_t *p,        \
            struct sdpai_parts parts, float *o, const float *alpha);

#define SDPAI_KERNEL(isa, type, op)                                                                \
  SDPAI_DECLARE_##op(SDPAI_KERNEL_NAME(type, op, isa), type, SDPAI_REAL_##type)
#define SDPAI_MATRIX_KERNEL(isa, op) SDPAI_DECLARE_##op(SDPAI_KERNEL_NAME(matrix, op, isa))
#include "kernels/kernel_list.def"
#undef SDPAI_KERNEL
#undef SDPAI_MATRIX_KERNEL

#endif
