/* row_convert_cases.h - cases of row_load and row_store: every value, every boundary, every tail
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Included by test_kernel_rows.c alone. The reference decodes a number from its fields with ldexp()
 * and rounds by looking for the nearest of all numbers of the type; NaN is told apart by bits.
 */
struct narrow {
  int fraction, exponent; /* bits */
  int quiets;             /* row_load makes NaN quiet */
};
static const struct narrow narrow_bf16 = {7, 8, 0}, narrow_f16 = {10, 5, 1};

typedef void (*row_load_kernel)(int64_t, const uint16_t *, float *);
typedef void (*row_store_kernel)(int64_t, const float *, uint16_t *);

static uint32_t float_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float float_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The bits of +infinity. */
static int narrow_infinity(const struct narrow *type) {
  return ((1 << type->exponent) - 1) << type->fraction;
}

/* The number of these bits without a sign; of infinity's the power of two that it stands for when
 * numbers are rounded. */
static double narrow_value(const struct narrow *type, int bits) {
  const int one = 1 << type->fraction, bias = (1 << (type->exponent - 1)) - 1;
  const int e = bits >> type->fraction, f = bits & (one - 1);
  return e == 0 ? ldexp(f, 1 - bias - type->fraction) : ldexp(one + f, e - bias - type->fraction);
}

static uint32_t loaded_bits(const struct narrow *type, uint16_t x) {
  const uint32_t sign = (uint32_t)(x & 0x8000) << 16;
  const int magnitude = x & 0x7fff, infinity = narrow_infinity(type);
  if (magnitude < infinity) return sign | float_bits((float)narrow_value(type, magnitude));
  const uint32_t fraction = (uint32_t)(magnitude - infinity) << (23 - type->fraction);
  const uint32_t quiet = type->quiets && magnitude > infinity ? UINT32_C(0x400000) : 0;
  return sign | UINT32_C(0x7f800000) | fraction | quiet;
}

static uint16_t stored_bits(const struct narrow *type, float x) {
  const uint32_t bits = float_bits(x);
  const int sign = bits >> 31 ? 0x8000 : 0, infinity = narrow_infinity(type);
  if (isnan(x))
    return (uint16_t)(sign | infinity | 1 << (type->fraction - 1) |
                      (int)((bits & 0x7fffff) >> (23 - type->fraction)));
  const double magnitude = fabs((double)x);
  if (magnitude >= narrow_value(type, infinity)) return (uint16_t)(sign | infinity);
  int low = 0, high = infinity;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    *(narrow_value(type, middle) <= magnitude ? &low : &high) = middle;
  }
  const double below = magnitude - narrow_value(type, low);
  const double above = narrow_value(type, high) - magnitude;
  const int up = above < below || (above == below && (low & 1));
  return (uint16_t)(sign | (up ? high : low));
}

static void assert_loaded(const struct narrow *type, int n, const uint16_t *x, const float *got) {
  for (int t = 0; t < n; t++) {
    if (float_bits(got[t]) != loaded_bits(type, x[t]))
      print_error("0x%04x becomes 0x%08x, expected 0x%08x\n", (unsigned)x[t],
                  (unsigned)float_bits(got[t]), (unsigned)loaded_bits(type, x[t]));
    assert_int_equal(float_bits(got[t]), loaded_bits(type, x[t]));
  }
}

static void assert_stored(const struct narrow *type, int n, const float *x, const uint16_t *got) {
  for (int t = 0; t < n; t++) {
    if (got[t] != stored_bits(type, x[t]))
      print_error("0x%08x (%a) becomes 0x%04x, expected 0x%04x\n", (unsigned)float_bits(x[t]),
                  (double)x[t], (unsigned)got[t], (unsigned)stored_bits(type, x[t]));
    assert_int_equal(got[t], stored_bits(type, x[t]));
  }
}

