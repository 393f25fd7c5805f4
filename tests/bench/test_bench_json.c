/* test_bench_json.c - the objects that sdpa-bench prints: their keys, types and plain truths
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The keys and their order are those of docs/benchmarks.md, which is read here: manual and program
 * cannot part. No value is tested that depends on how fast the machine is.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <sdpa/sdpa.h>

#include "bench_machine.h"
#include "flat_json.h"
#include "json_text.h"

#ifdef BENCH_WITH_BLAS
#define SOME_ENGINE "blas"
enum { ENGINE_BLAS_LINES = 1 };
#else
#define SOME_ENGINE "tiled"
enum { ENGINE_BLAS_LINES = 0 };
#endif

enum { MOST_LINES = 8 };

struct output {
  int lines, status;
  struct flat_json object[MOST_LINES];
};

/* Runs the program with --json and reads every line of its standard output. */
static struct output *run(const char *arguments) {
  static struct output output;
  char command[4096], line[16384];
  snprintf(command, sizeof command, "'%s' --json %s 2>/dev/null", BENCH_PROGRAM, arguments);
  memset(&output, 0, sizeof output);
  FILE *program = popen(command, "r");
  assert_non_null(program);
  while (fgets(line, sizeof line, program)) {
    assert_true(output.lines < MOST_LINES);
    const int fault = flat_json_read(line, &output.object[output.lines++]);
    if (fault != 0) fail_msg("not an object at %d: %s", fault, line);
  }
  const int status = pclose(program);
  assert_true(WIFEXITED(status));
  output.status = WEXITSTATUS(status);
  return &output;
}

/* The n-th key of the manual's table with this heading, NULL behind the last. */
static const char *manual_key(const char *heading, int n) {
  static char line[4096];
  FILE *manual = fopen(BENCH_MANUAL, "r");
  const char *key = NULL;
  int inside = 0;
  assert_non_null(manual);
  while (!key && fgets(line, sizeof line, manual)) {
    if (line[0] == '#') inside = strncmp(line, heading, strlen(heading)) == 0;
    if (!inside || strncmp(line, "| `", 3) != 0 || n-- > 0) continue;
    line[3 + strcspn(line + 3, "`")] = '\0';
    key = line + 3;
  }
  fclose(manual);
  return key;
}

static void check_keys(const struct flat_json *object, const char *heading, int at_least) {
  for (int i = 0; i < object->members; i++) {
    const char *key = manual_key(heading, i);
    if (!key) fail_msg("the manual does not know %s", object->member[i].key);
    assert_string_equal(object->member[i].key, key);
  }
  const char *missing = manual_key(heading, object->members);
  if (missing) fail_msg("%s is missing", missing);
  assert_true(object->members >= at_least);
}

static double number(const struct flat_json *object, const char *key) {
  const struct flat_json_member *member = flat_json_find(object, key);
  if (!member || member->type != FLAT_JSON_NUMBER) fail_msg("%s is not a number", key);
  return member->number;
}

static const char *string(const struct flat_json *object, const char *key) {
  const struct flat_json_member *member = flat_json_find(object, key);
  if (!member || member->type != FLAT_JSON_STRING_VALUE) fail_msg("%s is not a string", key);
  return member->string;
}

static int boolean(const struct flat_json *object, const char *key) {
  const struct flat_json_member *member = flat_json_find(object, key);
  if (!member || member->type != FLAT_JSON_BOOLEAN) fail_msg("%s is not a boolean", key);
  return (int)member->number;
}

static void lines_have_the_manual_s_keys(void **state) {
  const struct output *output = run("--threads 1 --seconds 0.1 --problem f32:q3:k3:d4 --problem "
                                    "f64:b2:h4/2:q5:k7:d8/4:causal-br:lens:weights");
  (void)state;
  assert_int_equal(output->status, 0);
  assert_int_equal(output->lines, 2);
  check_keys(&output->object[0], "## Keys of a line", 20);
  check_keys(&output->object[1], "## Keys of a line", 20);
  assert_string_equal(string(&output->object[0], "problem"), "f32:q3:k3:d4");
  assert_string_equal(string(&output->object[1], "problem"),
                      "f64:b2:h4/2:q5:k7:d8/4:causal-br:lens:weights");
}

