/* mask_words_tpl.h - bytes of a boolean mask to bits
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: a vec_<isa>.h comes first.
 */
void KERNEL(mask_words)(int64_t n, const uint8_t *mask, int64_t stride, uint32_t *words) {
  int64_t t = 0;
  for (; n - t >= 32; t += 32, words += stride) *words &= vec_bits(mask + t);
  if (t < n) {
    uint32_t bits = 0;
    for (int64_t u = t; u < n; u++) bits |= (uint32_t)(mask[u] != 0) << (u - t);
    *words &= bits;
  }
}
