/* cache_in_16_bits.c - a cache of keys and values in bf16 beside queries and outputs in f32
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A step of generating text reads the whole cache of earlier tokens, and reading it is what its
 * time goes to: in 16 bits it is half as long. Each tensor says its own type. Scores, softmax and
 * sums are f32 whatever the cache holds, so what is lost is what the numbers lost when they were
 * stored, and nothing on the way.
 *
 * bf16 is the upper half of an f32: its range, 8 bits of precision. SDPA_F16 holds 11 bits up to
 * 65504, and the program would differ in the two constants and in how it stores.
 */
#include <sdpa/sdpa.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { HEADS = 8, KV_HEADS = 2, TOKENS = 300, DIM = 64 };

static float query[HEADS][DIM], output[HEADS][DIM];
static float key[KV_HEADS][TOKENS][DIM], value[KV_HEADS][TOKENS][DIM];
static uint16_t narrow_key[KV_HEADS][TOKENS][DIM], narrow_value[KV_HEADS][TOKENS][DIM];

/* The nearest bf16 of a finite number; of two equally near the even one. */
static uint16_t to_bf16(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static double from_bf16(uint16_t number) {
  const uint32_t bits = (uint32_t)number << 16;
  float wide;
  memcpy(&wide, &bits, sizeof wide);
  return (double)wide;
}

/* Between -1 and 1. */
static float next_number(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 0x800000 - 1;
}

static void fill(void) {
  for (int h = 0; h < HEADS; h++)
    for (int d = 0; d < DIM; d++) query[h][d] = next_number();
  for (int h = 0; h < KV_HEADS; h++)
    for (int j = 0; j < TOKENS; j++)
      for (int d = 0; d < DIM; d++) {
        narrow_key[h][j][d] = to_bf16(key[h][j][d] = next_number());
        narrow_value[h][j][d] = to_bf16(value[h][j][d] = next_number());
      }
}

/* The newest token's attention to all of them. bytes: what the call reads and writes. */
static sdpa_status attend(uint32_t cache_type, const void *keys, const void *values,
                          int64_t *bytes) {
  sdpa_problem p;
  sdpa_problem_init(&p, sizeof p);
  p.query_type = SDPA_F32; /* the output's, too */
  p.key_type = cache_type; /* the value's, too */
  p.batch = 1;
  p.query_heads = HEADS;
  p.kv_heads = KV_HEADS;
  p.query_len = 1;
  p.key_len = TOKENS;
  p.key_dim = p.value_dim = DIM;
  sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD); /* strides count elements, whatever their type */

  sdpa_args a;
  sdpa_args_init(&a, sizeof a);
  a.query = query;
  a.key = keys;
  a.value = values;
  a.output = output;

  sdpa_plan *plan;
  sdpa_plan_info info = {.size = sizeof info};
  sdpa_status status = sdpa_plan_create(&p, NULL, &plan);
  if (status == SDPA_OK) status = sdpa_plan_query(plan, &info);
  if (status == SDPA_OK) status = sdpa_execute(plan, &a, NULL, 0);
  sdpa_plan_destroy(plan);
  *bytes = info.bytes;
  return status;
}

static double key_at(int narrow, int h, int j, int d) {
  return narrow ? from_bf16(narrow_key[h][j][d]) : (double)key[h][j][d];
}

static double value_at(int narrow, int h, int j, int d) {
  return narrow ? from_bf16(narrow_value[h][j][d]) : (double)value[h][j][d];
}

/* The largest distance of the output from the formula on one of the two caches. */
static double distance_from(int narrow) {
  double largest = 0;
  for (int h = 0; h < HEADS; h++) {
    const int kv = h / (HEADS / KV_HEADS);
    double weight[TOKENS], sum = 0;
    for (int j = 0; j < TOKENS; j++) {
      double score = 0;
      for (int d = 0; d < DIM; d++) score += (double)query[h][d] * key_at(narrow, kv, j, d);
      sum += weight[j] = exp(score / sqrt(DIM));
    }
    for (int d = 0; d < DIM; d++) {
      double exact = 0;
      for (int j = 0; j < TOKENS; j++) exact += weight[j] / sum * value_at(narrow, kv, j, d);
      const double error = fabs((double)output[h][d] - exact);
      if (!(error <= largest)) largest = error; /* NaN counts, too */
    }
  }
  return largest;
}

int main(void) {
  int64_t bytes, narrow_bytes;
  fill();
  sdpa_status status = attend(SDPA_F32, key, value, &bytes);
  const double wide_error = distance_from(0);
  if (status == SDPA_OK) status = attend(SDPA_BF16, narrow_key, narrow_value, &narrow_bytes);
  if (status != SDPA_OK) {
    fprintf(stderr, "cache_in_16_bits: %s\n", sdpa_status_string(status));
    return 1;
  }
  const double narrow_error = distance_from(1);
  printf("%d tokens, %d query heads on %d\n", TOKENS, HEADS, KV_HEADS);
  printf("f32 cache:  %6lld bytes, error %.1e\n", (long long)bytes, wide_error);
  printf("bf16 cache: %6lld bytes, error %.1e; %.1e from what f32 would give\n",
         (long long)narrow_bytes, narrow_error, distance_from(0));
  return wide_error > 1e-6 || narrow_error > 1e-6;
}
