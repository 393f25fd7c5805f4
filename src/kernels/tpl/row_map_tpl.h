/* row_map_tpl.h - a row from rows, element by element: scaling, dropping, gradient of the softmax
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: real_f32.h or real_f64.h and a vec_<isa>.h come first.
 */
void KERNEL(row_scale)(int64_t n, real *x, real factor) {
  const vec vfactor = V(set1)(factor), zero = V(set1)(0); /* -0 + 0 is +0 */
  int64_t t = 0;
  for (; n - t >= LANES; t += LANES) V(store)(x + t, V(add)(V(mul)(V(load)(x + t), vfactor), zero));
  if (t < n) {
    int k = (int)(n - t);
    V(store_part)(x + t, k, V(add)(V(mul)(V(load_part)(x + t, k), vfactor), zero));
  }
}

void KERNEL(row_keep)(int64_t n, real *x, const uint32_t *words) {
  int64_t t = 0;
  for (; n - t >= 32; t += 32) {
    const uint32_t word = words[t / 32];
    for (int u = 0; u < 32; u++) x[t + u] = word >> u & 1 ? x[t + u] : 0;
  }
  for (; t < n; t++) x[t] = words[t / 32] >> (t % 32) & 1 ? x[t] : 0;
}

/* w (g - dot), 0 where w is. */
SDPAI_INLINE vec V(softmax_gradient)(vec w, vec g, vec dot) {
  const vec zero = V(set1)(0);
  return V(select_eq)(w, zero, zero, V(mul)(w, V(sub)(g, dot)));
}

void KERNEL(row_softmax_backward)(int64_t n, const real *w, const real *g, real dot, real *out) {
  const vec vdot = V(set1)(dot);
  int64_t t = 0;
  for (; n - t >= LANES; t += LANES)
    V(store)(out + t, V(softmax_gradient)(V(load)(w + t), V(load)(g + t), vdot));
  if (t < n) {
    int k = (int)(n - t);
    vec s = V(softmax_gradient)(V(load_part)(w + t, k), V(load_part)(g + t, k), vdot);
    V(store_part)(out + t, k, s);
  }
}
