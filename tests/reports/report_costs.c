/* report_costs.c - reported failures about memory, and about threads and calls of small problems
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Those about time: report_times.c.
 */
#include "report_case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_list.h"
#include "sanitizers.h"

/* ---- B1 ---- */

static struct report_sizes square(int64_t batch, int64_t heads, int64_t len, int64_t dim) {
  return (struct report_sizes){batch, heads, heads, len, len, dim, dim};
}

static size_t workspace_of(const struct report_path *path, const sdpa_problem *problem) {
  const sdpa_options options = {
      .size = sizeof options, .engine = path->engine, .isa = path->isa, .threads = path->threads};
  sdpa_plan *plan;
  size_t bytes, alignment;
  assert_int_equal(sdpa_plan_create(problem, &options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  sdpa_plan_destroy(plan);
  return bytes;
}

/* Bytes with a bias that is broadcast over heads and a mask of keys. */
static size_t masked_workspace(const struct report_path *path, int64_t batch, int64_t heads,
                               int64_t rows) {
  struct report_case c;
  report_case_init(&c, square(batch, heads, 512, 32), 0);
  c.problem.query_len = rows;
  c.problem.query_type = path->type;
  c.problem.features |= SDPA_BIAS | SDPA_MASK;
  assert_int_equal(sdpa_problem_layout(&c.problem, SDPA_LAYOUT_BHSD), SDPA_OK);
  c.problem.bias.batch = c.problem.bias.head = 0;
  c.problem.mask.batch = c.problem.mask.head = c.problem.mask.row = 0;
  return workspace_of(path, &c.problem);
}

/* microsoft/onnxruntime#29655: the mask was copied as a tile of all scores for each batch entry and
 * head. A mask of zeros is no mask, and neither batch, heads nor rows ask for more memory. */
void test_B1_broadcast_masks(void **state) {
  (void)state;
  enum { HEADS = 4, LEN = 512, DIM = 32, NUMBERS = HEADS * LEN * DIM };
  static double zeros[LEN * LEN];
  static uint8_t all[LEN];
  double *numbers[3];
  struct report_case plain, bias, mask;
  struct report_path path;
  report_case_init(&plain, square(1, HEADS, LEN, DIM), 0);
  for (int t = 0; t < 3; t++) numbers[t] = report_numbers(NUMBERS, 40 + t);
  plain.query = (struct report_input){numbers[0], NUMBERS, 0};
  plain.key = (struct report_input){numbers[1], NUMBERS, 0};
  plain.value = (struct report_input){numbers[2], NUMBERS, 0};
  bias = mask = plain;
  bias.problem.features |= SDPA_BIAS;
  bias.problem.bias = (sdpa_strides){.row = LEN, .col = 1};
  bias.bias = REPORT_INPUT(zeros);
  memset(all, 1, sizeof all);
  mask.problem.features |= SDPA_MASK;
  mask.problem.mask = (sdpa_strides){.col = 1};
  mask.mask = all;
  for (int i = 0; report_path(i, 0, &path); i++) {
    if (path.extras) continue;
    struct report_outputs a, b, c;
    report_run(&plain, &path, &a);
    report_run(&bias, &path, &b);
    report_run(&mask, &path, &c);
    for (int64_t n = 0; n < a.n_output; n++)
      if (!report_near(path.type, b.output[n], a.output[n], REPORT_ROUNDOFFS, 1) ||
          !report_near(path.type, c.output[n], a.output[n], REPORT_ROUNDOFFS, 1))
        fail_msg("element %lld: %.9g, with a bias of zeros %.9g, with a mask of ones %.9g, on %s",
                 (long long)n, a.output[n], b.output[n], c.output[n], report_path_text(&path));
    report_outputs_free(&a);
    report_outputs_free(&b);
    report_outputs_free(&c);
    if (path.threads > 1 || path.planned) continue;
    const size_t few = masked_workspace(&path, 1, HEADS, LEN);
    assert_int_equal(masked_workspace(&path, 8, 16 * HEADS, LEN), few);
    assert_int_equal(masked_workspace(&path, 1, HEADS, 16 * LEN), few);
  }
  for (int t = 0; t < 3; t++) free(numbers[t]);
}

/* ---- B5 ---- */

/* A number of /proc/self/status in KiB; -1 if there is none. */
static long status_kib(const char *name) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long kib = -1;
  if (!file) return -1;
  while (fgets(line, sizeof line, file))
    if (strncmp(line, name, strlen(name)) == 0) kib = strtol(line + strlen(name) + 1, NULL, 10);
  fclose(file);
  return kib;
}

static struct report_case causal_case(int64_t heads, int64_t len) {
  struct report_case c;
  report_case_init(&c, square(1, heads, len, 64), 0);
  c.problem.query_type = SDPA_F32;
  c.problem.features |= SDPA_CAUSAL | SDPA_LSE;
  c.problem.alignment = SDPA_ALIGN_TOP_LEFT;
  assert_int_equal(sdpa_problem_layout(&c.problem, SDPA_LAYOUT_BHSD), SDPA_OK);
  return c;
}

/* What a call asks of memory beside its tensors, by the process's peak. */
static void check_peak(int64_t heads, int64_t len, long most_kib) {
  const struct report_case c = causal_case(heads, len);
  const size_t numbers = (size_t)(heads * len * 64);
  float *tensors = malloc(4 * numbers * sizeof *tensors), *lse = malloc(numbers * sizeof *lse);
  assert_non_null(tensors);
  assert_non_null(lse);
  for (size_t i = 0; i < 4 * numbers; i++) tensors[i] = (float)(i * 2654435761u % 1009) / 1009;
  memset(lse, 0, numbers * sizeof *lse);
  const sdpa_args args = {.size = sizeof args,
                          .query = tensors,
                          .key = tensors + numbers,
                          .value = tensors + 2 * numbers,
                          .output = tensors + 3 * numbers,
                          .lse = lse};
  const long before = status_kib("VmHWM");
  assert_int_equal(sdpa_attention(&c.problem, NULL, &args), SDPA_OK);
  const long after = status_kib("VmHWM");
  free(tensors);
  free(lse);
  print_message("%lld heads of %lld: %ld KiB beside the tensors\n", (long long)heads,
                (long long)len, after - before);
  if (before < 0) return; /* the system does not tell */
  assert_true(after - before <= most_kib);
}

/* A hundred calls of that path, forward and backward, leave nothing behind. */
static void check_leak(const struct report_path *path) {
  static float tensors[8][2 * 256 * 64], lse[2 * 256];
  const struct report_case c = causal_case(2, 256);
  sdpa_args args = {
      .size = sizeof args, .query = tensors[0], .key = tensors[1], .value = tensors[2]};
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = tensors[3],
                            .lse = lse,
                            .grad_output = tensors[4],
                            .grad_query = tensors[5],
                            .grad_key = tensors[6],
                            .grad_value = tensors[7]};
  const sdpa_options options = {
      .size = sizeof options, .engine = path->engine, .isa = path->isa, .threads = path->threads};
  long before = -1, after = -1;
  for (int i = 0; i < 110; i++) {
    sdpa_plan *plan;
    if (i == 10) before = status_kib("VmRSS");
    args.output = tensors[3], args.lse = lse;
    assert_int_equal(sdpa_attention(&c.problem, &options, &args), SDPA_OK);
    args.output = args.lse = NULL;
    assert_int_equal(sdpa_plan_create_backward(&c.problem, &options, &plan), SDPA_OK);
    assert_int_equal(sdpa_backward(plan, &args, &grads, NULL, 0), SDPA_OK);
    sdpa_plan_destroy(plan);
  }
  after = status_kib("VmRSS");
  if (after - before > 256) /* a leak of a call's workspace would be 100 of them */
    fail_msg("%ld KiB more after 100 calls, on %s", after - before, report_path_text(path));
}

