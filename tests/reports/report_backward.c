/* report_backward.c - what the reported failures say of the backward pass
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each input runs forward and backward on every path; output and log-sum-exp of the backward pass are
 * those that the same path returned. Numbers worked out by hand.
 */
#include "report_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_list.h"
#include "sanitizers.h"

enum { WRITTEN = 4 };
static const enum problem_tensor written[WRITTEN] = {PROBLEM_GRAD_QUERY, PROBLEM_GRAD_KEY,
                                                     PROBLEM_GRAD_VALUE, PROBLEM_GRAD_BIAS};

/* Gradients in [batch][head][row][col] order. */
struct gradients {
  double *of[WRITTEN]; /* NULL: the case has no bias */
  int64_t count[WRITTEN];
};

static void gradients_free(struct gradients *g) {
  for (int i = 0; i < WRITTEN; i++) free(g->of[i]);
}

/* Forward, then backward with dO = of_output everywhere; strides of the problem's own. */
static void run(const struct report_case *c, const struct report_path *path, double of_output,
                struct gradients *out) {
  const struct report_input *inputs[] = {&c->query, &c->key, &c->value, &c->bias};
  void *block[4], *result[WRITTEN] = {NULL};
  sdpa_problem p = c->problem;
  p.query_type = path->type;
  p.features |= SDPA_LSE;
  for (int i = 0; i < 4; i++) block[i] = report_typed_copy(path->type, inputs[i]);
  void *output = report_output_block(&p, PROBLEM_OUTPUT),
       *lse = report_output_block(&p, PROBLEM_LSE);
  sdpa_args args = {.size = sizeof args,
                    .query = block[0],
                    .key = block[1],
                    .value = block[2],
                    .bias = block[3],
                    .output = output,
                    .lse = lse,
                    .mask = c->mask};
  report_execute(path, &p, &args);
  const int64_t n = problem_positions(&p, PROBLEM_GRAD_OUTPUT);
  double *ones = malloc(((size_t)n + 1) * sizeof *ones);
  assert_non_null(ones);
  for (int64_t i = 0; i < n; i++) ones[i] = of_output;
  void *grad_output = report_typed_copy(path->type, &(struct report_input){ones, n, 0});
  for (int i = 0; i < WRITTEN; i++)
    if (problem_declares(&p, written[i])) result[i] = report_output_block(&p, written[i]);
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = output,
                            .lse = lse,
                            .grad_output = grad_output,
                            .grad_query = result[0],
                            .grad_key = result[1],
                            .grad_value = result[2],
                            .grad_bias = result[3]};
  args.output = args.lse = NULL;
  report_execute_backward(path, &p, &args, &grads);
  memset(out, 0, sizeof *out);
  for (int i = 0; i < WRITTEN; i++)
    if (problem_declares(&p, written[i]))
      out->of[i] = report_collect(&p, written[i], result[i], &out->count[i]);
  for (int i = 0; i < 4; i++) free(block[i]), free(result[i]);
  free(output), free(lse), free(ones), free(grad_output);
}

static void expect(const struct report_path *path, const struct gradients *g, int which,
                   const double *expected, int64_t n) {
  for (int64_t i = 0; i < n && i < g->count[which]; i++)
    if (!report_near(path->type, g->of[which][i], expected[i], REPORT_ROUNDOFFS, fabs(expected[i])))
      fail_msg("%s[%lld] is %.17g, not %.17g, on %s", problem_tensor_name(written[which]),
               (long long)i, g->of[which][i], expected[i], report_path_text(path));
}

/* pytorch/pytorch#101967: what lies at a key that is not allowed. One key of two; its weight is 1, so
 * that no gradient but dV is different from 0. */
void test_A4_backward(void **state) {
  (void)state;
  static const double garbage[][2] = {{1e30, 0}, {0, 1e30},     {(double)NAN, 0},
                                      {0, NAN},  {INFINITY, 0}, {0, INFINITY}};
  static const int64_t rows[] = {1, 64};
  static const double zeros[64] = {0};
  static uint8_t mask[128];
  static double query[64];
  for (int i = 0; i < 64; i++) mask[2 * i] = 1, query[i] = 1;
  for (size_t k = 0; k < sizeof garbage / sizeof *garbage; k++) {
    for (size_t r = 0; r < 2; r++) {
      const double key[] = {1, garbage[k][0]}, value[] = {10, garbage[k][1]};
      const double of_value[] = {(double)rows[r], 0};
      struct report_case c;
      struct report_path path;
      report_case_init(&c, report_one_head(rows[r], 2, 1, 1), 1);
      c.problem.features |= SDPA_MASK;
      c.mask = mask;
      c.query = (struct report_input){query, rows[r], 0};
      c.key = REPORT_INPUT(key);
      c.value = REPORT_INPUT(value);
      for (int i = 0; report_path(i, 0, &path); i++) {
        struct gradients g;
        run(&c, &path, 1.0, &g);
        expect(&path, &g, 0, zeros, rows[r]);
        expect(&path, &g, 1, zeros, 2);
        expect(&path, &g, 2, of_value, 2);
        gradients_free(&g);
      }
    }
    /* Causal: row 0 has key 0 alone, and its gradient stays 0. */
    const double key[] = {1, garbage[k][0]}, value[] = {10, garbage[k][1]};
    struct report_case c;
    struct report_path path;
    report_case_init(&c, report_one_head(2, 2, 1, 1), 1);
    c.problem.features |= SDPA_CAUSAL;
    c.query = (struct report_input){query, 2, 0};
    c.key = REPORT_INPUT(key);
    c.value = REPORT_INPUT(value);
    for (int i = 0; report_path(i, 0, &path); i++) {
      struct gradients g;
      run(&c, &path, 1.0, &g);
      expect(&path, &g, 0, zeros, 1);
      gradients_free(&g);
    }
  }
}

