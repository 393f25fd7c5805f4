/* softmax_api.c - the softmax tools: softmax of given scores, its Jacobian, its gradient
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sdpa/sdpa.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "engines/softmax_row.h"
#include "kernels/kernels.h"
#include "problem/dtype.h"
#include "runtime/checked_math.h"
#include "runtime/fp_env.h"

/* A rows x cols matrix with leading dimension ld: sizes, pointer and alignment. Empty ones may be
 * NULL; an input's ld may be 0. */
static sdpa_status check_matrix(int64_t rows, int64_t cols, const void *data, int64_t ld,
                                size_t element, int output) {
  int64_t bytes;
  if (rows < 0 || cols < 0) return SDPA_ERROR_SHAPE;
  if (rows == 0 || cols == 0) return SDPA_OK;
  if (!data) return SDPA_ERROR_NULL;
  if (rows > 1 && ld < cols && (output || ld != 0)) return SDPA_ERROR_STRIDE;
  if (!sdpai_is_aligned(data, element)) return SDPA_ERROR_ALIGNMENT;
  if (!sdpai_checked_mul(rows - 1, rows > 1 ? ld : 0, &bytes) ||
      !sdpai_checked_add(bytes, cols, &bytes) ||
      !sdpai_checked_mul(bytes, (int64_t)element, &bytes) || bytes > PTRDIFF_MAX)
    return SDPA_ERROR_OVERFLOW;
  return SDPA_OK;
}

#define T       float
#define X(name) name##_f32
#define FIELD   f32
#include "api/softmax_api_tpl.h"
#undef T
#undef X
#undef FIELD

#define T       double
#define X(name) name##_f64
#define FIELD   f64
#include "api/softmax_api_tpl.h"