/* All 65,536 values, in an order that puts unlike ones side by side, and back again. */
static void check_row_load_values(row_load_kernel kernel, const struct narrow *type) {
  enum { VALUES = 1 << 16 };
  static uint16_t x[VALUES];
  static float got[VALUES];
  for (int i = 0; i < VALUES; i++) x[i] = (uint16_t)(i * 40503);
  kernel(VALUES, x, got);
  assert_loaded(type, VALUES, x, got);
}

static void check_row_load_tails(row_load_kernel kernel, const struct narrow *type) {
  uint64_t state = 31;
  uint16_t x[ROW_MOST];
  FOR_EACH_ROW(n, where) {
    for (int t = 0; t < n; t++) x[t] = (uint16_t)next_bits(&state);
    const uint16_t *row = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
    float *out = guarded_place(&guarded_y, where, (size_t)n, sizeof *out, NULL);
    kernel(n, row, out);
    guarded_check(&guarded_x);
    guarded_check(&guarded_y);
    assert_memory_equal(row, x, (size_t)n * sizeof *x);
    assert_loaded(type, n, x, out);
  }
}

/* Each number of the type, the middle between it and the next one, and the floats on either side of
 * both, of either sign; beyond the largest number lies the power of two that infinity stands for.
 * Rounding is monotonic, so between these there is nothing to find. */
static void check_row_store_boundaries(row_store_kernel kernel, const struct narrow *type) {
  enum { CASES = 12 };
  float x[CASES];
  uint16_t got[CASES];
  for (int low = 0; low < narrow_infinity(type); low++) {
    const double number = narrow_value(type, low), next = narrow_value(type, low + 1);
    const float places[] = {(float)number, (float)((number + next) / 2)};
    assert_true((double)places[1] == (number + next) / 2);
    for (int i = 0; i < 2; i++) {
      x[3 * i] = nextafterf(places[i], -INFINITY);
      x[3 * i + 1] = places[i];
      x[3 * i + 2] = nextafterf(places[i], INFINITY);
    }
    for (int i = 0; i < CASES / 2; i++) x[CASES / 2 + i] = -x[i];
    kernel(CASES, x, got);
    assert_stored(type, CASES, x, got);
  }
}

/* Large numbers, infinities, every bit that a NaN's fraction may have, and floats of random bits. */
static void check_row_store_others(row_store_kernel kernel, const struct narrow *type) {
  enum { CASES = 1 << 16 };
  static float x[CASES];
  static uint16_t got[CASES];
  uint64_t state = 32;
  int n = 0;
  for (int sign = 0; sign < 2; sign++) {
    const uint32_t high = (uint32_t)sign << 31 | UINT32_C(0x7f800000);
    for (int e = 0; e < 256; e++) x[n++] = float_of_bits((uint32_t)sign << 31 | (uint32_t)e << 23);
    for (int bit = 0; bit < 23; bit++) x[n++] = float_of_bits(high | UINT32_C(1) << bit);
    x[n++] = float_of_bits(high | 0x7fffff);
    x[n++] = float_of_bits(high - 1); /* the largest float */
  }
  while (n < CASES) x[n++] = float_of_bits((uint32_t)next_bits(&state));
  kernel(n, x, got);
  assert_stored(type, n, x, got);
}

static void check_row_store_tails(row_store_kernel kernel, const struct narrow *type) {
  uint64_t state = 33;
  float x[ROW_MOST];
  FOR_EACH_ROW(n, where) {
    for (int t = 0; t < n; t++) x[t] = (float)next_between(&state, -9, 9);
    for (int t = 0; t < n; t += 5) x[t] = float_of_bits((uint32_t)next_bits(&state));
    const float *row = guarded_place(&guarded_x, where, (size_t)n, sizeof *x, x);
    uint16_t *out = guarded_place(&guarded_y, where, (size_t)n, sizeof *out, NULL);
    kernel(n, row, out);
    guarded_check(&guarded_x);
    guarded_check(&guarded_y);
    assert_memory_equal(row, x, (size_t)n * sizeof *x);
    assert_stored(type, n, x, out);
  }
}
