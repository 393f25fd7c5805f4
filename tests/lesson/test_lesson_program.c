/* test_lesson_program.c - sdpa-lesson as its users meet it: lines, arguments, chart, failures
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * $SDPA_LESSON is the program. The charts are drawn in a folder of their own under the current one;
 * that folder must be empty at the end of each test, so that no half-written file escapes notice.
 */
#define _GNU_SOURCE

#include "run_program.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOFTMAX_LINES                                                                              \
  "[6, 4] unscaled     softmax = [0.88080, 0.11920]   largest gradient = 0.104994\n"               \
  "[3, 2] scaled by 2  softmax = [0.73106, 0.26894]   largest gradient = 0.196612\n"               \
  "[10, 1]             softmax = [0.99988, 0.00012]   largest gradient = 0.000123\n"
#define ATTENTION_LINES                                                                            \
  "n =    3: output (3, 64), weights (3, 3) = 9 scores, 72 bytes, rows sum to 1: True\n"           \
  "n =  512: output (512, 64), weights (512, 512) = 262,144 scores, 2,097,152 bytes, "             \
  "rows sum to 1: True\n"                                                                          \
  "n = 4096: output (4096, 64), weights (4096, 4096) = 16,777,216 scores, 134,217,728 bytes, "     \
  "rows sum to 1: True\n"

static const char seed_42[] =
    SOFTMAX_LINES "d_k =   4: var(q.k) =    4.03   var(q.k / sqrt(d_k)) = 1.007\n"
                  "d_k =  64: var(q.k) =   63.20   var(q.k / sqrt(d_k)) = 0.988\n"
                  "d_k = 512: var(q.k) =  510.75   var(q.k / sqrt(d_k)) = 0.998\n" ATTENTION_LINES;
static const char seed_7[] =
    SOFTMAX_LINES "d_k =   4: var(q.k) =    3.93   var(q.k / sqrt(d_k)) = 0.983\n"
                  "d_k =  64: var(q.k) =   63.58   var(q.k / sqrt(d_k)) = 0.993\n"
                  "d_k = 512: var(q.k) =  510.08   var(q.k / sqrt(d_k)) = 0.996\n" ATTENTION_LINES;
static const char usage[] =
    "usage: sdpa-lesson [--seed S] [--plot FILE.svg] [--plot-training FILE.svg] [--help]\n";
static const char gradient_lines[] =
    "[6, 4] unscaled     by the scores: largest = 0.104994   by q: largest = 0.104994\n"
    "[3, 2] scaled by 2  by the scores: largest = 0.196612   by q: largest = 0.098306\n"
    "[10, 1]             by the scores: largest = 0.000123   by q: largest = 0.000123\n";

static char *program;
static char folder[] = "test_lesson_program_XXXXXX";

/* Runs the program with up to three arguments (NULL: no more). */
static struct program_result run(const char *a, const char *b, const char *c, const char *out_path,
                                 const char *path_variable) {
  char *copies[3] = {NULL, NULL, NULL};
  const char *given[3] = {a, b, c};
  for (int i = 0; i < 3 && given[i] != NULL; i++) {
    copies[i] = strdup(given[i]);
    assert_non_null(copies[i]);
  }
  char *argv[] = {program, copies[0], copies[1], copies[2], NULL};
  struct program_result result = run_program(argv, out_path, path_variable);
  for (int i = 0; i < 3; i++) free(copies[i]);
  return result;
}

static void in_folder(char path[200], const char *name) {
  assert_in_range(snprintf(path, 200, "%s/%s", folder, name), 1, 199);
}

static void write_file(const char *path, const char *text, mode_t mode) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, mode), 0);
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  char *text = calloc(1, 1 << 20);
  assert_non_null(file);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
  fclose(file);
  return text;
}

/* rmdir fails unless it is empty: nothing was left behind. */
static void assert_folder_empty(void) {
  assert_int_equal(rmdir(folder), 0);
  assert_int_equal(mkdir(folder, 0700), 0);
}

static double number_after(const char *text, const char *mark) {
  const char *at = strstr(text, mark);
  if (at == NULL) fail_msg("the output lacks \"%s\"", mark);
  return strtod(at + strlen(mark), NULL);
}

