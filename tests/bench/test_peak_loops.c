/* test_peak_loops.c - the ceilings' loops do the work that is counted
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A ceiling that computes less than it says would make the library look slow. Every table that the
 * machine can run, against plain C.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sdpa/sdpa.h>

#include "bench_machine.h"
#include "ceilings.h"
#include "peak_loops.h"

/* The next table that runs here, from *i on; NULL at the end. */
static const struct peak_loops *next_table(int *i) {
  const struct peak_loops *loops;
  while ((loops = peak_loops_at((*i)++)) != NULL) {
    if (bench_machine_isa(loops->isa) == loops->isa) break;
  }
  return loops;
}

/* After s steps from 0 each lane holds 2 - 2^(1 - s). */
static void fma_loops_take_every_step(void **state) {
  const struct peak_loops *loops;
  int tables = 0;
  (void)state;
  for (int i = 0; (loops = next_table(&i)) != NULL; tables++) {
    for (int rounds = 0; rounds < 4; rounds++) {
      const double lane = 2.0 - ldexp(1.0, 1 - rounds * PEAK_CHAIN_STEPS);
      assert_true(loops->fma_f32(rounds) == PEAK_CHAINS * loops->f32_lanes * lane);
      assert_true(loops->fma_f64(rounds) == PEAK_CHAINS * loops->f64_lanes * lane);
    }
  }
  assert_true(tables > 0);
}

static void exponentials_are_exponentials(void **state) {
  enum { N = 16 * 4096 };
  float *x = aligned_alloc(PEAK_LINE, N * sizeof *x), *y = aligned_alloc(PEAK_LINE, N * sizeof *y);
  const struct peak_loops *loops;
  (void)state;
  assert_true(x && y);
  for (int i = 0; i < N; i++) x[i] = -87.0f + 175.0f * ((float)i + 0.5f) / N;
  for (int i = 0; (loops = next_table(&i)) != NULL;) {
    memset(y, 0, N * sizeof *y);
    loops->exp_f32(x, y, N);
    for (int j = 0; j < N; j++) {
      const double exact = exp((double)x[j]), error = fabs((double)y[j] / exact - 1.0);
      if (!(error <= 3e-7 + 1e-7 * fabs((double)x[j])))
        fail_msg("%s: exp(%a) is off by %.3g", loops->name, (double)x[j], error);
    }
  }
  free(x);
  free(y);
}

static void reading_reads_every_word(void **state) {
  enum { MOST = 64 * 300 };
  uint64_t *data = aligned_alloc(PEAK_LINE, MOST);
  const struct peak_loops *loops;
  (void)state;
  assert_non_null(data);
  for (size_t i = 0; i < MOST / 8; i++) data[i] = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
  for (int i = 0; (loops = next_table(&i)) != NULL;) {
    uint64_t sum = 0;
    for (int64_t bytes = 0; bytes <= MOST; bytes += PEAK_LINE) {
      assert_true(loops->read_plain(data, bytes) == sum);
      assert_true(loops->read_ahead(data, bytes) == sum);
      for (int j = 0; j < 8 && bytes < MOST; j++) sum += data[bytes / 8 + j];
    }
  }
  free(data);
}

static double element(const void *matrix, int is_f64, int i) {
  return is_f64 ? ((const double *)matrix)[i] : (double)((const float *)matrix)[i];
}

/* Small integers: every product and sum is exact, in any order. */
static void check_kernel(const struct register_kernel *kernel, int is_f64, int depth) {
  enum { ROOM = 16 * 64 * 64 };
  double *room = aligned_alloc(PEAK_LINE, 3 * ROOM * sizeof *room);
  assert_non_null(room);
  void *const matrix[3] = {room, room + ROOM, room + 2 * ROOM};
  for (int m = 0; m < 3; m++) {
    for (int i = 0; i < ROOM; i++) {
      const int value = (i * (7 + 4 * m)) % 11 - 5;
      if (is_f64)
        ((double *)matrix[m])[i] = value;
      else
        ((float *)matrix[m])[i] = (float)value;
    }
  }
  kernel->run(depth, matrix[0], matrix[1], matrix[2]);
  for (int i = 0; i < kernel->rows; i++) {
    for (int j = 0; j < kernel->columns; j++) {
      double sum = 0.0;
      for (int k = 0; k < depth; k++)
        sum += element(matrix[0], is_f64, k * kernel->rows + i) *
               element(matrix[1], is_f64, k * kernel->columns + j);
      const double got = element(matrix[2], is_f64, i * kernel->columns + j);
      if (got != sum)
        fail_msg("%s, depth %d: [%d][%d] is %g, not %g", kernel->name, depth, i, j, got, sum);
    }
  }
  free(room);
}

