/* cpu_spread.h - the threads of one job on CPUs of their own
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where few CPUs share a cache Linux looks for the CPU of a woken thread only where it slept; is
 * that the CPU of the thread that wakes it, both stay there, for milliseconds, with another CPU
 * idle, and two threads compute no faster than one (seen on a virtual machine of two CPUs, Linux
 * 6). So a sleeping thread is kept off the CPU of the one that wakes it, and threads of a job claim
 * the CPU they run on, and move away from one that is claimed.
 */
#ifndef SDPAI_CPU_SPREAD_H
#define SDPAI_CPU_SPREAD_H

#include <pthread.h>
#include <stdint.h>

/* CPUs with a higher number are neither claimed nor left. */
#define SDPAI_CLAIMABLE_CPUS 1024

/* One bit a CPU. */
struct sdpai_cpu_claims {
  _Atomic uint64_t words[SDPAI_CLAIMABLE_CPUS / 64];
};

/* Nothing is claimed but the calling thread's CPU. Before other threads see the claims. Leaves
 * errno alone, as all of these do. */
void sdpai_cpu_claims_start(struct sdpai_cpu_claims *claims);

/* Claims the calling thread's CPU. If it is claimed already, the thread moves to one that is not
 * and that its affinity mask allows, if there is any, and claims that. Its affinity mask is the
 * same afterwards, so later the system may move it as it likes. Does nothing where the system does
 * not tell or refuses. */
void sdpai_cpu_claim(struct sdpai_cpu_claims *claims);

/* Where a thread sleeps. Zeros to begin with; under a mutex of the caller's, but for the last. */
struct sdpai_cpu_bed {
  int cpu;                                     /* slept on; -1: not known, or a higher number */
  int is_moved;                                /* `allowed` holds the mask to restore */
  uint64_t allowed[SDPAI_CLAIMABLE_CPUS / 64]; /* a cpu_set_t */
};

/* The calling thread is about to sleep. */
void sdpai_cpu_lie_down(struct sdpai_cpu_bed *bed);

/* `thread`, which sleeps in `bed`, is about to be woken by the calling one: if it slept on this
 * CPU, this one is taken out of its affinity mask, unless it is the only one there. */
void sdpai_cpu_turn_out(struct sdpai_cpu_bed *bed, pthread_t thread);

/* `thread`, awake again or not woken after all, gets the affinity mask back that it had in `bed`,
 * which may be a copy. A mask that somebody gave it since it was turned out is kept. Leaves errno
 * alone. */
void sdpai_cpu_get_up(const struct sdpai_cpu_bed *bed, pthread_t thread);

#endif