/* The rows of the table: both shapes, both times, and ratios that are theirs. */
static void check_comparison(const char *text) {
  static const char *const rows[2] = {"\ndot-product  output (512, 64), weights (512, 512), "
                                      "rows sum to 1: True",
                                      "\nadditive     output (512, 64), weights (512, 512), "
                                      "rows sum to 1: True"};
  double ms[2], ratio = number_after(text, "\nadditive / dot-product: ");
  for (int i = 0; i < 2; i++) {
    ms[i] = number_after(text, rows[i]);
    assert_true(ms[i] > 0);
    assert_true(number_after(strstr(text, rows[i]), " ms  ") == 2); /* 2,097,152 bytes */
  }
  /* printed to 0.001 ms and to 0.1 */
  assert_true(ratio > (ms[1] - 0.001) / (ms[0] + 0.001) - 0.06);
  assert_true(ratio < (ms[1] + 0.001) / (ms[0] - 0.001) + 0.06);
  assert_true(ratio > 1);
  assert_true(number_after(text, " times the time, ") > 0);
  assert_non_null(strstr(text, " + 528,384 bytes\n")); /* (512 + 512) 64 + 512 doubles */
  assert_non_null(strstr(text, "n n d = 134,217,728 bytes\n"));
}

/* Each line: five mean losses and a count. With the scale all layers learn; at 64 few do without. */
static void check_training(const char *text) {
  static const char *const lines[4] = {
      "\nd_k =  4 with the scale    rate ", "\nd_k =  4 without the scale rate ",
      "\nd_k = 64 with the scale    rate ", "\nd_k = 64 without the scale rate "};
  for (int i = 0; i < 4; i++) {
    double rate, loss[5];
    int learned;
    const char *at = strstr(text, lines[i]);
    if (at == NULL) fail_msg("the output lacks \"%s\"", lines[i] + 1);
    assert_int_equal(sscanf(at + strlen(lines[i]),
                            "%lf loss %lf %lf %lf %lf %lf recall everything: %d of 8\n", &rate,
                            &loss[0], &loss[1], &loss[2], &loss[3], &loss[4], &learned),
                     7);
    assert_true(rate == 0.1 || rate == 1 || rate == 10);
    assert_true(loss[4] < loss[0]);
    if (i == 3)
      assert_true(loss[4] > 0.1 && learned <= 4);
    else
      assert_true(loss[4] < 0.01);
    if (i % 2 == 0) assert_int_equal(learned, 8);
  }
}

static void check_lesson(struct program_result *r, const char *lines) {
  assert_int_equal(r->status, 0);
  assert_string_equal(r->err, "");
  assert_true(strlen(r->out) > strlen(lines));
  check_comparison(r->out + strlen(lines));
  assert_non_null(strstr(r->out, gradient_lines));
  check_training(strstr(r->out, gradient_lines));
  r->out[strlen(lines)] = '\0';
  assert_string_equal(r->out, lines);
  program_result_free(r);
}

static void nine_lines_and_the_comparison(void **state) {
  struct program_result r = run(NULL, NULL, NULL, NULL, NULL);
  (void)state;
  check_lesson(&r, seed_42);
}

static void nine_lines_of_seed_7(void **state) {
  struct program_result r = run("--seed", "7", NULL, NULL, NULL);
  (void)state;
  check_lesson(&r, seed_7);
}

static void bad_arguments(void **state) {
  static const char *const cases[][3] = {
      {"--seed"},
      {"--seed", ""},
      {"--seed", "x"},
      {"--seed", "-1"},
      {"--seed", " 1"},
      {"--seed", "1.5"},
      {"--seed", "+1"},
      {"--seed", "0x1"},
      {"--seed", "18446744073709551616"},
      {"--plot"},
      {"--plot", ""},
      {"--frobnicate"},
      {"extra"},
      {"--help", "more"},
      {"--seed", "7", "extra"},
      {"-x"},
      {"--help=yes"},
      {"--plot-training"},
      {"--plot-training", ""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct program_result r = run(cases[i][0], cases[i][1], cases[i][2], NULL, NULL);
    if (r.status != 2) fail_msg("case %zu: exit status %d", i, r.status);
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, usage);
    program_result_free(&r);
  }
}

static void help(void **state) {
  struct program_result r = run("--help", NULL, NULL, NULL, NULL);
  (void)state;
  assert_int_equal(r.status, 0);
  assert_string_equal(r.err, "");
  assert_memory_equal(r.out, usage, strlen(usage));
  assert_non_null(strstr(r.out, "default 42"));
  program_result_free(&r);
}

static void full_disk(void **state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0) skip();
  struct program_result r = run("--help", NULL, NULL, "/dev/full", NULL);
  assert_int_equal(r.status, 1);
  assert_non_null(strstr(r.err, "sdpa-lesson: standard output: "));
  program_result_free(&r);
}

/* With that chart the program fails before it prints, and says `part`. */
static void assert_no_chart(const char *option, const char *path, const char *path_variable,
                            const char *part) {
  struct program_result r = run(option, path, NULL, NULL, path_variable);
  assert_int_equal(r.status, 1);
  assert_string_equal(r.out, "");
  if (strstr(r.err, part) == NULL) fail_msg("\"%s\" does not say \"%s\"", r.err, part);
  program_result_free(&r);
}

