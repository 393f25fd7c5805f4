/* test_kernel_rows.c - every kernel of kernel_list.def against plain loops in a wider type
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each kernel is a test of its own; one that this CPU cannot run is skipped. Rows of every length
 * from 0 to four vectors and three lie directly before and behind pages that may not be touched,
 * and so do tiles of every number of keys from 0 to two groups of the largest and three.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "guarded.h"
#include "kernel_tests.h"

static struct guarded guarded_x, guarded_y, guarded_z, guarded_m;

enum { ROW_TAILS = 4 * 16 + 3 + 1, ROW_SIZES = ROW_TAILS + 6, ROW_MOST = 1000 };
static int row_sizes[ROW_SIZES];

/* Tiles: groups of keys or columns hold at most 8. The largest tile has TILE_RULES_KEYS keys,
 * TILE_DIM columns or as many pairs of them, and 48 queries in lanes; of doubles half as many. */
enum { TILE_KEYS = 2 * 8 + 3 + 1, TILE_DIMS = 22, TILE_DIM = 64, TILE_RULES_KEYS = 67 };
enum { TILE_MOST = (2 * TILE_DIM + 1) * 48 };
static struct guarded guarded_tile[6];

/* 0 to 20, and 64. */
static int tile_dim(int d) {
  return d < TILE_DIMS - 1 ? d : TILE_DIM;
}

#define FOR_EACH_ROW(n, where)                                                                     \
  for (int size_ = 0, n = row_sizes[0]; size_ < ROW_SIZES;                                         \
       size_++, n = size_ < ROW_SIZES ? row_sizes[size_] : 0)                                      \
    for (enum placement where = AT_END; where < PLACEMENTS; where++)

#include "real_test_f32.h"
#include "row_values_tpl.h"
#include "row_reduce_cases_tpl.h"
#include "row_exp_cases_tpl.h"
#include "row_scores_cases_tpl.h"
#include "product_cases_tpl.h"
#include "tile_pack_cases_tpl.h"
#include "tile_products_cases_tpl.h"
#include "tile_rules_cases_tpl.h"
#include "tile_softmax_cases_tpl.h"
#include "tile_values_cases_tpl.h"
#include "tile_backward_cases_tpl.h"
#include "tile_sums_cases_tpl.h"
#include "keep_cases_tpl.h"
#include "real_test_end.h"

#include "real_test_f64.h"
#include "row_values_tpl.h"
#include "row_reduce_cases_tpl.h"
#include "row_exp_cases_tpl.h"
#include "row_scores_cases_tpl.h"
#include "product_cases_tpl.h"
#include "tile_pack_cases_tpl.h"
#include "tile_products_cases_tpl.h"
#include "tile_rules_cases_tpl.h"
#include "tile_softmax_cases_tpl.h"
#include "tile_values_cases_tpl.h"
#include "tile_backward_cases_tpl.h"
#include "tile_sums_cases_tpl.h"
#include "keep_cases_tpl.h"
#include "real_test_end.h"

#include "dropout_words_cases.h"
#include "mask_words_cases.h"
#include "row_convert_cases.h"
#include "narrow_matrix_cases.h"

#define CHECK_row_max(type, kernel, isa)                                                           \
  check_row_max_##type(kernel);                                                                    \
  check_row_max_position_##type(kernel)
#define CHECK_row_scores(type, kernel, isa)                                                        \
  check_row_scores_##type(kernel);                                                                 \
  check_row_scores_softcaps_##type(kernel);                                                        \
  check_row_scores_excluded_##type(kernel)
#define CHECK_row_exp(type, kernel, isa)                                                           \
  check_row_exp_##type(kernel);                                                                    \
  check_row_exp_largest_##type(kernel);                                                            \
  check_row_exp_order_##type(kernel);                                                              \
  check_row_exp_special_##type(kernel)
