/* report_case.c - building, running and comparing the input of a report
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem_data.h"
#include "problem_shape.h"
#include "reference.h"

void report_case_init(struct report_case *c, struct report_sizes sizes, double scale) {
  memset(c, 0, sizeof *c);
  sdpa_problem *p = &c->problem;
  assert_int_equal(sdpa_problem_init(p, sizeof *p), SDPA_OK);
  p->batch = sizes.batch;
  p->query_heads = sizes.query_heads;
  p->kv_heads = sizes.kv_heads;
  p->query_len = sizes.query_len;
  p->key_len = sizes.key_len;
  p->key_dim = sizes.key_dim;
  p->value_dim = sizes.value_dim;
  p->scale = scale;
  if (scale != 0) p->features = SDPA_SCALE;
  assert_int_equal(sdpa_problem_layout(p, SDPA_LAYOUT_BHSD), SDPA_OK);
}

struct report_sizes report_one_head(int64_t query_len, int64_t key_len, int64_t key_dim,
                                    int64_t value_dim) {
  return (struct report_sizes){1, 1, 1, query_len, key_len, key_dim, value_dim};
}

void *report_typed_copy(uint32_t type, const struct report_input *input) {
  if (input->count == 0) return NULL;
  const size_t width = problem_type_bytes(type);
  char *block = malloc((size_t)input->count * width);
  assert_non_null(block);
  for (int64_t i = 0; i < input->count; i++)
    problem_store(type, block + (size_t)i * width, input->data[i]);
  return block;
}

static int64_t strides_at(const sdpa_strides *s, const int64_t i[4]) {
  return i[0] * s->batch + i[1] * s->head + i[2] * s->row + i[3] * s->col;
}

void *report_output_block(const sdpa_problem *p, enum problem_tensor tensor) {
  int64_t shape[4];
  problem_shape(p, tensor, shape);
  const sdpa_strides s = problem_get_strides(p, tensor);
  for (int d = 0; d < 4; d++)
    if (shape[d]-- == 0) return NULL;
  const size_t bytes =
      ((size_t)strides_at(&s, shape) + 1) * problem_type_bytes(problem_type(p, tensor));
  void *block = malloc(bytes);
  assert_non_null(block);
  memset(block, report_memory_fill, bytes);
  return block;
}

double *report_collect(const sdpa_problem *p, enum problem_tensor tensor, const void *block,
                       int64_t *count) {
  int64_t shape[4], i[4], n = 0;
  problem_shape(p, tensor, shape);
  const sdpa_strides s = problem_get_strides(p, tensor);
  const uint32_t type = problem_type(p, tensor);
  *count = shape[0] * shape[1] * shape[2] * shape[3];
  double *numbers = malloc((size_t)(*count ? *count : 1) * sizeof *numbers);
  assert_non_null(numbers);
  for (i[0] = 0; i[0] < shape[0]; i[0]++)
    for (i[1] = 0; i[1] < shape[1]; i[1]++)
      for (i[2] = 0; i[2] < shape[2]; i[2]++)
        for (i[3] = 0; i[3] < shape[3]; i[3]++)
          numbers[n++] = problem_load(
              type, (const char *)block + strides_at(&s, i) * (int64_t)problem_type_bytes(type));
  return numbers;
}

static const void *from_first(uint32_t type, const void *block, const struct report_input *input) {
  return block ? (const char *)block + input->first * (int64_t)problem_type_bytes(type) : NULL;
}

void report_run(const struct report_case *c, const struct report_path *path,
                struct report_outputs *out) {
  const struct report_input *inputs[] = {&c->query, &c->key,    &c->value,
                                         &c->bias,  &c->slopes, &c->sinks};
  void *block[6];
  const void *first[6];
  sdpa_problem p = c->problem;
  p.query_type = path->type;
  for (int i = 0; i < 6; i++) {
    const uint32_t type = i < 4 ? path->type : problem_compute_type(&p);
    block[i] = report_typed_copy(type, inputs[i]);
    first[i] = from_first(type, block[i], inputs[i]);
  }
  if (path->extras) p.features |= SDPA_WEIGHTS | SDPA_LSE;
  void *output = report_output_block(&p, PROBLEM_OUTPUT);
  void *weights = path->extras ? report_output_block(&p, PROBLEM_WEIGHTS) : NULL;
  void *lse = path->extras ? report_output_block(&p, PROBLEM_LSE) : NULL;
  const sdpa_args args = {.size = sizeof args,
                          .query = first[0],
                          .key = first[1],
                          .value = first[2],
                          .output = output,
                          .mask = c->mask,
                          .bias = first[3],
                          .alibi_slopes = first[4],
                          .sinks = first[5],
                          .key_lens = c->key_lens,
                          .query_lens = c->query_lens,
                          .offsets = c->offsets,
                          .weights = weights,
                          .lse = lse};
  report_execute(path, &p, &args);
  memset(out, 0, sizeof *out);
  out->output = report_collect(&p, PROBLEM_OUTPUT, output, &out->n_output);
  if (path->extras) {
    out->weights = report_collect(&p, PROBLEM_WEIGHTS, weights, &out->n_weights);
    out->lse = report_collect(&p, PROBLEM_LSE, lse, &out->n_lse);
  }
  for (int i = 0; i < 6; i++) free(block[i]);
  free(output);
  free(weights);
  free(lse);
}

void report_outputs_free(struct report_outputs *out) {
  free(out->output);
  free(out->weights);
  free(out->lse);
  memset(out, 0, sizeof *out);
}

int report_near(uint32_t type, double actual, double expected, double roundoffs, double magnitude) {
  const double roundoff = (double)reference_limits_of(type).roundoff;
  if (isinf(expected)) return actual == expected;
  return fabs(actual - expected) <= roundoffs * roundoff * magnitude;
}

static void compare(const struct report_path *path, const char *what, const double *actual,
                    const double *expected, int64_t n, double roundoffs) {
  for (int64_t i = 0; expected && i < n; i++)
    if (!report_near(path->type, actual[i], expected[i], roundoffs, fabs(expected[i])))
      fail_msg("%s[%lld] is %.17g, not %.17g, on %s", what, (long long)i, actual[i], expected[i],
               report_path_text(path));
}

void report_check(const struct report_case *c, struct report_expected expected) {
  struct report_path path;
  for (int i = 0; report_path(i, c->only_type, &path); i++) {
    struct report_outputs out;
    report_run(c, &path, &out);
    compare(&path, "output", out.output, expected.output, out.n_output, expected.roundoffs);
    compare(&path, "weights", out.weights, expected.weights, out.n_weights, expected.roundoffs);
    compare(&path, "lse", out.lse, expected.lse, out.n_lse, expected.roundoffs);
    report_outputs_free(&out);
  }
}

void report_check_output(const struct report_case *c, const double *output) {
  report_check(c, (struct report_expected){.output = output, .roundoffs = REPORT_ROUNDOFFS});
}

void report_check_same(const struct report_case *c, const struct report_case *other) {
  struct report_path path;
  for (int i = 0; report_path(i, c->only_type, &path); i++) {
    struct report_outputs a, b;
    report_run(c, &path, &a);
    report_run(other, &path, &b);
    assert_memory_equal(a.output, b.output, (size_t)a.n_output * sizeof *a.output);
    if (path.extras) {
      assert_memory_equal(a.weights, b.weights, (size_t)a.n_weights * sizeof *a.weights);
      assert_memory_equal(a.lse, b.lse, (size_t)a.n_lse * sizeof *a.lse);
    }
    report_outputs_free(&a);
    report_outputs_free(&b);
  }
}
