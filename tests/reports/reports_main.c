/* reports_main.c - runs the tests of reported failures, all or those that a pattern names
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * test_reports [PATTERN]: a shell pattern of test names, such as "test_A1_*". A pattern that names
 * no test is an error, not a success.
 */
#define _POSIX_C_SOURCE 200809L
#include "report_case.h"

#include <fnmatch.h>
#include <stdio.h>

#include "report_list.h"

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
#define REPORT(id, name) cmocka_unit_test(test_##id##_##name),
#define TIMED(id)
#define BACKWARD(id) cmocka_unit_test(test_##id##_backward),
#define ELSEWHERE(id, reason)
#include "report_list.def"
  };
  const char *pattern = argc > 1 ? argv[1] : "*";
  int named = 0;
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
    named += fnmatch(pattern, tests[i].name, 0) == 0;
  if (named == 0) {
    fprintf(stderr, "test_reports: no test is named %s\n", pattern);
    return 2;
  }
  cmocka_set_test_filter(pattern);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