/* microsoft/onnxruntime#28695, TransformerLensOrg/TransformerLens#479: all scores, 1 GiB of them,
 * and the causal mask were stored. The forward pass here; length twice, memory at most twice. */
void test_B5_peak_memory(void **state) {
  (void)state;
  struct report_case c = causal_case(16, 4096), twice = causal_case(16, 8192);
  struct report_path path;
  for (int i = 0; report_path(i, SDPA_F32, &path); i++) {
    const size_t bytes = workspace_of(&path, &c.problem);
    assert_true(bytes <= 64 << 20);
    assert_true(workspace_of(&path, &twice.problem) <= 2 * bytes);
  }
  if (SANITIZED) {
    print_message(
        "the process's memory is the sanitizer's as well: only workspaces were checked\n");
    return;
  }
  check_peak(16, 1024, 64 << 10);
  check_peak(16, 4096, 64 << 10);
  for (int i = 0; report_path(i, SDPA_F32, &path); i++)
    if (!path.extras && !path.planned) check_leak(&path);
}

/* ---- B7 ---- */

static int count_tasks(void) {
  DIR *folder = opendir("/proc/self/task");
  int n = 0;
  if (!folder) return -1;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) n += entry->d_name[0] != '.';
  closedir(folder);
  return n;
}

/* KiB by which `calls` small calls let the process's address space grow. */
static long growth_of_calls(int calls) {
  enum { LEN = 4, NUMBERS = LEN * LEN };
  static const float numbers[NUMBERS] = {1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1};
  float output[NUMBERS];
  const long kib = status_kib("VmSize");
  for (int i = 0; i < calls; i++)
    assert_int_equal(
        sdpa_attention_f32(LEN, LEN, LEN, LEN, numbers, numbers, numbers, output, NULL), SDPA_OK);
  return status_kib("VmSize") - kib;
}

/* OpenMathLib/OpenBLAS#478, OpenMathLib/OpenBLAS#731: threads and locks for products so small that
 * handing them over took far longer than computing them. A hundred thousand small calls start no
 * thread and map no memory. The BLAS's own threads, which start with the process, may map their
 * malloc arenas (64 MiB and more of address space each) whenever they first run, so one round of
 * the calls without growth is asked for: calls that map memory do it in every round. */
void test_B7_small_calls(void **state) {
  (void)state;
  enum { CALLS = 100000, WARM_UP = 1000, ROUNDS = 5 };
  const int tasks = count_tasks();
  (void)growth_of_calls(WARM_UP);
  long least = growth_of_calls(CALLS);
  for (int round = 1; round < ROUNDS && least > 0; round++) {
    const long growth = growth_of_calls(CALLS);
    if (growth < least) least = growth;
  }
  assert_true(least <= 0);
  assert_int_equal(count_tasks(), tasks);
}