/* The same 528 pairs backward: 6 * 16 + 4 * 16 operations each, and no plain products. */
static void the_backward_pass_is_five_products(void **state) {
  const struct output *output = run("--engine " SOME_ENGINE " --threads 1 --isa generic "
                                    "--seconds 0.2 --problem f32:q32:k32:d16:causal:bwd");
  const struct flat_json *line = &output->object[0];
  (void)state;
  assert_int_equal(output->status, 0);
  check_keys(line, "## Keys of a line", 20);
  const double median = number(line, "median_s"), gflops = number(line, "gflops");
  assert_true(fabs(gflops * 1e9 * median / (160.0 * 528.0) - 1.0) < 1e-5);
  assert_true(number(line, "bytes") == 4.0 * (8 * 32 * 16 + 32));
  assert_true(boolean(line, "verified") && number(line, "max_error") < 1e-4);
  assert_true(number(line, "of_peak") > 0.0 && number(line, "of_ceiling") > 0.0);
  assert_int_equal(flat_json_find(line, "cblas_s")->type, FLAT_JSON_NULL);
}

/* 32 rows of a causal problem: 528 pairs of 2 (16 + 16) operations. */
static void values_agree_with_each_other(void **state) {
  const struct output *output = run("--engine " SOME_ENGINE " --threads 1 --isa generic "
                                    "--seconds 0.2 --problem f32:q32:k32:d16:causal");
  const struct flat_json *line = &output->object[0];
  (void)state;
  assert_int_equal(output->status, 0);
  assert_string_equal(string(line, "engine"), SOME_ENGINE);
  assert_string_equal(string(line, "isa"), "generic");
  assert_string_equal(string(line, "precision"), "full");
  assert_true(number(line, "threads") == 1.0);
  const double median = number(line, "median_s"), gflops = number(line, "gflops");
  assert_true(number(line, "min_s") > 0.0 && number(line, "min_s") <= median);
  assert_true(fabs(gflops * 1e9 * median / (64.0 * 528.0) - 1.0) < 1e-5);
  assert_true(number(line, "bytes") == 4.0 * 4 * 32 * 16);
  assert_true(boolean(line, "verified"));
  assert_true(number(line, "max_error") >= 0.0 && number(line, "max_error") < 1e-5);
  assert_true(number(line, "fma_peak_gflops") > 0.0 && number(line, "ceiling_gflops") > 0.0);
  assert_true(number(line, "of_peak") > 0.0 && number(line, "of_ceiling") > 0.0);
  assert_true(number(line, "of_read") > 0.0);
#ifdef BENCH_WITH_BLAS
  assert_true(number(line, "cblas_s") > 0.0);
#else
  assert_int_equal(flat_json_find(line, "cblas_s")->type, FLAT_JSON_NULL);
#endif
  boolean(line, "stable");
}

/* 16 MB of keys and values on top of what a child has at its start, and not the parent's memory. */
static void memory_is_the_problem_s_own(void **state) {
  const struct output *output =
      run("--threads 1 --seconds 0.1 --problem f32:q1:k16384:d128 --problem f32:q1:k16:d128");
  (void)state;
  assert_int_equal(output->status, 0);
  const double large = number(&output->object[0], "peak_rss_bytes");
  const double small = number(&output->object[1], "peak_rss_bytes");
  for (int i = 0; i < 2; i++) assert_true(number(&output->object[i], "start_rss_bytes") > 1e5);
  assert_true(large - number(&output->object[0], "start_rss_bytes") > 16e6);
  assert_true(large - small > 12e6);
}

/* Both threads of the BLAS, where it can be told: a BLAS that does not tell reports what was asked.
 */
#ifdef BENCH_WITH_BLAS
static void threads_reach_the_blas(void **state) {
  const struct output *output =
      run("--engine blas --threads 2 --seconds 0.1 --problem f32:q8:k8:d8");
  (void)state;
  assert_int_equal(output->status, 0);
  assert_true(number(&output->object[0], "threads") == 2.0);
}
#endif

