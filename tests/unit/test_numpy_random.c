/* test_numpy_random.c - the random stream against values that NumPy gave
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Expected values: NumPy 1.24.2. All comparisons are of bits. The first two million normals of seed
 * 42 pass through every branch of the ziggurat, its tail included.
 */
#include "numpy_random.h"
#include "numpy_sum.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_same(double value, double expected) {
  uint64_t bits, expected_bits;
  memcpy(&bits, &value, sizeof bits);
  memcpy(&expected_bits, &expected, sizeof bits);
  if (bits != expected_bits) fail_msg("%.17g, expected %.17g", value, expected);
}

static void words_of_seed_42(void **state) {
  static const uint64_t expected[] = {
      UINT64_C(14276969152011380360), UINT64_C(8095878257575067585), UINT64_C(15838336090824644132),
      UINT64_C(12864169557245331597), UINT64_C(1737265434024182251), UINT64_C(17997055833233904524),
      UINT64_C(14040549286955598961), UINT64_C(14500327064922265408)};
  struct numpy_rng rng;
  (void)state;
  numpy_rng_seed(&rng, 42);
  for (size_t i = 0; i < COUNT(expected); i++)
    if (numpy_rng_u64(&rng) != expected[i]) fail_msg("word %zu differs", i);
}

static void first_normals_of_seed_42(void **state) {
  static const double expected[] = {0.30471707975443135, -1.0399841062404955, 0.7504511958064572,
                                    0.9405647163912139,  -1.9510351886538364, -1.302179506862318,
                                    0.12784040316728537, -0.3162425923435822};
  struct numpy_rng rng;
  (void)state;
  numpy_rng_seed(&rng, 42);
  for (size_t i = 0; i < COUNT(expected); i++) assert_same(numpy_rng_normal(&rng), expected[i]);
}

static void two_million_normals_of_seed_42(void **state) {
  static const struct {
    size_t index;
    double value;
  } expected[] = {{100, -0.3781625540393897},     {1000, -0.059282646025932216},
                  {10000, 0.17627703572818604},   {100000, -1.5745996024600089},
                  {1000000, -0.833283944669823},  {1999999, 0.6100775355994029},
                  {1302089, -5.0857434533731967}, {42665, 5.0072352319089966}};
  enum { n = 2000000 };
  double *values = malloc(n * sizeof *values);
  struct numpy_rng rng;
  (void)state;
  assert_non_null(values);
  numpy_rng_seed(&rng, 42);
  numpy_rng_fill_normal(&rng, values, n);
  for (size_t i = 0; i < COUNT(expected); i++)
    assert_same(values[expected[i].index], expected[i].value);
  double lowest = values[0], highest = values[0];
  for (size_t i = 1; i < n; i++) {
    if (values[i] < lowest) lowest = values[i];
    if (values[i] > highest) highest = values[i];
  }
  assert_same(lowest, -5.0857434533731967);
  assert_same(highest, 5.0072352319089966);
  assert_same(numpy_sum(values, n), 1120.8682876338842);
  free(values);
}

/* Four normals, then bounded integers on both sides of the 32-bit limit (the first and last share
 * words by halves), then two uniforms, then a word: one stream that all of them draw from. */
static const uint64_t mixed_bounds[] = {
    10, 1000, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, UINT64_C(3000000001), UINT64_C(1) << 62,
    10};
static const struct {
  uint64_t seed, words[3];
  double normals[4];
  uint64_t integers[COUNT(mixed_bounds)];
  double uniforms[2];
  uint64_t last;
} mixed[] = {
    {UINT64_C(0),
     {UINT64_C(11749869230777074271), UINT64_C(4976686463289251617), UINT64_C(755828109848996024)},
     {0.1257302210933933, -0.1321048632913019, 0.6404226504432821, 0.10490011715303971},
     {UINT64_C(1), UINT64_C(813), UINT64_C(2789219406), UINT64_C(2605480818), UINT64_C(1630874974),
      UINT64_C(4312260422999060475), UINT64_C(2)},
     {0.002738500170148095, 0.8574042765875693},
     UINT64_C(619544512228201759)},
    {UINT64_C(7),
     {UINT64_C(11530976094092348043), UINT64_C(16550673365885938325),
      UINT64_C(14308875409591826786)},
     {0.0012301533574825742, 0.2987455375084699, -0.2741378553622176, -0.8905918387572742},
     {UINT64_C(0), UINT64_C(300), UINT64_C(1224353588), UINT64_C(22614310), UINT64_C(2620660336),
      UINT64_C(3787247614991040951), UINT64_C(1)},
     {0.4679349528437208, 0.3030324268193135},
     UINT64_C(5136046009988895365)},
    {UINT64_C(42),
     {UINT64_C(14276969152011380360), UINT64_C(8095878257575067585),
      UINT64_C(15838336090824644132)},
     {0.30471707975443135, -1.0399841062404955, 0.7504511958064572, 0.9405647163912139},
     {UINT64_C(2), UINT64_C(94), UINT64_C(2261209996), UINT64_C(3269070128), UINT64_C(2926867055),
      UINT64_C(3625081766230566352), UINT64_C(5)},
     {0.45038593789556713, 0.37079802423258124},
     UINT64_C(17095796565764444847)},
    {UINT64_C(4294967296),
     {UINT64_C(16412783775159424549), UINT64_C(10277383025879800780),
      UINT64_C(14774146505460541886)},
     {0.10296768001436127, -0.9805271710302613, -0.8174783249223175, -1.027881871299033},
     {UINT64_C(8), UINT64_C(58), UINT64_C(272133842), UINT64_C(3383627626), UINT64_C(759819955),
      UINT64_C(3346806950669772799), UINT64_C(0)},
     {0.6187666612577356, 0.004051573689837662},
     UINT64_C(1997881849488276972)},
    {UINT64_C(9223372036854775808),
     {UINT64_C(14966662106195590397), UINT64_C(11002609137656754616),
      UINT64_C(16016552983271648765)},
     {1.629426797845334, -1.5075699421794106, -3.141192621359472, 0.22021335222348798},
     {UINT64_C(1), UINT64_C(249), UINT64_C(2293733390), UINT64_C(1968204573), UINT64_C(684812437),
      UINT64_C(4039474323718249298), UINT64_C(8)},
     {0.2122852105098848, 0.8675069671484337},
     UINT64_C(6596402757537779644)},
    {UINT64_C(18446744073709551615),
     {UINT64_C(12544278110101001871), UINT64_C(15593249672699323225), UINT64_C(136562751618339402)},
     {0.7213364570768727, -0.9707961689465133, 0.06922650485737146, -0.29658368621351155},
     {UINT64_C(6), UINT64_C(128), UINT64_C(1302921120), UINT64_C(2531773044), UINT64_C(956515530),
      UINT64_C(842497786937959591), UINT64_C(2)},
     {0.511563071306515, 0.6923282798556555},
     UINT64_C(4935073331373100307)},
};

