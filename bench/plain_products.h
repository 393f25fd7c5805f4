/* plain_products.h - the yardstick: attention's two full-size matrix products alone
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * S = scale Q K^T, then O = S V, over all n x n and all heads, by the fastest way CBLAS offers; no
 * mask and no softmax between them. Head by head, so that the score matrix is one head's, n_q x
 * n_k. plain_products.c is the only file of the bench that includes cblas.h; a build without a BLAS
 * has plain_products_none.c in its place, which offers no products.
 */
#ifndef PLAIN_PRODUCTS_H
#define PLAIN_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

#include "problem_data.h"

struct plain_products;

/* Above this the score matrix of a head is not made. */
#define PLAIN_PRODUCTS_MOST_SCORES ((int64_t)1 << 30)

/* 1 if the products of this problem are worth timing: Q, K and V all f32 or all f64, since CBLAS
 * multiplies nothing else; not empty, sizes within the BLAS's int, and a score matrix of at most PLAIN_PRODUCTS_MOST_SCORES bytes. */
int plain_products_offered(const sdpa_problem *problem);

/* Prepares the products of an offered problem, with contiguous and with transposed copies of its
 * inputs, and picks the fastest call for each by timing them all. NULL if memory is short. */
struct plain_products *plain_products_create(const struct problem_data *data);
void plain_products_destroy(struct plain_products *products);

/* For struct timed: arg is the struct plain_products. One call is both products of one key head
 * with its query heads, the next one at every call; plain_products_units() calls are the whole
 * problem. At most 256 MiB of copies take turns, so that of more heads the first stand for all. */
double plain_products_run(void *arg, int64_t calls);
double plain_products_units(const struct plain_products *products);

/* What the last product left behind, [rows, d_v]: for tests. */
const void *plain_products_result(const struct plain_products *products, int64_t *rows);

/* The calls that were chosen, for people: "gemm NT, gemm NN". */
void plain_products_describe(const struct plain_products *products, char *text, size_t text_bytes);

/* 0 in a build without a BLAS. */
int blas_is_there(void);

/* Threads that the BLAS uses, 0 if it does not tell; and sets them, -1 if it cannot be told. */
int blas_threads(void);
int blas_set_threads(int threads);

#endif
