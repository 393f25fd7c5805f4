/* plain_products.c - the two matrix products by every call CBLAS offers, and the fastest of them
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plain_products.h"

#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

/* How one product C = alpha A B is asked for: which of A and B is read from a transposed copy, and
 * whether by one gemm or by one gemv a row of C (which is worth trying for few rows only). */
struct product_call {
  const char *name;
  int transpose_a, transpose_b, rows_by_gemv;
};
static const struct product_call product_calls[] = {
    {"gemm NN", 0, 0, 0}, {"gemm NT", 0, 1, 0},        {"gemm TN", 1, 0, 0},
    {"gemm TT", 1, 1, 0}, {"gemv by row, N", 0, 0, 1}, {"gemv by row, T", 0, 1, 1},
};
enum { N_CALLS = sizeof product_calls / sizeof product_calls[0], MAX_GEMV_ROWS = 8 };

/* Row-major C [m, n] = alpha A [m, k] B [k, n]. a[1] and b[1] are the transposed forms, [k, m] and
 * [n, k]; a form that is NULL is not offered. */
struct product {
  int is_f64, m, n, k;
  double alpha;
  const void *a[2], *b[2];
  void *c;
  const struct product_call *call;
};

struct plain_products {
  struct product scores, output;
  void *owned[5]; /* the transposed copies of Q, K and V, the scores, the output */
};

static void run_gemm(const struct product *p) {
  const int ta = p->call->transpose_a, tb = p->call->transpose_b;
  const int lda = ta ? p->m : p->k, ldb = tb ? p->k : p->n;
  const enum CBLAS_TRANSPOSE trans_a = ta ? CblasTrans : CblasNoTrans;
  const enum CBLAS_TRANSPOSE trans_b = tb ? CblasTrans : CblasNoTrans;
  if (p->is_f64) {
    cblas_dgemm(CblasRowMajor, trans_a, trans_b, p->m, p->n, p->k, p->alpha, p->a[ta], lda,
                p->b[tb], ldb, 0.0, p->c, p->n);
  } else {
    cblas_sgemm(CblasRowMajor, trans_a, trans_b, p->m, p->n, p->k, (float)p->alpha, p->a[ta], lda,
                p->b[tb], ldb, 0.0f, p->c, p->n);
  }
}

/* c_i = alpha B^T a_i: B as it lies is a [k, n] matrix to be transposed, its other form [n, k] is
 * not. */
static void run_gemv(const struct product *p) {
  const int tb = p->call->transpose_b;
  const enum CBLAS_TRANSPOSE trans = tb ? CblasNoTrans : CblasTrans;
  const int rows = tb ? p->n : p->k, columns = tb ? p->k : p->n;
  for (int i = 0; i < p->m; i++) {
    if (p->is_f64) {
      cblas_dgemv(CblasRowMajor, trans, rows, columns, p->alpha, p->b[tb], columns,
                  (const double *)p->a[0] + (ptrdiff_t)i * p->k, 1, 0.0,
                  (double *)p->c + (ptrdiff_t)i * p->n, 1);
    } else {
      cblas_sgemv(CblasRowMajor, trans, rows, columns, (float)p->alpha, p->b[tb], columns,
                  (const float *)p->a[0] + (ptrdiff_t)i * p->k, 1, 0.0f,
                  (float *)p->c + (ptrdiff_t)i * p->n, 1);
    }
  }
}

static void run_product(const struct product *p) {
  if (p->call->rows_by_gemv) {
    run_gemv(p);
  } else {
    run_gemm(p);
  }
  atomic_signal_fence(memory_order_seq_cst);
}

static void run_one_product(void *arg, int64_t calls) {
  for (int64_t i = 0; i < calls; i++) run_product(arg);
}

void plain_products_run(void *arg, int64_t calls) {
  struct plain_products *products = arg;
  for (int64_t i = 0; i < calls; i++) {
    run_product(&products->scores);
    run_product(&products->output);
  }
}

/* Times every call that is offered for the product and keeps the fastest. Returns 0, or -1 without
 * memory. */
