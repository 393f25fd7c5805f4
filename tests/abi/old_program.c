/* old_program.c - a program of an older version, which calls every function that version had
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled with the header of that version as <sdpa/sdpa.h> and run with today's library. It prints
 * the version of its header and "ok", or the line that found something wrong. The numbers are
 * worked out by hand: two keys whose scores differ by ln 3 have weights 3/4 and 1/4.
 */
#include <sdpa/sdpa.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("line %d of a program of %d: %s\n", __LINE__, SDPA_VERSION, #condition);              \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

#define LN2 0.69314718055994531
#define LN3 1.0986122886681098

static int near(double actual, double expected) {
  return fabs(actual - expected) <= 1e-13;
}

/* One head of f64, a query and two keys with a column each. */
static sdpa_problem one_query(uint32_t features) {
  sdpa_problem p;
  CHECK(sdpa_problem_init(&p, sizeof p) == SDPA_OK);
  p.query_type = SDPA_F64;
  p.features = features;
  p.batch = p.query_heads = p.kv_heads = p.query_len = 1;
  p.key_len = 2;
  p.key_dim = p.value_dim = 1;
  CHECK(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD) == SDPA_OK);
  return p;
}

static const double ln3[1] = {LN3}, falling[2] = {1, 0}, zeros[2] = {0, 0};
static const double value[2] = {4, 8};

static sdpa_args args_of(const double *query, const double *key, double *output) {
  sdpa_args a;
  CHECK(sdpa_args_init(&a, sizeof a) == SDPA_OK);
  a.query = query, a.key = key, a.value = value, a.output = output;
  return a;
}

static void check_one_calls(void) {
  static const float query_f32[1] = {(float)LN3}, key_f32[2] = {1, 0}, value_f32[2] = {4, 8};
  double output = 0, weights[2];
  float output_f32 = 0;
  CHECK(sdpa_attention_f64(1, 2, 1, 1, ln3, falling, value, &output, weights) == SDPA_OK);
  CHECK(near(output, 5) && near(weights[0], 0.75) && near(weights[1], 0.25));
  CHECK(sdpa_attention_f32(1, 2, 1, 1, query_f32, key_f32, value_f32, &output_f32, NULL) ==
        SDPA_OK);
  CHECK(fabs(output_f32 - 5) < 1e-5);
}

/* Each feature alone; the scores are 0 but for what it does. */
static void check_features(void) {
  static const uint8_t mask[2] = {0, 1};
  static const double bias[2] = {LN3, 0}, slope[1] = {LN3}, sink[1] = {LN2};
  static const int64_t one = 1, none = 0;
  static const struct {
    uint32_t features, alignment;
    double output;
  } cases[] = {
      {0, SDPA_ALIGN_NONE, 6},
      {SDPA_MASK, SDPA_ALIGN_NONE, 8},
      {SDPA_BIAS, SDPA_ALIGN_NONE, 5},
      {SDPA_ALIBI, SDPA_ALIGN_BOTTOM_RIGHT, 7},
      {SDPA_SINKS, SDPA_ALIGN_NONE, 3},
      {SDPA_KEY_LENS, SDPA_ALIGN_NONE, 4},
      {SDPA_QUERY_LENS, SDPA_ALIGN_NONE, 0},
      {SDPA_SCALE, SDPA_ALIGN_NONE, 6},
      {SDPA_CAUSAL, SDPA_ALIGN_TOP_LEFT, 4},
      {SDPA_CAUSAL | SDPA_OFFSETS, SDPA_ALIGN_OFFSET, 4},
      {SDPA_WINDOW, SDPA_ALIGN_BOTTOM_RIGHT, 8},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const uint32_t features = cases[i].features;
    double output = -1;
    sdpa_problem p = one_query(features);
    sdpa_args a = args_of(zeros, zeros, &output);
    p.alignment = cases[i].alignment;
    if (features & SDPA_SCALE) p.scale = 2;
    if (features & SDPA_WINDOW) p.window_right = -1;
    if (features & SDPA_MASK) a.mask = mask;
    if (features & SDPA_BIAS) a.bias = bias;
    if (features & SDPA_ALIBI) a.alibi_slopes = slope;
    if (features & SDPA_SINKS) a.sinks = sink;
    if (features & SDPA_KEY_LENS) a.key_lens = &one;
    if (features & SDPA_QUERY_LENS) a.query_lens = &none;
    if (features & SDPA_OFFSETS) a.offsets = &none;
    CHECK(sdpa_attention(&p, NULL, &a) == SDPA_OK);
    CHECK(near(output, cases[i].output));
  }
}