#define CHECK_row_scale(type, kernel, isa)            check_row_scale_##type(kernel)
#define CHECK_row_finite(type, kernel, isa)           check_row_finite_##type(kernel)
#define CHECK_rows_finite(type, kernel, isa)          ROWS_FINITE_##type(kernel)
#define ROWS_FINITE_f32(kernel)                       check_rows_finite_f32(kernel)
#define ROWS_FINITE_f64(kernel)                       check_rows_finite_f64(kernel)
#define ROWS_FINITE_bf16(kernel)                      check_narrow_rows_finite(kernel, &narrow_bf16)
#define ROWS_FINITE_f16(kernel)                       check_narrow_rows_finite(kernel, &narrow_f16)
#define CHECK_row_dot(type, kernel, isa)              check_row_dot_##type(kernel)
#define CHECK_row_softmax_backward(type, kernel, isa) check_row_softmax_backward_##type(kernel)
#define CHECK_product_nt(type, kernel, isa)           PRODUCTS_##type(kernel, product_nt, 1, isa)
#define CHECK_product_nn(type, kernel, isa)           PRODUCTS_##type(kernel, product_nn, 0, isa)
#define PRODUCTS_f32(kernel, op, transposed, isa)     check_products_f32(kernel, transposed)
#define PRODUCTS_f64(kernel, op, transposed, isa)     check_products_f64(kernel, transposed)
#define PRODUCTS_bf16(kernel, op, transposed, isa)                                                 \
  check_narrow_products(kernel, find_table(isa)->f32.op, &narrow_bf16, transposed)
#define PRODUCTS_f16(kernel, op, transposed, isa)                                                  \
  check_narrow_products(kernel, find_table(isa)->f32.op, &narrow_f16, transposed)
#define CHECK_tile_pack(type, kernel, isa)   check_matrices_##type(kernel, NULL, isa)
#define CHECK_tile_unpack(type, kernel, isa) check_matrices_##type(NULL, kernel, isa)
#define CHECK_tile_products(type, kernel, vectors, isa)                                            \
  check_tile_products_##type(kernel, vectors, isa);                                                \
  check_tile_products_max_##type(kernel, vectors, isa);                                            \
  check_tile_products_words_##type(kernel, vectors, isa)
#define CHECK_tile_products_1(type, kernel, isa) CHECK_tile_products(type, kernel, 1, isa)
#define CHECK_tile_products_2(type, kernel, isa) CHECK_tile_products(type, kernel, 2, isa)
#define CHECK_tile_products_3(type, kernel, isa) CHECK_tile_products(type, kernel, 3, isa)
#define CHECK_tile_rules(type, kernel, isa)                                                        \
  check_tile_rules_##type(kernel, isa);                                                            \
  check_tile_rules_bits_##type(kernel, isa)
#define CHECK_tile_softmax(type, kernel, isa)                                                      \
  check_tile_softmax_##type(kernel, isa);                                                          \
  check_tile_softmax_special_##type(kernel, isa);                                                  \
  check_tile_softmax_online_##type(kernel, isa)
#define CHECK_tile_values(type, kernel, vectors, isa)                                              \
  check_tile_values_##type(kernel, vectors, isa);                                                  \
  check_tile_values_chain_##type(kernel, vectors, isa)
#define CHECK_tile_values_1(type, kernel, isa) CHECK_tile_values(type, kernel, 1, isa)
#define CHECK_tile_values_2(type, kernel, isa) CHECK_tile_values(type, kernel, 2, isa)
#define CHECK_tile_values_3(type, kernel, isa) CHECK_tile_values(type, kernel, 3, isa)
#define CHECK_mask_words(type, kernel, isa)                                                        \
  check_mask_words(kernel);                                                                        \
  check_mask_words_bits(kernel)
