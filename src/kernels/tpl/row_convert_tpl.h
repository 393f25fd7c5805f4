/* row_convert_tpl.h - rows of a 16-bit type to floats and back
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: a vec_<isa>.h comes first; parameters as product_tpl.h.
 */
void B_KERNEL(row_load)(int64_t n, const B_TYPE *x, float *out) {
  int64_t t = 0;
  for (; n - t >= vf32_lanes; t += vf32_lanes) vf32_store(out + t, B(load)(x + t));
  if (t < n) {
    const int k = (int)(n - t);
    vf32_store_part(out + t, k, B(load_part)(x + t, k));
  }
}

void B_KERNEL(row_store)(int64_t n, const float *x, B_TYPE *out) {
  int64_t t = 0;
  for (; n - t >= vf32_lanes; t += vf32_lanes) B(store)(out + t, vf32_load(x + t));
  if (t < n) {
    const int k = (int)(n - t);
    B(store_part)(out + t, k, vf32_load_part(x + t, k));
  }
}
