/* test_thread_count.c - the default number of threads: affinity, control groups, environment
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The default is asked once a process, so each case runs in a child of its own.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include "parallel_support.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cpu_quota.h"
#include "sdpa/sdpa.h"

static void test_quota_texts(void **state) {
  (void)state;
  static const struct {
    const char *quota, *period;
    int32_t cpus;
  } cases[] = {
      {"max", "100000", 0},
      {"max 100000\n", " 100000\n", 0},
      {"-1\n", "100000\n", 0},
      {"100000", "100000", 1},
      {"100001", "100000", 2},
      {"50000", "100000", 1},
      {"1000", "1000000", 1},
      {"150000\n", "100000\n", 2},
      {"200000 100000\n", " 100000\n", 2},
      {"6400000", "100000", 64},
      {"0", "100000", 0},
      {"100000", "0", 0},
      {"", "", 0},
      {"100000", "", 0},
      {"", "100000", 0},
      {"rubbish", "100000", 0},
      {"100000", "rubbish", 0},
      {"100000", "-5", 0},
      {"9223372036854775807", "1", INT32_MAX},
      {"99999999999999999999999", "1", INT32_MAX},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(sdpai_quota_cpus(cases[i].quota, cases[i].period), cases[i].cpus);
}

/* ---- a tree of control groups in a folder of our own ----------------------------------------- */

static char root[] = "sdpa-cgroup-XXXXXX";

