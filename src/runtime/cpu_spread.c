/* cpu_spread.c - the threads of one job on CPUs of their own
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* sched_getcpu, sched_setaffinity */
#include "runtime/cpu_spread.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { CLAIM_WORDS = SDPAI_CLAIMABLE_CPUS / 64 };
_Static_assert(sizeof(cpu_set_t) * 8 == SDPAI_CLAIMABLE_CPUS, "one mask holds all of them");

/* The CPU that this thread runs on; -1: not known, or none that can be claimed. */
static int current_cpu(void) {
  const int saved = errno;
  const int cpu = sched_getcpu();
  errno = saved;
  return cpu < SDPAI_CLAIMABLE_CPUS ? cpu : -1;
}

/* Claims the CPU that this thread runs on; returns whether it was claimed before. */
static int claim_current(struct sdpai_cpu_claims *claims) {
  const int cpu = current_cpu();
  if (cpu < 0) return 0;
  const uint64_t bit = UINT64_C(1) << (cpu % 64);
  return (atomic_fetch_or(&claims->words[cpu / 64], bit) & bit) != 0;
}

void sdpai_cpu_claims_start(struct sdpai_cpu_claims *claims) {
  for (int i = 0; i < CLAIM_WORDS; i++)
    atomic_store_explicit(&claims->words[i], 0, memory_order_relaxed);
  claim_current(claims);
}

void sdpai_cpu_claim(struct sdpai_cpu_claims *claims) {
  if (!claim_current(claims)) return;
  const int saved = errno;
  cpu_set_t allowed, free_cpus;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    CPU_ZERO(&free_cpus);
    for (size_t cpu = 0; cpu < SDPAI_CLAIMABLE_CPUS; cpu++)
      if (CPU_ISSET(cpu, &allowed) && !(atomic_load(&claims->words[cpu / 64]) >> (cpu % 64) & 1))
        CPU_SET(cpu, &free_cpus);
    if (CPU_COUNT(&free_cpus) > 0 && sched_setaffinity(0, sizeof free_cpus, &free_cpus) == 0) {
      claim_current(claims);
      sched_setaffinity(0, sizeof allowed, &allowed);
    }
  }
  errno = saved;
}

void sdpai_cpu_lie_down(struct sdpai_cpu_bed *bed) {
  bed->cpu = current_cpu();
}

void sdpai_cpu_turn_out(struct sdpai_cpu_bed *bed, pthread_t thread) {
  const int here = current_cpu();
  if (here < 0 || bed->cpu != here || bed->is_moved) return;
  cpu_set_t allowed;
  if (pthread_getaffinity_np(thread, sizeof allowed, &allowed) != 0) return;
  memcpy(bed->allowed, &allowed, sizeof allowed);
  CPU_CLR((size_t)here, &allowed);
  if (CPU_COUNT(&allowed) > 0)
    bed->is_moved = pthread_setaffinity_np(thread, sizeof allowed, &allowed) == 0;
}

void sdpai_cpu_get_up(const struct sdpai_cpu_bed *bed, pthread_t thread) {
  if (!bed->is_moved) return;
  cpu_set_t allowed, left, found;
  memcpy(&allowed, bed->allowed, sizeof allowed);
  left = allowed;
  CPU_CLR((size_t)bed->cpu, &left);
  if (pthread_getaffinity_np(thread, sizeof found, &found) == 0 && CPU_EQUAL(&found, &left))
    pthread_setaffinity_np(thread, sizeof allowed, &allowed);
}
