/* problem_print.c - the canonical string of a problem spec
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The shortest words that give the same bytes again: defaults are left out, strides become an order
 * of dimensions where one fits, and else four numbers.
 */
#include "problem_string.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct printer {
  char *text;
  size_t bytes, length;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
put(struct printer *p, const char *format, ...) {
  va_list arguments;
  size_t room = p->length < p->bytes ? p->bytes - p->length : 0;
  va_start(arguments, format);
  int n = vsnprintf(room ? p->text + p->length : NULL, room, format, arguments);
  va_end(arguments);
  if (n > 0) p->length += (size_t)n;
}

static const char *type_name(uint32_t type) {
  switch (type) {
  case SDPA_F64:
    return "f64";
  case SDPA_F32:
    return "f32";
  case SDPA_BF16:
    return "bf16";
  default:
    return "f16";
  }
}

static void put_types(struct printer *p, const sdpa_problem *problem) {
  if (!(problem->key_type | problem->value_type | problem->output_type | problem->bias_type)) {
    put(p, "%s", type_name(problem->query_type));
    return;
  }
  put(p, "q=%s", type_name(problem->query_type));
  if (problem->key_type) put(p, ",k=%s", type_name(problem->key_type));
  if (problem->value_type) put(p, ",v=%s", type_name(problem->value_type));
  if (problem->output_type) put(p, ",o=%s", type_name(problem->output_type));
  if (problem->bias_type) put(p, ",bias=%s", type_name(problem->bias_type));
}

static void put_sizes(struct printer *p, const sdpa_problem *problem) {
  put(p, ":b%lld:h%lld", (long long)problem->batch, (long long)problem->query_heads);
  if (problem->kv_heads != problem->query_heads) put(p, "/%lld", (long long)problem->kv_heads);
  put(p, ":q%lld:k%lld:d%lld", (long long)problem->query_len, (long long)problem->key_len,
      (long long)problem->key_dim);
  if (problem->value_dim != problem->key_dim) put(p, "/%lld", (long long)problem->value_dim);
}

static void put_list(struct printer *p, const struct problem_list *list) {
  put(p, "[");
  for (int i = 0; i < list->count; i++) put(p, i ? ",%lld" : "%lld", (long long)list->item[i]);
  put(p, "]");
}

static void put_alignment(struct printer *p, const struct problem_spec *spec) {
  const sdpa_problem *problem = &spec->problem;
  int causal = (problem->features & SDPA_CAUSAL) != 0;
  if (causal || problem->alignment != SDPA_ALIGN_NONE) put(p, causal ? ":causal" : ":align");
  switch (problem->alignment) {
  case SDPA_ALIGN_TOP_LEFT:
    put(p, "-tl");
    break;
  case SDPA_ALIGN_BOTTOM_RIGHT:
    put(p, "-br");
    break;
  case SDPA_ALIGN_OFFSET:
    put(p, "-at=");
    if (!(problem->features & SDPA_OFFSETS))
      put(p, "%lld", (long long)problem->offset);
    else if (spec->offsets.given)
      put_list(p, &spec->offsets);
    else
      put(p, "random");
    break;
  default:
    break;
  }
}

static void put_options(struct printer *p, const struct problem_spec *spec) {
  const sdpa_problem *problem = &spec->problem;
  uint32_t features = problem->features;
  put_alignment(p, spec);
  if (features & SDPA_WINDOW)
    put(p, ":win=%lld,%lld", (long long)problem->window_left, (long long)problem->window_right);
  if (features & SDPA_MASK) put(p, ":mask");
  if (features & SDPA_BIAS) put(p, ":bias");
  if (features & SDPA_ALIBI) put(p, ":alibi");
  if (problem->softcap != 0.0) put(p, ":softcap=%.17g", problem->softcap);
  if (features & SDPA_SCALE) put(p, ":scale=%.17g", problem->scale);
  if (features & SDPA_DROPOUT) put(p, ":dropout=%.17g", problem->dropout);
  if (features & SDPA_SINKS) put(p, ":sink");
  if (features & SDPA_KEY_LENS) {
    put(p, ":lens");
    if (spec->key_lens.given) put(p, "="), put_list(p, &spec->key_lens);
  }
  if (features & SDPA_QUERY_LENS) {
    put(p, ":qlens");
    if (spec->query_lens.given) put(p, "="), put_list(p, &spec->query_lens);
  }
  if (features & SDPA_WEIGHTS) put(p, ":weights");
  if (features & SDPA_SCORES)
    put(p, ":scores=%d", problem->score_stage == SDPA_STAGE_BIASED ? 4 : (int)problem->score_stage);
  if (features & SDPA_LSE && !spec->backward) put(p, ":lse");
  if (features & SDPA_NO_OUTPUT) put(p, ":no-output");
}

