/* test_matrix_kernels.c - the kernels of the matrix unit against exact products
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled twice: with the emulated unit, and with the machine's own, where everything is skipped if
 * there is none. Operands lie at the ends of guarded memory; what the kernels write has just the
 * room that their contracts ask for.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "guarded.h"
#include "kernel_tests.h"

enum { KEYS = 128, DIM = 80, WIDTH = 48 };
enum { PACKED = KEYS * 96 * 3 };

static struct guarded memory[8];
static const struct sdpai_matrix_kernels *unit;

/* bf16; f16 data, by whose 11 bits the products of two parts are exact; f32 reduced and full; f32
 * queries with bf16 keys. */
static const struct sdpai_parts all_parts[] = {
    {1, 1, 0}, {2, 2, 2}, {2, 2, 1}, {3, 3, 2}, {1, 3, 2}};
enum { PARTS = sizeof all_parts / sizeof *all_parts };

/* Bits of a number's significand that its parts hold. */
static const int part_bits[] = {0, 8, 11, 24};

/* What products of numbers with so many bits may be wrong by, relative to the sum of magnitudes:
 * the parts' products that are left out, and a rounding a multiplication of the chain. */
static double parts_error(struct sdpai_parts parts, int64_t dim) {
  const int reduced = parts.left == 2 && parts.order == 1;
  return (reduced ? 0x1p-15 : 0) + (double)(dim + 8) * 0x1p-24;
}

static float with_bits(double x, int bits) {
  int exponent;
  const double fraction = frexp(x, &exponent);
  return (float)ldexp(rint(ldexp(fraction, bits)), exponent - bits);
}

static void fill(int64_t n, float *x, double low, double high, int bits, uint64_t *state) {
  for (int64_t t = 0; t < n; t++) x[t] = with_bits(next_between(state, low, high), bits);
}

/* The significands that the test's numbers have: all that the parts can hold, or more where a part
 * less than needed is the point. */
static int bits_of(int parts, int order) {
  return parts == 2 && order == 1 ? 24 : part_bits[parts];
}

struct product {
  int64_t keys, dim, width, ldk;
  const float *k, *q;
  struct sdpai_parts parts;
};

static int64_t tiles(int64_t n, int64_t size) {
  return (n + size - 1) / size;
}

/* Packs and multiplies in guarded memory. */
static float *multiply(const struct product *c, enum placement where) {
  const int64_t steps = tiles(c->dim, 32), rows = tiles(c->keys, 16);
  const size_t left = (size_t)(rows * c->parts.left * steps * 512);
  const size_t right = (size_t)(c->width / 16 * c->parts.right * steps * 512);
  uint16_t *k = guarded_place(&memory[2], where, left, sizeof *k, NULL);
  uint16_t *q = guarded_place(&memory[3], where, right, sizeof *q, NULL);
  uint8_t *unfit_k = guarded_place(&memory[4], where, (size_t)c->keys, 1, NULL);
  uint8_t *unfit_q = guarded_place(&memory[5], where, (size_t)c->width, 1, NULL);
  float *s = guarded_place(&memory[6], where, (size_t)(rows * 16 * c->width), sizeof *s, NULL);
  assert_int_equal(unit->pack_keys(c->keys, c->dim, c->k, c->ldk, c->parts.left, k, unfit_k), 0);
  assert_int_equal(unit->pack_queries(c->width, c->dim, c->q, c->parts.right, q, unfit_q), 0);
  for (int64_t j = 0; j < c->keys; j++) assert_int_equal(unfit_k[j], 0);
  for (int64_t i = 0; i < c->width; i++) assert_int_equal(unfit_q[i], 0);
  unit->configure();
  unit->products(c->keys, c->width, c->dim, k, q, c->parts, s);
  unit->release();
  for (int g = 0; g < 7; g++) guarded_check(&memory[g]);
  return s;
}

