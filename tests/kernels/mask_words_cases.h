/* mask_words_cases.h - cases of mask_words: every length, offset and bit, gaps between the words
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Included by test_kernel_rows.c alone. The kernel is the same for both types.
 */
typedef void (*mask_words_kernel)(int64_t, const uint8_t *, int64_t, uint32_t *);

enum { MASK_MOST = 4 * 32 + 3, MASK_STRIDE_MOST = 48 };

static void check_mask_row(mask_words_kernel kernel, int n, const uint8_t *mask, int stride,
                           enum placement where, const uint32_t *before) {
  const int count = n > 0 ? (n - 1) / 32 * stride + 1 : 0;
  const uint8_t *bytes = guarded_place(&guarded_tile[0], where, (size_t)n, 1, mask);
  uint32_t *words = guarded_place(&guarded_tile[1], where, (size_t)count, sizeof *words, before);
  kernel(n, bytes, stride, words);
  guarded_check(&guarded_tile[0]);
  guarded_check(&guarded_tile[1]);
  assert_memory_equal(bytes, mask, (size_t)n);
  for (int w = 0; w < count; w++) {
    uint32_t expected = before[w];
    for (int bit = 0; w % stride == 0 && bit < 32; bit++) {
      const int t = w / stride * 32 + bit;
      if (t >= n || mask[t] == 0) expected &= ~(UINT32_C(1) << bit);
    }
    assert_int_equal(words[w], expected);
  }
}

static void check_mask_words(mask_words_kernel kernel) {
  static const uint8_t attend[] = {1, 2, 0x80, 0xff};
  static const int strides[] = {1, 3, MASK_STRIDE_MOST};
  uint64_t state = 27;
  uint8_t mask[MASK_MOST];
  uint32_t before[4 * MASK_STRIDE_MOST + 1];
  for (int n = 0; n <= MASK_MOST; n++)
    for (enum placement where = AT_END; where < PLACEMENTS; where++)
      for (int s = 0; s < 3; s++)
        for (int full = 0; full < 2; full++) {
          for (int t = 0; t < n; t++)
            mask[t] = next_bits(&state) % 3 ? attend[next_bits(&state) % 4] : 0;
          for (int w = 0; w <= 4 * MASK_STRIDE_MOST; w++)
            before[w] = full ? UINT32_MAX : (uint32_t)next_bits(&state);
          check_mask_row(kernel, n, mask, strides[s], where, before);
        }
}

/* Each byte in turn is the only one that excludes, and the only one that attends. */
static void check_mask_words_bits(mask_words_kernel kernel) {
  uint8_t mask[MASK_MOST];
  const uint32_t before[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  for (int at = 0; at < MASK_MOST; at++)
    for (int one = 0; one < 2; one++) {
      memset(mask, one ? 0 : 0x80, sizeof mask);
      mask[at] ^= 0x80;
      check_mask_row(kernel, MASK_MOST, mask, 1, AT_END, before);
    }
}
