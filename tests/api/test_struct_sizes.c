/* test_struct_sizes.c - every smaller and larger size of the four structs that the library reads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api_support.h"

#include <stdio.h>
#include <string.h>

#include "struct_copy.h"

static const struct api_sizes sizes = {1, 1, 1, 2, 3, 2, 2};
enum { OUTPUT = 4, LSE = 2, KEYS = 6 }; /* numbers in them */

/* Valid structs, with something in every field that 0.4 added, and what they point to. */
static struct fixture {
  struct api_call call;
  sdpa_options options;
  sdpa_grads grads;
  double output[OUTPUT], lse[LSE], grad_output[OUTPUT]; /* what the backward pass reads */
  double of_query[OUTPUT], of_key[KEYS], of_value[KEYS];
  sdpa_plan *forward, *backward;
} f;

static int set_up(void **state) {
  (void)state;
  api_call_init(&f.call, SDPA_F64, sizes, SDPA_LSE | SDPA_DROPOUT, SDPA_ALIGN_NONE);
  f.call.problem.dropout = 0.5;
  f.call.args.dropout_seed = 0x1122334455667788, f.call.args.dropout_offset = 0x0102030405060708;
  f.call.args.dropout_batch = 0x11121314, f.call.args.dropout_head = 0x21222324;
  f.call.args.dropout_query = 0x31323334, f.call.args.dropout_key = 0x41424344;
  assert_int_equal(sdpa_options_init(&f.options, sizeof f.options), SDPA_OK);
  assert_int_equal(sdpa_grads_init(&f.grads, sizeof f.grads), SDPA_OK);
  for (int i = 0; i < OUTPUT; i++) f.grad_output[i] = i + 1;
  sdpa_args args = f.call.args;
  args.output = f.output, args.lse = f.lse;
  assert_int_equal(sdpa_attention(&f.call.problem, NULL, &args), SDPA_OK);
  f.grads.output = f.output, f.grads.lse = f.lse, f.grads.grad_output = f.grad_output;
  f.grads.grad_query = f.of_query, f.grads.grad_key = f.of_key, f.grads.grad_value = f.of_value;
  assert_int_equal(sdpa_plan_create(&f.call.problem, NULL, &f.forward), SDPA_OK);
  assert_int_equal(sdpa_plan_create_backward(&f.call.problem, NULL, &f.backward), SDPA_OK);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  sdpa_plan_destroy(f.forward);
  sdpa_plan_destroy(f.backward);
  api_call_free(&f.call);
  return 0;
}

/* What all functions that take a struct did with it. Unused places are 0. */
struct outcome {
  sdpa_status status[8];
  int calls;
  double numbers[3][OUTPUT + LSE + 2 * KEYS];
  int kept;
  char text[2][256];
};

static void note(struct outcome *o, sdpa_status status) {
  o->status[o->calls++] = status;
}

/* Outputs hold -9 before a call and go to `o` after it. */
static void spoil(void) {
  double *const blocks[] = {f.call.block[API_OUTPUT], f.call.block[API_LSE], f.of_query, f.of_key,
                            f.of_value};
  static const int counts[] = {OUTPUT, LSE, OUTPUT, KEYS, KEYS};
  for (int b = 0; b < 5; b++)
    for (int i = 0; i < counts[b]; i++) blocks[b][i] = -9;
}

static void keep_forward(struct outcome *o) {
  memcpy(o->numbers[o->kept], f.call.block[API_OUTPUT], sizeof f.output);
  memcpy(o->numbers[o->kept++] + OUTPUT, f.call.block[API_LSE], sizeof f.lse);
  spoil();
}

static void keep_backward(struct outcome *o) {
  memcpy(o->numbers[o->kept], f.of_query, sizeof f.of_query);
  memcpy(o->numbers[o->kept] + OUTPUT, f.of_key, sizeof f.of_key);
  memcpy(o->numbers[o->kept++] + OUTPUT + KEYS, f.of_value, sizeof f.of_value);
  spoil();
}

