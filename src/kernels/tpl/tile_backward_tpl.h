/* tile_backward_tpl.h - what the backward pass does with a tile of scores between its products
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: exp_tpl.h comes first. As in tile_softmax_tpl.h no reduction runs across lanes.
 */

/* A lane with shift +inf has no weights; its score may be NaN. */
void KERNEL(tile_weights)(int64_t keys, int64_t width, real scale, real *s, const real *shift) {
  const vec vscale = V(set1)(scale), zero = V(set1)(0);
  const vec infinity = V(set1)((real)INFINITY), minus_infinity = V(set1)(-(real)INFINITY);
  for (int64_t c = 0; c < width; c += LANES) {
    const vec from = V(load)(shift + c);
    for (int64_t j = 0; j < keys; j++) {
      real *at = s + j * width + c;
      const vec x = V(load)(at);
      const vec e = V(exp)(V(sub)(V(mul)(vscale, x), from));
      V(store)
      (at, V(select_eq)(x, minus_infinity, zero, V(select_eq)(from, infinity, zero, e)));
    }
  }
}

/* z a, for one key. */
SDPAI_INLINE vec V(dropped)(const uint32_t *kept, int64_t width, int64_t c, int64_t j, vec factor,
                            vec a) {
  if (!kept) return a;
  return V(mul)(a, V(keep_bit)(kept + j / 32 * width + c, (int)(j % 32), factor, V(set1)(0)));
}

void KERNEL(tile_gradient)(int64_t keys, int64_t width, real *p, real *g, const real *delta,
                           const uint32_t *kept, real factor) {
  const vec vfactor = V(set1)(factor), zero = V(set1)(0);
  for (int64_t c = 0; c < width; c += LANES) {
    const vec vdelta = V(load)(delta + c);
    for (int64_t j = 0; j < keys; j++) {
      const int64_t at = j * width + c;
      const vec w = V(load)(p + at);
      const vec x = V(sub)(V(dropped)(kept, width, c, j, vfactor, V(load)(g + at)), vdelta);
      V(store)(g + at, V(select_eq)(w, zero, zero, V(mul)(w, x)));
      if (kept) V(store)(p + at, V(dropped)(kept, width, c, j, vfactor, w));
    }
  }
}

void KERNEL(tile_dot)(int64_t keys, int64_t width, const real *p, const real *g,
                      const uint32_t *kept, real factor, real *sum) {
  const vec vfactor = V(set1)(factor), zero = V(set1)(0);
  for (int64_t c = 0; c < width; c += LANES) {
    vec even = zero, odd = zero;
    for (int64_t j = 0; j < keys; j++) {
      const int64_t at = j * width + c;
      const vec w = V(load)(p + at);
      const vec x = V(dropped)(kept, width, c, j, vfactor, V(load)(g + at));
      const vec term = V(select_eq)(w, zero, zero, V(mul)(w, x));
      if (j % 2 == 0) {
        even = V(add)(even, term);
      } else {
        odd = V(add)(odd, term);
      }
    }
    V(store)(sum + c, V(add)(V(load)(sum + c), V(add)(even, odd)));
  }
}

void KERNEL(tile_slopes)(int64_t keys, int64_t width, const real *g, const real *distance,
                         real *sum) {
  for (int64_t c = 0; c < width; c += LANES) {
    const vec from = V(load)(distance + c);
    vec acc = V(set1)(0);
    for (int64_t j = 0; j < keys; j++)
      acc = V(fma)(V(load)(g + j * width + c), V(abs)(V(sub)(from, V(set1)((real)j))), acc);
    V(store)(sum + c, V(add)(V(load)(sum + c), acc));
  }
}

/* 1 - tanh(y)^2 = 4 e / (1 + e)^2 with e = exp(-2 |y|). */
SDPAI_INLINE vec V(softcap_slope)(vec x, vec scale, vec cap) {
  const vec y = V(abs)(V(div)(V(mul)(scale, x), cap));
  const vec e = V(exp)(V(mul)(V(set1)(-2), y)), sum = V(add)(V(set1)(1), e);
  return V(div)(V(mul)(V(set1)(4), e), V(mul)(sum, sum));
}

/* g times that; 0 stays 0. */
SDPAI_INLINE vec V(softcap_gradient)(vec g, vec x, vec scale, vec cap) {
  const vec zero = V(set1)(0);
  return V(select_eq)(g, zero, zero, V(mul)(g, V(softcap_slope)(x, scale, cap)));
}

void KERNEL(row_softcap_backward)(int64_t n, const real *x, real scale, real softcap, real *g) {
  const vec vscale = V(set1)(scale), cap = V(set1)(softcap);
  int64_t t = 0;
  for (; n - t >= LANES; t += LANES)
    V(store)(g + t, V(softcap_gradient)(V(load)(g + t), V(load)(x + t), vscale, cap));
  if (t < n) {
    const int k = (int)(n - t);
    const vec part = V(load_part)(g + t, k);
    V(store_part)(g + t, k, V(softcap_gradient)(part, V(load_part)(x + t, k), vscale, cap));
  }
}
