/* test_emulated_tiles.c - the emulated tiles against Intel's manual, by numbers worked out by hand
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Skipped where the emulation, which is compiled for AVX-512, cannot run.
 */
#include "kernel_tests.h"

#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulated_tiles.h"
#include "peak_loops.h"

/* The loop of sdpa-bench --peak, over these tiles. */
double peak_tiles_emulated(int64_t rounds, const void *left, const void *right);
#define PEAK_TILES peak_tiles_emulated
#include "peak_tiles_tpl.h"

static uint16_t a[16][32], b[16][16][2];
static float c[16][16];

/* a, b and c to zero, for a configured unit. */
static int set_up(void **state) {
  (void)state;
  memset(a, 0, sizeof a);
  memset(b, 0, sizeof b);
  memset(c, 0, sizeof c);
  if (find_table(SDPA_ISA_AVX512)) TILES_CONFIGURE();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  if (find_table(SDPA_ISA_AVX512)) TILES_RELEASE();
  return emulated_configured();
}

static void multiply(void) {
  TILE_LOAD(3, c, sizeof c[0]);
  TILE_LOAD(4, a, sizeof a[0]);
  TILE_LOAD(5, b, sizeof b[0]);
  TILE_DP(3, 4, 5);
  TILE_STORE(3, c, sizeof c[0]);
}

/* The upper half of an f32. */
static uint16_t bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  assert_int_equal(bits & 0xffff, 0);
  return (uint16_t)(bits >> 16);
}

/* The k-th product of row m and column n. */
static void set_product(int m, int n, int k, float x, float y) {
  a[m][k] = bf16(x);
  b[k / 2][n][k % 2] = bf16(y);
}

static void test_every_place(void **state) {
  (void)state;
  need_isa(SDPA_ISA_AVX512);
  for (int m = 0; m < 16; m++)
    for (int k = 0; k < 32; k++) a[m][k] = bf16((float)((m * 5 + k * 3) % 11 - 5));
  for (int k = 0; k < 32; k++)
    for (int n = 0; n < 16; n++) b[k / 2][n][k % 2] = bf16((float)((k * 7 + n) % 13 - 6));
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 16; n++) c[m][n] = (float)(m - n);
  multiply();
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 16; n++) {
      int sum = m - n;
      for (int k = 0; k < 32; k++) sum += ((m * 5 + k * 3) % 11 - 5) * ((k * 7 + n) % 13 - 6);
      assert_true(c[m][n] == (float)sum);
    }
}

/* First numbers of the pairs, then second ones: 2^24 + 1 - 2^24 loses the 1 where both are in one
 * sum, and keeps it where the 1 is in the other. c comes last. */
static void test_order(void **state) {
  (void)state;
  need_isa(SDPA_ISA_AVX512);
  set_product(0, 0, 0, 0x1p24f, 1);
  set_product(0, 0, 2, 1, 1);
  set_product(0, 0, 4, -0x1p24f, 1);
  set_product(1, 1, 0, 0x1p24f, 1);
  set_product(1, 1, 3, 1, 1);
  set_product(1, 1, 4, -0x1p24f, 1);
  set_product(2, 2, 0, 1, 1);
  set_product(2, 2, 1, 1, 1);
  c[2][2] = 0x1p25f; /* 1 is a quarter of its unit, 2 half of it: only c + (1 + 1 + 2) moves */
  set_product(2, 2, 2, 2, 1);
  multiply();
  assert_true(c[0][0] == 0);
  assert_true(c[1][1] == 1);
  assert_true(c[2][2] == 0x1p25f + 4);
}

static void test_subnormal_numbers(void **state) {
  (void)state;
  need_isa(SDPA_ISA_AVX512);
  set_product(0, 0, 0, 0x1p-127f, 0x1p100f); /* operand */
  set_product(1, 1, 0, 0x1p-100f, 0x1p-27f); /* product */
  set_product(2, 2, 0, 0x1p-126f, 1);        /* smallest normal number */
  set_product(3, 3, 0, 0x1.8p-126f, 1);      /* difference */
  c[3][3] = -0x1p-126f;
  c[4][4] = 0x1p-127f; /* old sum */
  multiply();
  assert_true(c[0][0] == 0);
  assert_true(c[1][1] == 0);
  assert_true(c[2][2] == 0x1p-126f);
  assert_true(c[3][3] == 0);
  assert_true(c[4][4] == 0);
}

/* Whatever the thread's rounding mode is, and without a trace in it. */
static void test_rounding(void **state) {
  (void)state;
  need_isa(SDPA_ISA_AVX512);
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int i = 0; i < 4; i++) {
    memset(c, 0, sizeof c);
    set_product(0, 0, 0, 1, 1);
    set_product(0, 0, 2, 0x1p-24f, 1); /* half a unit: to even, down */
    set_product(1, 1, 0, 1, 1);
    set_product(1, 1, 2, 0x1.8p-24f, 1); /* more than half: up */
    feclearexcept(FE_ALL_EXCEPT);
    assert_int_equal(fesetround(modes[i]), 0);
    multiply();
    const int mode = fegetround(), flags = fetestexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    assert_int_equal(mode, modes[i]);
    assert_int_equal(flags, 0);
    assert_true(c[0][0] == 1);
    assert_true(c[1][1] == 0x1.000002p0f);
  }
}

static void test_special_numbers(void **state) {
  (void)state;
  need_isa(SDPA_ISA_AVX512);
  set_product(0, 0, 5, INFINITY, 2);
  set_product(1, 1, 5, INFINITY, 0);
  a[2][6] = 0x7fc0; /* NaN in a row of a: in that row of the result */
  multiply();
  assert_true(c[0][0] == INFINITY);
  assert_true(isnan(c[1][1]));
  for (int n = 0; n < 16; n++) assert_true(isnan(c[2][n]));
  assert_true(c[3][3] == 0);
}

/* What the bench counts is done: two flops a product, four products of tiles a round. */
static void test_peak_loop(void **state) {
  (void)state;
  need_isa(SDPA_ISA_AVX512);
  static uint16_t left[PEAK_TILE_BYTES / 2], right[PEAK_TILE_BYTES / 2];
  for (int i = 0; i < PEAK_TILE_BYTES / 2; i++) {
    left[i] = bf16(i < PEAK_TILE_BYTES / 4 ? 1 : 2);
    right[i] = bf16(i < PEAK_TILE_BYTES / 4 ? 1 : 4);
  }
  for (int rounds = 0; rounds < 4; rounds++) {
    const long before = emulated_multiplications();
    /* (1 + 2) (1 + 4) is the sum over the four tiles of one product in each of their places */
    const double sum = peak_tiles_emulated(rounds, left, right);
    assert_true(sum == 15.0 * PEAK_TILE_FLOPS / 4 / 2 * rounds);
    assert_int_equal(emulated_multiplications() - before, 4 * rounds);
    assert_int_equal(emulated_configured(), 0);
  }
}

/* As on the CPU there is no use without a configuration. */
static void test_without_configuration(void **state) {
  (void)state;
  need_isa(SDPA_ISA_AVX512);
  TILES_RELEASE();
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    TILE_ZERO(0);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_every_place, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_subnormal_numbers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_rounding, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_special_numbers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_peak_loop, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_without_configuration, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