static void mixed_draws(void **state) {
  (void)state;
  for (size_t s = 0; s < COUNT(mixed); s++) {
    struct numpy_rng rng;
    numpy_rng_seed(&rng, mixed[s].seed);
    for (size_t i = 0; i < 3; i++) assert_true(numpy_rng_u64(&rng) == mixed[s].words[i]);
    numpy_rng_seed(&rng, mixed[s].seed);
    for (size_t i = 0; i < 4; i++) assert_same(numpy_rng_normal(&rng), mixed[s].normals[i]);
    for (size_t i = 0; i < COUNT(mixed_bounds); i++)
      if (numpy_rng_below(&rng, mixed_bounds[i]) != mixed[s].integers[i])
        fail_msg("seed %zu: integer %zu differs", s, i);
    for (size_t i = 0; i < 2; i++) assert_same(numpy_rng_double(&rng), mixed[s].uniforms[i]);
    assert_true(numpy_rng_u64(&rng) == mixed[s].last);
  }
}

/* Bounds 0 and 1 leave one possible result and draw nothing, not even half a word. */
static void bounds_that_draw_nothing(void **state) {
  struct numpy_rng rng, untouched;
  (void)state;
  numpy_rng_seed(&rng, 42);
  untouched = rng;
  assert_true(numpy_rng_below(&rng, 0) == 0);
  assert_true(numpy_rng_below(&rng, 1) == 0);
  assert_false(rng.has_half);
  assert_true(numpy_rng_u64(&rng) == numpy_rng_u64(&untouched));
}

/* Rejection is rare for small bounds; these reject about every second draw. */
static void bounded_integers_stay_below_and_spread(void **state) {
  static const uint64_t bounds[] = {(UINT64_C(1) << 31) + 1, (UINT64_C(1) << 63) + 1, 3};
  (void)state;
  for (size_t b = 0; b < COUNT(bounds); b++) {
    struct numpy_rng rng;
    size_t thirds[3] = {0, 0, 0};
    numpy_rng_seed(&rng, 7);
    for (int i = 0; i < 30000; i++) {
      uint64_t value = numpy_rng_below(&rng, bounds[b]);
      assert_true(value < bounds[b]);
      double third = (double)value / (double)bounds[b] * 3;
      thirds[third < 1 ? 0 : third < 2 ? 1 : 2]++;
    }
    /* 10000 expected, standard deviation 82 */
    for (int i = 0; i < 3; i++) assert_in_range(thirds[i], 9500, 10500);
  }
}

static void floats_are_rounded_doubles(void **state) {
  struct numpy_rng rng, same;
  float values[1000];
  (void)state;
  numpy_rng_seed(&rng, 42);
  numpy_rng_seed(&same, 42);
  numpy_rng_fill_normal_f32(&rng, values, COUNT(values));
  for (size_t i = 0; i < COUNT(values); i++)
    assert_true(values[i] == (float)numpy_rng_normal(&same));
}

static void a_copy_continues_the_stream(void **state) {
  struct numpy_rng rng, copy;
  (void)state;
  numpy_rng_seed(&rng, 1);
  numpy_rng_below(&rng, 10);
  copy = rng;
  assert_true(numpy_rng_below(&rng, 1000000) == numpy_rng_below(&copy, 1000000));
  assert_same(numpy_rng_normal(&rng), numpy_rng_normal(&copy));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_of_seed_42),
      cmocka_unit_test(first_normals_of_seed_42),
      cmocka_unit_test(two_million_normals_of_seed_42),
      cmocka_unit_test(mixed_draws),
      cmocka_unit_test(bounds_that_draw_nothing),
      cmocka_unit_test(bounded_integers_stay_below_and_spread),
      cmocka_unit_test(floats_are_rounded_doubles),
      cmocka_unit_test(a_copy_continues_the_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