static void chart_without_gnuplot(void **state) {
  char path[200];
  (void)state;
  in_folder(path, "chart.svg");
  assert_no_chart("--plot", path, folder, "gnuplot draws the chart and was not found");
  assert_no_chart("--plot-training", path, folder, "gnuplot draws the chart and was not found");
  assert_folder_empty();
}

/* A gnuplot that writes half a chart and fails, in place of the real one. */
static void chart_that_fails_half_way(void **state) {
  char gnuplot[200], path[200], *text;
  (void)state;
  in_folder(gnuplot, "gnuplot");
  in_folder(path, "chart.svg");
  write_file(gnuplot, "#!/bin/sh\necho '<svg>'\nexit 3\n", 0700);
  assert_no_chart("--plot", path, folder, "gnuplot failed");
  assert_int_equal(access(path, F_OK), -1);
  write_file(path, "an older chart\n", 0600);
  assert_no_chart("--plot", path, folder, "gnuplot failed");
  text = read_file(path);
  assert_string_equal(text, "an older chart\n");
  free(text);
  write_file(gnuplot, "#!/bin/sh\nexit 0\n", 0700);
  assert_no_chart("--plot", path, folder, "gnuplot wrote nothing");
  unlink(gnuplot);
  unlink(path);
  assert_folder_empty();
}

static void chart_that_cannot_be_written(void **state) {
  (void)state;
  assert_no_chart("--plot", "no-such-folder/chart.svg", NULL,
                  "no-such-folder/chart.svg: No such file");
  assert_no_chart("--plot", folder, NULL, "Is a directory");
  assert_no_chart("--plot-training", folder, NULL, "Is a directory");
  assert_no_chart("--plot", "/dev/null", NULL, "/dev/null: ");
  assert_folder_empty();
}

static int have_gnuplot(void) {
  char shell[] = "/bin/sh", option[] = "-c", command[] = "command -v gnuplot";
  char *argv[] = {shell, option, command, NULL};
  struct program_result r = run_program(argv, NULL, NULL);
  int found = r.status == 0;
  program_result_free(&r);
  return found;
}

/* Drawn over an older file through a link, with a name that a shell or a script would trip over. */
static void chart(void **state) {
  static const char *const parts[] = {
      "<svg",
      "</svg>",
      "Softmax of two scores: first key (orange), second key (blue)",
      "0.8808",
      "0.1192",
      "0.7311",
      "0.2689",
      "0.9999",
      "0.0001",
      ">[6, 4] unscaled<",
      ">[3, 2] scaled by 2<",
      ">[10, 1]<"};
  char path[200], link[200];
  struct stat state_of_link;
  (void)state;
  if (!have_gnuplot()) skip();
  in_folder(path, "a 'chart' $x.svg");
  in_folder(link, "link.svg");
  write_file(path, "an older chart\n", 0600);
  assert_int_equal(symlink("a 'chart' $x.svg", link), 0);
  struct program_result r = run("--plot", link, NULL, NULL, NULL);
  check_lesson(&r, seed_42);
  assert_int_equal(lstat(link, &state_of_link), 0);
  assert_true(S_ISLNK(state_of_link.st_mode));
  char *text = read_file(path);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (strstr(text, parts[i]) == NULL) fail_msg("the chart lacks %s", parts[i]);
  free(text);
  unlink(link);
  unlink(path);
  assert_folder_empty();
}

static void training_chart(void **state) {
  static const char *const parts[] = {"<svg",
                                      "</svg>",
                                      "Learning to recall: d_k = 64, 8 layers",
                                      "with the scale, rate ",
                                      "without the scale, rate ",
                                      "mean squared error"};
  char path[200];
  (void)state;
  if (!have_gnuplot()) skip();
  in_folder(path, "training.svg");
  struct program_result r = run("--plot-training", path, NULL, NULL, NULL);
  check_lesson(&r, seed_42);
  char *text = read_file(path);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (strstr(text, parts[i]) == NULL) fail_msg("the chart lacks %s", parts[i]);
  free(text);
  unlink(path);
  assert_folder_empty();
}

int main(void) {
  program = getenv("SDPA_LESSON");
  if (program == NULL || mkdtemp(folder) == NULL) {
    fputs("SDPA_LESSON must name the program, and the current folder be writable\n", stderr);
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nine_lines_and_the_comparison),
      cmocka_unit_test(nine_lines_of_seed_7),
      cmocka_unit_test(bad_arguments),
      cmocka_unit_test(help),
      cmocka_unit_test(full_disk),
      cmocka_unit_test(chart_without_gnuplot),
      cmocka_unit_test(chart_that_fails_half_way),
      cmocka_unit_test(chart_that_cannot_be_written),
      cmocka_unit_test(chart),
      cmocka_unit_test(training_chart),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failed;
}
