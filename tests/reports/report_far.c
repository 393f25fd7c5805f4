/* report_far.c - reported failures about distances that 32 bits do not hold
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each tensor in turn is spread over gigabytes of address space, of which only the pages with its
 * elements are touched. The result must be that of the tensor stored densely.
 */
#define _GNU_SOURCE
#include "report_case.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "problem_data.h"
#include "problem_shape.h"
#include "report_list.h"

/* One tensor in memory; `map` is what munmap takes. */
struct far_tensor {
  void *map;
  size_t map_bytes, element;
  uint32_t type; /* 0: the mask */
  int64_t shape[4];
  sdpa_strides strides;
};

static size_t byte_offset(const struct far_tensor *t, const int64_t i[4]) {
  const sdpa_strides *s = &t->strides;
  return (size_t)(i[0] * s->batch + i[1] * s->head + i[2] * s->row + i[3] * s->col) * t->element;
}

/* Returns 0 where the system does not give so much address space. */
static int far_map(struct far_tensor *t, const sdpa_problem *p, enum problem_tensor tensor) {
  memset(t, 0, sizeof *t);
  problem_shape(p, tensor, t->shape);
  t->strides = problem_get_strides(p, tensor);
  t->type = problem_type(p, tensor);
  t->element = problem_type_bytes(t->type);
  const int64_t last[4] = {t->shape[0] - 1, t->shape[1] - 1, t->shape[2] - 1, t->shape[3] - 1};
  t->map_bytes = byte_offset(t, last) + t->element;
  t->map = mmap(NULL, t->map_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return t->map != MAP_FAILED;
}

/* Calls visit for each index of the tensor, with what it has at that place and the running number.
 */
static void for_elements(const struct far_tensor *t, double *number,
                         void (*visit)(const struct far_tensor *t, char *at, double *number)) {
  int64_t i[4];
  for (i[0] = 0; i[0] < t->shape[0]; i[0]++)
    for (i[1] = 0; i[1] < t->shape[1]; i[1]++)
      for (i[2] = 0; i[2] < t->shape[2]; i[2]++)
        for (i[3] = 0; i[3] < t->shape[3]; i[3]++)
          visit(t, (char *)t->map + byte_offset(t, i), number++);
}

static void put(const struct far_tensor *t, char *at, double *number) {
  problem_store(t->type, at, t->type == 0 ? *number > 0 : *number);
}

static void get(const struct far_tensor *t, char *at, double *number) {
  *number = problem_load(t->type, at);
}

static void spoil(const struct far_tensor *t, char *at, double *number) {
  (void)number;
  memset(at, 0xFF, t->element);
}

static int64_t positions(const struct far_tensor *t) {
  return t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3];
}

static void set_pointer(sdpa_args *args, enum problem_tensor tensor, void *data) {
  switch (tensor) {
  case PROBLEM_QUERY:
    args->query = data;
    break;
  case PROBLEM_KEY:
    args->key = data;
    break;
  case PROBLEM_VALUE:
    args->value = data;
    break;
  case PROBLEM_OUTPUT:
    args->output = data;
    break;
  case PROBLEM_MASK:
    args->mask = data;
    break;
  case PROBLEM_BIAS:
    args->bias = data;
    break;
  case PROBLEM_WEIGHTS:
    args->weights = data;
    break;
  case PROBLEM_SCORES:
    args->scores = data;
    break;
  case PROBLEM_LSE:
    args->lse = data;
    break;
  default:
    break;
  }
}

enum { MOST_NUMBERS = 1 << 18 };

/* The outputs of a problem whose numbers depend on the tensor alone, one after the other. Returns
 * how many, or -1 where there is not enough address space. */
static int64_t run_spread(const struct report_path *path, const sdpa_problem *p,
                          double results[MOST_NUMBERS]) {
  struct far_tensor tensors[PROBLEM_TENSORS] = {{0}};
  sdpa_args args = {.size = sizeof args};
  int64_t n = 0;
  for (int t = 0; t < PROBLEM_TENSORS; t++) {
    if (!problem_declares(p, (enum problem_tensor)t)) continue;
    if (!far_map(&tensors[t], p, (enum problem_tensor)t)) {
      tensors[t].map = NULL;
      n = -1;
      break;
    }
    double *numbers = report_numbers(positions(&tensors[t]), t);
    for_elements(&tensors[t], numbers,
                 problem_tensor_is_output((enum problem_tensor)t) ? spoil : put);
    free(numbers);
    set_pointer(&args, (enum problem_tensor)t, tensors[t].map);
  }
  if (n == 0) report_execute(path, p, &args);
  for (int t = 0; t < PROBLEM_TENSORS; t++) {
    if (!tensors[t].map) continue;
    if (n >= 0 && problem_tensor_is_output((enum problem_tensor)t)) {
      assert_true(n + positions(&tensors[t]) <= MOST_NUMBERS);
      for_elements(&tensors[t], results + n, get);
      n += positions(&tensors[t]);
    }
    munmap(tensors[t].map, tensors[t].map_bytes);
  }
  return n;
}

static int64_t *stride_of(sdpa_strides *s, int dimension) {
  int64_t *strides[] = {&s->batch, &s->head, &s->row, &s->col};
  return strides[dimension];
}

/* Element distances that wrap to a negative number, to 0 or to a small one in 32 bits, and the
 * largest that a BLAS counting in int takes. */
static const int64_t far_strides[] = {(INT64_C(1) << 31) - 1, INT64_C(1) << 31,
                                      (INT64_C(1) << 31) + 64, INT64_C(1) << 32,
                                      (INT64_C(1) << 32) + 64};
