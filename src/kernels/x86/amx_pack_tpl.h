/* amx_pack_tpl.h - operands of the tile unit: numbers into bf16 parts, parts into tiles
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: vec_avx512.h and kernel_decls.h come first, and SDPAI_KERNEL_ISA is defined; a CPU with
 * AMX has AVX-512. Contracts and layouts: matrix_kernels.h.
 */

#define MATRIX_KERNEL(op) SDPAI_KERNEL_NAME(matrix, op, SDPAI_KERNEL_ISA)

enum { LANES_16 = SDPAI_TILE_ROWS, DEPTH = SDPAI_TILE_DEPTH, TILE = SDPAI_TILE_ELEMENTS };

/* Lanes that hold 0 or a magnitude within [2^-40, 2^33). NaN and infinity do not. */
SDPAI_INLINE __mmask16 fit_mask(__m512 x) {
  const __m512i least = _mm512_set1_epi32((127 - 40) << 23);
  const __m512i span = _mm512_set1_epi32((40 + 33) << 23);
  const __m512i magnitude = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
  return _mm512_cmplt_epu32_mask(_mm512_sub_epi32(magnitude, least), span) |
         _mm512_testn_epi32_mask(magnitude, magnitude);
}

/* The next part of *x, as an f32, and what is left of *x: exact, since part and number have the
 * same sign and differ by at most half a unit in the part's last place. */
SDPAI_INLINE __m512i take_part(__m512 *x) {
  const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32((int)0xffff0000);
  const __m512i part = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(*x), half), upper);
  *x = _mm512_sub_ps(*x, _mm512_castsi512_ps(part));
  return part;
}

/* 16 parts side by side. */
SDPAI_INLINE void store_parts(uint16_t *to, __m512i part) {
  _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(part, 16)));
}

/* Two rows of 16 in pairs. */
SDPAI_INLINE void store_pairs(uint16_t *to, __m512i even, __m512i odd) {
  _mm512_storeu_si512(to, _mm512_or_si512(_mm512_srli_epi32(even, 16), odd));
}

SDPAI_INLINE int64_t at_most(int64_t n, int64_t most) {
  return n < most ? n : most;
}

/* Up to 16 numbers; the lanes from `count` on are 0, also for a negative one. */
SDPAI_INLINE __m512 load_some(const float *x, int64_t count) {
  if (count >= LANES_16) return vf32_load(x);
  return count > 0 ? vf32_load_part(x, (int)count) : vf32_set1(0);
}

int64_t MATRIX_KERNEL(pack_keys)(int64_t keys, int64_t dim, const float *k, int64_t ldk, int parts,
                                 uint16_t *packed, uint8_t *unfit) {
  const int64_t part_size = sdpai_tiles(dim, DEPTH) * TILE,
                rows = sdpai_tiles(keys, LANES_16) * LANES_16;
  int64_t count = 0;
  for (int64_t j = 0; j < rows; j++) {
    uint16_t *row = packed + j / LANES_16 * parts * part_size + j % LANES_16 * DEPTH;
    unsigned fit = 0xffff;
    for (int64_t t = 0; t < dim || t % DEPTH != 0; t += LANES_16) {
      __m512 x = vf32_set1(0);
      if (j < keys) x = load_some(k + j * ldk + at_most(t, dim), dim - t);
      fit &= fit_mask(x);
      for (int p = 0; p < parts; p++)
        store_parts(row + p * part_size + t / DEPTH * TILE + t % DEPTH, take_part(&x));
    }
    if (j < keys) unfit[j] = fit != 0xffff;
    count += fit != 0xffff;
  }
  return count;
}

/* A pair of rows of numbers in lanes as one row of a right operand's tile, and so for all parts. */
SDPAI_INLINE void pack_pair(__m512 even, __m512 odd, int parts, int64_t part_size, uint16_t *to) {
  for (int p = 0; p < parts; p++) {
    const __m512i low = take_part(&even);
    store_pairs(to + p * part_size, low, take_part(&odd));
  }
}

