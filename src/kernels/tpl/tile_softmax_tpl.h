/* tile_softmax_tpl.h - rules, online softmax and dropout of a tile of scores, queries in lanes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: exp_tpl.h comes first. No reduction runs across lanes: maximum and sum over keys are
 * vectors.
 */

/* The formula of row_scores (row_scores_tpl.h), with per-lane slopes and distances. */
void KERNEL(tile_rules)(int64_t keys, int64_t width, real *s, const TILE_RULES *rules, real *max) {
  const vec scale = V(set1)(rules->scale), cap = V(set1)(rules->softcap);
  const vec minus_infinity = V(set1)(-(real)INFINITY);
  for (int64_t c = 0; c < width; c += LANES) {
    vec largest = minus_infinity, slope = V(set1)(0), distance = slope;
    if (rules->slope) {
      slope = V(load)(rules->slope + c);
      distance = V(load)(rules->distance + c);
    }
    for (int64_t j = 0; j < keys; j++) {
      real *at = s + j * width + c;
      vec x = V(mul)(scale, V(load)(at));
      if (rules->softcap != 0) x = V(mul)(cap, V(tanh)(V(div)(x, cap)));
      if (rules->slope) x = V(fnma)(slope, V(abs)(V(sub)(distance, V(set1)((real)j))), x);
      if (rules->bias) {
        const vec bias = V(load)(rules->bias + j * width + c);
        x = V(select_eq)(bias, minus_infinity, minus_infinity, V(add)(x, bias));
      }
      if (rules->words)
        x = V(keep_bit)(rules->words + j / 32 * width + c, (int)(j % 32), x, minus_infinity);
      V(store)(at, x);
      largest = V(max)(x, largest);
    }
    V(store)(max + c, largest);
  }
}

/* A lane whose maximum so far is -inf gets 0 in its place: exp(-inf - 0) is the 0 that such scores
 * weigh, where -inf - -inf would be NaN. */
SDPAI_INLINE vec V(finite_max)(vec max) {
  const vec minus_infinity = V(set1)(-(real)INFINITY);
  return V(select_eq)(max, minus_infinity, V(set1)(0), max);
}

/* Sums run separately over even and odd keys. */
void KERNEL(tile_softmax)(int64_t keys, int64_t width, real scale, real *s, const real *max,
                          real *m, real *l, real *alpha) {
  const vec vscale = V(set1)(scale);
  for (int64_t c = 0; c < width; c += LANES) {
    const vec old = V(load)(m + c);
    const vec now = V(max)(V(mul)(vscale, V(load)(max + c)), old);
    const vec shift = V(finite_max)(now);
    vec even = V(set1)(0), odd = even;
    int64_t j = 0;
    for (; keys - j >= 2; j += 2) {
      real *at = s + j * width + c;
      const vec e0 = V(exp)(V(sub)(V(mul)(vscale, V(load)(at)), shift));
      const vec e1 = V(exp)(V(sub)(V(mul)(vscale, V(load)(at + width)), shift));
      V(store)(at, e0);
      V(store)(at + width, e1);
      even = V(add)(even, e0);
      odd = V(add)(odd, e1);
    }
    if (j < keys) {
      real *at = s + j * width + c;
      const vec e = V(exp)(V(sub)(V(mul)(vscale, V(load)(at)), shift));
      V(store)(at, e);
      even = V(add)(even, e);
    }
    const vec rescale = V(exp)(V(sub)(old, shift));
    V(store)(m + c, now);
    V(store)(l + c, V(fma)(V(load)(l + c), rescale, V(add)(even, odd)));
    V(store)(alpha + c, rescale);
  }
}

void KERNEL(tile_keep)(int64_t keys, int64_t width, real *s, const uint32_t *words) {
  const vec zero = V(set1)(0);
  for (int64_t j = 0; j < keys; j++)
    for (int64_t c = 0; c < width; c += LANES) {
      real *at = s + j * width + c;
      V(store)(at, V(keep_bit)(words + j / 32 * width + c, (int)(j % 32), V(load)(at), zero));
    }
}
