/* plain_products_none.c - in a build without a BLAS: no products are offered
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plain_products.h"

#include <math.h>

int plain_products_offered(const sdpa_problem *problem) {
  (void)problem;
  return 0;
}

struct plain_products *plain_products_create(const struct problem_data *data) {
  (void)data;
  return NULL;
}

void plain_products_destroy(struct plain_products *products) {
  (void)products;
}

double plain_products_run(void *arg, int64_t calls) {
  (void)arg, (void)calls;
  return (double)NAN;
}

double plain_products_units(const struct plain_products *products) {
  (void)products;
  return 0.0;
}

const void *plain_products_result(const struct plain_products *products, int64_t *rows) {
  (void)products;
  *rows = 0;
  return NULL;
}

void plain_products_describe(const struct plain_products *products, char *text, size_t text_bytes) {
  (void)products;
  if (text_bytes > 0) text[0] = '\0';
}

int blas_is_there(void) {
  return 0;
}

int blas_threads(void) {
  return 0;
}

/* There is nothing that could disobey. */
int blas_set_threads(int threads) {
  (void)threads;
  return 0;
}