/* Q = K = 0, V = 3, 6, 9 and dO = 1: rows of weights 1; 1/2, 1/2; 1/3, 1/3, 1/3. */
static void check_causal(int kv_heads, int with_mask, int with_bias, int strided) {
  static const double zeros[18] = {0}, value[] = {3, 6, 9, 3, 6, 9};
  static const uint8_t attend[18] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  double of_value[6], bias[18];
  struct report_case c;
  struct report_path path;
  for (int h = 0; h < 2; h++) {
    const double rows[9] = {0, 0, 0, -0.75, 0.75, 0, -1, 0, 1};
    memcpy(bias + 9 * h, rows, sizeof rows);
    of_value[3 * h] = 11.0 / 6, of_value[3 * h + 1] = 5.0 / 6, of_value[3 * h + 2] = 1.0 / 3;
  }
  for (int j = 0; j < 3; j++) of_value[j] *= 2 / kv_heads;
  report_case_init(&c, (struct report_sizes){1, 2, kv_heads, 3, 3, 1, 1}, 0);
  c.problem.features |= SDPA_CAUSAL | (with_mask ? SDPA_MASK : 0) | (with_bias ? SDPA_BIAS : 0);
  if (with_mask) c.mask = attend;
  if (with_bias) c.bias = REPORT_INPUT(zeros);
  if (strided) {
    c.problem.grad_query = c.problem.grad_key = (sdpa_strides){0, 1, 2, 1};
    c.problem.grad_value = (sdpa_strides){0, 20, 5, 1};
    c.problem.grad_bias = (sdpa_strides){0, 1, 6, 2};
  }
  c.query = (struct report_input){zeros, 6, 0};
  c.key = (struct report_input){zeros, 3 * kv_heads, 0};
  c.value = (struct report_input){value, 3 * kv_heads, 0};
  for (int i = 0; report_path(i, 0, &path); i++) {
    struct gradients g;
    run(&c, &path, 1.0, &g);
    expect(&path, &g, 0, zeros, 6);
    expect(&path, &g, 1, zeros, 6);
    expect(&path, &g, 2, of_value, 6);
    for (int64_t n = 0; n < g.count[3]; n++) { /* 3 - 4.5 and 6 - 6 are differences of such */
      const double magnitude = n % 3 > n / 3 % 3 ? 0 : 6;
      if (!report_near(path.type, g.of[3][n], bias[n], REPORT_ROUNDOFFS, magnitude))
        fail_msg("grad_bias[%lld] is %.17g, not %.17g, on %s", (long long)n, g.of[3][n], bias[n],
                 report_path_text(&path));
    }
    gradients_free(&g);
  }
}

/* keras-team/keras#23038: causal was forgotten beside other options. */
void test_A8_backward(void **state) {
  (void)state;
  for (int kv_heads = 1; kv_heads <= 2; kv_heads++)
    for (int options = 0; options < 8; options++)
      check_causal(kv_heads, options & 1, options >> 1 & 1, options >> 2);
}

static void check_zero(struct report_sizes sizes) {
  static const double numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, zeros[12] = {0};
  struct report_case c;
  struct report_path path;
  report_case_init(&c, sizes, 1);
  c.query = (struct report_input){numbers, problem_positions(&c.problem, PROBLEM_QUERY), 0};
  c.key = (struct report_input){numbers, problem_positions(&c.problem, PROBLEM_KEY), 0};
  c.value = (struct report_input){numbers, problem_positions(&c.problem, PROBLEM_VALUE), 0};
  for (int i = 0; report_path(i, 0, &path); i++) {
    struct gradients g;
    run(&c, &path, 1.0, &g);
    for (int t = 0; t < 3; t++) expect(&path, &g, t, zeros, 12);
    gradients_free(&g);
  }
}

/* pytorch/pytorch#191325, Dao-AILab/flash-attention#2470: no batch entry, no query, no key. */
void test_A13_backward(void **state) {
  (void)state;
  check_zero((struct report_sizes){0, 2, 2, 2, 2, 3, 3});
  check_zero((struct report_sizes){1, 1, 1, 0, 2, 3, 3});
  check_zero((struct report_sizes){1, 1, 1, 2, 0, 3, 3});
  check_zero((struct report_sizes){1, 0, 0, 2, 2, 3, 3});
}

