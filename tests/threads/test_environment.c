/* test_environment.c - SDPA_MAX_ISA and SDPA_NUM_THREADS, sensible and not
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The library reads them once a process, so each case runs in a child of its own. Nonsense is
 * ignored, and sdpa_build_info() says so, with the text in question.
 */
#define _POSIX_C_SOURCE 200809L
#include "parallel_support.h"
#include "threaded_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct setting {
  const char *variable, *value;
  int ignored;
};

static const char endless[] =
    "x234567890123456789012345678901234567890123456789012345678901234567890123456789";

static char huge[1 << 20]; /* filled with letters in main() */

static const struct setting settings[] = {
    {"SDPA_MAX_ISA", "generic", 0},   {"SDPA_MAX_ISA", "", 0},
    {"SDPA_MAX_ISA", "avx3", 1},      {"SDPA_MAX_ISA", "GENERIC", 1},
    {"SDPA_MAX_ISA", "generic ", 1},  {"SDPA_MAX_ISA", "0", 1},
    {"SDPA_MAX_ISA", "%s%n%s", 1},    {"SDPA_MAX_ISA", endless, 1},
    {"SDPA_NUM_THREADS", "3", 0},     {"SDPA_NUM_THREADS", "", 0},
    {"SDPA_NUM_THREADS", "0", 1},     {"SDPA_NUM_THREADS", "-1", 1},
    {"SDPA_NUM_THREADS", "two", 1},   {"SDPA_NUM_THREADS", "%s%n%s", 1},
    {"SDPA_NUM_THREADS", endless, 1}, {"SDPA_NUM_THREADS", huge, 1},
    {"SDPA_MAX_ISA", huge, 1},        {"SDPA_MAX_ISA", "\x01\xff\x80\n", 1},
    {"SDPA_NUM_THREADS", "3;4", 1},   {"SDPA_NUM_THREADS", "\xff", 1},
    {"OMP_NUM_THREADS", "many", 0},   {"OMP_NUM_THREADS", huge, 0},
    {"OMP_NUM_THREADS", ",,", 0},     {"OMP_NUM_THREADS", "-3", 0}};

/* The ISA and the threads of a default plan. */
static sdpa_plan_info chosen(void) {
  const sdpa_problem problem = threaded_problem(THREADED_MANY);
  const sdpa_options options = threaded_options(0);
  sdpa_plan_info info = {.size = sizeof info};
  sdpa_plan *plan;
  if (sdpa_plan_create(&problem, &options, &plan) != SDPA_OK) return info;
  sdpa_plan_query(plan, &info);
  sdpa_plan_destroy(plan);
  return info;
}

static int tell_choice(void *arg) {
  (void)arg;
  const sdpa_plan_info info = chosen();
  return (int)info.isa; /* at most 120: it fits an exit status */
}
static int tell_threads(void *arg) {
  (void)arg;
  const sdpa_plan_info info = chosen();
  return info.threads > 100 ? 100 : (int)info.threads;
}

static int default_isa, default_threads; /* of a process without either variable */

static int check_setting(void *arg) {
  const struct setting *s = arg;
  static struct threaded_output out;
  char text[2048], begins[128];
  setenv(s->variable, s->value, 1);
  sdpa_build_info(text, sizeof text);
  snprintf(begins, sizeof begins, "%s=%.20s", s->variable, s->value);
  const int says = strstr(text, begins) != NULL && strstr(text, "ignored") != NULL;
  const char *first = strstr(text, "ignored");
  if (says != s->ignored) return 1;
  if (first && strstr(first + 1, "ignored")) return 2; /* said once */
  const sdpa_plan_info info = chosen();
  const int isa_asked = strcmp(s->value, "generic") == 0,
            threads_asked = strcmp(s->value, "3") == 0;
  if ((int)info.isa != (isa_asked ? SDPA_ISA_GENERIC : default_isa)) return 3;
  if (!threads_asked && info.threads != default_threads && default_threads < 100) return 4;
  if (threads_asked && info.threads != 3) return 5;
  return threaded_init() && threaded_run(0, &out) ? 0 : 6;
}

static void test_settings(void **state) {
  (void)state;
  unsetenv("SDPA_MAX_ISA");
  unsetenv("SDPA_NUM_THREADS");
  unsetenv("OMP_NUM_THREADS");
  default_isa = wait_for_child(start_child(tell_choice, NULL));
  default_threads = wait_for_child(start_child(tell_threads, NULL));
  assert_true(default_isa > 0 && default_threads > 0);
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    struct setting setting = settings[i];
    const int status = wait_for_child(start_child(check_setting, &setting));
    if (status != 0) fail_msg("%s=%s: %d", setting.variable, setting.value, status);
  }
}

int main(void) {
  memset(huge, 'x', sizeof huge - 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings)};
  return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
