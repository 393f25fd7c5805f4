/* dropout_words_cases.h - cases of dropout_words: every first key and length, carries, thresholds
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Included by test_kernel_rows.c alone. The reference is one block a draw.
 */
#include "kernels/philox.h"

typedef void (*dropout_words_kernel)(int64_t, const uint32_t *, uint64_t, uint32_t, int64_t,
                                     uint32_t *);

enum { DRAWS_MOST = 3 * 64 + 5, DRAWS_STRIDE_MOST = 48 };

static uint32_t reference_draw(const uint32_t state[4], uint64_t at) {
  uint32_t x[4] = {(uint32_t)(at / 4), (uint32_t)(at / 4 >> 32), state[2], state[3]};
  sdpai_philox(x, state[0], state[1]);
  return x[at % 4];
}

static void check_draws(dropout_words_kernel kernel, int n, const uint32_t state[4], uint64_t first,
                        uint32_t threshold, int stride, enum placement where) {
  static uint32_t before[(DRAWS_MOST / 32 + 1) * DRAWS_STRIDE_MOST];
  const int count = n > 0 ? (n - 1) / 32 * stride + 1 : 0;
  for (int w = 0; w < count; w++) before[w] = 0xa5a5a5a5u + (uint32_t)w;
  uint32_t *words = guarded_place(&guarded_tile[0], where, (size_t)count, sizeof *words, before);
  const uint32_t *given = guarded_place(&guarded_tile[1], where, 4, sizeof *state, state);
  kernel(n, given, first, threshold, stride, words);
  guarded_check(&guarded_tile[0]);
  guarded_check(&guarded_tile[1]);
  for (int w = 0; w < count; w++) {
    uint32_t expected = w % stride == 0 ? 0 : before[w];
    for (int t = w / stride * 32; w % stride == 0 && t < n && t < w / stride * 32 + 32; t++)
      expected |= (uint32_t)(reference_draw(state, first + (uint64_t)t) >= threshold) << t % 32;
    assert_int_equal(words[w], expected);
  }
}

static void check_dropout_words(dropout_words_kernel kernel) {
  static const uint64_t firsts[] = {
      0, 1, 2, 3, 61, UINT64_C(4) << 32, (UINT64_C(4) << 32) - 7, INT64_MAX - DRAWS_MOST};
  static const uint32_t thresholds[] = {0, 1, UINT32_C(1) << 31, UINT32_MAX};
  static const int strides[] = {1, 3, DRAWS_STRIDE_MOST};
  uint64_t state = 43;
  for (int n = 0; n <= DRAWS_MOST; n++)
    for (int f = 0; f < 8; f++) {
      const uint32_t row[4] = {(uint32_t)next_bits(&state), (uint32_t)next_bits(&state),
                               (uint32_t)next_bits(&state), (uint32_t)next_bits(&state)};
      const int c = n + f;
      check_draws(kernel, n, row, firsts[f], thresholds[c % 4], strides[c % 3],
                  (enum placement)(c / 4 % PLACEMENTS));
    }
}
