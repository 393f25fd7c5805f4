/* test_bench_timing.c - the statistics of the bench, on functions that only pretend to take time
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "thread_team.h"
#include "timing.h"

/* Says that a call takes one of `period` times in turn, each by `step` longer. */
struct pretender {
  double seconds, step;
  int period, runs;
};

static double pretend(void *arg, int64_t calls) {
  struct pretender *p = arg;
  return (double)calls * (p->seconds + p->step * (double)(p->runs++ % p->period));
}

static struct timed *timed_of(struct pretender *p, int count) {
  struct timed *timed = calloc((size_t)count, sizeof *timed);
  assert_non_null(timed);
  for (int i = 0; i < count; i++) {
    timed[i].run = pretend;
    timed[i].arg = &p[i];
  }
  return timed;
}

static int is_near(double a, double b) {
  return a > b * (1 - 1e-9) && a < b * (1 + 1e-9);
}

static void a_constant_time_is_stable_at_once(void **state) {
  struct pretender p[2] = {{1e-6, 0, 1, 0}, {4e-6, 0, 1, 0}};
  const struct timing_limits limits = {
      .sample_seconds = 1e-3, .total_seconds = 60, .min_rounds = 9, .spread = 0.01};
  struct timed *timed = timed_of(p, 2);
  (void)state;
  assert_int_equal(timing_run(timed, 2, &limits), 1);
  assert_int_equal(timed[0].rounds, 9);
  assert_true(is_near(timed[0].min, 1e-6) && is_near(timed[0].median, 1e-6));
  assert_true(is_near(timing_ratio(&timed[1], &timed[0]), 4.0));
  assert_in_range(timed[0].calls, 999, 1001);
  assert_in_range(timed[1].calls, 249, 251);
  free(timed);
}

/* Samples of 1, 2, ... 10 and again: the median stays uncertain by far more than 1 %. */
static void a_time_that_jumps_is_not_stable(void **state) {
  struct pretender p = {1.0, 1.0, 10, 0};
  const struct timing_limits limits = {
      .sample_seconds = 1e-3, .total_seconds = 60, .min_rounds = 9, .spread = 0.01};
  struct timed *timed = timed_of(&p, 1);
  (void)state;
  assert_int_equal(timing_run(timed, 1, &limits), 0);
  assert_int_equal(timed->rounds, TIMING_MAX_ROUNDS);
  assert_true(is_near(timed->min, 1.0) && is_near(timed->median, 5.5));
  assert_int_equal(timed->calls, 1);
  free(timed);
}

static void only_judged_functions_must_be_stable(void **state) {
  struct pretender p[2] = {{1.0, 0, 1, 0}, {1.0, 1.0, 10, 0}};
  struct timing_limits limits = {
      .sample_seconds = 1e-3, .total_seconds = 60, .min_rounds = 9, .judged = 1, .spread = 0.01};
  struct timed *timed = timed_of(p, 2);
  (void)state;
  assert_int_equal(timing_run(timed, 2, &limits), 1);
  limits.judged = 0;
  assert_int_equal(timing_run(timed, 2, &limits), 0);
  free(timed);
}

static void count_rounds(void *arg, int round, double spread) {
  int *last = arg;
  assert_int_equal(round, *last + 1);
  assert_true(spread >= 0.0);
  *last = round;
}

/* One round there always is, and it is never called stable for want of a second. */
static void no_time_left_means_one_round_and_not_stable(void **state) {
  struct pretender p = {1.0, 0, 1, 0};
  int rounds = 0;
  const struct timing_limits limits = {.sample_seconds = 1e-3,
                                       .total_seconds = 0,
                                       .min_rounds = 9,
                                       .spread = 0.01,
                                       .progress = count_rounds,
                                       .progress_arg = &rounds};
  struct timed *timed = timed_of(&p, 1);
  (void)state;
  assert_int_equal(timing_run(timed, 1, &limits), 0);
  assert_int_equal(timed->rounds, 1);
  assert_int_equal(rounds, 1);
  assert_true(is_near(timed->median, 1.0));
  free(timed);
}

static double seconds_of_a_run(struct timed *timed) {
  const struct timing_limits limits = {
      .sample_seconds = 1e-3, .total_seconds = 60, .min_rounds = 2, .spread = 0.01};
  const double start = timing_now();
  assert_int_equal(timing_run(timed, 2, &limits), 1);
  return timing_now() - start;
}

/* The pause is real time. Without one a run takes microseconds, but for a busy machine: the
 * shortest of ten counts. */
static void quiet_is_waited_for_only_after_spinning(void **state) {
  struct pretender p[2] = {{1.0, 0, 1, 0}, {1.0, 0, 1, 0}};
  struct timed *timed = timed_of(p, 2);
  double shortest = 1.0;
  (void)state;
  timed[1].needs_quiet = 1;
  for (int i = 0; i < 10; i++) {
    const double seconds = seconds_of_a_run(timed);
    if (seconds < shortest) shortest = seconds;
  }
  assert_true(shortest < TIMING_QUIET_SECONDS);
  timed[0].leaves_spinning = 1;
  assert_true(seconds_of_a_run(timed) >= TIMING_QUIET_SECONDS);
  free(timed);
}

enum { TEAM = 3, RUNS = 200 };
static atomic_int worked[TEAM];

static void note(void *arg, int thread) {
  (void)arg;
  atomic_fetch_add(&worked[thread], 1);
}

static void every_thread_of_a_team_works_once_a_run(void **state) {
  struct thread_team *team = thread_team_create(TEAM);
  (void)state;
  assert_non_null(team);
  assert_int_equal(thread_team_size(team), TEAM);
  for (int run = 1; run <= RUNS; run++) {
    assert_true(thread_team_run(team, note, NULL) >= 0.0);
    for (int i = 0; i < TEAM; i++) assert_int_equal(atomic_load(&worked[i]), run);
  }
  thread_team_destroy(team);
}

static void work_for_a_while(void *arg, int thread) {
  const double start = timing_now(), seconds = *(const double *)arg;
  while (thread == TEAM - 1 && timing_now() - start < seconds) {
  }
}

static void a_team_takes_as_long_as_its_slowest(void **state) {
  struct thread_team *team = thread_team_create(TEAM);
  double seconds = 0.02;
  (void)state;
  assert_non_null(team);
  assert_true(thread_team_run(team, work_for_a_while, &seconds) >= seconds);
  thread_team_destroy(team);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_constant_time_is_stable_at_once),
      cmocka_unit_test(a_time_that_jumps_is_not_stable),
      cmocka_unit_test(only_judged_functions_must_be_stable),
      cmocka_unit_test(no_time_left_means_one_round_and_not_stable),
      cmocka_unit_test(quiet_is_waited_for_only_after_spinning),
      cmocka_unit_test(every_thread_of_a_team_works_once_a_run),
      cmocka_unit_test(a_team_takes_as_long_as_its_slowest),
  };
  return cmocka_run_group_tests_name("bench timing", tests, NULL, NULL);
}
