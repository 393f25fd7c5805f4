/* cpu_quota.h - how many CPUs the process's control group may use at once
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A container with a CPU quota still sees every CPU of its host. More threads than the quota allows
 * are all stopped for the rest of each period, which costs far more than it gains.
 */
#ifndef SDPAI_CPU_QUOTA_H
#define SDPAI_CPU_QUOTA_H

#include <stdint.h>

/* CPUs of a quota and its period in microseconds, rounded up and at least 1; 0: no limit, or texts
 * that are no numbers. `quota` is the first word of cgroup v2's cpu.max (a number or "max") or v1's
 * cpu.cfs_quota_us (a number, -1: none); `period` is the second word or v1's cpu.cfs_period_us. */
int32_t sdpai_quota_cpus(const char *quota, const char *period);

/* The smallest quota of the process's control group and of the groups around it, in CPUs; 0: none.
 * Every path that is read is put behind `root`: "" for this machine's own. Control groups are
 * looked for under /sys/fs/cgroup, where every distribution mounts them. Allocates nothing. */
int32_t sdpai_cpu_quota(const char *root);

#endif
