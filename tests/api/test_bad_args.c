/* test_bad_args.c - every argument error of sdpa_execute(): status, sentence, nothing written
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Semantics rule 15 for what only the args show. Each case spoils one thing of a valid call that
 * declares every tensor.
 */
#include "api_support.h"
#include "stderr_capture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  EVERYTHING = SDPA_CAUSAL | SDPA_MASK | SDPA_BIAS | SDPA_ALIBI | SDPA_SINKS | SDPA_KEY_LENS |
               SDPA_QUERY_LENS | SDPA_OFFSETS | SDPA_WEIGHTS | SDPA_SCORES | SDPA_LSE
};

static const struct api_sizes sizes = {2, 4, 2, 2, 3, 2, 2};

struct pointer_case {
  const char *field;
  size_t offset;
  uint32_t feature; /* declares it; 0: always there */
  size_t element;   /* of f64 data */
};

#define A(field) #field, offsetof(sdpa_args, field)

static const struct pointer_case pointer_cases[] = {
    {A(query), 0, 8},
    {A(key), 0, 8},
    {A(value), 0, 8},
    {A(output), 0, 8},
    {A(mask), SDPA_MASK, 1},
    {A(bias), SDPA_BIAS, 8},
    {A(alibi_slopes), SDPA_ALIBI, 8},
    {A(sinks), SDPA_SINKS, 8},
    {A(key_lens), SDPA_KEY_LENS, 8},
    {A(query_lens), SDPA_QUERY_LENS, 8},
    {A(offsets), SDPA_OFFSETS, 8},
    {A(weights), SDPA_WEIGHTS, 8},
    {A(scores), SDPA_SCORES, 8},
    {A(lse), SDPA_LSE, 8},
};
enum { POINTERS = sizeof pointer_cases / sizeof *pointer_cases };

/* A pointer member as bytes: the members have different pointer types of one representation. */
static char *load(const sdpa_args *args, size_t offset) {
  char *p;
  memcpy(&p, (const char *)args + offset, sizeof p);
  return p;
}
static void store(sdpa_args *args, size_t offset, char *p) {
  memcpy((char *)args + offset, &p, sizeof p);
}

/* The address as a sentence shows it. */
static const char *as_text(const void *p) {
  static char text[32];
  snprintf(text, sizeof text, "%p", p);
  return text;
}

static void check_refused(const struct api_call *call, const sdpa_args *args, const char *field,
                          const char *says, sdpa_status status) {
  sdpa_plan *plan;
  assert_int_equal(sdpa_plan_create(&call->problem, NULL, &plan), SDPA_OK);
  char text[512] = "unset";
  sdpa_status got = sdpa_args_check(plan, args, NULL, 0, text, sizeof text);
  if (got != status) fail_msg("%s: status %d is not %d (%s)", field, got, status, text);
  api_assert_says(text, field, says);
  assert_int_equal(sdpa_args_check(plan, args, NULL, 0, NULL, 0), status);
  assert_int_equal(sdpa_execute(plan, args, NULL, 0), status);
  assert_int_equal(sdpa_attention(&call->problem, NULL, args), status);
  api_assert_untouched(call);
  sdpa_plan_destroy(plan);
}

static void init(struct api_call *call, uint32_t features) {
  uint32_t alignment = features & SDPA_OFFSETS ? SDPA_ALIGN_OFFSET : SDPA_ALIGN_TOP_LEFT;
  api_call_init(call, SDPA_F64, sizes, features, alignment);
}

static void test_valid(void **state) {
  (void)state;
  struct api_call call;
  init(&call, EVERYTHING);
  assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), SDPA_OK);
  api_call_free(&call);
}

static void test_missing(void **state) {
  (void)state;
  for (int i = 0; i < POINTERS; i++) {
    struct api_call call;
    init(&call, EVERYTHING);
    sdpa_args args = call.args;
    store(&args, pointer_cases[i].offset, NULL);
    check_refused(&call, &args, pointer_cases[i].field, "NULL", SDPA_ERROR_NULL);
    api_call_free(&call);
  }
}

static void test_undeclared(void **state) {
  (void)state;
  static char elsewhere[8 * 256];
  for (int i = 0; i < POINTERS; i++) {
    if (!pointer_cases[i].feature) continue;
    struct api_call call;
    init(&call, EVERYTHING & ~pointer_cases[i].feature);
    sdpa_args args = call.args;
    char *p = elsewhere + (8 - (uintptr_t)elsewhere % 8) % 8;
    store(&args, pointer_cases[i].offset, p);
    check_refused(&call, &args, pointer_cases[i].field, as_text(p), SDPA_ERROR_UNDECLARED);
    api_call_free(&call);
  }
}

static void test_output_not_wanted(void **state) {
  (void)state;
  struct api_call call;
  init(&call, EVERYTHING | SDPA_NO_OUTPUT);
  sdpa_args args = call.args;
  double elsewhere[2 * 4 * 2 * 2];
  args.output = elsewhere;
  check_refused(&call, &args, "output", as_text(elsewhere), SDPA_ERROR_UNDECLARED);
  call.args.value = NULL;
  assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), SDPA_OK);
  api_call_free(&call);
}

static void test_misaligned(void **state) {
  (void)state;
  for (int i = 0; i < POINTERS; i++) {
    if (pointer_cases[i].element == 1) continue;
    for (size_t shift = 1; shift < pointer_cases[i].element; shift++) {
      struct api_call call;
      init(&call, EVERYTHING);
      sdpa_args args = call.args;
      store(&args, pointer_cases[i].offset, load(&args, pointer_cases[i].offset) + shift);
      if (api_is_aligned(load(&args, pointer_cases[i].offset), pointer_cases[i].element)) {
        api_call_free(&call);
        continue;
      }
      check_refused(&call, &args, pointer_cases[i].field,
                    as_text(load(&args, pointer_cases[i].offset)), SDPA_ERROR_ALIGNMENT);
      api_call_free(&call);
    }
  }
}

