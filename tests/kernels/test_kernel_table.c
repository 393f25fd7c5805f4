/* test_kernel_table.c - which kernels are chosen: ceilings, environment, policy
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The environment is read once a process, so every case runs in a child of its own; this process
 * itself never asks before the last tests.
 */
#define _GNU_SOURCE /* setenv, fork */
#include "kernel_tests.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cpu_features.h"
#include "runtime/tile_permission.h"

#ifdef SDPAI_ARCH_ARM64
enum { HIGHEST = SDPA_ISA_NEON, FOREIGN = SDPA_ISA_AVX512 };

static int best_available(void) {
  return SDPA_ISA_NEON;
}

static int best_possible(void) {
  return SDPA_ISA_NEON;
}

static int best_worthwhile(void) {
  return SDPA_ISA_NEON;
}
#else
enum { HIGHEST = SDPA_ISA_AMX, FOREIGN = SDPA_ISA_NEON };

static int best_available(void) {
  uint32_t cpu = sdpai_cpu_detect();
  return cpu & SDPAI_CPU_AMX      ? SDPA_ISA_AMX
         : cpu & SDPAI_CPU_AVX512 ? SDPA_ISA_AVX512
         : cpu & SDPAI_CPU_AVX2   ? SDPA_ISA_AVX2
                                  : SDPA_ISA_GENERIC;
}

/* Tiles only with the system's permission. */
static int best_possible(void) {
  const int best = best_available();
#ifdef SDPAI_ARCH_X86
  if (best == SDPA_ISA_AMX && !sdpai_tiles_permitted()) return SDPA_ISA_AVX512;
#endif
  return best;
}

static int best_worthwhile(void) {
  uint32_t cpu = sdpai_cpu_detect();
  if (cpu & SDPAI_CPU_512_BITS_WORTH_IT) return best_possible();
  return cpu & SDPAI_CPU_AVX2 ? SDPA_ISA_AVX2 : SDPA_ISA_GENERIC;
}
#endif

static int least(int a, int b) {
  return a < b ? a : b;
}

/* What SDPA_MAX_ISA says (NULL: unset), the call's ceiling, and what must be chosen. */
struct choice {
  const char *environment;
  uint32_t ceiling;
  int insists; /* 512-bit vectors are asked for by name */
  int at_most; /* the lower of both ceilings */
  int ignored; /* the text is to be reported */
};

static const struct choice choices[] = {
    {NULL, SDPA_ISA_AUTO, 0, HIGHEST, 0},
    {NULL, SDPA_ISA_GENERIC, 0, SDPA_ISA_GENERIC, 0},
    {NULL, FOREIGN, 0, SDPA_ISA_GENERIC, 0},
    {"generic", SDPA_ISA_AUTO, 0, SDPA_ISA_GENERIC, 0},
    {"generic", HIGHEST, 1, SDPA_ISA_GENERIC, 0},
    {"", SDPA_ISA_AUTO, 0, HIGHEST, 0},
    {"sse2", SDPA_ISA_AUTO, 0, HIGHEST, 1},
    {"AVX2", SDPA_ISA_GENERIC, 0, SDPA_ISA_GENERIC, 1},
#ifdef SDPAI_ARCH_X86
    {NULL, SDPA_ISA_AVX2, 0, SDPA_ISA_AVX2, 0},
    {NULL, SDPA_ISA_AVX512, 1, SDPA_ISA_AVX512, 0},
    {NULL, SDPA_ISA_AMX, 1, SDPA_ISA_AMX, 0},
    {"avx2", SDPA_ISA_AUTO, 0, SDPA_ISA_AVX2, 0},
    {"avx2", SDPA_ISA_AVX512, 1, SDPA_ISA_AVX2, 0},
    {"avx512", SDPA_ISA_AUTO, 1, SDPA_ISA_AVX512, 0},
    {"avx512", SDPA_ISA_AVX2, 1, SDPA_ISA_AVX2, 0},
    {"amx", SDPA_ISA_AUTO, 1, SDPA_ISA_AMX, 0},
    {"amx", SDPA_ISA_GENERIC, 1, SDPA_ISA_GENERIC, 0},
    {"avx512 ", SDPA_ISA_AVX512, 1, SDPA_ISA_AVX512, 1},
    {"neon", SDPA_ISA_AUTO, 0, SDPA_ISA_AMX, 1},
#endif
#ifdef SDPAI_ARCH_ARM64
    {NULL, SDPA_ISA_NEON, 0, SDPA_ISA_NEON, 0},
    {"neon", SDPA_ISA_AUTO, 0, SDPA_ISA_NEON, 0},
    {"neon", SDPA_ISA_GENERIC, 0, SDPA_ISA_GENERIC, 0},
    {"avx512", SDPA_ISA_AUTO, 0, SDPA_ISA_NEON, 1},
#endif
};

