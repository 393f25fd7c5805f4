/* plain_products.h - the yardstick: attention's two full-size matrix products alone
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * S = scale Q K^T, then O = S V, at full size by the fastest way CBLAS offers: one gemm, or for
 * few rows one gemv a row; no softmax between them. plain_products.c is the only file of the bench
 * that includes cblas.h.
 */
#ifndef PLAIN_PRODUCTS_H
#define PLAIN_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

#include "bench_head.h"

struct plain_products;

/* Prepares the products of one head, with transposed copies of its inputs, and picks the fastest
 * call for each by timing them all. `head` must outlive the result. NULL if a size exceeds the
 * BLAS's int or memory is short. */
struct plain_products *plain_products_create(const struct bench_head *head);
void plain_products_destroy(struct plain_products *products);

/* For struct timed: arg is the struct plain_products. */
void plain_products_run(void *arg, int64_t calls);

/* The calls that were chosen, for people: "gemm NT, gemm NN". */
void plain_products_describe(const struct plain_products *products, char *text, size_t text_bytes);

/* Threads that the BLAS uses, 0 if it does not tell. */
int plain_products_threads(void);

#endif
