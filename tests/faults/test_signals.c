/* test_signals.c - signals that arrive all the time while the library computes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The handlers compute in the floating-point unit, in another rounding mode. SIGALRM and SIGUSR1
 * reach the threads of the application, SIGPROF the library's workers too: they leave it open.
 */
#define _GNU_SOURCE /* gettid */
#include "entry_calls.h"
#include "parallel_support.h"

#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "sanitizers.h"
#include "seconds.h"

enum { THREADS = 3, WANTED = 300, PERIOD_MICROSECONDS = 200, ALTERNATIVE_STACK = 64 * 1024 };

static _Atomic int32_t handled, inside_calls, in_workers, wrong_arithmetic, storm_is_over;
static _Atomic int is_calling;
static pid_t caller_id;

/* Upwards, a third is above the nearest double; and a square root, and errno set on the way. */
static void handler(int number) {
  const int saved = errno;
  fenv_t env;
  volatile double one = 1, three = 3, nine = 9;
  (void)number;
  fegetenv(&env);
  fesetround(FE_UPWARD);
  if (one / three != 0x1.5555555555556p-2 || sqrt(nine) != 3)
    atomic_fetch_add(&wrong_arithmetic, 1);
  atomic_fetch_add(&handled, 1);
  if (atomic_load(&is_calling)) atomic_fetch_add(&inside_calls, 1);
  if (gettid() != caller_id) atomic_fetch_add(&in_workers, 1);
  /* ThreadSanitizer calls handlers later, as functions; a return from a signal would restore the
   * registers. */
  if (THREAD_SANITIZER) fesetenv(&env);
  errno = saved;
}

/* To every thread but the sender and the caller: workers, at work and asleep. */
static void signal_workers(void) {
  DIR *folder = opendir("/proc/self/task");
  if (!folder) return;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
    if (thread > 0 && thread != caller_id && thread != gettid())
      syscall(SYS_tgkill, getpid(), thread, SIGPROF);
  }
  closedir(folder);
}

/* Faster than the timers, which keep to the kernel's tick. */
static void *send_signals(void *arg) {
  const pthread_t *target = arg;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL); /* the timers' signals are for the others */
  while (!atomic_load(&storm_is_over)) {
    pthread_kill(*target, SIGUSR1);
    signal_workers();
    sleep_microseconds(50);
  }
  return NULL;
}

static void set_handler(int number, int flags) {
  struct sigaction action = {.sa_flags = flags};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void set_timers(long microseconds) {
  const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
  assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
  assert_int_equal(setitimer(ITIMER_PROF, &timer, NULL), 0);
}

/* Calls until enough signals have arrived inside; how many of the calls were wrong. */
static int call_in_storm(uint32_t engine) {
  static struct entry_output out;
  const int32_t first = atomic_load(&inside_calls);
  const double end = seconds_now() + PATIENCE_SECONDS;
  int wrong = 0;
  for (int32_t i = 0; atomic_load(&inside_calls) < first + WANTED && seconds_now() < end; i++) {
    const sdpa_options options = entry_options(engine, 1 + i % THREADS);
    for (int call = 0; call < ENTRY_CALLS; call++) {
      errno = 1234;
      atomic_store(&is_calling, 1);
      const sdpa_status status = entry_run((enum entry_call)call, &options, &out);
      atomic_store(&is_calling, 0);
      wrong += status != SDPA_OK || errno != 1234 || fegetround() != FE_TONEAREST ||
               !entry_is_right((enum entry_call)call, &out);
    }
  }
  return wrong;
}

static void run_storm(uint32_t engine, int flags) {
  static char stack[ALTERNATIVE_STACK];
  const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
  const stack_t none = {.ss_flags = SS_DISABLE};
  pthread_t sender, self = pthread_self();
  atomic_store(&storm_is_over, 0);
  if (flags & SA_ONSTACK) assert_int_equal(sigaltstack(&alternative, NULL), 0);
  set_handler(SIGALRM, flags);
  set_handler(SIGPROF, flags);
  set_handler(SIGUSR1, flags);
  const int32_t before = atomic_load(&inside_calls);
  assert_int_equal(pthread_create(&sender, NULL, send_signals, &self), 0);
  set_timers(PERIOD_MICROSECONDS);
  const int wrong = call_in_storm(engine);
  set_timers(0);
  atomic_store(&storm_is_over, 1);
  assert_int_equal(pthread_join(sender, NULL), 0);
  if (flags & SA_ONSTACK) assert_int_equal(sigaltstack(&none, NULL), 0);
  assert_int_equal(wrong, 0);
  assert_int_equal(atomic_load(&wrong_arithmetic), 0);
  assert_true(atomic_load(&inside_calls) >= before + WANTED);
}

static void storm_on(uint32_t engine) {
  static const int flags[] = {0, SA_RESTART, SA_ONSTACK | SA_RESTART};
  assert_true(entry_expect(engine));
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) run_storm(engine, flags[i]);
}

static void test_storm_on_tiled(void **state) {
  (void)state;
  storm_on(SDPA_ENGINE_TILED);
  print_message("%d signals, %d inside calls, %d on workers\n", (int)atomic_load(&handled),
                (int)atomic_load(&inside_calls), (int)atomic_load(&in_workers));
  if (!THREAD_SANITIZER) assert_true(atomic_load(&in_workers) > 0);
}

static void test_storm_on_blas(void **state) {
  (void)state;
  if (!entry_offers(SDPA_ENGINE_BLAS)) skip();
  storm_on(SDPA_ENGINE_BLAS);
}

static int init(void **state) {
  (void)state;
  caller_id = gettid();
  entry_init();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_storm_on_tiled),
      cmocka_unit_test(test_storm_on_blas),
  };
  return cmocka_run_group_tests_name("signals", tests, init, NULL);
}