struct length_case {
  int64_t entry, value;
  const char *field, *says;
};

static void check_lengths(int keys, const struct length_case *cases, size_t n) {
  for (size_t i = 0; i < n; i++) {
    struct api_call call;
    init(&call, EVERYTHING);
    int64_t *lens = keys ? api_key_lens(&call) : api_query_lens(&call);
    lens[cases[i].entry] = cases[i].value;
    check_refused(&call, &call.args, cases[i].field, cases[i].says, SDPA_ERROR_VALUE);
    api_call_free(&call);
  }
}

static void test_lengths(void **state) {
  (void)state;
  static const struct length_case key_cases[] = {
      {0, -1, "key_lens[0]", "-1"},
      {1, 4, "key_lens[1]", "4"},
      {1, INT64_MAX, "key_lens[1]", "9223372036854775807"},
      {0, INT64_MIN, "key_lens[0]", "-9223372036854775808"}};
  static const struct length_case query_cases[] = {{1, -7, "query_lens[1]", "-7"},
                                                   {0, 5, "query_lens[0]", "5"}};
  check_lengths(1, key_cases, sizeof key_cases / sizeof *key_cases);
  check_lengths(0, query_cases, sizeof query_cases / sizeof *query_cases);
}

static void test_slopes(void **state) {
  (void)state;
  static const double bad[] = {INFINITY, -INFINITY, NAN};
  static const char *const says[] = {"inf", "-inf", "nan"};
  for (uint32_t type = SDPA_F64; type <= SDPA_F32; type++)
    for (int i = 0; i < 3; i++) {
      struct api_call call;
      api_call_init(&call, type, sizes, SDPA_ALIBI, SDPA_ALIGN_TOP_LEFT);
      api_put(type, api_slopes(&call), 2, bad[i]);
      check_refused(&call, &call.args, "alibi_slopes[2]", says[i], SDPA_ERROR_VALUE);
      api_call_free(&call);
    }
}

static void test_reserved(void **state) {
  (void)state;
  struct api_call call;
  init(&call, EVERYTHING);
  call.args.reserved0 = 1;
  check_refused(&call, &call.args, "args.reserved0", "1", SDPA_ERROR_VALUE);
  call.args.reserved0 = UINT32_MAX;
  check_refused(&call, &call.args, "args.reserved0", "4294967295", SDPA_ERROR_VALUE);
  api_call_free(&call);
}

static void test_struct_size(void **state) {
  (void)state;
  struct api_call call;
  init(&call, EVERYTHING);
  call.args.size = 119;
  check_refused(&call, &call.args, "size", "119", SDPA_ERROR_STRUCT_SIZE);
  api_call_free(&call);
}

static void test_null(void **state) {
  (void)state;
  struct api_call call;
  init(&call, EVERYTHING);
  check_refused(&call, NULL, "args", "NULL", SDPA_ERROR_NULL);
  char text[128];
  assert_int_equal(sdpa_execute(NULL, &call.args, NULL, 0), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_args_check(NULL, &call.args, NULL, 0, text, sizeof text), SDPA_ERROR_NULL);
  api_assert_says(text, "plan", "NULL");
  assert_int_equal(sdpa_args_check(NULL, &call.args, NULL, 0, NULL, 0), SDPA_ERROR_NULL);
  api_assert_untouched(&call);
  api_call_free(&call);
}

/* Checks come first: a fault is a fault also where there is nothing to compute. */
static void test_faults_of_empty_problems(void **state) {
  (void)state;
  struct api_sizes empty = {2, 2, 2, 0, 3, 2, 2};
  struct api_call call;
  api_call_init(&call, SDPA_F64, empty, SDPA_KEY_LENS, 0);
  api_key_lens(&call)[1] = 4;
  check_refused(&call, &call.args, "key_lens[1]", "4", SDPA_ERROR_VALUE);
  api_key_lens(&call)[1] = 3;
  assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), SDPA_OK);
  api_call_free(&call);
}

static void test_text_truncation(void **state) {
  (void)state;
  struct api_call call;
  init(&call, EVERYTHING);
  api_key_lens(&call)[0] = -1;
  sdpa_plan *plan;
  assert_int_equal(sdpa_plan_create(&call.problem, NULL, &plan), SDPA_OK);
  char full[512];
  sdpa_args_check(plan, &call.args, NULL, 0, full, sizeof full);
  size_t length = strlen(full);
  for (size_t bytes = 1; bytes <= length + 2; bytes++) {
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, 'x', bytes);
    assert_int_equal(sdpa_args_check(plan, &call.args, NULL, 0, text, bytes), SDPA_ERROR_VALUE);
    size_t kept = bytes - 1 < length ? bytes - 1 : length;
    assert_memory_equal(text, full, kept);
    assert_int_equal(text[kept], 0);
    free(text);
  }
  sdpa_plan_destroy(plan);
  api_call_free(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_valid),
      cmocka_unit_test(test_missing),
      cmocka_unit_test(test_undeclared),
      cmocka_unit_test(test_output_not_wanted),
      cmocka_unit_test(test_misaligned),
      cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_slopes),
      cmocka_unit_test(test_reserved),
      cmocka_unit_test(test_struct_size),
      cmocka_unit_test(test_null),
      cmocka_unit_test(test_faults_of_empty_problems),
      cmocka_unit_test(test_text_truncation),
  };
  return run_silent_group("bad_args", tests, sizeof tests / sizeof *tests);
}