/* Four tokens in the layout of rows before heads; a bias that is the same for all rows. */
static void check_layouts(void) {
  static const double four_zeros[4] = {0}, values[4] = {1, 10, 5, 50}, bias[2] = {LN3, 0};
  static const int64_t shape[1] = {2};
  double output[4] = {0};
  sdpa_problem p = one_query(SDPA_BIAS);
  sdpa_args a = args_of(four_zeros, four_zeros, output);
  p.query_heads = p.kv_heads = p.query_len = 2;
  CHECK(sdpa_problem_layout(&p, SDPA_LAYOUT_BSHD) == SDPA_OK);
  CHECK(p.value.head == 1 && p.value.row == 2 && p.bias.head == 4);
  CHECK(sdpa_problem_broadcast(&p, 1, shape, &p.bias) == SDPA_OK);
  CHECK(p.bias.head == 0 && p.bias.row == 0 && p.bias.col == 1);
  a.value = values, a.bias = bias;
  CHECK(sdpa_attention(&p, NULL, &a) == SDPA_OK);
  CHECK(near(output[0], 2) && near(output[1], 20) && near(output[2], 2) && near(output[3], 20));
}

struct counts {
  int blocks, tasks;
};

static void *count_alloc(void *ctx, size_t bytes, size_t alignment) {
  ((struct counts *)ctx)->blocks++;
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void count_free(void *ctx, void *block, size_t bytes) {
  (void)bytes;
  ((struct counts *)ctx)->blocks--;
  free(block);
}

static void serial_for(void *ctx, int64_t n_tasks, sdpa_task task, void *arg) {
  for (int64_t i = 0; i < n_tasks; i++) task(arg, i);
  ((struct counts *)ctx)->tasks += (int)n_tasks;
}

/* A plan with every option and every output, and what it says of itself. */
static void check_plan(void) {
  struct counts counts = {0, 0};
  double output = 0, weights[2], scores[2], lse;
  sdpa_problem p = one_query(SDPA_WEIGHTS | SDPA_SCORES | SDPA_LSE);
  sdpa_args a = args_of(ln3, falling, &output);
  sdpa_options o;
  sdpa_plan *plan;
  sdpa_plan_info info = {.size = sizeof info};
  size_t bytes, alignment;
  char text[300] = "";
  p.score_stage = SDPA_STAGE_SCALED;
  a.weights = weights, a.scores = scores, a.lse = &lse;
  CHECK(sdpa_options_init(&o, sizeof o) == SDPA_OK);
  o.engine = SDPA_ENGINE_AUTO, o.isa = SDPA_ISA_GENERIC, o.precision = SDPA_PRECISION_FULL;
  o.threads = 2, o.parallel_for = serial_for, o.parallel_ctx = &counts;
  o.alloc = count_alloc, o.release = count_free, o.alloc_ctx = &counts;
  CHECK(sdpa_plan_create(&p, &o, &plan) == SDPA_OK && counts.blocks == 1);
  CHECK(sdpa_plan_workspace(plan, &bytes, &alignment) == SDPA_OK && alignment > 0);
  void *workspace = aligned_alloc(alignment, bytes / alignment * alignment + alignment);
  CHECK(workspace);
  CHECK(sdpa_args_check(plan, &a, workspace, bytes, text, sizeof text) == SDPA_OK && !*text);
  for (int own = 0; own < 2; own++) {
    output = weights[0] = scores[0] = lse = 0;
    CHECK(sdpa_execute(plan, &a, own ? workspace : NULL, own ? bytes : 0) == SDPA_OK);
    CHECK(near(output, 5) && near(weights[0], 0.75) && near(weights[1], 0.25));
    CHECK(near(scores[0], LN3) && near(scores[1], 0) && near(lse, 2 * LN2));
  }
  CHECK(sdpa_plan_query(plan, &info) == SDPA_OK && info.size == sizeof info);
  CHECK(info.engine != SDPA_ENGINE_AUTO && info.isa == SDPA_ISA_GENERIC && info.flops == 8);
  CHECK(info.threads >= 1 && info.key_splits >= 1 && info.bytes > 0);
  CHECK(sdpa_plan_describe(plan, text, sizeof text) == strlen(text) && *text);
  sdpa_plan_destroy(plan);
  free(workspace);
  CHECK(counts.blocks == 0);
}

/* The memory of scores alone, and what the library says of a wrong call. */
static void check_refusals(void) {
  double output = -1, lse = 0;
  char text[300] = "";
  sdpa_plan *plan;
  sdpa_problem p = one_query(SDPA_LSE | SDPA_NO_OUTPUT);
  sdpa_args a = args_of(ln3, falling, NULL);
  a.lse = &lse;
  CHECK(sdpa_attention(&p, NULL, &a) == SDPA_OK && near(lse, 2 * LN2));
  CHECK(sdpa_problem_check(&p, NULL, text, sizeof text) == SDPA_OK && !*text);
  p = one_query(SDPA_WINDOW);
  p.window_left = -2;
  CHECK(sdpa_problem_check(&p, NULL, text, sizeof text) == SDPA_ERROR_VALUE);
  CHECK(strstr(text, "window_left"));
  CHECK(sdpa_plan_create(&p, NULL, &plan) == SDPA_ERROR_VALUE && !plan);
  p = one_query(SDPA_MASK);
  a = args_of(ln3, falling, &output);
  CHECK(sdpa_plan_create(&p, NULL, &plan) == SDPA_OK);
  CHECK(sdpa_args_check(plan, &a, NULL, 0, text, sizeof text) == SDPA_ERROR_NULL);
  CHECK(strstr(text, "mask"));
  CHECK(sdpa_execute(plan, &a, NULL, 0) == SDPA_ERROR_NULL && near(output, -1));
  sdpa_plan_destroy(plan);
  CHECK(*sdpa_status_string(SDPA_OK) && *sdpa_status_string(SDPA_ERROR_NULL));
  CHECK(strcmp(sdpa_status_string(SDPA_OK), sdpa_status_string(SDPA_ERROR_NULL)) != 0);
}

/* Weights 3/4 and 1/4: their Jacobian is +-3/16, and times (4, 8) it is -3/4 and 3/4. */
#define CHECK_SOFTMAX(suffix, type, tolerance)                                                     \
  do {                                                                                             \
    const type scores[4] = {(type)LN3, 0, 0, 0}, grad[2] = {4, 8};                                 \
    const uint8_t mask[4] = {1, 1, 0, 1};                                                          \
    type weights[4], jacobian[4], out[2];                                                          \
    CHECK(sdpa_softmax_##suffix(2, 2, 1, scores, 2, mask, 2, weights, 2) == SDPA_OK);              \
    CHECK(fabs((double)weights[0] - 0.75) < tolerance &&                                           \
          fabs((double)weights[1] - 0.25) < tolerance);                                            \
    CHECK(fabs((double)weights[2]) <= 0 && fabs((double)weights[3] - 1) < tolerance);              \
    CHECK(sdpa_softmax_jacobian_##suffix(2, weights, jacobian, 2) == SDPA_OK);                     \
    CHECK(fabs((double)jacobian[0] - 0.1875) < tolerance);                                         \
    CHECK(fabs((double)jacobian[1] + 0.1875) < tolerance);                                         \
    CHECK(sdpa_softmax_backward_##suffix(1, 2, weights, 2, grad, 2, out, 2) == SDPA_OK);           \
    CHECK(fabs((double)out[0] + 0.75) < tolerance && fabs((double)out[1] - 0.75) < tolerance);     \
  } while (0)

static void check_softmax(void) {
  CHECK_SOFTMAX(f64, double, 1e-14);
  CHECK_SOFTMAX(f32, float, 1e-6);
}

static void check_info(void) {
  char text[400] = "";
  CHECK(sdpa_version() >= SDPA_VERSION);
  CHECK(sdpa_version_string()[0] >= '0' && sdpa_version_string()[0] <= '9');
  CHECK(sdpa_build_info(text, sizeof text) >= strlen(text) && strstr(text, sdpa_version_string()));
}

#if SDPA_VERSION >= 200
/* The two keys apart, then joined. */
static void check_merge(void) {
  double output = 0, part_output = 0, lse = 0, part_lse = 0;
  sdpa_problem p = one_query(SDPA_LSE);
  p.key_len = 1;
  sdpa_args a = args_of(ln3, falling, &output);
  a.lse = &lse;
  CHECK(sdpa_attention(&p, NULL, &a) == SDPA_OK && near(output, 4) && near(lse, LN3));
  a.key = falling + 1, a.value = value + 1, a.output = &part_output, a.lse = &part_lse;
  CHECK(sdpa_attention(&p, NULL, &a) == SDPA_OK && near(part_output, 8) && near(part_lse, 0));
  CHECK(sdpa_merge(&p, NULL, &output, &lse, &part_output, &part_lse) == SDPA_OK);
  CHECK(near(output, 5) && near(lse, 2 * LN2));
}
#endif

#if SDPA_VERSION >= 300
/* 4 and 8 in 16 bits; their mean, 6. */
static void check_16_bits(void) {
  static const uint16_t nothing[2] = {0, 0};
  static const uint16_t values[2][2] = {{0x4080, 0x4100}, {0x4400, 0x4800}};
  static const uint16_t mean[2] = {0x40C0, 0x4600};
  static const uint32_t types[2] = {SDPA_BF16, SDPA_F16};
  for (int t = 0; t < 2; t++) {
    uint16_t output = 0;
    sdpa_problem p = one_query(0);
    sdpa_args a = args_of(NULL, NULL, NULL);
    sdpa_options o;
    CHECK(sdpa_options_init(&o, sizeof o) == SDPA_OK);
    o.precision = SDPA_PRECISION_REDUCED;
    p.query_type = types[t];
    a.query = nothing, a.key = nothing, a.value = values[t], a.output = &output;
    CHECK(sdpa_attention(&p, &o, &a) == SDPA_OK && output == mean[t]);
  }
}
#endif

#if SDPA_VERSION >= 400
/* Q = 0 and equal weights: dS = p (dP - dO . O) = (4 - 6) / 2 and (8 - 6) / 2. */
static void check_backward(void) {
  static const double one[1] = {1};
  double output = 0, lse = 0, of_query = 9, of_key[2] = {9, 9}, of_value[2] = {9, 9};
  char text[300] = "";
  sdpa_plan *plan;
  sdpa_grads g;
  sdpa_problem p = one_query(SDPA_LSE | SDPA_DROPOUT);
  sdpa_args a = args_of(zeros, falling, &output);
  a.lse = &lse;
  CHECK(sdpa_attention(&p, NULL, &a) == SDPA_OK && near(output, 6) && near(lse, LN2));
  CHECK(sdpa_grads_init(&g, sizeof g) == SDPA_OK);
  g.output = &output, g.lse = &lse, g.grad_output = one;
  g.grad_query = &of_query, g.grad_key = of_key, g.grad_value = of_value;
  a.output = a.lse = NULL;
  CHECK(sdpa_problem_check_backward(&p, NULL, text, sizeof text) == SDPA_OK && !*text);
  CHECK(sdpa_plan_create_backward(&p, NULL, &plan) == SDPA_OK);
  CHECK(sdpa_backward_check(plan, &a, &g, NULL, 0, text, sizeof text) == SDPA_OK && !*text);
  CHECK(sdpa_backward(plan, &a, &g, NULL, 0) == SDPA_OK);
  CHECK(near(of_query, -1) && near(of_key[0], 0) && near(of_key[1], 0));
  CHECK(near(of_value[0], 0.5) && near(of_value[1], 0.5));
  sdpa_plan_destroy(plan);
}
#endif

int main(void) {
  check_one_calls();
  check_features();
  check_layouts();
  check_plan();
  check_refusals();
  check_softmax();
  check_info();
#if SDPA_VERSION >= 200
  check_merge();
#endif
#if SDPA_VERSION >= 300
  check_16_bits();
#endif
#if SDPA_VERSION >= 400
  check_backward();
#endif
  printf("program of %d.%d ok\n", SDPA_VERSION_MAJOR, SDPA_VERSION_MINOR);
  return 0;
}