/* Writes root/path, making the folders on the way. */
static void put(const char *path, const char *text) {
  char full[512];
  snprintf(full, sizeof full, "%s/%s", root, path);
  for (char *slash = full; (slash = strchr(slash, '/')) != NULL; slash++) {
    *slash = '\0';
    mkdir(full, 0777);
    *slash = '/';
  }
  FILE *file = fopen(full, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void clear(void) {
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  assert_int_equal(system(command), 0);
}

static void test_quota_tree(void **state) {
  (void)state;
  assert_non_null(mkdtemp(root));
  assert_int_equal(sdpai_cpu_quota(root), 0); /* nothing there */

  /* version 2: the smallest on the way up, wherever the limit stands */
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  assert_int_equal(sdpai_cpu_quota(root), 0);
  put("sys/fs/cgroup/a/cpu.max", "350000 100000\n");
  assert_int_equal(sdpai_cpu_quota(root), 4);
  put("sys/fs/cgroup/a/b/cpu.max", "900000 100000\n");
  assert_int_equal(sdpai_cpu_quota(root), 4);
  put("sys/fs/cgroup/a/b/cpu.max", "20000 100000\n");
  assert_int_equal(sdpai_cpu_quota(root), 1);
  /* named as the host sees it, mounted as the container's own */
  put("proc/self/cgroup", "0::/docker/0123\n");
  put("sys/fs/cgroup/cpu.max", "300000 100000\n");
  assert_int_equal(sdpai_cpu_quota(root), 3);
  put("proc/self/cgroup", "0::/\n");
  assert_int_equal(sdpai_cpu_quota(root), 3);
  clear();

  /* version 1, beside an empty version 2; controllers that only resemble it */
  put("proc/self/cgroup", "12:cpuset:/x\n11:cpuacct,cpu:/x/y\n2:memory:/x\n0::/x\n");
  put("sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "100000\n");
  put("sys/fs/cgroup/cpuset/x/cpu.cfs_period_us", "100000\n");
  assert_int_equal(sdpai_cpu_quota(root), 0);
  put("sys/fs/cgroup/cpu/x/y/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu/x/y/cpu.cfs_period_us", "100000\n");
  assert_int_equal(sdpai_cpu_quota(root), 0);
  put("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "510000\n");
  put("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  assert_int_equal(sdpai_cpu_quota(root), 6);
  put("sys/fs/cgroup/cpuacct,cpu/x/y/cpu.cfs_quota_us", "25000\n");
  assert_int_equal(sdpai_cpu_quota(root), 6); /* a quota without a period */
  put("sys/fs/cgroup/cpuacct,cpu/x/y/cpu.cfs_period_us", "12500\n");
  assert_int_equal(sdpai_cpu_quota(root), 2);

  /* texts that no kernel writes */
  put("proc/self/cgroup", "rubbish\n:\n::\n5\n7:cpu\n\n0::relative\n");
  assert_int_equal(sdpai_cpu_quota(root), 0);
  clear();
  char *long_line = calloc(1, 100000);
  memset(long_line, 'x', 99999);
  memcpy(long_line, "0::/", 4);
  put("proc/self/cgroup", long_line);
  put("sys/fs/cgroup/cpu.max", "200000 100000\n");
  assert_int_equal(sdpai_cpu_quota(root), 2); /* too long a path: the mount alone */
  free(long_line);
  clear();
}

/* ---- processes ------------------------------------------------------------------------------- */

struct setting {
  const char *sdpa, *omp; /* NULL: unset */
  int32_t threads;        /* 0: the number of CPUs */
  int ignored;            /* SDPA_NUM_THREADS is reported */
};

static void put_environment(const char *name, const char *text) {
  if (text) {
    setenv(name, text, 1);
  } else {
    unsetenv(name);
  }
}

/* Exit status 0: as expected. The report holds through changes of the environment. */
static int check_setting(void *arg) {
  const struct setting *s = arg;
  put_environment("SDPA_NUM_THREADS", s->sdpa);
  put_environment("OMP_NUM_THREADS", s->omp);
  int32_t threads = sdpai_default_threads();
  setenv("SDPA_NUM_THREADS", "3", 1);
  char info[2000];
  sdpa_build_info(info, sizeof info);
  const char *report = strstr(info, "SDPA_NUM_THREADS");
  int right = threads == (s->threads ? s->threads : sdpai_cpu_count());
  right &= (sdpai_ignored_threads() != NULL) == s->ignored && (report != NULL) == s->ignored;
  if (s->ignored) {
    right &= strncmp(sdpai_ignored_threads(), s->sdpa, 63) == 0;
    right &= strlen(sdpai_ignored_threads()) <= 63;
    right &= strstr(info, "ignored") != NULL;
  }
  right &= sdpai_default_threads() == threads;
  if (!right)
    fprintf(stderr, "SDPA_NUM_THREADS=%s OMP_NUM_THREADS=%s: %d threads, %s\n",
            s->sdpa ? s->sdpa : "(unset)", s->omp ? s->omp : "(unset)", (int)threads, info);
  return !right;
}

static void test_environment(void **state) {
  (void)state;
  static const char endless[] =
      "x234567890123456789012345678901234567890123456789012345678901234567890";
  static const struct setting settings[] = {
      {NULL, NULL, 0, 0},
      {"5", NULL, 5, 0},
      {"5", "7", 5, 0},
      {NULL, "7", 7, 0},
      {"", "7", 7, 0},
      {" 6 ", NULL, 6, 0},
      {"1", "7", 1, 0},
      {"256", NULL, 256, 0},
      {"257", NULL, 256, 0},
      {"1000", NULL, 256, 0},
      {"99999999999999999999", NULL, 256, 0},
      {"4294967298", NULL, 256, 0}, /* 2^32 + 2 */
      {NULL, "2147483648", 256, 0},
      {"007", NULL, 7, 0},
      {NULL, "3,2,1", 3, 0},
      {NULL, " 4 , 2", 4, 0},
      {NULL, "9999", 256, 0},
      /* nonsense */
      {"0", NULL, 0, 1},
      {"-1", NULL, 0, 1},
      {"many", NULL, 0, 1},
      {"4x", NULL, 0, 1},
      {"3.5", NULL, 0, 1},
      {"4,2", NULL, 0, 1},
      {"+4", NULL, 0, 1},
      {"0x10", NULL, 0, 1},
      {" ", NULL, 0, 1},
      {"4 4", NULL, 0, 1},
      {"many", "7", 7, 1},
      {"-1", "many", 0, 1},
      {endless, NULL, 0, 1},
      {"%s%n", NULL, 0, 1},
      {NULL, "0", 0, 0},
      {NULL, "-2", 0, 0},
      {NULL, "many", 0, 0},
      {NULL, ",2", 0, 0},
      {NULL, "", 0, 0},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    struct setting setting = settings[i];
    assert_int_equal(wait_for_child(start_child(check_setting, &setting)), 0);
  }
}

/* Pinned to one CPU: one thread by default; more on request, and they need not spin to be right. */
static int check_one_cpu(void *arg) {
  cpu_set_t mask, one;
  (void)arg;
  unsetenv("SDPA_NUM_THREADS");
  unsetenv("OMP_NUM_THREADS");
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  CPU_ZERO(&one);
  for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
    if (CPU_ISSET(cpu, &mask)) CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return 2;
  if (sdpai_cpu_count() != 1 || sdpai_default_threads() != 1) return 3;
  int before = count_threads(NULL);
  for (int i = 0; i < 100; i++)
    if (!counted_run(0, 100) || !counted_run(3, 100)) return 4;
  if (!threads_become(before + 2)) return 5;
  sched_setaffinity(0, sizeof mask, &mask); /* read once */
  return sdpai_cpu_count() == 1 && sdpai_default_threads() == 1 ? 0 : 6;
}

static void test_one_cpu(void **state) {
  (void)state;
  assert_int_equal(wait_for_child(start_child(check_one_cpu, NULL)), 0);
}

static int check_affinity(void *arg) {
  cpu_set_t mask;
  (void)arg;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  int32_t quota = sdpai_cpu_quota(""), cpus = CPU_COUNT(&mask);
  return sdpai_cpu_count() == (quota > 0 && quota < cpus ? quota : cpus) ? 0 : 2;
}

static void test_this_machine(void **state) {
  (void)state;
  assert_int_equal(wait_for_child(start_child(check_affinity, NULL)), 0);
}

/* A quota for read_machine(), which asks the machine; 0: the machine's own. */
static int32_t quota_told;
int32_t __real_sdpai_cpu_quota(const char *from);
int32_t __wrap_sdpai_cpu_quota(const char *from);
int32_t __wrap_sdpai_cpu_quota(const char *from) {
  return quota_told ? quota_told : __real_sdpai_cpu_quota(from);
}

/* A quota below the CPUs of the mask counts, one above does not. */
static int check_quota(void *arg) {
  cpu_set_t mask;
  quota_told = *(const int32_t *)arg;
  unsetenv("SDPA_NUM_THREADS");
  unsetenv("OMP_NUM_THREADS");
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  const int32_t cpus = CPU_COUNT(&mask), expected = quota_told < cpus ? quota_told : cpus;
  return sdpai_cpu_count() == expected && sdpai_default_threads() == expected ? 0 : 2;
}

static void test_quota(void **state) {
  (void)state;
  int32_t quotas[] = {1, 2, 100000};
  for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++)
    assert_int_equal(wait_for_child(start_child(check_quota, &quotas[i])), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quota_texts),  cmocka_unit_test(test_quota_tree),
      cmocka_unit_test(test_environment),  cmocka_unit_test(test_one_cpu),
      cmocka_unit_test(test_this_machine), cmocka_unit_test(test_quota),
  };
  return cmocka_run_group_tests_name("thread_count", tests, NULL, NULL);
}
