/* dropout_words_tpl.h - draws of dropout for a row of keys, as bits
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h and philox.h come first. Sixteen blocks at a time, in loops that compilers
 * turn into vectors of the ISA: 64 draws, since each block holds those of four keys.
 */
enum { DRAW_BLOCKS = 16 };

/* The blocks' rounds, in memory: gcc makes single numbers of arrays that it sees whole, and then no
 * vectors. */
static SDPAI_NOINLINE void KERNEL(philox_blocks)(uint32_t *restrict x0, uint32_t *restrict x1,
                                                 uint32_t *restrict x2, uint32_t *restrict x3,
                                                 uint32_t k0, uint32_t k1) {
  for (int round = 0; round < SDPAI_PHILOX_ROUNDS; round++) {
    for (int i = 0; i < DRAW_BLOCKS; i++)
      sdpai_philox_round(&x0[i], &x1[i], &x2[i], &x3[i], k0, k1);
    k0 += SDPAI_PHILOX_W0;
    k1 += SDPAI_PHILOX_W1;
  }
}

/* Bit u: whether draw u of the 64 from block `block` on is kept. */
static uint64_t KERNEL(kept_bits)(const uint32_t state[4], uint64_t block, uint32_t threshold) {
  uint32_t x0[DRAW_BLOCKS], x1[DRAW_BLOCKS], x2[DRAW_BLOCKS], x3[DRAW_BLOCKS];
  for (int i = 0; i < DRAW_BLOCKS; i++) {
    x0[i] = (uint32_t)(block + (uint64_t)i);
    x1[i] = (uint32_t)((block + (uint64_t)i) >> 32);
    x2[i] = state[2];
    x3[i] = state[3];
  }
  KERNEL(philox_blocks)(x0, x1, x2, x3, state[0], state[1]);
  uint64_t bits = 0;
  for (int i = 0; i < DRAW_BLOCKS; i++) {
    const uint32_t kept = (uint32_t)(x0[i] >= threshold) | (uint32_t)(x1[i] >= threshold) << 1 |
                          (uint32_t)(x2[i] >= threshold) << 2 | (uint32_t)(x3[i] >= threshold) << 3;
    bits |= (uint64_t)kept << 4 * i;
  }
  return bits;
}

void KERNEL(dropout_words)(int64_t n, const uint32_t state[4], uint64_t first, uint32_t threshold,
                           int64_t stride, uint32_t *words) {
  if (n <= 0) return;
  const int skipped = (int)(first % 4);
  uint64_t block = first / 4;
  uint64_t bits = KERNEL(kept_bits)(state, block, threshold);
  for (int64_t left = n; left > 0; left -= 64) {
    uint64_t now = bits >> skipped;
    if (left > 64 - skipped) {
      block += DRAW_BLOCKS;
      bits = KERNEL(kept_bits)(state, block, threshold);
      if (skipped > 0) now |= bits << (64 - skipped);
    }
    if (left < 64) now &= (UINT64_C(1) << left) - 1;
    *words = (uint32_t)now;
    words += stride;
    if (left > 32) *words = (uint32_t)(now >> 32);
    words += left > 32 ? stride : 0;
  }
}
