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

/* Up to so many queries, the query heads of one key head are stacked into one product: the way to
 * decode with grouped heads. */
enum { MAX_STACKED_QUERIES = 8 };

#define MOST_COPIED_BYTES ((int64_t)256 << 20)

/* Row-major C [m, n] = alpha A [m, k] B [k, n]. a[1] and b[1] are the transposed forms, [k, m] and
 * [n, k]; a form that is NULL is not offered. */
struct product {
  int is_f64, m, n, k;
  double alpha;
  const void *a[2], *b[2];
  void *c;
  const struct product_call *call;
};

/* One key head and its query heads. Forms [0] as the names say, [1] transposed. */
struct unit {
  void *query[2]; /* parts one after the other, each [m, d_k] or [d_k, m] */
  void *key[2];   /* [n_k, d_k], [d_k, n_k] */
  void *value[2]; /* [n_k, d_v], [d_v, n_k] */
};

struct plain_products {
  struct product scores, output; /* of the part under way */
  int64_t element, parts;        /* bytes of one; products of a unit */
  int64_t units, copies, next;   /* of the problem; of them, those with copies; the next one */
  int64_t part_bytes;            /* of a part's queries */
  void *score_matrix, *result;
  struct unit *unit;
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

static double run_one_product(void *arg, int64_t calls) {
  const double start = timing_now();
  for (int64_t i = 0; i < calls; i++) run_product(arg);
  return timing_now() - start;
}

/* Points both products at part `part` of a unit. */
static void aim(struct plain_products *products, const struct unit *unit, int64_t part) {
  for (int form = 0; form < 2; form++) {
    products->scores.a[form] = (const char *)unit->query[form] + part * products->part_bytes;
    products->scores.b[form] = unit->key[!form]; /* B is K^T */
    products->output.b[form] = unit->value[form];
  }
}

double plain_products_run(void *arg, int64_t calls) {
  struct plain_products *products = arg;
  const double start = timing_now();
  for (int64_t i = 0; i < calls; i++) {
    for (int64_t part = 0; part < products->parts; part++) {
      aim(products, &products->unit[products->next], part);
      run_product(&products->scores);
      run_product(&products->output);
    }
    products->next = (products->next + 1) % products->copies;
  }
  return timing_now() - start;
}

double plain_products_units(const struct plain_products *products) {
  return (double)products->units;
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

static void *allocate(int64_t bytes) {
  const size_t line = 64;
  return aligned_alloc(line, ((size_t)bytes + line - 1) / line * line);
}

/* Copies rows of a head in both forms. What the library does not read (padding, which holds NaN) is
 * 0. */
static void copy_rows(const struct problem_data *data, enum problem_tensor tensor, int64_t batch,
                      int64_t head, int64_t columns, int64_t rows, void *plain, void *transposed,
                      int64_t first_row, int64_t all_rows) {
  const uint32_t type = data->problem.query_type;
  const int64_t element = (int64_t)problem_type_bytes(type);
  for (int64_t i = 0; i < rows; i++) {
    const int is_read = problem_data_is_read(data, tensor, batch, i, 0);
    for (int64_t j = 0; j < columns; j++) {
      const double value =
          is_read ? problem_load(type, problem_data_at(data, tensor, batch, head, i, j)) : 0.0;
      const int64_t row = first_row + i;
      problem_store(type, (char *)plain + (row * columns + j) * element, value);
      problem_store(type, (char *)transposed + (j * all_rows + row) * element, value);
    }
  }
}

/* Returns 0, or -1 without memory. */
static int copy_unit(struct plain_products *products, const struct problem_data *data,
                     int64_t which) {
  const sdpa_problem *p = &data->problem;
  struct unit *unit = &products->unit[which];
  const int64_t group = p->query_heads / p->kv_heads;
  const int64_t batch = which / p->kv_heads, kv_head = which % p->kv_heads;
  const int64_t rows_of_part = products->scores.m;
  for (int form = 0; form < 2; form++) {
    unit->query[form] = allocate(products->parts * products->part_bytes);
    unit->key[form] = allocate(p->key_len * p->key_dim * products->element);
    unit->value[form] = allocate(p->key_len * p->value_dim * products->element);
    if (!unit->query[form] || !unit->key[form] || !unit->value[form]) return -1;
  }
  for (int64_t g = 0; g < group; g++) {
    const int64_t row = g * p->query_len, part = row / rows_of_part;
    copy_rows(data, PROBLEM_QUERY, batch, kv_head * group + g, p->key_dim, p->query_len,
              (char *)unit->query[0] + part * products->part_bytes,
              (char *)unit->query[1] + part * products->part_bytes, row % rows_of_part,
              rows_of_part);
  }
  copy_rows(data, PROBLEM_KEY, batch, kv_head, p->key_dim, p->key_len, unit->key[0], unit->key[1],
            0, p->key_len);
  copy_rows(data, PROBLEM_VALUE, batch, kv_head, p->value_dim, p->key_len, unit->value[0],
            unit->value[1], 0, p->key_len);
  return 0;
}

int plain_products_offered(const sdpa_problem *p) {
  const int64_t sizes[] = {p->batch,   p->query_heads, p->query_len,
                           p->key_len, p->key_dim,     p->value_dim};
  if (p->query_type != SDPA_F32 && p->query_type != SDPA_F64) return 0;
  if (problem_type(p, PROBLEM_KEY) != p->query_type ||
      problem_type(p, PROBLEM_VALUE) != p->query_type)
    return 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    if (sizes[i] < 1 || sizes[i] > INT_MAX) return 0;
  }
  if (p->query_len <= MAX_STACKED_QUERIES && p->query_heads > INT_MAX / MAX_STACKED_QUERIES)
    return 0;
  const int64_t element = (int64_t)problem_type_bytes(p->query_type);
  return p->query_len <= PLAIN_PRODUCTS_MOST_SCORES / element / p->key_len;
}

/* Sizes of everything; the pointers of the two products come with aim(). */
static void set_sizes(struct plain_products *products, const sdpa_problem *p) {
  const int64_t group = p->query_heads / p->kv_heads;
  const int stacked = p->query_len <= MAX_STACKED_QUERIES;
  const int m = (int)(stacked ? group * p->query_len : p->query_len);
  const int is_f64 = p->query_type == SDPA_F64;
  const double scale = p->features & SDPA_SCALE ? p->scale : 1.0 / sqrt((double)p->key_dim);
  products->element = (int64_t)problem_type_bytes(p->query_type);
  products->parts = stacked ? 1 : group;
  products->part_bytes = m * p->key_dim * products->element;
  products->units = p->batch * p->kv_heads;
  const int64_t copied =
      2 * products->element *
      (group * p->query_len * p->key_dim + p->key_len * (p->key_dim + p->value_dim));
  products->copies = copied < MOST_COPIED_BYTES ? MOST_COPIED_BYTES / copied : 1;
  if (products->copies > products->units) products->copies = products->units;
  products->scores = (struct product){
      .is_f64 = is_f64, .m = m, .n = (int)p->key_len, .k = (int)p->key_dim, .alpha = scale};
  products->output = (struct product){
      .is_f64 = is_f64, .m = m, .n = (int)p->value_dim, .k = (int)p->key_len, .alpha = 1.0};
}

struct plain_products *plain_products_create(const struct problem_data *data) {
  const sdpa_problem *p = &data->problem;
  struct plain_products *products = calloc(1, sizeof *products);
  if (!products) return NULL;
  set_sizes(products, p);
  const int64_t m = products->scores.m;
  products->unit = calloc((size_t)products->copies, sizeof *products->unit);
  products->score_matrix = allocate(m * p->key_len * products->element);
  products->result = allocate(m * p->value_dim * products->element);
  int complete = products->unit && products->score_matrix && products->result;
  for (int64_t i = 0; complete && i < products->copies; i++)
    complete = copy_unit(products, data, i) == 0;
  products->scores.c = products->score_matrix;
  products->output.a[0] = products->score_matrix; /* it has no other form */
  products->output.c = products->result;
  if (complete) aim(products, &products->unit[0], 0);
  /* The first choice leaves real scores for the second to work on. */
  if (!complete || choose_call(&products->scores) != 0 || choose_call(&products->output) != 0) {
    plain_products_destroy(products);
    return NULL;
  }
  return products;
}

void plain_products_destroy(struct plain_products *products) {
  if (!products) return;
  for (int64_t i = 0; products->unit && i < products->copies; i++) {
    for (int form = 0; form < 2; form++) {
      free(products->unit[i].query[form]);
      free(products->unit[i].key[form]);
      free(products->unit[i].value[form]);
    }
  }
  free(products->unit);
  free(products->score_matrix);
  free(products->result);
  free(products);
}

const void *plain_products_result(const struct plain_products *products, int64_t *rows) {
  *rows = products->output.m;
  return products->result;
}

void plain_products_describe(const struct plain_products *products, char *text, size_t text_bytes) {
  snprintf(text, text_bytes, "%s, %s", products->scores.call->name, products->output.call->name);
}

int blas_is_there(void) {
  return 1;
}

int blas_threads(void) {
#ifdef SDPA_BENCH_OPENBLAS_INFO
  return openblas_get_num_threads();
#else
  return 0;
#endif
}

int blas_set_threads(int threads) {
#ifdef SDPA_BENCH_OPENBLAS_INFO
  openblas_set_num_threads(threads);
  return 0;
#else
  (void)threads;
  return -1;
#endif
}
