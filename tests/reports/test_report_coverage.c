/* test_report_coverage.c - that every reported failure of groups a to c has its test or its reason
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads cases/reports.json in the folder of the shared evidence; skips without it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_json.h"

struct entry {
  const char *id, *reason; /* reason NULL: it has a test */
};

static const struct entry entries[] = {
#define REPORT(id, name) {#id, NULL},
#define TIMED(id)
#define BACKWARD(id)
#define ELSEWHERE(id, reason) {#id, reason},
#include "report_list.def"
#undef REPORT
#undef TIMED
#undef BACKWARD
#undef ELSEWHERE
};

/* Those that have a test of the backward pass. */
static const char *const backward[] = {
#define REPORT(id, name)
#define TIMED(id)
#define BACKWARD(id) #id,
#define ELSEWHERE(id, reason)
#include "report_list.def"
#undef REPORT
#undef TIMED
#undef BACKWARD
#undef ELSEWHERE
};

/* Those that lines of the bench show, alone or together with a test. */
static const char *const timed[] = {
#define REPORT(id, name)
#define TIMED(id) #id,
#define BACKWARD(id)
#define ELSEWHERE(id, reason)
#include "report_list.def"
};
enum {
  ENTRIES = sizeof entries / sizeof *entries,
  TIMED_ENTRIES = sizeof timed / sizeof *timed,
  BACKWARD_ENTRIES = sizeof backward / sizeof *backward,
  MOST_REPORTS = 500
};

struct report {
  char id[48], group[48];
  int backward; /* its input or what it expects names the backward pass or a gradient */
};

static int names_backward(const char *text) {
  static const char *const words[] = {"backward", "dQ", "dK", "dV"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(text, words[i])) return 1;
  return 0;
}

static void keep_member(void *ctx, int object, const char *name, const char *value) {
  struct report *reports = ctx;
  if (object >= MOST_REPORTS) return;
  if (strcmp(name, "id") == 0) snprintf(reports[object].id, sizeof reports->id, "%.47s", value);
  if (strcmp(name, "input") == 0 || strcmp(name, "expected") == 0)
    reports[object].backward |= names_backward(value);
  if (strcmp(name, "group") == 0)
    snprintf(reports[object].group, sizeof reports->group, "%.47s", value);
}

/* The file as text, to be freed; NULL if there is none. */
static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  enum { MOST_BYTES = 1 << 20 };
  char *text = calloc(MOST_BYTES + 1, 1);
  assert_non_null(text);
  const size_t bytes = fread(text, 1, MOST_BYTES, file);
  fclose(file);
  assert_true(bytes > 0 && bytes < MOST_BYTES);
  return text;
}

static int is_ours(const struct report *report) {
  return report->group[0] >= 'a' && report->group[0] <= 'c';
}

static int count_entries(const char *id) {
  int n = 0;
  for (int k = 0; k < ENTRIES; k++) n += strcmp(entries[k].id, id) == 0;
  return n;
}

static int has_backward(const char *id) {
  int n = 0;
  for (int k = 0; k < BACKWARD_ENTRIES; k++) n += strcmp(backward[k], id) == 0;
  return n > 0;
}

static int count_timed(const char *id) {
  int n = 0;
  for (int k = 0; k < TIMED_ENTRIES; k++) n += strcmp(timed[k], id) == 0;
  return n;
}

static int is_report(const struct report *reports, int n, const char *id) {
  for (int i = 0; i < n; i++)
    if (is_ours(&reports[i]) && strcmp(reports[i].id, id) == 0) return 1;
  return 0;
}

/* Whether the file has a comment that begins with the id and a colon, and a problem below it before
 * the next such comment. */
static int has_lines(const char *text, const char *id) {
  char heading[REPORT_JSON_VALUE + 8];
  const int length = snprintf(heading, sizeof heading, "\n# %s: ", id);
  const char *at = strstr(text, heading);
  if (!at) return 0;
  at += length;
  while ((at = strchr(at, '\n')) != NULL) {
    at++;
    if (*at == 'f') return 1; /* f32:..., f64:... */
    if (at[0] == '#' && at[1] == ' ' && at[2] == 'B' && strchr("0123456789", at[3])) return 0;
  }
  return 0;
}

