/* test_backward_args.c - every argument error of the backward pass: status, sentence, nothing
 * written
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each case spoils one thing of a valid call that declares every input and asks for every gradient.
 */
#include "api_support.h"

#include <stdlib.h>
#include <string.h>

enum {
  INPUTS = SDPA_CAUSAL | SDPA_MASK | SDPA_BIAS | SDPA_ALIBI | SDPA_SINKS | SDPA_KEY_LENS |
           SDPA_QUERY_LENS | SDPA_OFFSETS
};
enum { GRADS = 10, ELEMENTS = 256, SENTINEL = 0x5A };

static const struct api_sizes sizes = {2, 4, 2, 2, 3, 2, 2};

/* A valid backward call; every tensor of sdpa_grads has room for more elements than it needs. */
struct back_call {
  struct api_call forward;
  sdpa_args args;
  sdpa_grads grads;
  double block[GRADS][ELEMENTS];
};

static const struct {
  const char *field;
  size_t offset;
  uint32_t feature; /* of the input whose gradient it is */
  int output, needed;
} fields[GRADS] = {
    {"grads.output", offsetof(sdpa_grads, output), 0, 0, 1},
    {"grads.lse", offsetof(sdpa_grads, lse), 0, 0, 1},
    {"grads.grad_output", offsetof(sdpa_grads, grad_output), 0, 0, 1},
    {"grads.grad_lse", offsetof(sdpa_grads, grad_lse), 0, 0, 0},
    {"grads.grad_query", offsetof(sdpa_grads, grad_query), 0, 1, 0},
    {"grads.grad_key", offsetof(sdpa_grads, grad_key), 0, 1, 0},
    {"grads.grad_value", offsetof(sdpa_grads, grad_value), 0, 1, 0},
    {"grads.grad_bias", offsetof(sdpa_grads, grad_bias), SDPA_BIAS, 1, 0},
    {"grads.grad_sinks", offsetof(sdpa_grads, grad_sinks), SDPA_SINKS, 1, 0},
    {"grads.grad_alibi_slopes", offsetof(sdpa_grads, grad_alibi_slopes), SDPA_ALIBI, 1, 0},
};

static void set(sdpa_grads *grads, int i, const void *pointer) {
  memcpy((char *)grads + fields[i].offset, &pointer, sizeof pointer);
}

static void back_init(struct back_call *call, uint32_t features) {
  api_call_init(&call->forward, SDPA_F64, sizes, features, SDPA_ALIGN_OFFSET);
  call->args = call->forward.args;
  call->args.output = call->args.weights = call->args.scores = call->args.lse = NULL;
  assert_int_equal(sdpa_grads_init(&call->grads, sizeof call->grads), SDPA_OK);
  for (int i = 0; i < GRADS; i++) {
    memset(call->block[i], fields[i].output ? SENTINEL : 0, sizeof call->block[i]);
    if (!fields[i].feature || (features & fields[i].feature)) set(&call->grads, i, call->block[i]);
  }
}

/* Every test runs on each engine of the build. */
static uint32_t engine;

static int use_tiled(void **state) {
  (void)state;
  engine = SDPA_ENGINE_TILED;
  return 0;
}

static int use_blas(void **state) {
  (void)state;
  engine = SDPA_ENGINE_BLAS;
  return 0;
}

static sdpa_options engine_options(void) {
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  return options;
}

static sdpa_plan *back_plan(const struct back_call *call) {
  sdpa_plan *plan;
  const sdpa_options options = engine_options();
  assert_int_equal(sdpa_plan_create_backward(&call->forward.problem, &options, &plan), SDPA_OK);
  return plan;
}

static int is_untouched(const struct back_call *call, int i) {
  const unsigned char *bytes = (const unsigned char *)call->block[i];
  for (size_t b = 0; b < sizeof call->block[i]; b++)
    if (bytes[b] != SENTINEL) return 0;
  return 1;
}

