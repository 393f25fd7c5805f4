/* thread_count.c - how many threads are worth starting here
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Asked once, at the first use, and constant afterwards, so that a plan's scratch and its runs
 * agree on the number.
 */
#define _GNU_SOURCE /* sched_getaffinity, secure_getenv */
#include "runtime/parallel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cpu_quota.h"

static struct {
  int32_t cpus;
  int32_t threads;       /* the default */
  int ignored;           /* SDPA_NUM_THREADS is set and understood by nobody */
  char ignored_text[64]; /* its beginning: the environment's own text may go away */
} machine;
static pthread_once_t machine_once = PTHREAD_ONCE_INIT;

/* CPUs of the calling thread's affinity mask. The kernel refuses a mask smaller than its own. */
static int32_t affinity_cpus(void) {
  cpu_set_t masks[16];
  memset(masks, 0, sizeof masks);
  if (sched_getaffinity(0, sizeof masks, masks) == 0)
    return (int32_t)CPU_COUNT_S(sizeof masks, masks);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > SDPAI_MAX_THREADS ? SDPAI_MAX_THREADS : (int32_t)online;
}

/* The number from 1 upwards that the text consists of, blanks aside, held at SDPAI_MAX_THREADS;
 * with `list`, the first of several behind commas. 0: there is none. */
static int32_t read_number(const char *text, int list) {
  static const char digits[] = "0123456789", blanks[] = " \t";
  int32_t number = 0;
  text += strspn(text, blanks);
  size_t length = strspn(text, digits);
  const char *rest = text + length;
  rest += strspn(rest, blanks);
  if (*rest != '\0' && !(list && *rest == ',')) return 0;
  for (size_t i = 0; i < length && number < SDPAI_MAX_THREADS; i++)
    number = number * 10 + (text[i] - '0');
  return number < SDPAI_MAX_THREADS ? number : SDPAI_MAX_THREADS;
}

/* secure_getenv: a set-user-ID program does not let its caller choose what it starts. */
static int32_t environment_threads(void) {
  const char *text = secure_getenv("SDPA_NUM_THREADS");
  if (text && *text) {
    int32_t number = read_number(text, 0);
    if (number > 0) return number;
    machine.ignored = 1;
    strncpy(machine.ignored_text, text, sizeof machine.ignored_text - 1);
  }
  text = secure_getenv("OMP_NUM_THREADS");
  return text ? read_number(text, 1) : 0;
}

static void read_machine(void) {
  int saved = errno, cancel;
  /* Reading a file is a cancellation point, and would leave it open. */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  int32_t quota = sdpai_cpu_quota("");
  machine.cpus = affinity_cpus();
  if (quota > 0 && quota < machine.cpus) machine.cpus = quota;
  if (machine.cpus < 1) machine.cpus = 1;
  machine.threads = environment_threads();
  if (machine.threads == 0) machine.threads = machine.cpus;
  if (machine.threads > SDPAI_MAX_THREADS) machine.threads = SDPAI_MAX_THREADS;
  pthread_setcancelstate(cancel, &cancel);
  errno = saved;
}

int32_t sdpai_default_threads(void) {
  pthread_once(&machine_once, read_machine);
  return machine.threads;
}

int32_t sdpai_cpu_count(void) {
  pthread_once(&machine_once, read_machine);
  return machine.cpus;
}

const char *sdpai_ignored_threads(void) {
  pthread_once(&machine_once, read_machine);
  return machine.ignored ? machine.ignored_text : NULL;
}
