/* numpy_random.c - SeedSequence, PCG64 and the ziggurat as NumPy combines them
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sources of the algorithms: O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically
 * Good Algorithms for Random Number Generation (2014), and her note on seed_seq_fe (2015), on which
 * SeedSequence rests; Marsaglia and Tsang (2000) for the ziggurat; Lemire, Fast Random Integer
 * Generation in an Interval (2019). The constants and the order of draws are NumPy's:
 *
 * - of the tail, Copyright (c) 2005-2017, NumPy Developers (BSD-3-Clause), as in ziggurat_tables.h;
 * - of SeedSequence, Copyright (c) 2015 Melissa E. O'Neill, Copyright (c) 2019 NumPy Developers (MIT);
 * - of PCG64, Copyright 2014 Melissa O'Neill (MIT).
 *
 * COPYRIGHT, at the top of the tree, has the licences.
 */
#include "numpy_random.h"

#include "ziggurat_tables.h"

#include <math.h>

/* Modulo 2^128, by halves: a 128-bit type is an extension that 32-bit targets lack. */
struct word128 {
  uint64_t high, low;
};

enum { pool_size = 4, seed_shift = 16 };

static struct word128 add(struct word128 a, struct word128 b) {
  const uint64_t low = a.low + b.low;
  return (struct word128){a.high + b.high + (low < a.low), low};
}

/* a b, whole: the product of two 64-bit numbers by 32-bit halves. */
static struct word128 product(uint64_t a, uint64_t b) {
  const uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
  const uint64_t low = a_low * b_low;
  const uint64_t middle = a_high * b_low + (low >> 32); /* < 2^64: (2^32 - 1)^2 + 2^32 - 1 */
  const uint64_t other = a_low * b_high + (uint32_t)middle;
  return (struct word128){a_high * b_high + (middle >> 32) + (other >> 32),
                          other << 32 | (uint32_t)low};
}

static struct word128 multiply(struct word128 a, struct word128 b) {
  struct word128 result = product(a.low, b.low);
  result.high += a.high * b.low + a.low * b.high;
  return result;
}

static uint32_t seed_hash(uint32_t value, uint32_t *constant, uint32_t multiplier) {
  value ^= *constant;
  *constant *= multiplier;
  value *= *constant;
  return value ^ value >> seed_shift;
}

static uint32_t seed_mix(uint32_t x, uint32_t y) {
  uint32_t value = UINT32_C(0xca01f9dd) * x - UINT32_C(0x4973f715) * y;
  return value ^ value >> seed_shift;
}

/* SeedSequence(seed).generate_state(4, uint64). The entropy is the seed's 32-bit words, low first;
 * a missing high word is hashed as 0, so that seeds below 2^32 need no case of their own. */
static void seed_sequence(uint64_t seed, uint64_t words[4]) {
  uint32_t pool[pool_size] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
  uint32_t constant = UINT32_C(0x43b0d7e5);
  for (int i = 0; i < pool_size; i++) pool[i] = seed_hash(pool[i], &constant, UINT32_C(0x931e8875));
  for (int from = 0; from < pool_size; from++)
    for (int to = 0; to < pool_size; to++)
      if (from != to)
        pool[to] = seed_mix(pool[to], seed_hash(pool[from], &constant, UINT32_C(0x931e8875)));

  constant = UINT32_C(0x8b51f9dd);
  for (int i = 0; i < 4; i++) {
    uint64_t low = seed_hash(pool[2 * i % pool_size], &constant, UINT32_C(0x58f38ded));
    uint64_t high = seed_hash(pool[(2 * i + 1) % pool_size], &constant, UINT32_C(0x58f38ded));
    words[i] = high << 32 | low;
  }
}

static struct word128 pcg_step(struct numpy_rng *rng, struct word128 state) {
  const struct word128 multiplier = {UINT64_C(0x2360ed051fc65da4), UINT64_C(0x4385df649fccf645)};
  const struct word128 increment = {rng->increment_high, rng->increment_low};
  state = add(multiply(state, multiplier), increment);
  rng->state_high = state.high;
  rng->state_low = state.low;
  return state;
}

