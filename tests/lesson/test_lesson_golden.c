/* test_lesson_golden.c - the lesson's attention against outputs computed in 80-bit precision
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The evidence lies outside the tree, in lesson/golden of $SDPA_SHARED_DIR; without it the test
 * skips. Inputs are drawn here and must be the golden ones bit for bit (whole for n = 3 and 512,
 * four rows for n = 4096). Tolerances, absolute: 1e-14 for float64; 2e-6 for float32, whose inputs
 * are the same numbers rounded. Each call is made with and without weights, since the library may
 * take another way where no n x n matrix is asked for.
 */
#include "npy.h"
#include "numpy_random.h"

#include <sdpa/sdpa.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { dim = 64, input_count = 3, sampled = 4 };

static const char names[input_count] = {'Q', 'K', 'V'};
static const size_t sampled_rows[sampled] = {0, 1, 2047, 4095};

static int golden_path(char *path, size_t bytes, const char *name) {
  const char *shared = getenv("SDPA_SHARED_DIR");
  return snprintf(path, bytes, "%s/lesson/golden/%s.npy", shared != NULL ? shared : ".", name);
}

static struct npy_array load(const char *name, size_t rows, size_t cols) {
  char path[4096], text[4400];
  struct npy_array array;
  assert_true((size_t)golden_path(path, sizeof path, name) < sizeof path);
  if (npy_read(path, &array, text, sizeof text) != 0) fail_msg("%s", text);
  if (array.type != NPY_F64 || array.rank != 2 || array.shape[0] != (int64_t)rows ||
      array.shape[1] != (int64_t)cols)
    fail_msg("%s: not float64 of shape (%zu, %zu)", path, rows, cols);
  return array;
}

static void *allocate(size_t n, size_t size) {
  void *block = calloc(n, size);
  assert_non_null(block);
  return block;
}

/* Rows that the golden file of a tensor holds: all of them, or the four samples. */
static size_t golden_row(size_t n, size_t row) {
  return n == 4096 ? sampled_rows[row] : row;
}

static size_t golden_rows(size_t n) {
  return n == 4096 ? sampled : n;
}

static void check_inputs(size_t n, double *const input[input_count]) {
  for (int t = 0; t < input_count; t++) {
    char name[32];
    snprintf(name, sizeof name, "%c_%zu%s", names[t], n, n == 4096 ? "_rows" : "");
    struct npy_array golden = load(name, golden_rows(n), dim);
    for (size_t r = 0; r < golden_rows(n); r++)
      assert_memory_equal(input[t] + golden_row(n, r) * dim, (double *)golden.data + r * dim,
                          dim * sizeof(double));
    npy_free(&golden);
  }
}

/* One row of a result, widened; exactly one of the two is given. */
struct result {
  const double *f64;
  const float *f32;
};

static void compare_row(const struct result *result, size_t row, const double *golden, size_t cols,
                        const char *what, size_t n) {
  double tolerance = result->f64 != NULL ? 1e-14 : 2e-6;
  for (size_t c = 0; c < cols; c++) {
    double value =
        result->f64 != NULL ? result->f64[row * cols + c] : (double)result->f32[row * cols + c];
    if (!(fabs(value - golden[c]) <= tolerance))
      fail_msg("n = %zu, float%d: %s[%zu, %zu] is %.17g, expected %.17g", n,
               result->f64 != NULL ? 64 : 32, what, row, c, value, golden[c]);
  }
}

static void check_output(size_t n, struct result output) {
  char name[32];
  snprintf(name, sizeof name, "out_%zu", n);
  struct npy_array golden = load(name, n, dim);
  for (size_t r = 0; r < n; r++)
    compare_row(&output, r, (double *)golden.data + r * dim, dim, "output", n);
  npy_free(&golden);
}

static void check_weights(size_t n, struct result weights) {
  char name[32];
  snprintf(name, sizeof name, "weights_%zu%s", n, n == 4096 ? "_rows" : "");
  struct npy_array golden = load(name, golden_rows(n), n);
  for (size_t r = 0; r < golden_rows(n); r++)
    compare_row(&weights, golden_row(n, r), (double *)golden.data + r * n, n, "weights", n);
  npy_free(&golden);
}

static void check_f64(size_t n, double *const input[input_count]) {
  double *output = allocate(n * dim, sizeof *output);
  double *weights = allocate(n * n, sizeof *weights);
  int64_t rows = (int64_t)n;
  assert_int_equal(
      sdpa_attention_f64(rows, rows, dim, dim, input[0], input[1], input[2], output, weights),
      SDPA_OK);
  check_output(n, (struct result){.f64 = output});
  check_weights(n, (struct result){.f64 = weights});
  memset(output, 0, n * dim * sizeof *output);
  assert_int_equal(
      sdpa_attention_f64(rows, rows, dim, dim, input[0], input[1], input[2], output, NULL),
      SDPA_OK);
  check_output(n, (struct result){.f64 = output});
  free(weights);
  free(output);
}

static void check_f32(size_t n, double *const input[input_count]) {
  float *rounded[input_count];
  float *output = allocate(n * dim, sizeof *output);
  float *weights = allocate(n * n, sizeof *weights);
  int64_t rows = (int64_t)n;
  for (int t = 0; t < input_count; t++) {
    rounded[t] = allocate(n * dim, sizeof(float));
    for (size_t i = 0; i < n * dim; i++) rounded[t][i] = (float)input[t][i];
  }
  assert_int_equal(
      sdpa_attention_f32(rows, rows, dim, dim, rounded[0], rounded[1], rounded[2], output, weights),
      SDPA_OK);
  check_output(n, (struct result){.f32 = output});
  check_weights(n, (struct result){.f32 = weights});
  memset(output, 0, n * dim * sizeof *output);
  assert_int_equal(
      sdpa_attention_f32(rows, rows, dim, dim, rounded[0], rounded[1], rounded[2], output, NULL),
      SDPA_OK);
  check_output(n, (struct result){.f32 = output});
  for (int t = 0; t < input_count; t++) free(rounded[t]);
  free(weights);
  free(output);
}

/* One generator runs through all sizes, as in the lesson. */
static void attention_of_seed_42(void **state) {
  static const size_t sizes[] = {3, 512, 4096};
  struct numpy_rng rng;
  (void)state;
  numpy_rng_seed(&rng, 42);
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    double *input[input_count];
    for (int t = 0; t < input_count; t++) {
      input[t] = allocate(sizes[s] * dim, sizeof(double));
      numpy_rng_fill_normal(&rng, input[t], sizes[s] * dim);
    }
    check_inputs(sizes[s], input);
    check_f64(sizes[s], input);
    check_f32(sizes[s], input);
    for (int t = 0; t < input_count; t++) free(input[t]);
  }
}

int main(void) {
  char path[4096];
  golden_path(path, sizeof path, "out_3");
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    printf("skipped: %s is not there; SDPA_SHARED_DIR names the folder of the evidence\n", path);
    return 77;
  }
  fclose(file);
  const struct CMUnitTest tests[] = {cmocka_unit_test(attention_of_seed_42)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