#define CHECK_tile_weights(type, kernel, isa)         check_tile_weights_##type(kernel, isa)
#define CHECK_tile_gradient(type, kernel, isa)        check_tile_gradient_##type(kernel, isa)
#define CHECK_tile_dot(type, kernel, isa)             check_tile_dot_##type(kernel, isa)
#define CHECK_tile_slopes(type, kernel, isa)          check_tile_slopes_##type(kernel, isa)
#define CHECK_row_softcap_backward(type, kernel, isa) check_row_softcap_backward_##type(kernel)
#define CHECK_tile_sums(type, kernel, isa)                                                         \
  check_tile_sums_##type(kernel);                                                                  \
  check_tile_sums_chain_##type(kernel)
#define CHECK_row_keep(type, kernel, isa)      check_row_keep_##type(kernel)
#define CHECK_tile_keep(type, kernel, isa)     check_tile_keep_##type(kernel, isa)
#define CHECK_dropout_words(type, kernel, isa) check_dropout_words(kernel)
#define CHECK_row_load(type, kernel, isa)                                                          \
  check_row_load_values(kernel, &narrow_##type);                                                   \
  check_row_load_tails(kernel, &narrow_##type)
#define CHECK_row_store(type, kernel, isa)                                                         \
  check_row_store_boundaries(kernel, &narrow_##type);                                              \
  check_row_store_others(kernel, &narrow_##type);                                                  \
  check_row_store_tails(kernel, &narrow_##type)

#define SDPAI_KERNEL(isa, type, op)                                                                \
  static void test_##type##_##op##__##isa(void **state) {                                          \
    (void)state;                                                                                   \
    need_isa(TEST_ISA_##isa);                                                                      \
    CHECK_##op(type, SDPAI_KERNEL_NAME(type, op, isa), TEST_ISA_##isa);                            \
  }
#include "kernels/kernel_list.def"
#undef SDPAI_KERNEL

/* ALiBi's t is converted, not counted up in float, where 2^24 + 1 is 2^24. */
static void test_row_scores_index_beyond_2_24(void **state) {
  (void)state;
  const int64_t n = (INT64_C(1) << 24) + 137;
  float *x = malloc((size_t)n * sizeof *x);
  assert_non_null(x);
  const struct sdpai_kernels *table;
  for (int i = 0; (table = sdpai_kernels_available(i)) != NULL; i++) {
    const struct sdpai_score_f32 score = {.scale = 1, .slope = 1};
    memset(x, 0, (size_t)n * sizeof *x);
    table->f32.row_scores(n, x, &score);
    for (int64_t t = n - 300; t < n; t++) assert_true(x[t] == -(float)t);
  }
  free(x);
}

static int set_up(void **state) {
  (void)state;
  static const int more[] = {100, 127, 128, 129, 257, ROW_MOST};
  for (int i = 0; i < ROW_TAILS; i++) row_sizes[i] = i;
  for (int i = 0; i < ROW_SIZES - ROW_TAILS; i++) row_sizes[ROW_TAILS + i] = more[i];
  guarded_create(&guarded_x, (ROW_MOST + 16) * sizeof(double));
  guarded_create(&guarded_y, (ROW_MOST + 16) * sizeof(double));
  guarded_create(&guarded_z, (ROW_MOST + 16) * sizeof(double));
  guarded_create(&guarded_m, ROW_MOST + 16);
  for (int g = 0; g < 6; g++) guarded_create(&guarded_tile[g], (TILE_MOST + 16) * sizeof(float));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  guarded_destroy(&guarded_x);
  guarded_destroy(&guarded_y);
  guarded_destroy(&guarded_z);
  guarded_destroy(&guarded_m);
  for (int g = 0; g < 6; g++) guarded_destroy(&guarded_tile[g]);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define SDPAI_KERNEL(isa, type, op) cmocka_unit_test(test_##type##_##op##__##isa),
#include "kernels/kernel_list.def"
#undef SDPAI_KERNEL
      cmocka_unit_test(test_row_scores_index_beyond_2_24),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