static void an_empty_problem_is_measured_too(void **state) {
  const struct output *output = run("--threads 1 --seconds 0.1 --problem f32:q4:k0:d8");
  const struct flat_json *line = &output->object[0];
  (void)state;
  assert_int_equal(output->status, 0);
  check_keys(line, "## Keys of a line", 20);
  assert_true(number(line, "gflops") == 0.0 && number(line, "of_peak") == 0.0);
  assert_int_equal(flat_json_find(line, "cblas_s")->type, FLAT_JSON_NULL);
  assert_true(boolean(line, "verified"));
}

static void what_is_not_served_has_a_line_of_its_own(void **state) {
  const struct output *output =
      run("--threads 1 --seconds 0.1 --problem q=f64,o=f32:q2:k2:d2 --problem f32:q2:k2:d2");
  (void)state;
  assert_int_equal(output->status, 1);
  assert_int_equal(output->lines, 2);
  assert_int_equal(output->object[0].members, 2);
  assert_string_equal(string(&output->object[0], "problem"), "q=f64,o=f32:q2:k2:d2");
  assert_non_null(strstr(string(&output->object[0], "error"), "output_type"));
  check_keys(&output->object[1], "## Keys of a line", 20);
}

static void the_peak_has_the_manual_s_keys(void **state) {
  const struct output *output = run("--peak");
  (void)state;
  assert_int_equal(output->status, 0);
  assert_int_equal(output->lines, 1);
  check_keys(&output->object[0], "## Keys of the peak", 5);
  for (int i = 0; i < output->object[0].members; i++) {
    const struct flat_json_member *member = &output->object[0].member[i];
    if (strcmp(member->key, "bf16_tile_gflops") == 0 &&
        bench_machine_isa(SDPA_ISA_AMX) != SDPA_ISA_AMX)
      assert_int_equal(member->type, FLAT_JSON_NULL);
    else
      assert_true(number(&output->object[0], member->key) > 0.0);
  }
}

/* One line for engine blas and one for each ISA of engine tiled. An error below 1e-8 of f32 numbers
 * would be better than rounding the result allows. */
static void accuracy_has_a_line_an_isa(void **state) {
  const struct output *output = run("--accuracy --threads 1 --problem f32:q40:k300:d32:lse");
  (void)state;
  assert_int_equal(output->status, 0);
  assert_true(output->lines > ENGINE_BLAS_LINES);
  for (int i = 0; i < output->lines; i++) {
    const struct flat_json *line = &output->object[i];
    check_keys(line, "## Keys of the accuracy", 14);
    assert_string_equal(string(line, "problem"), "f32:q40:k300:d32:lse");
    assert_string_equal(string(line, "engine"), i < ENGINE_BLAS_LINES ? "blas" : "tiled");
    if (i > ENGINE_BLAS_LINES)
      assert_string_not_equal(string(line, "isa"), string(&output->object[i - 1], "isa"));
    assert_true(number(line, "rows") == 16.0);
    const int parts = (int)number(line, "parts");
    assert_true(strcmp(string(line, "isa"), "amx") == 0 ? parts >= 0 && parts <= 3 : parts == 0);
    assert_true(fabs(number(line, "score_size") - 1.0) < 0.25);
    assert_true(number(line, "chain") == (i < ENGINE_BLAS_LINES ? 300 : 128 + 300 / 128));
    const double largest = number(line, "largest"), mean = number(line, "mean");
    assert_true(largest > 1e-8 && mean > 1e-9 && mean < largest);
    assert_true(number(line, "lse_largest") > 1e-8);
    assert_true(number(line, "bound_c") > 1e-4 && number(line, "bound_c") <= 4.0);
    assert_true(number(line, "lse_c") > 1e-4 && number(line, "lse_c") <= 4.0);
    assert_true(boolean(line, "within_bound"));
  }
  assert_string_equal(string(&output->object[ENGINE_BLAS_LINES], "isa"), "generic");
}