static void check_refused(const struct back_call *call, const sdpa_grads *grads, const char *field,
                          const char *value, sdpa_status status) {
  sdpa_plan *plan = back_plan(call);
  char text[512] = "unset";
  const sdpa_status got = sdpa_backward_check(plan, &call->args, grads, NULL, 0, text, sizeof text);
  if (got != status) fail_msg("%s: status %d is not %d (%s)", field, got, status, text);
  api_assert_says(text, field, value);
  assert_int_equal(sdpa_backward_check(plan, &call->args, grads, NULL, 0, NULL, 0), status);
  assert_int_equal(sdpa_backward(plan, &call->args, grads, NULL, 0), status);
  for (int i = 0; i < GRADS; i++) assert_true(!fields[i].output || is_untouched(call, i));
  sdpa_plan_destroy(plan);
}

static void test_valid(void **state) {
  (void)state;
  struct back_call call;
  back_init(&call, INPUTS);
  sdpa_plan *plan = back_plan(&call);
  char text[64] = "unset";
  assert_int_equal(sdpa_backward_check(plan, &call.args, &call.grads, NULL, 0, text, sizeof text),
                   SDPA_OK);
  assert_string_equal(text, "");
  for (int i = 0; i < GRADS; i++) assert_true(!fields[i].output || is_untouched(&call, i));
  assert_int_equal(sdpa_backward(plan, &call.args, &call.grads, NULL, 0), SDPA_OK);
  for (int i = 0; i < GRADS; i++) assert_true(!fields[i].output || !is_untouched(&call, i));
  sdpa_plan_destroy(plan);
  api_call_free(&call.forward);
}

/* Nothing is wanted: nothing is written, and that is no error. */
static void test_nothing_wanted(void **state) {
  (void)state;
  struct back_call call;
  back_init(&call, INPUTS);
  sdpa_plan *plan = back_plan(&call);
  for (int i = 3; i < GRADS; i++) set(&call.grads, i, NULL);
  assert_int_equal(sdpa_backward(plan, &call.args, &call.grads, NULL, 0), SDPA_OK);
  for (int i = 4; i < GRADS; i++) assert_true(is_untouched(&call, i));
  sdpa_plan_destroy(plan);
  api_call_free(&call.forward);
}

static void test_missing(void **state) {
  (void)state;
  struct back_call call;
  back_init(&call, INPUTS);
  for (int i = 0; i < GRADS; i++) {
    if (!fields[i].needed) continue;
    sdpa_grads grads = call.grads;
    set(&grads, i, NULL);
    check_refused(&call, &grads, fields[i].field, "NULL", SDPA_ERROR_NULL);
  }
  check_refused(&call, NULL, "grads", "NULL", SDPA_ERROR_NULL);
  call.args.key = NULL;
  check_refused(&call, &call.grads, "key", "NULL", SDPA_ERROR_NULL);
  api_call_free(&call.forward);
}

static void test_undeclared(void **state) {
  (void)state;
  for (int i = 0; i < GRADS; i++) {
    if (!fields[i].feature) continue;
    struct back_call call;
    back_init(&call, INPUTS & ~fields[i].feature);
    set(&call.grads, i, call.block[i]);
    check_refused(&call, &call.grads, fields[i].field, NULL, SDPA_ERROR_UNDECLARED);
    api_call_free(&call.forward);
  }
}

/* The forward pass's outputs have no place in a backward call, whatever the features say. */
static void test_outputs_of_the_forward_pass(void **state) {
  (void)state;
  struct back_call call;
  back_init(&call, INPUTS | SDPA_WEIGHTS | SDPA_SCORES | SDPA_LSE);
  call.forward.problem.score_stage = SDPA_STAGE_SCALED;
  const sdpa_args valid = call.args;
  void **const outputs[] = {&call.args.output, &call.args.weights, &call.args.scores,
                            &call.args.lse};
  static const char *const names[] = {"output", "weights", "scores", "lse"};
  for (int i = 0; i < 4; i++) {
    call.args = valid;
    *outputs[i] = call.block[0];
    check_refused(&call, &call.grads, names[i], NULL, SDPA_ERROR_UNDECLARED);
    sdpa_plan *plan = back_plan(&call);
    char text[256];
    sdpa_backward_check(plan, &call.args, &call.grads, NULL, 0, text, sizeof text);
    assert_non_null(strstr(text, "the backward pass writes no output"));
    sdpa_plan_destroy(plan);
  }
  api_call_free(&call.forward);
}