/* In the child: 0, or what is wrong. */
static int run_choice(const struct choice *c) {
  if (c->environment)
    setenv("SDPA_MAX_ISA", c->environment, 1);
  else
    unsetenv("SDPA_MAX_ISA");
  int expected = least(c->insists ? best_possible() : best_worthwhile(), c->at_most);
  if ((int)sdpai_kernels_select(c->ceiling)->isa != expected) return 1;
  setenv("SDPA_MAX_ISA", "something else", 1); /* read once: no longer seen */
  if ((int)sdpai_kernels_select(c->ceiling)->isa != expected) return 2;
  const char *ignored = sdpai_kernels_ignored_ceiling();
  if ((ignored != NULL) != c->ignored) return 3;
  if (ignored && strcmp(ignored, c->environment) != 0) return 4;
  return 0;
}

static void test_choices(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(run_choice(&choices[i]));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0)
      print_error("SDPA_MAX_ISA=%s, ceiling %u\n",
                  choices[i].environment ? choices[i].environment : "(unset)", choices[i].ceiling);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
}

enum { THREADS = 8 };
static pthread_barrier_t barrier;

static void *select_at_once(void *found) {
  pthread_barrier_wait(&barrier);
  *(const struct sdpai_kernels **)found = sdpai_kernels_select(SDPA_ISA_AUTO);
  return NULL;
}

/* The first calls of the process, at once: the thread sanitizer sees a race here if there is one.
 */
static void test_first_call_from_many_threads(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  const struct sdpai_kernels *found[THREADS];
  assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, select_at_once, &found[i]), 0);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < THREADS; i++) {
    assert_non_null(found[i]);
    assert_ptr_equal(found[i], found[0]);
  }
  pthread_barrier_destroy(&barrier);
}

/* Every table is complete, worst first, and holds its own ISA's kernels where kernel_list.def has
 * them. */
static void test_tables(void **state) {
  (void)state;
  const struct sdpai_kernels *table;
  uint32_t before = 0;
  int count = 0;
  for (; (table = sdpai_kernels_available(count)) != NULL; count++) {
    assert_true(table->isa > before);
    before = table->isa;
    assert_non_null(table->name);
    assert_int_equal(table->f32.lanes, lanes_of(table->isa, sizeof(float)));
    assert_int_equal(table->f64.lanes, lanes_of(table->isa, sizeof(double)));
#define SDPAI_KERNEL(isa_, type_, op_)                                                             \
  assert_true(table->type_.op_ != NULL);                                                           \
  if (table->isa == TEST_ISA_##isa_) {                                                             \
    assert_string_equal(table->name, #isa_);                                                       \
    assert_true(table->type_.op_ == SDPAI_KERNEL_NAME(type_, op_, isa_));                          \
  }
#define SDPAI_MATRIX_KERNEL(isa_, op_)                                                             \
  assert_true(table->matrix.op_ ==                                                                 \
              (table->isa == TEST_ISA_##isa_ ? SDPAI_KERNEL_NAME(matrix, op_, isa_) : NULL));
#include "kernels/kernel_list.def"
#undef SDPAI_KERNEL
#undef SDPAI_MATRIX_KERNEL
  }
  assert_int_equal(before, best_available());
  assert_null(sdpai_kernels_available(-1));
  assert_null(sdpai_kernels_available(count + 1));
  assert_string_equal(sdpai_kernels_available(0)->name, "generic");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choices),
      cmocka_unit_test(test_first_call_from_many_threads),
      cmocka_unit_test(test_tables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