static void create_both(struct outcome *o, const sdpa_problem *problem,
                        const sdpa_options *options) {
  sdpa_plan *plan = NULL;
  note(o, sdpa_plan_create(problem, options, &plan));
  assert_true((plan == NULL) == (o->status[o->calls - 1] != SDPA_OK));
  sdpa_plan_destroy(plan);
  note(o, sdpa_plan_create_backward(problem, options, &plan));
  assert_true((plan == NULL) == (o->status[o->calls - 1] != SDPA_OK));
  sdpa_plan_destroy(plan);
}

static void use_both(struct outcome *o, const sdpa_problem *problem, const sdpa_options *options) {
  note(o, sdpa_attention(problem, options, &f.call.args));
  keep_forward(o);
  create_both(o, problem, options);
  note(o, sdpa_problem_check(problem, options, o->text[0], sizeof *o->text));
  note(o, sdpa_problem_check_backward(problem, options, o->text[1], sizeof *o->text));
  note(o, sdpa_merge(problem, options, f.call.block[API_OUTPUT], f.call.block[API_LSE], f.output,
                     f.lse));
  keep_forward(o);
}

static void use_problem(struct outcome *o, void *block) {
  use_both(o, block, NULL);
}

static void use_options(struct outcome *o, void *block) {
  use_both(o, &f.call.problem, block);
}

static void use_grads_with(struct outcome *o, const sdpa_args *args, const sdpa_grads *grads) {
  note(o, sdpa_backward(f.backward, args, grads, NULL, 0));
  keep_backward(o);
  note(o, sdpa_backward_check(f.backward, args, grads, NULL, 0, o->text[1], sizeof *o->text));
}

/* A backward call has no output in its args. */
static void use_args(struct outcome *o, void *block) {
  uint32_t size;
  memcpy(&size, block, sizeof size);
  sdpa_args *args = block;
  note(o, sdpa_attention(&f.call.problem, NULL, args));
  keep_forward(o);
  note(o, sdpa_execute(f.forward, args, NULL, 0));
  keep_forward(o);
  note(o, sdpa_args_check(f.forward, args, NULL, 0, o->text[0], sizeof *o->text));
  if (size >= ARGS_0_1) args->output = args->lse = NULL;
  use_grads_with(o, args, &f.grads);
  if (size >= ARGS_0_1) args->output = f.call.args.output, args->lse = f.call.args.lse;
}

static void use_grads(struct outcome *o, void *block) {
  sdpa_args args = f.call.args;
  args.output = args.lse = NULL;
  use_grads_with(o, &args, block);
  memcpy(o->text[0], o->text[1], sizeof *o->text);
}

typedef void use_function(struct outcome *o, void *block);

static struct outcome outcome_of(use_function *use, void *block) {
  struct outcome o;
  memset(&o, 0, sizeof o);
  spoil();
  use(&o, block);
  return o;
}

/* By every function, with a sentence that has the size, and nothing written. */
static void check_refused(use_function *use, const char *name, void *block, uint32_t size) {
  const struct outcome o = outcome_of(use, block);
  char field[40], number[16];
  snprintf(field, sizeof field, "%s.size", name);
  snprintf(number, sizeof number, "%u", (unsigned)size);
  for (int i = 0; i < o.calls; i++) assert_int_equal(o.status[i], SDPA_ERROR_STRUCT_SIZE);
  for (int t = 0; t < 2; t++) api_assert_says(o.text[t], field, number);
  for (int k = 0; k < o.kept; k++)
    for (size_t i = 0; i < sizeof *o.numbers / sizeof **o.numbers; i++)
      assert_true(o.numbers[k][i] <= 0); /* -9, or unused */
}