static void test_misaligned(void **state) {
  (void)state;
  struct back_call call;
  back_init(&call, INPUTS);
  for (int i = 0; i < GRADS; i++) {
    sdpa_grads grads = call.grads;
    set(&grads, i, (const char *)call.block[i] + 2);
    check_refused(&call, &grads, fields[i].field, NULL, SDPA_ERROR_ALIGNMENT);
  }
  api_call_free(&call.forward);
}

static void test_grads_struct(void **state) {
  (void)state;
  struct back_call call;
  back_init(&call, INPUTS);
  sdpa_grads grads = call.grads;
  grads.reserved0 = 1;
  check_refused(&call, &grads, "grads.reserved0", "1", SDPA_ERROR_VALUE);
  struct {
    sdpa_grads known;
    uint64_t later;
  } longer = {call.grads, 0};
  longer.known.size = sizeof longer;
  sdpa_plan *plan = back_plan(&call);
  assert_int_equal(sdpa_backward(plan, &call.args, &longer.known, NULL, 0), SDPA_OK);
  sdpa_plan_destroy(plan);
  api_call_free(&call.forward);
  back_init(&call, INPUTS);
  longer.later = 1;
  check_refused(&call, &longer.known, "sdpa_grads.size", "96", SDPA_ERROR_STRUCT_SIZE);
  for (uint32_t size = 0; size < sizeof grads; size++) {
    grads = call.grads;
    grads.size = size;
    check_refused(&call, &grads, "sdpa_grads.size", NULL, SDPA_ERROR_STRUCT_SIZE);
  }
  api_call_free(&call.forward);
}

static void test_other_kind_and_workspace(void **state) {
  (void)state;
  struct back_call call;
  back_init(&call, INPUTS);
  sdpa_plan *backward = back_plan(&call), *forward;
  assert_int_equal(sdpa_plan_create(&call.forward.problem, NULL, &forward), SDPA_OK);
  char text[256];
  assert_int_equal(sdpa_execute(backward, &call.forward.args, NULL, 0), SDPA_ERROR_UNSUPPORTED);
  assert_int_equal(sdpa_args_check(backward, &call.forward.args, NULL, 0, text, sizeof text),
                   SDPA_ERROR_UNSUPPORTED);
  api_assert_says(text, "plan", NULL);
  api_assert_untouched(&call.forward);
  assert_int_equal(sdpa_backward(forward, &call.args, &call.grads, NULL, 0),
                   SDPA_ERROR_UNSUPPORTED);
  assert_int_equal(
      sdpa_backward_check(forward, &call.args, &call.grads, NULL, 0, text, sizeof text),
      SDPA_ERROR_UNSUPPORTED);
  api_assert_says(text, "plan", NULL);
  assert_int_equal(sdpa_backward(NULL, &call.args, &call.grads, NULL, 0), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_backward_check(NULL, &call.args, &call.grads, NULL, 0, text, sizeof text),
                   SDPA_ERROR_NULL);
  api_assert_says(text, "plan", "NULL");
  size_t bytes, alignment;
  assert_int_equal(sdpa_plan_workspace(backward, &bytes, &alignment), SDPA_OK);
  assert_true(bytes > 0);
  char *block = aligned_alloc(alignment, bytes + alignment);
  assert_non_null(block);
  assert_int_equal(sdpa_backward(backward, &call.args, &call.grads, block, bytes - 1),
                   SDPA_ERROR_WORKSPACE);
  assert_int_equal(sdpa_backward(backward, &call.args, &call.grads, block + 1, bytes),
                   SDPA_ERROR_ALIGNMENT);
  for (int i = 0; i < GRADS; i++) assert_true(!fields[i].output || is_untouched(&call, i));
  assert_int_equal(sdpa_backward(backward, &call.args, &call.grads, block, bytes), SDPA_OK);
  free(block);
  sdpa_plan_destroy(forward);
  sdpa_plan_destroy(backward);
  api_call_free(&call.forward);
}