static void test_timed(void **state) {
  (void)state;
  char *text = read_text(TIMED_LINES);
  assert_non_null(text);
  for (int k = 0; k < TIMED_ENTRIES; k++)
    if (!has_lines(text, timed[k])) fail_msg("%s has no lines in bench/shapes", timed[k]);
  assert_false(has_lines("\n# B1: x\n# B2: y\nf32:q1\n", "B1"));
  assert_false(has_lines("\n# B12: x\nf32:q1\n", "B1"));
  assert_true(has_lines("\n# B1: x\n# of y\nf32:q1\n", "B1"));
  free(text);
}

static void test_every_report(void **state) {
  static struct report reports[MOST_REPORTS];
  const int n = report_json_read(*state, keep_member, reports);
  assert_true(n > 0 && n <= MOST_REPORTS);
  int ours = 0;
  for (int i = 0; i < n; i++) {
    assert_true(reports[i].id[0] != '\0' && reports[i].group[0] != '\0');
    if (!is_ours(&reports[i])) continue;
    ours++;
    const int tests = count_entries(reports[i].id), lines = count_timed(reports[i].id);
    if (tests > 1 || lines > 1 || tests + lines == 0)
      fail_msg("%s of group %s is %d times in report_list.def and %d times as TIMED, not once",
               reports[i].id, reports[i].group, tests, lines);
    if (reports[i].backward != has_backward(reports[i].id))
      fail_msg("%s %s the backward pass, and report_list.def says otherwise", reports[i].id,
               reports[i].backward ? "names" : "does not name");
  }
  for (int k = 0; k < ENTRIES; k++) {
    if (!is_report(reports, n, entries[k].id))
      fail_msg("%s of report_list.def is no report of groups a to c", entries[k].id);
    if (entries[k].reason) printf("%s not here: %s\n", entries[k].id, entries[k].reason);
  }
  for (int k = 0; k < TIMED_ENTRIES; k++)
    if (!is_report(reports, n, timed[k])) fail_msg("%s of TIMED is no report", timed[k]);
  printf("%d reports of groups a to c\n", ours);
}

static void ignore_member(void *ctx, int object, const char *name, const char *value) {
  (void)ctx, (void)object, (void)name, (void)value;
}

/* The reader takes nothing else for such an array: a cut file must not pass as a short one. */
static void test_reader(void **state) {
  (void)state;
  static const char *const wrong[] = {"",
                                      "[",
                                      "[]",
                                      "{}",
                                      "[{}]",
                                      "[{\"id\": 1}]",
                                      "[{\"id\": \"A1\"}",
                                      "[{\"id\": \"A1\"}] x",
                                      "[{\"id\": \"A1\"},]",
                                      "[{\"id\": \"A1\\",
                                      "[{\"id\": \"A1"};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    assert_int_equal(report_json_read(wrong[k], ignore_member, NULL), -1);
  static struct report two[MOST_REPORTS];
  const char *text =
      " [ {\"id\": \"A\\\"1\", \"group\":\"a\"} , {\"group\": \"b\", \"id\": \"B1\"}]\n";
  assert_int_equal(report_json_read(text, keep_member, two), 2);
  assert_string_equal(two[0].id, "A\\\"1");
  assert_string_equal(two[1].group, "b");
}

int main(void) {
  const struct CMUnitTest reader[] = {cmocka_unit_test(test_reader), cmocka_unit_test(test_timed)};
  const int failed = cmocka_run_group_tests(reader, NULL, NULL);
  if (failed) return failed;
  const char *folder = getenv("SDPA_SHARED_DIR");
  char path[4096];
  snprintf(path, sizeof path, "%s/cases/reports.json", folder ? folder : "../shared");
  char *text = read_text(path);
  if (!text) {
    printf("skipped: there is no collection of reported failures at %s\n", path);
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_every_report, text)};
  const int result = cmocka_run_group_tests(tests, NULL, NULL);
  free(text);
  return result;
}