/* Largest error relative to the sum of magnitudes, at most `most`. */
static void assert_products(const struct product *c, const float *s, double most) {
  for (int64_t j = 0; j < c->keys; j++)
    for (int64_t i = 0; i < c->width; i++) {
      long double sum = 0, size = 0;
      for (int64_t t = 0; t < c->dim; t++) {
        const long double term = (long double)c->k[j * c->ldk + t] * c->q[t * c->width + i];
        sum += term;
        size += fabsl(term);
      }
      assert_true(fabsl((long double)s[j * c->width + i] - sum) <= most * size);
    }
}

static const int64_t some_keys[] = {0, 1, 15, 16, 17, 31, 32, 33, 48, 63, 100, 127, 128};
static const int64_t some_dims[] = {1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 65, 80};
enum { SOME_KEYS = sizeof some_keys / sizeof *some_keys };
enum { SOME_DIMS = sizeof some_dims / sizeof *some_dims };

static void check_products(struct product c, enum placement where, double low, double high,
                           uint64_t *state) {
  static float k[KEYS * (DIM + 3)], q[DIM * WIDTH];
  const int64_t nk = c.keys > 0 ? (c.keys - 1) * c.ldk + c.dim : 0;
  fill(nk, k, low, high, bits_of(c.parts.left, c.parts.order), state);
  fill(c.dim * c.width, q, low, high, bits_of(c.parts.right, c.parts.order), state);
  for (int64_t t = 0; t < nk; t++)
    if (t % c.ldk >= c.dim) k[t] = NAN;
  c.k = guarded_place(&memory[0], where, (size_t)nk, sizeof *k, k);
  c.q = guarded_place(&memory[1], where, (size_t)(c.dim * c.width), sizeof *q, q);
  assert_products(&c, multiply(&c, where), parts_error(c.parts, c.dim));
}

static void test_products(void **unused) {
  (void)unused;
  uint64_t state = 1;
  for (int n = 0; n < SOME_KEYS; n++)
    for (int d = 0; d < SOME_DIMS; d++)
      for (int p = 0; p < PARTS; p++) {
        const struct product c = {.keys = some_keys[n],
                                  .dim = some_dims[d],
                                  .width = 16 * (1 + (n + d + p) % 3),
                                  .ldk = some_dims[d] + n % 3,
                                  .parts = all_parts[p]};
        check_products(c, (enum placement)((n + p) % PLACEMENTS), -2, 2, &state);
      }
}

/* At the ends of the range of numbers that fit nothing is flushed and nothing overflows. Sums that
 * cancel down to single low bits would show it. */
static void test_products_range(void **unused) {
  (void)unused;
  uint64_t state = 2;
  for (int p = 0; p < PARTS; p++) {
    struct product c = {.keys = 48, .dim = 64, .width = 32, .ldk = 64, .parts = all_parts[p]};
    check_products(c, AT_END, 0x1p-40, 0x1.8p-40, &state);
    check_products(c, AT_END, 0x1p32, 0x1.fep32, &state);
  }
  /* Two terms that differ in their last bits alone. */
  static float k[2], q[2 * 16];
  const struct product c = {
      .keys = 1, .dim = 2, .width = 16, .ldk = 2, .k = k, .q = q, .parts = {3, 3, 2}};
  k[0] = 0x1.000002p-40f;
  k[1] = -0x1p-40f;
  for (int i = 0; i < 16; i++) q[i] = q[16 + i] = 0x1p-40f + (float)i * 0x1p-63f;
  const float *s = multiply(&c, AT_END);
  for (int i = 0; i < 16; i++)
    assert_true(fabsl((long double)s[i] - (long double)0x1p-63f * q[i]) <= 0x1p-24L * 0x1p-79L);
}

