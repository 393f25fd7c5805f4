/* softmax_api_tpl.h - the softmax tools, written once for both types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parameters: T the type, X(name) the name with the type's suffix, FIELD the member of struct
 * sdpai_kernels.
 */

static void X(softmax_row)(const struct sdpai_kernels *kernels, int64_t cols, T scale,
                           const T *scores, const uint8_t *mask, T *weights) {
  if (weights != scores) memcpy(weights, scores, (size_t)cols * sizeof *weights);
  T max, factor;
  if (mask) {
    const struct X(sdpai_score) rule = {.scale = scale, .mask = mask};
    max = kernels->FIELD.row_scores(cols, weights, &rule);
    scale = 1;
  } else {
    max = kernels->FIELD.row_max(cols, weights, scale);
  }
  switch (X(sdpai_softmax_row)(kernels, cols, weights, scale, max, NULL, &factor, NULL)) {
  case SDPAI_ROW_FINE:
    kernels->FIELD.row_scale(cols, weights, factor);
    break;
  case SDPAI_ROW_NAN:
    for (int64_t t = 0; t < cols; t++) weights[t] = !mask || mask[t] ? (T)NAN : 0;
    break;
  case SDPAI_ROW_EMPTY:
    break;
  }
}

static SDPAI_NOINLINE sdpa_status X(softmax_rows)(int64_t rows, int64_t cols, T scale,
                                                  const T *scores, int64_t scores_ld,
                                                  const uint8_t *mask, int64_t mask_ld, T *weights,
                                                  int64_t weights_ld) {
  if (!isfinite(scale)) return SDPA_ERROR_VALUE;
  const struct sdpai_kernels *kernels = sdpai_kernels_select(SDPA_ISA_AUTO);
  for (int64_t i = 0; cols > 0 && i < rows; i++) {
    const uint8_t *row_mask = mask ? mask + i * mask_ld : NULL;
    X(softmax_row)
    (kernels, cols, scale, scores + i * scores_ld, row_mask, weights + i * weights_ld);
  }
  return SDPA_OK;
}

sdpa_status X(sdpa_softmax)(int64_t rows, int64_t cols, T scale, const T *scores, int64_t scores_ld,
                            const uint8_t *mask, int64_t mask_ld, T *weights, int64_t weights_ld) {
  sdpa_status status = check_matrix(rows, cols, scores, scores_ld, sizeof *scores, 0);
  if (status == SDPA_OK) status = check_matrix(rows, cols, weights, weights_ld, sizeof *weights, 1);
  if (status == SDPA_OK && mask) status = check_matrix(rows, cols, mask, mask_ld, 1, 0);
  if (status != SDPA_OK) return status;
  const int saved = errno;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  status =
      X(softmax_rows)(rows, cols, scale, scores, scores_ld, mask, mask_ld, weights, weights_ld);
  sdpai_fp_leave(&env);
  errno = saved;
  return status;
}

/* J_ij = dp_i/dz_j = p_i (delta_ij - p_j) */
static SDPAI_NOINLINE void X(jacobian_rows)(int64_t n, const T *weights, T *jacobian, int64_t ld) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) jacobian[i * ld + j] = -weights[i] * weights[j];
    jacobian[i * ld + i] = weights[i] * (1 - weights[i]);
  }
}

sdpa_status X(sdpa_softmax_jacobian)(int64_t n, const T *weights, T *jacobian, int64_t ld) {
  sdpa_status status = check_matrix(1, n, weights, n, sizeof *weights, 0);
  if (status == SDPA_OK) status = check_matrix(n, n, jacobian, ld, sizeof *jacobian, 1);
  if (status != SDPA_OK) return status;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  X(jacobian_rows)(n, weights, jacobian, ld);
  sdpai_fp_leave(&env);
  return SDPA_OK;
}

static SDPAI_NOINLINE void X(backward_rows)(int64_t rows, int64_t cols, const T *weights,
                                            int64_t weights_ld, const T *grad, int64_t grad_ld,
                                            T *out, int64_t out_ld) {
  const struct sdpai_kernels *kernels = sdpai_kernels_select(SDPA_ISA_AUTO);
  for (int64_t i = 0; cols > 0 && i < rows; i++) {
    const T *w = weights + i * weights_ld, *g = grad + i * grad_ld;
    kernels->FIELD.row_softmax_backward(cols, w, g, kernels->FIELD.row_dot(cols, w, g),
                                        out + i * out_ld);
  }
}

sdpa_status X(sdpa_softmax_backward)(int64_t rows, int64_t cols, const T *weights,
                                     int64_t weights_ld, const T *grad, int64_t grad_ld, T *out,
                                     int64_t out_ld) {
  sdpa_status status = check_matrix(rows, cols, weights, weights_ld, sizeof *weights, 0);
  if (status == SDPA_OK) status = check_matrix(rows, cols, grad, grad_ld, sizeof *grad, 0);
  if (status == SDPA_OK) status = check_matrix(rows, cols, out, out_ld, sizeof *out, 1);
  if (status != SDPA_OK) return status;
  struct sdpai_fp_env env;
  sdpai_fp_enter(&env);
  X(backward_rows)(rows, cols, weights, weights_ld, grad, grad_ld, out, out_ld);
  sdpai_fp_leave(&env);
  return SDPA_OK;
}
