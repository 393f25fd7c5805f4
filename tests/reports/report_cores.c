/* report_cores.c - a reported failure of a BLAS's kernels for single core types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenBLAS chooses its kernels when it is loaded, by OPENBLAS_CORETYPE if that is set. So the test
 * starts its own program once more for each core type that this CPU can run.
 */
#define _POSIX_C_SOURCE 200809L
#include "report_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_program.h"
#include "report_list.h"

/* Set in the programs that are started, so that they start no others. */
#define CHILD_VARIABLE "SDPA_REPORT_CORE"

static double largest(const double *numbers, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(numbers[i]));
  return most;
}

/* Which paths are worth running: a product of the BLAS does not depend on how the library is
 * called, that of 16-bit data is the f32 one, and only the default core type need meet all of the
 * library's own ISAs. */
static int is_wanted(const struct report_path *path) {
  if (path->threads != 1 || path->extras || path->planned) return 0;
  if (path->type != SDPA_F64 && path->type != SDPA_F32) return 0;
  return !getenv(CHILD_VARIABLE) ||
         (path->isa == SDPA_ISA_AUTO && path->engine == SDPA_ENGINE_BLAS);
}

static void check_shape(int64_t rows, int64_t keys, int64_t dim) {
  struct report_case c;
  report_case_init(&c, report_one_head(rows, keys, dim, dim), 0);
  double *q = report_numbers(rows * dim, 1), *k = report_numbers(keys * dim, 2);
  double *v = report_numbers(keys * dim, 3), *expected = report_numbers(rows * dim, 0);
  c.query = (struct report_input){q, rows * dim, 0};
  c.key = (struct report_input){k, keys * dim, 0};
  c.value = (struct report_input){v, keys * dim, 0};
  report_plain_loop(&c, expected);
  const double magnitude = largest(v, keys * dim);
  struct report_path path;
  for (int i = 0; report_path(i, 0, &path); i++) {
    if (!is_wanted(&path)) continue;
    const double tolerance = (path.type == SDPA_F64 ? 1e-14 : 2e-6) * magnitude;
    struct report_outputs out;
    report_run(&c, &path, &out);
    for (int64_t n = 0; n < out.n_output; n++)
      if (!(fabs(out.output[n] - expected[n]) <= tolerance))
        fail_msg("output[%lld] is %.17g, not %.17g, with %lld x %lld x %lld, on %s", (long long)n,
                 out.output[n], expected[n], (long long)rows, (long long)keys, (long long)dim,
                 report_path_text(&path));
    report_outputs_free(&out);
  }
  free(q);
  free(k);
  free(v);
  free(expected);
}

static void check_shapes(void) {
  static const int64_t dims[] = {1, 7, 8, 64, 65};
  static const int64_t large[] = {63, 64, 65, 127, 129, 200}, large_dims[] = {16, 63, 128, 129};
  for (int64_t rows = 1; rows <= 40; rows++)
    for (int64_t keys = 1; keys <= 40; keys++)
      for (int d = 0; d < 5; d++) check_shape(rows, keys, dims[d]);
  for (int r = 0; r < 6; r++)
    for (int k = 0; k < 6; k++)
      for (int d = 0; d < 4; d++) check_shape(large[r], large[k], large_dims[d]);
}

/* Runs the tests that `pattern` names in a program of its own; returns its exit status. */
static int run_child(const char *core, const char *pattern) {
  printf("OPENBLAS_CORETYPE=%s, %s\n", core, pattern);
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    setenv("OPENBLAS_CORETYPE", core, 1);
    setenv("OPENBLAS_NUM_THREADS", "1",
           1); /* kernels are tested, and load from outside matters less */
    setenv(CHILD_VARIABLE, core, 1);
    start_own_program((const char *[]){"test_reports", pattern, NULL});
    _exit(127);
  }
  int status = -1;
  assert_true(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct core {
  const char *name;
  int runs_here;
};

/* The core types of x86 by what their kernels need. */
static int list_cores(struct core cores[6]) {
#if defined(__x86_64__) && defined(__GNUC__)
  const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  cores[0] = (struct core){"Prescott", __builtin_cpu_supports("sse3")};
  cores[1] = (struct core){"Nehalem", __builtin_cpu_supports("sse4.2")};
  cores[2] = (struct core){"Sandybridge", __builtin_cpu_supports("avx")};
  cores[3] = (struct core){"Haswell", avx2};
  cores[4] = (struct core){"Zen", avx2};
  cores[5] = (struct core){"SkylakeX", avx512};
  return 6;
#else
  (void)cores;
  return 0;
#endif
}

/* OpenMathLib/OpenBLAS#2182, OpenMathLib/OpenBLAS#2986: AVX-512 double kernels gave wrong numbers
 * for some shapes; libraries built on an older host only on the newer CPU. */
void test_C9_blas_core_types(void **state) {
  (void)state;
  char info[512];
  sdpa_build_info(info, sizeof info);
  const char *asked = getenv(CHILD_VARIABLE);
  if (asked) {
    char core[64];
    snprintf(core, sizeof core, "core %s", asked);
    if (!strstr(info, core)) fail_msg("OPENBLAS_CORETYPE=%s was not taken: %s", asked, info);
  }
  check_shapes();
  if (asked) return;
  if (!strstr(info, "DYNAMIC_ARCH")) {
    printf("this BLAS has no core types to choose from: %s\n", info);
    return;
  }
  /* The reports that are about numbers. */
  static const char *const patterns[] = {"test_C9_*",  "test_A1_*", "test_A6_*", "test_A14_*",
                                         "test_A16_*", "test_A2*",  "test_C6_*", "test_C7_*"};
  enum { PATTERNS = sizeof patterns / sizeof *patterns };
  struct core cores[6];
  const int n = list_cores(cores);
  int failed = 0;
  for (int k = 0; k < n; k++) {
    if (!cores[k].runs_here) printf("OPENBLAS_CORETYPE=%s needs another CPU\n", cores[k].name);
    for (int t = 0; cores[k].runs_here && t < PATTERNS; t++)
      failed += run_child(cores[k].name, patterns[t]) != 0;
  }
  assert_int_equal(failed, 0);
}
