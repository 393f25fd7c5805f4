/* cpu_quota.c - how many CPUs the process's control group may use at once
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Files: cgroups(7), and Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst of the
 * Linux kernel.
 */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cpu_quota.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, NUMBER_BYTES = 64, GROUPS_BYTES = 8192 };

int32_t sdpai_quota_cpus(const char *quota, const char *period) {
  char *quota_end, *period_end;
  long long quota_us = strtoll(quota, &quota_end, 10);
  long long period_us = strtoll(period, &period_end, 10);
  if (quota_end == quota || period_end == period || quota_us <= 0 || period_us <= 0) return 0;
  long long cpus = quota_us / period_us + (quota_us % period_us != 0);
  return cpus > INT32_MAX ? INT32_MAX : (int32_t)cpus;
}

/* The beginning of a file, terminated; "" if it cannot be read. Returns whether there is any. */
static int read_text(const char *path, char *text, size_t bytes) {
  size_t length = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t got;
    while (length < bytes - 1 && (got = read(file, text + length, bytes - 1 - length)) > 0)
      length += (size_t)got;
    close(file);
  }
  text[length] = '\0';
  return length > 0;
}

/* The quota that the files of one folder state. */
static int32_t folder_quota(const char *folder) {
  char path[PATH_BYTES], quota[NUMBER_BYTES], period[NUMBER_BYTES];
  if (snprintf(path, sizeof path, "%s/cpu.max", folder) >= PATH_BYTES) return 0;
  if (read_text(path, quota, sizeof quota)) {
    const char *second = strchr(quota, ' ');
    return sdpai_quota_cpus(quota, second ? second : "");
  }
  if (snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder) >= PATH_BYTES) return 0;
  if (!read_text(path, quota, sizeof quota)) return 0;
  if (snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder) >= PATH_BYTES) return 0;
  read_text(path, period, sizeof period);
  return sdpai_quota_cpus(quota, period);
}

/* The smallest quota from the group's folder up to the mount. Folders that are not there say
 * nothing: inside a container the group may be named as the host sees it, while the container's own
 * group is what is mounted. */
static int32_t smallest_quota(const char *root, const char *mount, const char *group) {
  char folder[PATH_BYTES];
  int length = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, mount);
  if (length >= PATH_BYTES) return 0;
  size_t base = (size_t)length;
  if (snprintf(folder + base, sizeof folder - base, "%s", group) >= (int)(sizeof folder - base))
    folder[base] = '\0';
  int32_t smallest = 0;
  for (;;) {
    int32_t quota = folder_quota(folder);
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
    char *slash = strrchr(folder + base, '/');
    if (!slash) return smallest;
    *slash = '\0';
  }
}

static int32_t smaller_limit(int32_t a, int32_t b) {
  if (a == 0 || b == 0) return a + b;
  return a < b ? a : b;
}

/* Whether a comma-separated list contains "cpu". */
static int lists_cpu(const char *list) {
  for (;;) {
    size_t length = strcspn(list, ",");
    if (length == 3 && memcmp(list, "cpu", 3) == 0) return 1;
    if (list[length] == '\0') return 0;
    list += length + 1;
  }
}

/* Each line of /proc/self/cgroup is number:controllers:group; v2's has the number 0 and no
 * controllers. v1's controller is mounted under its own name, or that of its set. */
int32_t sdpai_cpu_quota(const char *root) {
  char path[PATH_BYTES], text[GROUPS_BYTES], mount[PATH_BYTES];
  int32_t smallest = 0;
  if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= PATH_BYTES) return 0;
  read_text(path, text, sizeof text);
  for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
    char *controllers = strchr(line, ':');
    if (!controllers) continue;
    char *group = strchr(++controllers, ':');
    if (!group) continue;
    *group++ = '\0';
    if (*controllers == '\0') {
      smallest = smaller_limit(smallest, smallest_quota(root, "", group));
    } else if (lists_cpu(controllers)) {
      smallest = smaller_limit(smallest, smallest_quota(root, "/cpu", group));
      if (snprintf(mount, sizeof mount, "/%s", controllers) < PATH_BYTES)
        smallest = smaller_limit(smallest, smallest_quota(root, mount, group));
    }
  }
  return smallest;
}