static void register_kernels_multiply(void **state) {
  const struct peak_loops *loops;
  int kernels = 0;
  (void)state;
  for (int i = 0; (loops = next_table(&i)) != NULL;) {
    for (int is_f64 = 0; is_f64 < 2; is_f64++) {
      const struct register_kernel *kernel = is_f64 ? loops->kernel_f64 : loops->kernel_f32;
      for (; kernel->name; kernel++, kernels++) {
        for (int depth = 0; depth < 6; depth++) check_kernel(kernel, is_f64, depth);
        check_kernel(kernel, is_f64, 64);
      }
    }
  }
  assert_true(kernels >= 2);
}

static void additions_are_all_made(void **state) {
  (void)state;
  for (uint64_t n = 0; n < 70; n++) assert_true(peak_dependent_adds(n) == n);
}

static void the_isa_in_force_has_loops(void **state) {
  (void)state;
  assert_int_equal(peak_loops_for(SDPA_ISA_GENERIC)->isa, SDPA_ISA_GENERIC);
  assert_int_equal(peak_loops_for(SDPA_ISA_NEON)->isa, SDPA_ISA_GENERIC);
#if defined(__x86_64__)
  assert_int_equal(peak_loops_for(SDPA_ISA_AVX2)->isa, SDPA_ISA_AVX2);
  assert_int_equal(peak_loops_for(SDPA_ISA_AVX512)->isa, SDPA_ISA_AVX512);
  assert_int_equal(peak_loops_for(SDPA_ISA_AMX)->isa, SDPA_ISA_AVX512);
#endif
}

/* Only an ISA with the unit has the loop; on a machine with it the loop multiplies. */
static void tiles_multiply(void **state) {
  static uint16_t a[1024] __attribute__((aligned(PEAK_LINE)));
  static uint16_t b[1024] __attribute__((aligned(PEAK_LINE)));
  (void)state;
  assert_true(peak_tiles_for(SDPA_ISA_AVX512) == NULL);
  assert_true(peak_tiles_for(SDPA_ISA_NEON) == NULL);
  if (bench_machine_isa(SDPA_ISA_AMX) != SDPA_ISA_AMX) skip();
  for (int i = 0; i < 1024; i++) {
    a[i] = 0x3f80; /* 1 */
    b[i] = 0x4000; /* 2 */
  }
  const peak_tiles loop = peak_tiles_for(SDPA_ISA_AMX);
  for (int rounds = 0; rounds < 4; rounds++) assert_true(loop(rounds, a, b) == 65536.0 * rounds);
}

/* Two threads: twice the operations a call, and a buffer in whole lines for both. */
static void ceilings_count_all_threads(void **state) {
  struct ceilings one, two;
  (void)state;
  for (int is_f64 = 0; is_f64 < 2; is_f64++) {
    assert_int_equal(ceilings_create(&one, SDPA_ISA_GENERIC, 1, is_f64, 1), 0);
    assert_int_equal(ceilings_create(&two, SDPA_ISA_GENERIC, 2, is_f64, 1000), 0);
    assert_true(ceilings_fma_flops(&two) == 2.0 * ceilings_fma_flops(&one));
    assert_true(ceilings_kernel_flops(&one) == 2.0 * 64 * one.kernel->rows * one.kernel->columns);
    assert_int_equal(one.read_bytes, 64);
    assert_int_equal(two.read_bytes, 1024);
    assert_true(ceilings_run_fma(&two, 3) > 0.0 && ceilings_run_kernel(&two, 3) > 0.0);
    assert_true(ceilings_run_exp(&two, 3) > 0.0 && ceilings_run_read(&two, 1000) > 0.0);
    assert_true(ceilings_run_adds(&two, 3) > 0.0);
    ceilings_destroy(&one);
    ceilings_destroy(&two);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fma_loops_take_every_step),
      cmocka_unit_test(exponentials_are_exponentials),
      cmocka_unit_test(reading_reads_every_word),
      cmocka_unit_test(register_kernels_multiply),
      cmocka_unit_test(additions_are_all_made),
      cmocka_unit_test(the_isa_in_force_has_loops),
      cmocka_unit_test(tiles_multiply),
      cmocka_unit_test(ceilings_count_all_threads),
  };
  return cmocka_run_group_tests_name("peak loops", tests, NULL, NULL);
}
