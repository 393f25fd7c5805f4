/* seconds.c - clocks of the system, in seconds
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L
#include "seconds.h"

#include <time.h>

static double read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double seconds_now(void) {
  return read_clock(CLOCK_MONOTONIC);
}

double thread_seconds(void) {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

double process_seconds(void) {
  return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