enum { FAR_STRIDES = sizeof far_strides / sizeof *far_strides };

/* Gives `tensor` that stride along `dimension` and compares with the numbers of `dense`. */
static void check_stride(const struct report_path *path, const sdpa_problem *p,
                         enum problem_tensor tensor, int dimension, int64_t stride,
                         const double *dense, int64_t n) {
  static double results[MOST_NUMBERS];
  sdpa_problem spread = *p;
  sdpa_strides s = problem_get_strides(p, tensor);
  *stride_of(&s, dimension) = stride;
  problem_set_strides(&spread, tensor, s);
  const int64_t got = run_spread(path, &spread, results);
  if (got < 0) {
    print_message("skipped: no address space for a stride of %lld\n", (long long)stride);
    skip();
  }
  assert_true(got == n);
  for (int64_t i = 0; i < n; i++)
    if (!report_near(path->type, results[i], dense[i], REPORT_ROUNDOFFS, 4))
      fail_msg("number %lld is %.17g, not %.17g, with stride %lld of %s along dimension %d, on %s",
               (long long)i, results[i], dense[i], (long long)stride, problem_tensor_name(tensor),
               dimension, report_path_text(path));
}

/* The tensors of `which` in turn, along each dimension of `length`, with each of the strides. */
static void check_all(struct report_sizes sizes, int64_t length, const int64_t *strides,
                      int n_strides, uint32_t which, uint32_t features) {
  static double dense[MOST_NUMBERS];
  struct report_path path;
  for (int i = 0; report_path(i, 0, &path); i++) {
    if (!path.extras) continue; /* here the features say what is written */
    struct report_case c;
    report_case_init(&c, sizes, 0);
    c.problem.query_type = path.type;
    c.problem.features = features;
    if (features & SDPA_SCORES) c.problem.score_stage = SDPA_STAGE_BIASED;
    const int64_t n = run_spread(&path, &c.problem, dense);
    assert_true(n > 0);
    for (int t = 0; t < PROBLEM_TENSORS; t++) {
      int64_t shape[4];
      problem_shape(&c.problem, (enum problem_tensor)t, shape);
      for (int d = 0; d < 4 && (which >> t & 1); d++)
        for (int k = 0; shape[d] == length && k < n_strides; k++)
          check_stride(&path, &c.problem, (enum problem_tensor)t, d, strides[k], dense, n);
    }
  }
}

/* Two batch entries, heads, rows and keys. */
static void check_pairs(int64_t dim, uint32_t which, uint32_t features) {
  check_all((struct report_sizes){2, 2, 2, 2, 2, dim, dim}, 2, far_strides, FAR_STRIDES, which,
            features);
}

/* Rows 2^24 numbers apart, so many that their distance from row 0, not the stride, passes 2^31 and
 * 2^32; more than the library takes at a time. */
static void check_long_way(uint32_t which, uint32_t features) {
  enum { ROWS = 301, KEYS = 299 };
  static const int64_t stride = INT64_C(1) << 24;
  check_all(report_one_head(ROWS, KEYS, 3, 3), ROWS, &stride, 1, which, features);
  check_all(report_one_head(ROWS, KEYS, 3, 3), KEYS, &stride, 1,
            which & (1 << PROBLEM_KEY | 1 << PROBLEM_VALUE), features);
}

enum {
  MATRICES = 1 << PROBLEM_QUERY | 1 << PROBLEM_KEY | 1 << PROBLEM_VALUE | 1 << PROBLEM_OUTPUT,
  PAIRS = 1 << PROBLEM_MASK | 1 << PROBLEM_BIAS | 1 << PROBLEM_WEIGHTS | 1 << PROBLEM_SCORES |
          1 << PROBLEM_LSE,
  PAIR_FEATURES = SDPA_MASK | SDPA_BIAS | SDPA_WEIGHTS | SDPA_SCORES | SDPA_LSE
};

/* ml-explore/mlx#2894: mask offsets were formed in 32 bits. Masks, every other tensor of pairs of
 * rows and keys, and batches and heads of all. */
void test_A18_mask_offsets_beyond_32_bits(void **state) {
  (void)state;
  check_pairs(2, PAIRS, PAIR_FEATURES);
  check_long_way(PAIRS, PAIR_FEATURES);

  static const double zeros[4] = {0}, value[] = {1, 2, 3, 4};
  const int64_t row = (INT64_C(1) << 31) + 64;
  uint8_t *mask = mmap(NULL, (size_t)row + 4, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mask == MAP_FAILED) skip();
  mask[0] = mask[row + 3] = 1;
  static const double expected[] = {1, 4};
  struct report_case c;
  report_case_init(&c, report_one_head(2, 4, 1, 1), 0);
  c.problem.features |= SDPA_MASK;
  c.problem.mask.row = row;
  c.query = (struct report_input){zeros, 2, 0};
  c.key = (struct report_input){zeros, 4, 0};
  c.value = REPORT_INPUT(value);
  c.mask = mask;
  report_check_output(&c, expected);
  munmap(mask, (size_t)row + 4);
}

/* primme/primme#43, genetics-statistics/GEMMA#120: sizes were cut to 32 bits' worth, the leading
 * dimension was not. Small products, and some that only a BLAS's matrix product does here. */
void test_C5_leading_dimension_beyond_int(void **state) {
  (void)state;
  report_watch_stderr = 1;
  check_pairs(2, MATRICES, 0);
  check_pairs(1024, MATRICES, 0);
  check_pairs(1024, MATRICES, PAIR_FEATURES);
  check_long_way(MATRICES, 0);
  report_watch_stderr = 0;
}
