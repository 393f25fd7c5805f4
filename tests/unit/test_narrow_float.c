/* test_narrow_float.c - the 16-bit numbers that tests are judged by
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "narrow_float.h"

static const uint32_t types[] = {SDPA_BF16, SDPA_F16};

/* IEEE 754-2019, table 3.5 and its formula for binary16; bf16 is the upper half of a binary32. */
static void known_numbers(void **state) {
  static const struct {
    uint32_t type;
    uint16_t bits;
    double value;
  } known[] = {{SDPA_F16, 0x0000, 0.0},
               {SDPA_F16, 0x0001, 0x1p-24},
               {SDPA_F16, 0x03FF, 1023 * 0x1p-24},
               {SDPA_F16, 0x0400, 0x1p-14},
               {SDPA_F16, 0x3555, 0.333251953125},
               {SDPA_F16, 0x3C00, 1.0},
               {SDPA_F16, 0xC000, -2.0},
               {SDPA_F16, 0x7BFF, 65504.0},
               {SDPA_F16, 0x7C00, INFINITY},
               {SDPA_F16, 0xFC00, -(double)INFINITY},
               {SDPA_BF16, 0x0001, 0x1p-133},
               {SDPA_BF16, 0x007F, 127 * 0x1p-133},
               {SDPA_BF16, 0x0080, 0x1p-126},
               {SDPA_BF16, 0x3F80, 1.0},
               {SDPA_BF16, 0x4049, 3.140625},
               {SDPA_BF16, 0xC000, -2.0},
               {SDPA_BF16, 0x7F7F, 0x1.fep127},
               {SDPA_BF16, 0xFF80, -(double)INFINITY}};
  (void)state;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    assert_true(narrow_to_double(known[i].type, known[i].bits) == known[i].value);
    assert_int_equal(narrow_from_double(known[i].type, known[i].value), known[i].bits);
  }
  assert_int_equal(narrow_from_double(SDPA_F16, -0.0), 0x8000);
  assert_true(signbit(narrow_to_double(SDPA_BF16, 0x8000)) != 0);
}

static void every_number_survives(void **state) {
  (void)state;
  for (int t = 0; t < 2; t++) {
    for (uint32_t bits = 0; bits <= 0xFFFF; bits++) {
      const double value = narrow_to_double(types[t], (uint16_t)bits);
      const uint32_t upper = bits << 16;
      float upper_half;
      memcpy(&upper_half, &upper, sizeof upper_half);
      if (isnan(value)) {
        assert_true(isnan(narrow_to_double(types[t], narrow_from_double(types[t], value))) != 0);
        assert_true(types[t] == SDPA_F16 || isnan(upper_half));
        continue;
      }
      assert_int_equal(narrow_from_double(types[t], value), bits);
      assert_true(types[t] == SDPA_F16 || value == (double)upper_half);
    }
  }
}

/* Between each number and the next larger one, up to where infinity begins. */
static void rounding_is_to_nearest_and_even(void **state) {
  (void)state;
  for (int t = 0; t < 2; t++) {
    const uint16_t infinity = (uint16_t)(types[t] == SDPA_BF16 ? 0x7F80 : 0x7C00);
    for (uint16_t bits = 0; bits < infinity; bits++) {
      const double low = narrow_to_double(types[t], bits);
      /* Infinity counts as the power of two that stands in its place. */
      const double high = bits + 1 < infinity ? narrow_to_double(types[t], bits + 1)
                                              : exp2(2 - narrow_least_exponent(types[t]));
      const double middle = low + (high - low) / 2;
      const uint16_t even = (uint16_t)(bits + (bits & 1));
      assert_int_equal(narrow_from_double(types[t], middle), even);
      assert_int_equal(narrow_from_double(types[t], nextafter(middle, 0.0)), bits);
      assert_int_equal(narrow_from_double(types[t], nextafter(middle, INFINITY)), bits + 1);
      assert_int_equal(narrow_from_double(types[t], -middle), even | 0x8000);
      assert_true(narrow_half_step(types[t], (long double)low) == (long double)(high - low) / 2);
      assert_true(narrow_half_step(types[t], (long double)-middle) ==
                  (long double)(high - low) / 2);
    }
    assert_int_equal(narrow_from_double(types[t], 1e300), infinity);
    assert_true(narrow_half_step(types[t], 1e300L) ==
                narrow_half_step(types[t], (long double)narrow_to_double(types[t], infinity - 1)));
  }
  assert_true(narrow_half_step(SDPA_F32, 1.0L) == 0.0L);
}

static void nan_is_quiet(void **state) {
  (void)state;
  for (int t = 0; t < 2; t++) {
    const uint16_t quiet = (uint16_t)(types[t] == SDPA_BF16 ? 0x0040 : 0x0200);
    assert_true(narrow_from_double(types[t], NAN) & quiet);
    assert_true(isnan(narrow_to_double(types[t], narrow_from_double(types[t], NAN))) != 0);
    assert_true(isnan(narrow_to_double(types[t], 0xFFFF)) != 0); /* memory filled with 0xFF */
    assert_true(isfinite(narrow_half_step(types[t], (long double)NAN)) != 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_numbers),
      cmocka_unit_test(every_number_survives),
      cmocka_unit_test(rounding_is_to_nearest_and_even),
      cmocka_unit_test(nan_is_quiet),
  };
  return cmocka_run_group_tests_name("narrow float", tests, NULL, NULL);
}