static int same_strides(sdpa_strides a, sdpa_strides b) {
  return a.batch == b.batch && a.head == b.head && a.row == b.row && a.col == b.col;
}

/* The `n`-th order of the letters in `letters` (distinct, four of them). */
static void nth_order(int n, char order[5]) {
  char letters[5] = "bhsd";
  for (int left = 4; left > 0; left--) {
    int i = n % left;
    n /= left;
    order[4 - left] = letters[i];
    memmove(letters + i, letters + i + 1, (size_t)(4 - i));
  }
  order[4] = '\0';
}

static void put_strides(struct printer *p, const sdpa_problem *problem,
                        enum problem_tensor tensor) {
  sdpa_strides strides = problem_get_strides(problem, tensor);
  int64_t shape[4];
  problem_shape(problem, tensor, shape);
  put(p, ":%s@", problem_tensor_name(tensor));
  for (int n = 0; n < 24 && tensor != PROBLEM_LSE; n++) {
    char order[5];
    nth_order(n, order);
    if (same_strides(strides, problem_order_strides(shape, order, 0))) {
      put(p, "%s", order);
      return;
    }
  }
  put(p, "%lld,%lld,%lld,%lld", (long long)strides.batch, (long long)strides.head,
      (long long)strides.row, (long long)strides.col);
}

/* The layout that most of query, key, value and output have; the first of equals. */
static void choose_layout(const sdpa_problem *problem, char layout[5]) {
  int most = -1;
  for (int n = 0; n < 24; n++) {
    char order[5];
    int count = 0;
    nth_order(n, order);
    for (int t = PROBLEM_QUERY; t <= PROBLEM_OUTPUT; t++) {
      enum problem_tensor tensor = (enum problem_tensor)t;
      count += problem_declares(problem, tensor) &&
               same_strides(problem_get_strides(problem, tensor),
                            problem_default_strides(problem, tensor, order));
    }
    if (count <= most) continue;
    most = count;
    memcpy(layout, order, 5);
  }
}

size_t problem_print(const struct problem_spec *spec, char *text, size_t text_bytes) {
  struct printer printer = {text, text_bytes, 0};
  static const char *const precisions[] = {"full", "fma", "reduced"};
  char layout[5];
  if (text_bytes > 0) text[0] = '\0';
  put_types(&printer, &spec->problem);
  put_sizes(&printer, &spec->problem);
  put_options(&printer, spec);
  choose_layout(&spec->problem, layout);
  if (strcmp(layout, "bhsd") != 0) put(&printer, ":layout=%s", layout);
  for (enum problem_tensor tensor = 0; tensor < PROBLEM_TENSORS_END;
       tensor = problem_next_tensor(tensor)) {
    if (problem_spec_places(spec, tensor) &&
        !same_strides(problem_get_strides(&spec->problem, tensor),
                      problem_default_strides(&spec->problem, tensor, layout)))
      put_strides(&printer, &spec->problem, tensor);
  }
  if (spec->precision) put(&printer, ":precision=%s", precisions[spec->precision]);
  if (spec->backward) put(&printer, ":bwd");
  if (spec->seed) put(&printer, ":seed=%llu", (unsigned long long)spec->seed);
  return printer.length;
}
