/* row_convert_tpl.h - rows of a 16-bit type to floats and back
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: a vec_<isa>.h comes first. Parameters, cleared at the end: KERNEL(op) the kernel's
 * name, STORED(op) the vector operation of the type.
 */
void KERNEL(row_load)(int64_t n, const uint16_t *x, float *out) {
  int64_t t = 0;
  for (; n - t >= vf32_lanes; t += vf32_lanes) vf32_store(out + t, STORED(load)(x + t));
  if (t < n) {
    const int k = (int)(n - t);
    vf32_store_part(out + t, k, STORED(load_part)(x + t, k));
  }
}

void KERNEL(row_store)(int64_t n, const float *x, uint16_t *out) {
  int64_t t = 0;
  for (; n - t >= vf32_lanes; t += vf32_lanes) STORED(store)(out + t, vf32_load(x + t));
  if (t < n) {
    const int k = (int)(n - t);
    STORED(store_part)(out + t, k, vf32_load_part(x + t, k));
  }
}

#undef KERNEL
#undef STORED
