/* test_emulated_choice.c - the choice of the matrix unit changes no bit with threads, batch or heads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * With the library's own choice (matrix_choice.c), not the one that always takes the unit.
 */
#include "property_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated_tiles.h"

/* The plan's arithmetic: 1 if the unit's. */
static int is_by_parts(const struct problem_spec *spec, struct property_way way) {
  sdpa_options options;
  sdpa_plan *plan;
  char text[512];
  property_options(&options, way);
  assert_int_equal(sdpa_plan_create(&spec->problem, &options, &plan), SDPA_OK);
  sdpa_plan_describe(plan, text, sizeof text);
  sdpa_plan_destroy(plan);
  return strstr(text, "bf16 parts") != NULL;
}

static int chosen(const char *types, const char *where, int rows, int keys, uint32_t precision,
                  int32_t threads) {
  const struct property_way way = {SDPA_ENGINE_TILED, SDPA_ISA_AMX, threads, "amx", precision};
  struct problem_spec spec;
  char text[128], message[PROBLEM_MESSAGE_MAX];
  snprintf(text, sizeof text, "%s:%s:q%d:k%d:d64", types, where, rows, keys);
  assert_int_equal(problem_parse(text, &spec, message, sizeof message), 0);
  return is_by_parts(&spec, way);
}

/* Around every threshold the same answer for any number of threads, batch entries and heads. */
static void test_same_choice(void **state) {
  (void)state;
  static const char *const types[] = {"f32", "bf16", "f16"};
  static const char *const others[] = {"b1", "b64", "h16", "h16/2", "b3:h40/8"};
  int by_parts = 0, plans = 0;
  for (int t = 0; t < 3; t++)
    for (uint32_t precision = 0; precision <= SDPA_PRECISION_REDUCED; precision++)
      for (int rows = 13; rows < 140; rows += 3)
        for (int keys = 1000; keys <= 5000; keys += 4000) {
          const int first = chosen(types[t], others[0], rows, keys, precision, 1);
          by_parts += first;
          plans++;
          for (int i = 0; i < 5; i++) {
            assert_int_equal(chosen(types[t], others[i], rows, keys, precision, 1), first);
            assert_int_equal(chosen(types[t], others[i], rows, keys, precision, 64), first);
          }
        }
  assert_true(by_parts > 0 && by_parts < plans);
}

/* The problems of the issue take the unit; few rows of f32 do not. */
static void test_choices(void **state) {
  (void)state;
  assert_true(chosen("f32", "h8", 4096, 4096, SDPA_PRECISION_FULL, 1));
  assert_true(chosen("f32", "h8", 4096, 4096, SDPA_PRECISION_REDUCED, 1));
  assert_false(chosen("f32", "h8", 4096, 4096, SDPA_PRECISION_FMA, 1));
  assert_true(chosen("bf16", "h8", 4096, 4096, SDPA_PRECISION_FULL, 2));
  assert_false(chosen("f32", "h8", 32, 4096, SDPA_PRECISION_FULL, 1));
}

static void test_bits(void **state) {
  (void)state;
  const struct property_way one = {SDPA_ENGINE_TILED, SDPA_ISA_AMX, 1, "amx", 0};
  const struct property_way more = {SDPA_ENGINE_TILED, SDPA_ISA_AMX, 7, "amx", 0};
  struct problem_spec spec;
  struct problem_data data;
  unsigned char *a, *b;
  char message[PROBLEM_MESSAGE_MAX];
  assert_int_equal(problem_parse("f32:h3:q150:k700:d64:causal-br", &spec, message, sizeof message),
                   0);
  property_make(&data, &spec);
  const long before = emulated_multiplications();
  property_run(&data, &spec, one);
  assert_true(emulated_multiplications() > before);
  property_output_bits(&data, &a);
  problem_data_restore(&data, 1);
  property_run(&data, &spec, more);
  property_output_bits(&data, &b);
  property_same_bits(&data, &spec, "amx", a, b, "the number of threads");
  free(a);
  free(b);
  problem_data_free(&data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_choice),
      cmocka_unit_test(test_choices),
      cmocka_unit_test(test_bits),
  };
  if (!__builtin_cpu_supports("avx512f")) return 77; /* ctest: skipped */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