static long peak_kib(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long kib = -1;
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, "VmHWM:", 6) == 0) kib = strtol(line + 6, NULL, 10);
  if (file) fclose(file);
  return kib;
}

static sdpa_problem causal_problem(int64_t heads, int64_t len) {
  struct report_case c;
  report_case_init(&c, (struct report_sizes){1, heads, heads, len, len, 64, 64}, 0);
  c.problem.query_type = SDPA_F32;
  c.problem.features |= SDPA_CAUSAL;
  return c.problem;
}

static size_t workspace_of(const struct report_path *path, const sdpa_problem *problem) {
  sdpa_options options = {.size = sizeof options};
  sdpa_plan *plan;
  size_t bytes, alignment;
  options.engine = path->engine;
  options.isa = path->isa;
  options.threads = path->threads;
  assert_int_equal(sdpa_plan_create_backward(problem, &options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  sdpa_plan_destroy(plan);
  return bytes;
}

/* microsoft/onnxruntime#28695, TransformerLensOrg/TransformerLens#479: 1 GiB of scores were stored.
 * The process's peak beside the tensors, by the default engine, and every path's workspace. */
void test_B5_backward(void **state) {
  (void)state;
  const sdpa_problem once = causal_problem(16, 4096), twice = causal_problem(16, 8192);
  struct report_path path;
  for (int i = 0; report_path(i, SDPA_F32, &path); i++) {
    const size_t bytes = workspace_of(&path, &once);
    if (bytes > 64 << 20 || workspace_of(&path, &twice) > 2 * bytes)
      fail_msg("%zu bytes, for twice the length %zu, on %s", bytes, workspace_of(&path, &twice),
               report_path_text(&path));
  }
  if (SANITIZED) return; /* the process's memory is the sanitizer's as well */
  const size_t numbers = 16 * 4096 * 64;
  float *tensors = malloc(9 * numbers * sizeof *tensors);
  assert_non_null(tensors);
  for (size_t i = 0; i < 9 * numbers; i++) tensors[i] = (float)(i * 2654435761u % 1009) / 1009;
  const sdpa_args args = {.size = sizeof args,
                          .query = tensors,
                          .key = tensors + numbers,
                          .value = tensors + 2 * numbers};
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = tensors + 3 * numbers,
                            .lse = tensors + 4 * numbers,
                            .grad_output = tensors + 5 * numbers,
                            .grad_query = tensors + 6 * numbers,
                            .grad_key = tensors + 7 * numbers,
                            .grad_value = tensors + 8 * numbers};
  sdpa_plan *plan;
  assert_int_equal(sdpa_plan_create_backward(&once, NULL, &plan), SDPA_OK);
  const long before = peak_kib();
  assert_int_equal(sdpa_backward(plan, &args, &grads, NULL, 0), SDPA_OK);
  const long after = peak_kib();
  sdpa_plan_destroy(plan);
  free(tensors);
  print_message("%ld KiB beside the tensors\n", after - before);
  assert_true(after - before <= 64 << 10);
}

/* The same bits whatever the gradients and the workspace hold before; no NaN. */
static void check_fresh_memory(int64_t rows, int64_t keys, int64_t size) {
  struct report_case c;
  struct report_path path;
  report_case_init(&c, report_one_head(rows, keys, size, size), 0);
  double *q = report_numbers(rows * size, 1), *k = report_numbers(keys * size, 2),
         *v = report_numbers(keys * size, 3);
  c.query = (struct report_input){q, rows * size, 0};
  c.key = (struct report_input){k, keys * size, 0};
  c.value = (struct report_input){v, keys * size, 0};
  for (int i = 0; report_path(i, 0, &path); i++) {
    struct gradients nan_filled, zero_filled;
    run(&c, &path, 0.5, &nan_filled);
    report_memory_fill = 0;
    run(&c, &path, 0.5, &zero_filled);
    report_memory_fill = 0xFF;
    for (int t = 0; t < 3; t++) {
      for (int64_t n = 0; n < nan_filled.count[t]; n++) assert_true(!isnan(nan_filled.of[t][n]));
      assert_memory_equal(nan_filled.of[t], zero_filled.of[t],
                          (size_t)nan_filled.count[t] * sizeof(double));
    }
    gradients_free(&nan_filled);
    gradients_free(&zero_filled);
  }
  free(q), free(k), free(v);
}

/* Reference-LAPACK/lapack#1077, robertknight/rten#81: with beta = 0 the old contents took part. */
void test_C7_backward(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{5, 7, 3},    {17, 33, 9},   {1, 1, 1},    {1, 300, 64},
                                     {64, 65, 66}, {257, 15, 17}, {130, 131, 5}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    check_fresh_memory(sizes[k][0], sizes[k][1], sizes[k][2]);
}