/* As the struct of the library's own size does whose bytes from `size` on are 0. */
static void check_as_zeros(use_function *use, const void *valid, size_t own, void *block,
                           uint32_t size) {
  struct guard_block whole = struct_copy(valid, own, (uint32_t)own);
  for (size_t i = size; i < own; i++) whole.data[i] = 0;
  const struct outcome expected = outcome_of(use, whole.data), o = outcome_of(use, block);
  assert_int_equal(o.calls, expected.calls);
  for (int i = 0; i < o.calls; i++) {
    assert_int_equal(o.status[i], expected.status[i]);
    assert_int_not_equal(o.status[i], SDPA_ERROR_STRUCT_SIZE);
  }
  assert_memory_equal(o.numbers, expected.numbers, sizeof o.numbers);
  assert_memory_equal(o.text, expected.text, sizeof o.text);
  guard_free(&whole);
}

/* `first`: the first size that the struct had; `own`: today's. */
static void check_sizes(use_function *use, const char *name, const void *valid, size_t first,
                        size_t own) {
  for (uint32_t size = 0; size <= own + TAIL; size++) {
    struct guard_block block = struct_copy(valid, own, size);
    const size_t bytes = size < sizeof size ? sizeof size : size;
    if (size < first)
      check_refused(use, name, block.data, size);
    else
      check_as_zeros(use, valid, own, block.data, size);
    for (size_t i = own; i < size; i++) {
      block.data[i] = i % 2 ? 1 : 0x80;
      check_refused(use, name, block.data, size);
      block.data[i] = 0;
    }
    struct_copy_assert_intact(&block, bytes);
    guard_free(&block);
  }
  struct guard_block block = struct_copy(valid, own, (uint32_t)own);
  const struct outcome o = outcome_of(use, block.data);
  for (int i = 0; i < o.calls; i++) assert_int_equal(o.status[i], SDPA_OK);
  guard_free(&block);
}

static void test_problem(void **state) {
  (void)state;
  check_sizes(use_problem, "sdpa_problem", &f.call.problem, PROBLEM_0_1, PROBLEM_0_4);
}

static void test_options(void **state) {
  (void)state;
  check_sizes(use_options, "sdpa_options", &f.options, OPTIONS_0_1, OPTIONS_0_1);
}

static void test_args(void **state) {
  (void)state;
  check_sizes(use_args, "sdpa_args", &f.call.args, ARGS_0_1, ARGS_0_4);
}

static void test_grads(void **state) {
  (void)state;
  check_sizes(use_grads, "sdpa_grads", &f.grads, GRADS_0_4, GRADS_0_4);
}

/* Where the fields that came later count: without them there is no dropout and no gradient. */
static void test_missing_fields(void **state) {
  (void)state;
  struct guard_block block = struct_copy(&f.call.problem, PROBLEM_0_4, PROBLEM_0_1);
  const struct outcome o = outcome_of(use_problem, block.data);
  assert_int_equal(o.status[0], SDPA_OK);
  assert_int_equal(o.status[2], SDPA_ERROR_STRIDE); /* sdpa_plan_create_backward() */
  assert_memory_not_equal(o.numbers[0], f.output, sizeof f.output);
  guard_free(&block);
}

static void test_baselines(void **state) {
  (void)state;
  assert_int_equal(sizeof(sdpa_problem), PROBLEM_0_4);
  assert_int_equal(offsetof(sdpa_problem, dropout), PROBLEM_0_1);
  assert_int_equal(sizeof(sdpa_options), OPTIONS_0_1);
  assert_int_equal(sizeof(sdpa_args), ARGS_0_4);
  assert_int_equal(offsetof(sdpa_args, dropout_seed), ARGS_0_1);
  assert_int_equal(sizeof(sdpa_grads), GRADS_0_4);
  assert_int_equal(sizeof(sdpa_plan_info), INFO_0_1);
  assert_int_equal(sizeof(sdpa_strides), 32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_baselines), cmocka_unit_test(test_problem),
      cmocka_unit_test(test_options),   cmocka_unit_test(test_args),
      cmocka_unit_test(test_grads),     cmocka_unit_test(test_missing_fields),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