/* Neither the other keys nor the width of the panel change a bit. */
static void test_products_alone(void **unused) {
  (void)unused;
  static float k[KEYS * DIM], q[DIM * WIDTH], narrow[DIM * 16], all[KEYS * WIDTH];
  uint64_t state = 3;
  struct product c = {.keys = 37, .dim = 70, .width = 48, .ldk = 70, .k = k, .q = q};
  fill(KEYS * DIM, k, -2, 2, 24, &state);
  fill(DIM * WIDTH, q, -2, 2, 24, &state);
  for (int p = 0; p < PARTS; p++) {
    c.parts = all_parts[p];
    memcpy(all, multiply(&c, AT_END), (size_t)(c.keys * c.width) * sizeof *all);
    for (int64_t i = 0; i < c.width; i += 16) {
      for (int64_t t = 0; t < c.dim; t++)
        memcpy(narrow + t * 16, q + t * c.width + i, 16 * sizeof *narrow);
      for (int64_t j = 0; j < c.keys; j++) {
        struct product one = c;
        one.keys = 1, one.width = 16, one.k = k + j * c.ldk, one.q = narrow;
        assert_memory_equal(multiply(&one, AT_END), all + j * c.width + i, 16 * sizeof *all);
      }
    }
  }
}

/* Every key and every lane on its own: those that fit do not see the others. */
static void test_products_unfit(void **unused) {
  (void)unused;
  static const float odd[] = {NAN,      INFINITY,   -INFINITY,        0x1p33f,  -0x1p127f,
                              0x1p-41f, -0x1p-149f, -0x1.fffffep-41f, 0x1p-126f};
  enum { ODD = sizeof odd / sizeof *odd, N = 20, D = 40 };
  static float k[N * D], q[D * 16], clean[32 * 16], s[32 * 16];
  static uint16_t left[2 * 3 * 2 * 512], right[3 * 2 * 512];
  uint8_t unfit_k[N], unfit_q[16];
  uint64_t state = 4;
  const struct sdpai_parts full = {3, 3, 2};
  fill(N * D, k, -2, 2, 24, &state);
  fill(D * 16, q, -2, 2, 24, &state);
  k[3] = 0x1p-40f, k[4] = -0x1.fffffep32f, k[5] = 0, k[6] = -0.0f;
  unit->configure();
  assert_int_equal(unit->pack_keys(N, D, k, D, 3, left, unfit_k), 0);
  assert_int_equal(unit->pack_queries(16, D, q, 3, right, unfit_q), 0);
  unit->products(N, 16, D, left, right, full, clean);
  for (int i = 0; i < ODD; i++) {
    k[(2 * i + 1) * D + i * 4] = odd[i];
    q[(i * 5) % D * 16 + i + 3] = odd[i];
  }
  assert_int_equal(unit->pack_keys(N, D, k, D, 3, left, unfit_k), ODD);
  assert_int_equal(unit->pack_queries(16, D, q, 3, right, unfit_q), ODD);
  unit->products(N, 16, D, left, right, full, s);
  unit->release();
  for (int j = 0; j < N; j++) assert_int_equal(unfit_k[j], j % 2 == 1 && j / 2 < ODD);
  for (int i = 0; i < 16; i++) assert_int_equal(unfit_q[i], i >= 3 && i - 3 < ODD);
  for (int j = 0; j < N; j++)
    for (int i = 0; i < 16; i++)
      if (!unfit_k[j] && !unfit_q[i])
        assert_memory_equal(&s[j * 16 + i], &clean[j * 16 + i], sizeof *s);
}

/* Largest error relative to the sum of magnitudes over a tensor. */
static double worst_error(const struct product *c, const float *s) {
  double worst = 0;
  for (int64_t j = 0; j < c->keys; j++)
    for (int64_t i = 0; i < c->width; i++) {
      long double sum = 0, size = 0;
      for (int64_t t = 0; t < c->dim; t++) {
        const long double term = (long double)c->k[j * c->ldk + t] * c->q[t * c->width + i];
        sum += term;
        size += fabsl(term);
      }
      worst = fmax(worst, (double)(fabsl((long double)s[j * c->width + i] - sum) / size));
    }
  return worst;
}