/* Gradients' strides are a backward plan's business alone; that of a bias along a dimension in which
 * the bias repeats is nobody's. */
static void test_strides(void **state) {
  (void)state;
  struct back_call call;
  back_init(&call, INPUTS);
  const sdpa_options options = engine_options();
  sdpa_problem *p = &call.forward.problem;
  sdpa_strides *const strides[] = {&p->grad_query, &p->grad_key, &p->grad_value, &p->grad_bias};
  static const char *const names[] = {"grad_query", "grad_key", "grad_value", "grad_bias"};
  char text[256];
  for (int i = 0; i < 4; i++) {
    const sdpa_strides valid = *strides[i];
    sdpa_plan *plan;
    strides[i]->row = 0;
    assert_int_equal(sdpa_plan_create_backward(p, &options, &plan), SDPA_ERROR_STRIDE);
    assert_null(plan);
    assert_int_equal(sdpa_problem_check_backward(p, &options, text, sizeof text),
                     SDPA_ERROR_STRIDE);
    assert_true(strncmp(text, names[i], strlen(names[i])) == 0);
    assert_int_equal(sdpa_problem_check(p, &options, text, sizeof text), SDPA_OK);
    assert_int_equal(sdpa_plan_create(p, &options, &plan), SDPA_OK);
    sdpa_plan_destroy(plan);
    strides[i]->row = INT64_MAX / 2;
    assert_int_equal(sdpa_plan_create_backward(p, &options, &plan), SDPA_ERROR_OVERFLOW);
    *strides[i] = valid;
  }
  p->bias.row = p->grad_bias.row = 0;
  p->grad_output = (sdpa_strides){0, 0, 0, 0}; /* an input: one number for all */
  assert_int_equal(sdpa_problem_check_backward(p, &options, text, sizeof text), SDPA_OK);
  assert_string_equal(text, "");
  sdpa_plan_destroy(back_plan(&call));
  p->lse.col = 1;
  sdpa_plan *plan;
  assert_int_equal(sdpa_plan_create_backward(p, &options, &plan), SDPA_ERROR_STRIDE);
  api_call_free(&call.forward);
}

static void test_info(void **state) {
  (void)state;
  struct back_call call;
  back_init(&call, SDPA_BIAS | SDPA_SINKS);
  sdpa_plan *plan = back_plan(&call);
  sdpa_plan_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  assert_int_equal(sdpa_plan_query(plan, &info), SDPA_OK);
  /* 8 heads of 6 pairs; 2 operations for each of 3 * 2 + 2 * 2 columns. */
  assert_int_equal(info.flops, 8 * 6 * 2 * 10);
  assert_int_equal(info.key_splits, 1);
  /* Q, output, dO, dQ 32; K, V, dK, dV 24; lse, dlse 16; bias, dbias 48; sinks, dsinks 4. */
  assert_int_equal(info.bytes, 8 * (4 * 32 + 4 * 24 + 2 * 16 + 2 * 48 + 2 * 4));
  char text[512];
  assert_true(sdpa_plan_describe(plan, text, sizeof text) < sizeof text);
  assert_non_null(strstr(text, "backward"));
  sdpa_plan_destroy(plan);
  api_call_free(&call.forward);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_valid),
      cmocka_unit_test(test_nothing_wanted),
      cmocka_unit_test(test_missing),
      cmocka_unit_test(test_undeclared),
      cmocka_unit_test(test_outputs_of_the_forward_pass),
      cmocka_unit_test(test_misaligned),
      cmocka_unit_test(test_grads_struct),
      cmocka_unit_test(test_other_kind_and_workspace),
      cmocka_unit_test(test_strides),
      cmocka_unit_test(test_info),
  };
  int failed = cmocka_run_group_tests_name("tiled", tests, use_tiled, NULL);
  if (api_offers(SDPA_ENGINE_BLAS))
    failed += cmocka_run_group_tests_name("blas", tests, use_blas, NULL);
  return failed;
}
