/* test_odd_fp_env.c - callers in other rounding modes, flush-to-zero or traps, on threads
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tests/api/test_fp_env.c asks it of one call on its thread. Here the pool is started in the odd
 * environment and used from it, and from there and from the default one by turns: no number of
 * threads may show a bit of it (semantics rules 19 and 20). A child for each, for the pool's start.
 */
#define _GNU_SOURCE /* feenableexcept */
#include "entry_calls.h"
#include "parallel_support.h"

#include <fenv.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { MOST_THREADS = 4, ROUNDS = 3, NOT_HERE = 77 };
enum { FAILED = 1, WRONG_BITS, WRONG_LATER, ENV_CHANGED };
enum { TRAPS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT };

struct odd_env {
  const char *name;
  int rounding;
  int flushes, traps;
};

static const struct odd_env envs[] = {
    {"default", FE_TONEAREST, 0, 0},       {"upward", FE_UPWARD, 0, 0},
    {"downward", FE_DOWNWARD, 0, 0},       {"toward zero", FE_TOWARDZERO, 0, 0},
    {"flush to zero", FE_TONEAREST, 1, 0}, {"traps", FE_TONEAREST, 0, 1},
    {"all at once", FE_UPWARD, 1, 1},
};

static const uint32_t engines[] = {SDPA_ENGINE_TILED, SDPA_ENGINE_BLAS};

struct env_case {
  const struct odd_env *env;
  uint32_t engine;
};

/* The C library must have functions for traps; musl has none. */
static int set_traps(int traps) {
#if defined(__GLIBC__)
  return !traps || feenableexcept(TRAPS) != -1;
#else
  return !traps;
#endif
}

static int has_traps(int traps) {
#if defined(__GLIBC__)
  return fegetexcept() == (traps ? TRAPS : 0);
#else
  return !traps;
#endif
}

/* Returns whether the machine can do it. */
static int enter(const struct odd_env *env) {
  if (fesetround(env->rounding) != 0) return 0;
#if defined(__SSE2__)
  if (env->flushes) _mm_setcsr(_mm_getcsr() | 0x8040); /* bits 15 and 6: Intel SDM 1, 10.2.3 */
#else
  if (env->flushes) return 0;
#endif
  return set_traps(env->traps);
}

static int is_in(const struct odd_env *env) {
#if defined(__SSE2__)
  if (((_mm_getcsr() & 0x8040) == 0x8040) != env->flushes) return 0;
#endif
  return fegetround() == env->rounding && has_traps(env->traps);
}

static int in_child(void *arg) {
  const struct env_case *c = arg;
  static struct entry_output outs[MOST_THREADS][ENTRY_CALLS], out;
  int status = 0;
  if (!enter(c->env)) return NOT_HERE;
  for (int threads = MOST_THREADS; threads >= 1; threads--) {
    const sdpa_options options = entry_options(c->engine, threads);
    for (int call = 0; call < ENTRY_CALLS; call++) {
      if (entry_run((enum entry_call)call, &options, &outs[threads - 1][call]) != SDPA_OK)
        status = FAILED;
      if (!is_in(c->env)) status = ENV_CHANGED;
    }
  }
  fesetenv(FE_DFL_ENV);
  if (status != 0) return status;
  if (!entry_expect(c->engine)) return FAILED;
  for (int i = 0; i < MOST_THREADS; i++)
    for (int call = 0; call < ENTRY_CALLS; call++)
      if (!entry_is_right((enum entry_call)call, &outs[i][call])) return WRONG_BITS;
  /* workers that this environment started, for callers in either */
  for (int round = 0; round < ROUNDS; round++) {
    const sdpa_options options = entry_options(c->engine, 2 + round % (MOST_THREADS - 1));
    if (round % 2) enter(c->env);
    const int wrong = entry_run_all(&options, &out);
    fesetenv(FE_DFL_ENV);
    if (wrong != 0) return WRONG_LATER;
  }
  return 0;
}

static void test_environments(void **state) {
  (void)state;
  const int n_engines = 1 + wait_for_child(start_child(entry_offers_blas, NULL));
  int done = 0;
  for (int e = 0; e < n_engines; e++) {
    for (size_t i = 0; i < sizeof envs / sizeof *envs; i++) {
      struct env_case c = {&envs[i], engines[e]};
      const int status = wait_for_child(start_child(in_child, &c));
      if (status == NOT_HERE) continue;
      if (status != 0) fail_msg("%s, engine %u: %d", envs[i].name, (unsigned)engines[e], status);
      done++;
    }
  }
  assert_true(done >= 4 * n_engines); /* the rounding modes are everywhere */
}

static int init(void **state) {
  (void)state;
  entry_init();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_environments)};
  return cmocka_run_group_tests_name("odd_fp_env", tests, init, NULL);
}