/* Six products of three parts are at least as good as the FMA kernels: tensor by tensor. */
static void test_full_against_fma(void **unused) {
  (void)unused;
  static float k[KEYS * DIM], q[DIM * WIDTH], fma_s[KEYS * WIDTH];
  float max[WIDTH];
  uint64_t state = 5;
  const struct sdpai_kernels_f32 *fma = &find_table(SDPA_ISA_AVX512)->f32;
  for (int round = 0; round < 24; round++) {
    const double low = round % 2 ? 0 : -2; /* without and with cancellation */
    struct product c = {.keys = KEYS,
                        .dim = round % 3 == 0   ? 32
                               : round % 3 == 1 ? 64
                                                : 80,
                        .width = WIDTH,
                        .k = k,
                        .q = q,
                        .parts = {3, 3, 2}};
    c.ldk = c.dim;
    fill(KEYS * DIM, k, low, 2, 24, &state);
    fill(DIM * WIDTH, q, low, 2, 24, &state);
    fma->tile_products_3(c.keys, c.dim, q, k, c.ldk, NULL, fma_s, max);
    assert_true(worst_error(&c, multiply(&c, AT_END)) <= worst_error(&c, fma_s));
  }
}

#include "matrix_values_cases.h"

static void test_mask_max(void **unused) {
  (void)unused;
  static float s[KEYS * WIDTH], before[KEYS * WIDTH];
  uint64_t state = 10;
  for (int n = 0; n < SOME_KEYS; n++)
    for (int masked = 0; masked < 2; masked++) {
      const int64_t keys = some_keys[n], width = 16 * (1 + n % 3), words = (keys + 31) / 32;
      fill(keys * width, before, -9, 9, 24, &state);
      float *got = guarded_place(&memory[0], AT_END, (size_t)(keys * width), sizeof *got, before);
      uint32_t *word =
          guarded_place(&memory[1], AT_END, (size_t)(words * width), sizeof *word, NULL);
      float *max = guarded_place(&memory[2], AT_END, (size_t)width, sizeof *max, NULL);
      for (int64_t w = 0; w < words * width; w++) word[w] = (uint32_t)next_bits(&state);
      unit->mask_max(keys, width, got, masked ? word : NULL, max);
      for (int g = 0; g < 3; g++) guarded_check(&memory[g]);
      for (int64_t i = 0; i < width; i++) {
        float largest = -INFINITY;
        for (int64_t j = 0; j < keys; j++) {
          const int kept = !masked || (word[j / 32 * width + i] >> j % 32 & 1);
          s[j] = kept ? before[j * width + i] : -INFINITY;
          assert_true(got[j * width + i] == s[j]);
          largest = fmaxf(largest, s[j]);
        }
        assert_true(max[i] == largest);
      }
    }
}

static int set_up(void **state) {
  (void)state;
  for (int g = 0; g < 8; g++) guarded_create(&memory[g], PACKED * sizeof(float));
  const struct sdpai_kernels *table = sdpai_kernels_select(SDPA_ISA_AMX);
  if (table->isa == SDPA_ISA_AMX) unit = &table->matrix;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (int g = 0; g < 8; g++) guarded_destroy(&memory[g]);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_products),         cmocka_unit_test(test_products_range),
      cmocka_unit_test(test_products_alone),   cmocka_unit_test(test_products_unfit),
      cmocka_unit_test(test_full_against_fma), cmocka_unit_test(test_values),
      cmocka_unit_test(test_values_range),     cmocka_unit_test(test_values_alone),
      cmocka_unit_test(test_values_unfit),     cmocka_unit_test(test_mask_max),
  };
  if (sdpai_kernels_select(SDPA_ISA_AMX)->isa != SDPA_ISA_AMX) return 77; /* ctest: skipped */
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
