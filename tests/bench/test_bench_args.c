/* test_bench_args.c - modes of the command line, and the shape files
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is refused is tested through the program (label cli); here, what is understood.
 */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench_args.h"
#include "bench_case.h"
#include "problem_string.h"

static int read_args(struct bench_args *args, int count, const char *const words[]) {
  static char copy[16][128];
  char *argv[17], message[1024];
  assert_true(count < 16);
  for (int i = 0; i < count; i++) {
    snprintf(copy[i], sizeof copy[i], "%s", words[i]);
    argv[i] = copy[i];
  }
  argv[count] = NULL;
  return bench_args_read(args, count, argv, message, sizeof message);
}
#define READ(args, ...)                                                                            \
  read_args(args, (int)(sizeof((const char *[]){"sdpa-bench", __VA_ARGS__}) / sizeof(char *)),     \
            (const char *[]){"sdpa-bench", __VA_ARGS__})

static void modes_follow_from_options(void **state) {
  struct bench_args args;
  (void)state;
  assert_int_equal(READ(&args, "--threads", "2"), 0);
  assert_int_equal(args.mode, BENCH_TABLE);
  assert_int_equal(args.threads, 2);
  bench_args_free(&args);
  assert_int_equal(READ(&args, "--peak", "--json", "--isa=avx2"), 0);
  assert_int_equal(args.mode, BENCH_PEAK);
  assert_int_equal(args.isa, SDPA_ISA_AVX2);
  assert_true(args.json);
  bench_args_free(&args);
  assert_int_equal(READ(&args, "--accuracy"), 0);
  assert_int_equal(args.mode, BENCH_ACCURACY);
  assert_int_equal(args.problems, 0);
  bench_args_free(&args);
  assert_int_equal(READ(&args, "--problem=f32:q1:k2:d3", "--accuracy", "--engine=tiled", "--json"),
                   0);
  assert_int_equal(args.mode, BENCH_ACCURACY);
  assert_int_equal(args.problems, 1);
  assert_int_equal(args.engine, SDPA_ENGINE_TILED);
  bench_args_free(&args);
  assert_int_equal(READ(&args, "--help"), 0);
  assert_int_equal(args.mode, BENCH_HELP);
  bench_args_free(&args);
}

static void problems_keep_their_order(void **state) {
  struct bench_args args;
  (void)state;
  assert_int_equal(READ(&args, "--problem", "f32:q1:k2:d3", "--engine", "blas", "--problem",
                        "f64:q4:k5:d6", "--seconds", "0.5"),
                   0);
  assert_int_equal(args.mode, BENCH_PROBLEMS);
  assert_int_equal(args.problems, 2);
  assert_string_equal(args.problem[0], "f32:q1:k2:d3");
  assert_string_equal(args.problem[1], "f64:q4:k5:d6");
  assert_int_equal(args.engine, SDPA_ENGINE_BLAS);
  assert_true(args.seconds == 0.5);
  assert_int_equal(args.threads, 0);
  bench_args_free(&args);
}

static void write_file(char *path, const char *text) {
  const int handle = mkstemp(path);
  assert_true(handle >= 0);
  assert_int_equal(write(handle, text, strlen(text)), (ssize_t)strlen(text));
  close(handle);
}

static void shape_files_have_comments_and_blanks(void **state) {
  char path[] = "bench_args_XXXXXX", message[1024];
  struct bench_args args = {0};
  (void)state;
  write_file(path, "# one\n\n  f32:q1:k2:d3\t\r\n\t# two\nf32:q4:k5:d6 # three\nf64:q7:k8:d9");
  assert_int_equal(bench_args_read_shapes(&args, path, message, sizeof message), 0);
  unlink(path);
  assert_int_equal(args.problems, 3);
  assert_string_equal(args.problem[0], "f32:q1:k2:d3");
  assert_string_equal(args.problem[1], "f32:q4:k5:d6");
  assert_string_equal(args.problem[2], "f64:q7:k8:d9");
  bench_args_free(&args);
}

static void a_malformed_line_is_named(void **state) {
  char path[] = "bench_args_XXXXXX", message[1024];
  struct bench_args args = {0};
  (void)state;
  write_file(path, "f32:q1:k2:d3\n\nf32:q1:k2\n");
  assert_int_equal(bench_args_read_shapes(&args, path, message, sizeof message), -1);
  unlink(path);
  assert_non_null(strstr(message, ":3: "));
  bench_args_free(&args);
}

static void a_file_without_problems_is_refused(void **state) {
  char path[] = "bench_args_XXXXXX", message[1024];
  struct bench_args args = {0};
  (void)state;
  write_file(path, "# nothing yet\n\n");
  assert_int_equal(bench_args_read_shapes(&args, path, message, sizeof message), -1);
  unlink(path);
  assert_non_null(strstr(message, "there is no problem in it"));
  bench_args_free(&args);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(modes_follow_from_options),
      cmocka_unit_test(problems_keep_their_order),
      cmocka_unit_test(shape_files_have_comments_and_blanks),
      cmocka_unit_test(a_malformed_line_is_named),
      cmocka_unit_test(a_file_without_problems_is_refused),
  };
  return cmocka_run_group_tests_name("bench arguments", tests, NULL, NULL);
}