/* The unit roundoffs are 2^-53, 2^-8 and 2^-11: errors of about that, and no smaller ones. */
static void accuracy_follows_the_type(void **state) {
  const struct output *output = run("--accuracy --engine tiled --isa generic --problem "
                                    "f64:q16:k64:d8 --problem bf16:q16:k64:d8 --problem "
                                    "f16:q16:k64:d8 --problem f32:q1:k2000:d8");
  static const double roundoff[] = {0x1p-53, 0x1p-8, 0x1p-11};
  (void)state;
  assert_int_equal(output->status, 0);
  assert_int_equal(output->lines, 4);
  assert_true(number(&output->object[3], "chain") == 512 + 2000 / 512); /* by rows */
  for (int i = 0; i < 3; i++) {
    const double largest = number(&output->object[i], "largest");
    assert_true(largest > roundoff[i] / 16.0 && largest < roundoff[i] * 16.0);
    assert_int_equal(flat_json_find(&output->object[i], "lse_c")->type, FLAT_JSON_NULL);
  }
}

/* Against the reader above: escapes, and numbers that JSON does not have. */
static void the_writer_escapes(void **state) {
  char *text = NULL;
  size_t bytes = 0;
  struct json_object object;
  struct flat_json back;
  FILE *stream = open_memstream(&text, &bytes);
  (void)state;
  assert_non_null(stream);
  json_begin(&object, stream);
  json_string(&object, "a", "\"\\/\b\n\x01\x7f");
  json_number(&object, "b", -1.5e-300);
  json_number(&object, "c", (double)NAN);
  json_number(&object, "d", (double)INFINITY);
  json_integer(&object, "e", INT64_C(9007199254740992));
  json_end(&object);
  fclose(stream);
  assert_int_equal(flat_json_read(text, &back), 0);
  assert_string_equal(string(&back, "a"), "\"\\/\b\n\x01\x7f");
  assert_true(number(&back, "b") == -1.5e-300);
  assert_int_equal(flat_json_find(&back, "c")->type, FLAT_JSON_NULL);
  assert_int_equal(flat_json_find(&back, "d")->type, FLAT_JSON_NULL);
  assert_true(number(&back, "e") == 9007199254740992.0);
  free(text);
}

/* The reader must be able to say no. */
static void the_reader_refuses(void **state) {
  static const char *const bad[] = {"",
                                    "{",
                                    "[]",
                                    "{\"a\": 1,}",
                                    "{\"a\" 1}",
                                    "{a: 1}",
                                    "{\"a\": }",
                                    "{\"a\": 01}",
                                    "{\"a\": 1.}",
                                    "{\"a\": +1}",
                                    "{\"a\": nan}",
                                    "{\"a\": 1} x",
                                    "{\"a\": .5}",
                                    "{\"a\": \"\\x\"}",
                                    "{\"a\": \"\n\"}",
                                    "{\"a\": 1 \"b\": 2}",
                                    "{\"a\": inf}"};
  struct flat_json object;
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (flat_json_read(bad[i], &object) == 0) fail_msg("accepted: %s", bad[i]);
  }
  assert_int_equal(flat_json_read(" {\"a\": -0.5e+3, \"b\": null}\n", &object), 0);
  assert_int_equal(object.members, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reader_refuses),
      cmocka_unit_test(the_writer_escapes),
      cmocka_unit_test(lines_have_the_manual_s_keys),
      cmocka_unit_test(values_agree_with_each_other),
      cmocka_unit_test(the_backward_pass_is_five_products),
      cmocka_unit_test(memory_is_the_problem_s_own),
#ifdef BENCH_WITH_BLAS
      cmocka_unit_test(threads_reach_the_blas),
#endif
      cmocka_unit_test(an_empty_problem_is_measured_too),
      cmocka_unit_test(what_is_not_served_has_a_line_of_its_own),
      cmocka_unit_test(the_peak_has_the_manual_s_keys),
      cmocka_unit_test(accuracy_has_a_line_an_isa),
      cmocka_unit_test(accuracy_follows_the_type),
  };
  return cmocka_run_group_tests_name("bench json", tests, NULL, NULL);
}
