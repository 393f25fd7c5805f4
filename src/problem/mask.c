/* mask.c - which keys a query row may attend: the one table of masks
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "problem/mask.h"

#include <math.h>
#include <string.h>

#include "runtime/checked_math.h"

/* One kind of mask. `narrow` cuts the interval of a row; `exclude` clears the bytes of the keys it
 * excludes one by one. Either may be NULL. */
struct mask_kind {
  uint32_t feature;
  void (*narrow)(const struct sdpai_mask_view *view, int64_t row, struct sdpai_interval *keys);
  void (*exclude)(const struct sdpai_mask_view *view, int64_t row, struct sdpai_interval keys,
                  uint8_t *allowed);
};

/* Causal has become window_right <= 0 in problem.c, so one function serves both. The window is
 * added to the offset before the row: then a sum that is held at an end of int64_t is one that lies
 * beyond every key. p itself may be held and need not. */
static void narrow_window(const struct sdpai_mask_view *view, int64_t row,
                          struct sdpai_interval *keys) {
  const struct sdpai_problem *problem = view->problem;
  if (problem->window_left >= 0) {
    int64_t first = sdpai_saturating_sub(view->offset, problem->window_left);
    keys->begin = sdpai_max(keys->begin, sdpai_saturating_add(row, first));
  }
  if (problem->window_right >= 0) {
    int64_t last = sdpai_saturating_add(view->offset, problem->window_right);
    last = sdpai_saturating_add(row, last);
    keys->end = sdpai_min(keys->end, sdpai_saturating_add(last, 1));
  }
}

static void exclude_mask(const struct sdpai_mask_view *view, int64_t row,
                         struct sdpai_interval keys, uint8_t *allowed) {
  const sdpa_strides *strides = &view->problem->mask;
  const uint8_t *mask = view->mask + row * strides->row + keys.begin * strides->col;
  for (int64_t t = 0; t < keys.end - keys.begin; t++)
    if (mask[t * strides->col] == 0) allowed[t] = 0;
}

/* Clears the bytes of the keys whose bias, of C type `type`, is -inf. */
#define EXCLUDE(type, minus_infinity)                                                              \
  do {                                                                                             \
    const type *from = bias;                                                                       \
    for (int64_t t = 0; t < n; t++)                                                                \
      if (from[t * stride] == (minus_infinity)) allowed[t] = 0;                                    \
  } while (0)

static void exclude_bias(const struct sdpai_mask_view *view, int64_t row,
                         struct sdpai_interval keys, uint8_t *allowed) {
  const uint32_t type = view->problem->types.bias;
  const sdpa_strides *strides = &view->problem->bias;
  const int64_t n = keys.end - keys.begin, stride = strides->col;
  const void *bias = sdpai_at(type, view->bias, row * strides->row + keys.begin * stride);
  switch (type) {
  case SDPA_F64:
    EXCLUDE(double, -(double)INFINITY);
    break;
  case SDPA_F32:
    EXCLUDE(float, -INFINITY);
    break;
  case SDPA_BF16:
    EXCLUDE(uint16_t, 0xff80);
    break;
  default: /* SDPA_F16 */
    EXCLUDE(uint16_t, 0xfc00);
    break;
  }
}
#undef EXCLUDE

static const struct mask_kind mask_kinds[] = {
    {SDPA_CAUSAL | SDPA_WINDOW, narrow_window, NULL},
    {SDPA_MASK, NULL, exclude_mask},
    {SDPA_BIAS, NULL, exclude_bias},
};
enum { MASK_KINDS = sizeof mask_kinds / sizeof *mask_kinds };

void sdpai_mask_view(const struct sdpai_problem *problem, const struct sdpai_args *args,
                     int64_t batch, int64_t head, struct sdpai_mask_view *view) {
  view->problem = problem;
  view->mask =
      args->mask ? args->mask + batch * problem->mask.batch + head * problem->mask.head : NULL;
  view->bias = sdpai_at(problem->types.bias, args->bias,
                        batch * problem->bias.batch + head * problem->bias.head);
  view->query_len = sdpai_query_length(problem, args, batch);
  view->key_len = sdpai_key_length(problem, args, batch);
  view->offset = sdpai_alignment_offset(problem, args, batch);
}

struct sdpai_interval sdpai_mask_interval(const struct sdpai_mask_view *view, int64_t row) {
  struct sdpai_interval keys = {0, view->key_len};
  if (row >= view->query_len) keys.end = 0;
  for (int i = 0; i < MASK_KINDS; i++)
    if ((view->problem->features & mask_kinds[i].feature) && mask_kinds[i].narrow)
      mask_kinds[i].narrow(view, row, &keys);
  if (keys.end <= keys.begin) keys.begin = keys.end = 0;
  return keys;
}

struct sdpai_interval sdpai_mask_interval_of_rows(const struct sdpai_mask_view *view, int64_t first,
                                                  int64_t rows) {
  struct sdpai_interval keys = {INT64_MAX, 0};
  for (int64_t i = first; i < first + rows; i++) {
    const struct sdpai_interval own = sdpai_mask_interval(view, i);
    if (own.end == 0) continue;
    keys.begin = sdpai_min(keys.begin, own.begin);
    keys.end = sdpai_max(keys.end, own.end);
  }
  if (keys.end == 0) keys.begin = 0;
  return keys;
}

void sdpai_mask_allowed(const struct sdpai_mask_view *view, int64_t row, struct sdpai_interval keys,
                        uint8_t *allowed) {
  if (keys.end <= keys.begin) return;
  memset(allowed, 1, (size_t)(keys.end - keys.begin));
  for (int i = 0; i < MASK_KINDS; i++)
    if ((view->problem->features & mask_kinds[i].feature) && mask_kinds[i].exclude)
      mask_kinds[i].exclude(view, row, keys, allowed);
}