int64_t MATRIX_KERNEL(pack_queries)(int64_t width, int64_t dim, const float *q, int parts,
                                    uint16_t *packed, uint8_t *unfit) {
  const int64_t part_size = sdpai_tiles(dim, DEPTH) * TILE;
  int64_t count = 0;
  for (int64_t i = 0; i < width; i += LANES_16) {
    uint16_t *to = packed + i / LANES_16 * parts * part_size;
    unsigned fit = 0xffff;
    for (int64_t t = 0; t < dim || t % DEPTH != 0; t += 2) {
      const __m512 even = t < dim ? vf32_load(q + t * width + i) : vf32_set1(0);
      const __m512 odd = t + 1 < dim ? vf32_load(q + (t + 1) * width + i) : vf32_set1(0);
      fit &= fit_mask(even) & fit_mask(odd);
      pack_pair(even, odd, parts, part_size, to + t / 2 * 2 * LANES_16);
    }
    for (int u = 0; u < LANES_16; u++) {
      unfit[i + u] = !(fit >> u & 1);
      count += unfit[i + u];
    }
  }
  return count;
}

/* 16 keys by 16 columns of V as half of a tile's rows: `to` is the place of the first key. */
SDPAI_INLINE int64_t pack_values_block(int64_t keys, int64_t cols, const float *v, int64_t ldv,
                                       int parts, int64_t part_size, uint16_t *to) {
  __m512 block[LANES_16];
  int64_t unfit = 0;
  for (int u = 0; u < LANES_16; u++) {
    block[u] = u < keys ? load_some(v + u * ldv, cols) : vf32_set1(0);
    const __mmask16 fit = fit_mask(block[u]);
    unfit += LANES_16 - __builtin_popcount(fit);
    block[u] = _mm512_maskz_mov_ps(fit, block[u]);
  }
  vf32_transpose(block);
  for (int u = 0; u < LANES_16; u++)
    for (int p = 0; p < parts; p++)
      store_parts(to + p * part_size + u * DEPTH, take_part(&block[u]));
  return unfit;
}

int64_t MATRIX_KERNEL(pack_values)(int64_t keys, int64_t dim, const float *v, int64_t ldv,
                                   int parts, uint16_t *packed) {
  const int64_t part_size = sdpai_tiles(dim, LANES_16) * TILE;
  int64_t unfit = 0;
  for (int64_t j = 0; j < keys || j % DEPTH != 0; j += LANES_16) {
    uint16_t *to = packed + j / DEPTH * parts * part_size + j % DEPTH;
    for (int64_t d = 0; d < dim; d += LANES_16)
      unfit += pack_values_block(keys - j, dim - d, v + (j < keys ? j * ldv + d : 0), ldv, parts,
                                 part_size, to + d / LANES_16 * TILE);
  }
  return unfit;
}

/* 2^86: see matrix_kernels.h. */
#define WEIGHT_SCALE 0x1p+86f

void MATRIX_KERNEL(pack_weights)(int64_t keys, int64_t width, int64_t lead, const float *p,
                                 int parts, uint16_t *packed) {
  const int64_t part_size = width / LANES_16 * TILE, end = lead + keys;
  const __m512 scale = vf32_set1(WEIGHT_SCALE);
  for (int64_t j = 0; j < end || j % DEPTH != 0; j += 2) {
    const float *row = p + (j >= lead && j < end ? (j - lead) * width : 0);
    uint16_t *to = packed + j / DEPTH * parts * part_size + j % DEPTH * LANES_16;
    for (int64_t i = 0; i < width; i += LANES_16, to += TILE) {
      __m512 even = vf32_set1(0), odd = even;
      if (j >= lead && j < end) even = _mm512_mul_ps(scale, vf32_load(row + i));
      if (j >= lead && j + 1 < end) odd = _mm512_mul_ps(scale, vf32_load(row + width + i));
      pack_pair(even, odd, parts, part_size, to);
    }
  }
}

void MATRIX_KERNEL(mask_max)(int64_t keys, int64_t width, float *s, const uint32_t *words,
                             float *max) {
  const vf32 minus_infinity = vf32_set1(-INFINITY);
  for (int64_t i = 0; i < width; i += LANES_16) {
    vf32 largest = minus_infinity;
    for (int64_t j = 0; j < keys; j++) {
      vf32 x = vf32_load(s + j * width + i);
      if (words) {
        x = vf32_keep_bit(words + j / 32 * width + i, (int)(j % 32), x, minus_infinity);
        vf32_store(s + j * width + i, x);
      }
      largest = vf32_max(x, largest);
    }
    vf32_store(max + i, largest);
  }
}