void numpy_rng_seed(struct numpy_rng *rng, uint64_t seed) {
  uint64_t words[4];
  seed_sequence(seed, words);
  rng->increment_high = words[2] << 1 | words[3] >> 63;
  rng->increment_low = words[3] << 1 | 1;
  rng->half = 0;
  rng->has_half = 0;
  struct word128 state = pcg_step(rng, (struct word128){0, 0});
  pcg_step(rng, add(state, (struct word128){words[0], words[1]}));
}

uint64_t numpy_rng_u64(struct numpy_rng *rng) {
  struct word128 state = pcg_step(rng, (struct word128){rng->state_high, rng->state_low});
  uint64_t folded = state.high ^ state.low;
  unsigned turn = (unsigned)(state.high >> 58);
  return folded >> turn | folded << (-turn & 63);
}

static uint32_t next_half(struct numpy_rng *rng) {
  if (rng->has_half) {
    rng->has_half = 0;
    return rng->half;
  }
  uint64_t word = numpy_rng_u64(rng);
  rng->half = (uint32_t)(word >> 32);
  rng->has_half = 1;
  return (uint32_t)word;
}

double numpy_rng_double(struct numpy_rng *rng) {
  return (double)(numpy_rng_u64(rng) >> 11) * 0x1p-53;
}

static uint64_t below_32(struct numpy_rng *rng, uint32_t n) {
  uint64_t scaled = (uint64_t)next_half(rng) * n;
  if ((uint32_t)scaled < n) {
    uint32_t threshold = -n % n; /* 2^32 mod n: what would be drawn once too often */
    while ((uint32_t)scaled < threshold) scaled = (uint64_t)next_half(rng) * n;
  }
  return scaled >> 32;
}

static uint64_t below_64(struct numpy_rng *rng, uint64_t n) {
  struct word128 scaled = product(numpy_rng_u64(rng), n);
  if (scaled.low < n) {
    uint64_t threshold = -n % n;
    while (scaled.low < threshold) scaled = product(numpy_rng_u64(rng), n);
  }
  return scaled.high;
}

uint64_t numpy_rng_below(struct numpy_rng *rng, uint64_t n) {
  if (n <= 1) return 0;
  if (n <= UINT32_MAX) return below_32(rng, (uint32_t)n);
  if (n == UINT64_C(1) << 32) return next_half(rng);
  return below_64(rng, n);
}

/* The part of the base layer beyond r: Marsaglia's exact tail. 1 - U keeps log away from 0. */
static double normal_tail(struct numpy_rng *rng, int negative) {
  const double r = 3.6541528853610087963519472518;
  const double inverse_r = 0.27366123732975827203338247596;
  for (;;) {
    double x = -inverse_r * log1p(-numpy_rng_double(rng));
    double y = -log1p(-numpy_rng_double(rng));
    if (y + y > x * x) return negative ? -(r + x) : r + x;
  }
}

double numpy_rng_normal(struct numpy_rng *rng) {
  for (;;) {
    uint64_t word = numpy_rng_u64(rng);
    unsigned layer = (unsigned)(word & 0xff);
    uint64_t step = word >> 9 & UINT64_C(0x000fffffffffffff);
    double x = (double)step * ziggurat_width[layer];
    if (word >> 8 & 1) x = -x;
    if (step < ziggurat_inside[layer]) return x;
    /* The sign in the tail is a bit of the step, not the sign bit: so NumPy draws it. */
    if (layer == 0) return normal_tail(rng, (int)(step >> 8 & 1));
    double low = ziggurat_height[layer];
    double high = ziggurat_height[layer - 1];
    if ((high - low) * numpy_rng_double(rng) + low < exp(-0.5 * x * x)) return x;
  }
}

void numpy_rng_fill_normal(struct numpy_rng *rng, double *values, size_t n) {
  for (size_t i = 0; i < n; i++) values[i] = numpy_rng_normal(rng);
}

void numpy_rng_fill_normal_f32(struct numpy_rng *rng, float *values, size_t n) {
  for (size_t i = 0; i < n; i++) values[i] = (float)numpy_rng_normal(rng);
}