static int choose_call(struct product *product) {
  static const struct timing_limits limits = {
      .sample_seconds = 1e-3, .total_seconds = 0.4, .min_rounds = 5, .spread = 0.005};
  struct product offered[N_CALLS];
  struct timed *timed = calloc(N_CALLS, sizeof *timed);
  if (!timed) return -1;
  int count = 0;
  for (int i = 0; i < N_CALLS; i++) {
    const struct product_call *call = &product_calls[i];
    if (!product->a[call->transpose_a] || !product->b[call->transpose_b]) continue;
    if (call->rows_by_gemv && product->m > MAX_GEMV_ROWS) continue;
    offered[count] = *product;
    offered[count].call = call;
    timed[count].run = run_one_product;
    timed[count].arg = &offered[count];
    count++;
  }
  timing_run(timed, count, &limits);
  int best = 0;
  for (int i = 1; i < count; i++) {
    if (timed[i].min < timed[best].min) best = i;
  }
  product->call = offered[best].call;
  free(timed);
  return 0;
}

static void *transposed_copy(const struct bench_head *head, const void *matrix, int64_t rows,
                             int64_t columns) {
  const size_t bytes = head->is_f64 ? sizeof(double) : sizeof(float);
  void *copy = bench_allocate(rows * columns * (int64_t)bytes);
  for (int64_t i = 0; copy && i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) {
      if (head->is_f64) {
        ((double *)copy)[j * rows + i] = ((const double *)matrix)[i * columns + j];
      } else {
        ((float *)copy)[j * rows + i] = ((const float *)matrix)[i * columns + j];
      }
    }
  }
  return copy;
}

/* K is B's transposed form as it lies; the scores, A of the second product, have no other form. */
static void set_products(struct plain_products *products, const struct bench_head *head) {
  const int n_q = (int)head->query_len, n_k = (int)head->key_len;
  products->scores = (struct product){.is_f64 = head->is_f64,
                                      .m = n_q,
                                      .n = n_k,
                                      .k = (int)head->key_dim,
                                      .alpha = 1.0 / sqrt((double)head->key_dim),
                                      .a = {head->query, products->owned[0]},
                                      .b = {products->owned[1], head->key},
                                      .c = products->owned[3]};
  products->output = (struct product){.is_f64 = head->is_f64,
                                      .m = n_q,
                                      .n = (int)head->value_dim,
                                      .k = n_k,
                                      .alpha = 1.0,
                                      .a = {products->owned[3], NULL},
                                      .b = {head->value, products->owned[2]},
                                      .c = products->owned[4]};
}

struct plain_products *plain_products_create(const struct bench_head *head) {
  const int64_t bytes = head->is_f64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
  if (head->query_len > INT_MAX || head->key_len > INT_MAX || head->key_dim > INT_MAX ||
      head->value_dim > INT_MAX) {
    return NULL;
  }
  struct plain_products *products = calloc(1, sizeof *products);
  if (!products) return NULL;
  products->owned[0] = transposed_copy(head, head->query, head->query_len, head->key_dim);
  products->owned[1] = transposed_copy(head, head->key, head->key_len, head->key_dim);
  products->owned[2] = transposed_copy(head, head->value, head->key_len, head->value_dim);
  products->owned[3] = bench_allocate(head->query_len * head->key_len * bytes);
  products->owned[4] = bench_allocate(head->query_len * head->value_dim * bytes);
  int complete = 1;
  for (int i = 0; i < 5; i++) complete = complete && products->owned[i];
  if (complete) set_products(products, head);
  /* The first choice leaves real scores for the second to work on. */
  if (!complete || choose_call(&products->scores) != 0 || choose_call(&products->output) != 0) {
    plain_products_destroy(products);
    return NULL;
  }
  return products;
}

void plain_products_destroy(struct plain_products *products) {
  if (!products) return;
  for (int i = 0; i < 5; i++) free(products->owned[i]);
  free(products);
}

void plain_products_describe(const struct plain_products *products, char *text, size_t text_bytes) {
  snprintf(text, text_bytes, "%s, %s", products->scores.call->name, products->output.call->name);
}

int plain_products_threads(void) {
#ifdef SDPA_BENCH_OPENBLAS_INFO
  return openblas_get_num_threads();
#else
  return 0;
#endif
}
