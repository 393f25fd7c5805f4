/* test_gradient_reference.c - the reference of the backward pass against two other ways to it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random problems of the whole option space in f64. First, differences of the forward reference: of
 * the number sum dO O + sum dlse lse, each input element moved by a step both ways, with the error of
 * the step's square taken out. Second, the Jacobian of the materialised softmax, diag(p) - p pT.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dropout_mask.h"
#include "gradient_compare.h"
#include "random_problem.h"

enum { PROBLEMS = 400, MOST_COST = 100000 };

/* Elements of the inputs times steps of a forward pass: differences take about that long. */
static int64_t cost_of(const sdpa_problem *p) {
  int64_t elements = 0;
  for (enum problem_tensor t = PROBLEM_GRAD_QUERY; t < PROBLEM_TENSORS_END; t++)
    if (problem_declares(p, t)) elements += problem_positions(p, t);
  return elements * p->batch * p->query_heads * p->query_len * p->key_len *
         (p->key_dim + p->value_dim);
}

/* A problem with its data, forward results and gradients. */
struct fixture {
  struct problem_spec spec;
  struct problem_data data;
  struct gradient_reference gradient;
};

static void compute(struct fixture *f) {
  const struct reference_request forward = {0, 0, SDPA_PRECISION_FMA};
  const struct gradient_request request = {0, 0};
  struct reference reference;
  char message[PROBLEM_MESSAGE_MAX];
  if (problem_data_make(&f->data, &f->spec, NULL, message, sizeof message) != 0)
    fail_msg("%s", message);
  assert_int_equal(reference_compute(&reference, &f->data.problem, &f->data.args, &forward), 0);
  gradient_write_inputs(&reference, &f->data);
  reference_free(&reference);
  assert_int_equal(
      gradient_compute(&f->gradient, &f->data.problem, &f->data.args, &f->data.grads, &request), 0);
}

static void begin(struct fixture *f, uint64_t seed) {
  static const int64_t edges[] = {2, 3, 5};
  static const struct random_problem_options small = {edges, 3, 60, 0};
  memset(f, 0, sizeof *f);
  random_problem_backward(seed, &small, &f->spec);
  sdpa_problem *p = &f->spec.problem;
  p->query_type = SDPA_F64;
  p->key_type = p->value_type = p->output_type = p->bias_type = 0;
  compute(f);
}

static void end(struct fixture *f) {
  gradient_free(&f->gradient);
  problem_data_free(&f->data);
}

static long double number_at(const struct problem_data *data, enum problem_tensor tensor,
                             const int64_t at[4]) {
  return (long double)problem_load(problem_type(&data->problem, tensor),
                                   problem_data_at(data, tensor, at[0], at[1], at[2], at[3]));
}

/* sum dO O + sum dlse lse over the rows within the query lengths that have a key. */
static long double loss(const struct problem_data *data) {
  const struct reference_request request = {0, 0, SDPA_PRECISION_FMA};
  struct reference reference;
  long double sum = 0.0L;
  assert_int_equal(reference_compute(&reference, &data->problem, &data->args, &request), 0);
  for (int64_t r = 0; r < reference.rows; r++) {
    const struct reference_row *row = &reference.row[r];
    const int64_t at[4] = {row->batch, row->head, row->row, 0};
    if (row->kind[REFERENCE_LSE].bound[0] == 0.0L) continue; /* rule 10 */
    sum += number_at(data, PROBLEM_GRAD_LSE, at) * row->kind[REFERENCE_LSE].value[0];
    for (int64_t d = 0; d < row->kind[REFERENCE_OUTPUT].count; d++) {
      const int64_t element[4] = {row->batch, row->head, row->row, d};
      sum += number_at(data, PROBLEM_GRAD_OUTPUT, element) * row->kind[REFERENCE_OUTPUT].value[d];
    }
  }
  reference_free(&reference);
  return sum;
}

static long double difference(const struct problem_data *data, double *element, double step) {
  const double kept = *element;
  *element = kept + step;
  const long double above = (long double)*element, up = loss(data);
  *element = kept - step;
  const long double down = loss(data), width = above - (long double)*element;
  *element = kept;
  return (up - down) / width;
}

/* The derivative of the loss by an element: the term of the step's square cancels. */
static long double derivative(const struct problem_data *data, double *element, double step) {
  return (4.0L * difference(data, element, 0.5 * step) - difference(data, element, step)) / 3.0L;
}

static void assert_near(const struct fixture *f, int kind, long double actual, long double expected,
                        long double tolerance) {
  static char text[PROBLEM_STRING_MAX];
  if (fabsl(actual - expected) <= tolerance) return;
  problem_print(&f->spec, text, sizeof text);
  fail_msg("%s: %s is %.15Lg, expected %.15Lg", text, gradient_kind_name(kind), actual, expected);
}

/* Sum of the gradients of all positions that lie at one address, and of their magnitudes. */
static long double sum_at(const struct fixture *f, int kind, enum problem_tensor input,
                          const void *address, long double *magnitude) {
  const struct gradient_values *values = &f->gradient.kind[kind];
  const int64_t *shape = values->shape;
  long double sum = 0.0L;
  for (int64_t n = 0; n < gradient_count(values); n++) {
    const int64_t d = n % shape[3], i = n / shape[3] % shape[2],
                  h = n / shape[3] / shape[2] % shape[1], b = n / shape[3] / shape[2] / shape[1];
    if (problem_data_at(&f->data, input, b, h, i, d) != address) continue;
    sum += values->value[n];
    *magnitude += fabsl(values->value[n]);
  }
  return sum;
}

static int64_t check_tensor(struct fixture *f, int kind, enum problem_tensor input) {
  const struct gradient_values *values = &f->gradient.kind[kind];
  const int64_t *shape = values->shape;
  int64_t checked = 0;
  for (int64_t n = 0; n < gradient_count(values); n++) {
    const int64_t d = n % shape[3], i = n / shape[3] % shape[2],
                  h = n / shape[3] / shape[2] % shape[1], b = n / shape[3] / shape[2] / shape[1];
    double *element = problem_data_at(&f->data, input, b, h, i, d);
    long double magnitude = 1.0L;
    if (!isfinite(*element)) continue; /* never read, or a bias of -inf */
    const long double sum = sum_at(f, kind, input, element, &magnitude);
    assert_near(f, kind, sum, derivative(&f->data, element, 0x1p-9), 1e-7L * magnitude);
    checked++;
  }
  return checked;
}

static int64_t check_array(struct fixture *f, int kind, enum problem_block block) {
  int64_t checked = 0;
  for (int64_t h = 0; h < gradient_count(&f->gradient.kind[kind]); h++) {
    double *element = (double *)(void *)f->data.block[block].origin + h;
    const long double value = f->gradient.kind[kind].value[h];
    /* A slope is multiplied with a distance. */
    assert_near(f, kind, value, derivative(&f->data, element, 0x1p-18),
                1e-7L * (1.0L + fabsl(value)));
    checked++;
  }
  return checked;
}

static void test_differences(void **state) {
  (void)state;
  int64_t checked[GRADIENT_KINDS] = {0};
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    struct fixture f;
    begin(&f, seed);
    if (cost_of(&f.data.problem) > MOST_COST) {
      end(&f);
      continue;
    }
    checked[GRADIENT_QUERY] += check_tensor(&f, GRADIENT_QUERY, PROBLEM_QUERY);
    checked[GRADIENT_KEY] += check_tensor(&f, GRADIENT_KEY, PROBLEM_KEY);
    checked[GRADIENT_VALUE] += check_tensor(&f, GRADIENT_VALUE, PROBLEM_VALUE);
    checked[GRADIENT_BIAS] += check_tensor(&f, GRADIENT_BIAS, PROBLEM_BIAS);
    checked[GRADIENT_SINKS] += check_array(&f, GRADIENT_SINKS, BLOCK_SINKS);
    checked[GRADIENT_SLOPES] += check_array(&f, GRADIENT_SLOPES, BLOCK_SLOPES);
    end(&f);
  }
  for (int kind = 0; kind < GRADIENT_KINDS; kind++) assert_true(checked[kind] > 100);
}

/* The gradients of one row by the Jacobian, added to sums of the reference's shapes. */
struct sums {
  long double *value[GRADIENT_KINDS];
};

/* Weights before dropout. */
static void weights_of(const struct fixture *f, struct reference *reference) {
  const struct reference_request request = {0, 0, SDPA_PRECISION_FMA};
  sdpa_problem problem = f->data.problem;
  problem.features &= ~(uint32_t)(SDPA_DROPOUT | SDPA_SCORES);
  problem.features |= SDPA_WEIGHTS | SDPA_SCORES;
  problem.score_stage = SDPA_STAGE_SCALED;
  assert_int_equal(reference_compute(reference, &problem, &f->data.args, &request), 0);
}

static void add_row(const struct fixture *f, const struct reference_row *row, const uint8_t *kept,
                    const struct sums *sums) {
  const struct problem_data *data = &f->data;
  const sdpa_problem *p = &data->problem;
  const int64_t kv_head = row->head / (p->query_heads / p->kv_heads), n = p->key_len;
  const long double *weight = row->kind[REFERENCE_WEIGHTS].value;
  const long double scale = p->features & SDPA_SCALE ? (long double)p->scale
                            : p->key_dim > 0         ? 1.0L / sqrtl((long double)p->key_dim)
                                                     : 1.0L;
  const int64_t here[4] = {row->batch, row->head, row->row, 0};
  long double *of_weight = calloc((size_t)n + 1, sizeof *of_weight);
  assert_non_null(of_weight);
  for (int64_t j = 0; j < n; j++) {
    const long double factor = !(p->features & SDPA_DROPOUT) ? 1.0L
                               : kept[j] ? 1.0L / (1.0L - (long double)p->dropout)
                                         : 0.0L;
    if (weight[j] == 0.0L) continue;
    for (int64_t d = 0; d < p->value_dim; d++) {
      const int64_t v[4] = {row->batch, kv_head, j, d}, o[4] = {row->batch, row->head, row->row, d};
      const long double of_output = number_at(data, PROBLEM_GRAD_OUTPUT, o);
      of_weight[j] += factor * of_output * number_at(data, PROBLEM_VALUE, v);
      sums->value[GRADIENT_VALUE][((row->batch * p->kv_heads + kv_head) * n + j) * p->value_dim +
                                  d] += factor * weight[j] * of_output;
    }
  }
  for (int64_t j = 0; j < n; j++) {
    if (weight[j] == 0.0L) continue;
    long double of_score = weight[j] * number_at(data, PROBLEM_GRAD_LSE, here);
    for (int64_t m = 0; m < n; m++)
      of_score += ((j == m ? weight[j] : 0.0L) - weight[j] * weight[m]) * of_weight[m];
    if (p->softcap > 0.0) {
      const long double cosh =
          coshl(row->kind[REFERENCE_SCORES].value[j] / (long double)p->softcap);
      of_score /= cosh * cosh;
    }
    for (int64_t d = 0; d < p->key_dim; d++) {
      const int64_t k[4] = {row->batch, kv_head, j, d}, q[4] = {row->batch, row->head, row->row, d};
      sums->value[GRADIENT_QUERY]
                 [((row->batch * p->query_heads + row->head) * p->query_len + row->row) *
                      p->key_dim +
                  d] += scale * of_score * number_at(data, PROBLEM_KEY, k);
      sums->value[GRADIENT_KEY][((row->batch * p->kv_heads + kv_head) * n + j) * p->key_dim + d] +=
          scale * of_score * number_at(data, PROBLEM_QUERY, q);
    }
  }
  free(of_weight);
}

static void test_jacobian(void **state) {
  (void)state;
  int64_t checked = 0;
  for (uint64_t seed = 0; seed < 4 * PROBLEMS; seed++) {
    struct fixture f;
    struct reference reference;
    struct sums sums;
    begin(&f, seed);
    weights_of(&f, &reference);
    uint8_t *kept = calloc((size_t)f.data.problem.key_len + 1, 1);
    assert_non_null(kept);
    for (int kind = 0; kind < GRADIENT_BIAS; kind++)
      assert_non_null(sums.value[kind] = calloc((size_t)gradient_count(&f.gradient.kind[kind]) + 1,
                                                sizeof(long double)));
    for (int64_t r = 0; r < reference.rows; r++) {
      const struct reference_row *row = &reference.row[r];
      if (f.data.problem.features & SDPA_DROPOUT)
        dropout_mask_row(&f.data.problem, &f.data.args, row->batch, row->head, row->row, kept);
      add_row(&f, row, kept, &sums);
    }
    for (int kind = 0; kind < GRADIENT_BIAS; kind++) {
      for (int64_t n = 0; n < gradient_count(&f.gradient.kind[kind]); n++, checked++)
        assert_near(&f, kind, f.gradient.kind[kind].value[n], sums.value[kind][n],
                    0.01L * f.gradient.kind[kind].bound[n]);
      free(sums.value[kind]);
    }
    free(kept);
    reference_free(&reference);
    end(&f);
  }
  assert_true(checked > 10000);
}

static void set(struct fixture *f, enum problem_tensor tensor, const double *values, int64_t n) {
  memcpy(f->data.block[tensor].origin, values, (size_t)n * sizeof *values);
}

static void again(struct fixture *f, const char *text) {
  char message[PROBLEM_MESSAGE_MAX];
  memset(f, 0, sizeof *f);
  if (problem_parse(text, &f->spec, message, sizeof message) != 0) fail_msg("%s", message);
  compute(f);
}

static void recompute(struct fixture *f, int64_t rows_per_head) {
  const struct gradient_request request = {rows_per_head, 1};
  const struct reference_request forward = {0, 0, SDPA_PRECISION_FMA};
  struct reference reference;
  gradient_free(&f->gradient);
  assert_int_equal(reference_compute(&reference, &f->data.problem, &f->data.args, &forward), 0);
  gradient_write_inputs(&reference, &f->data);
  reference_free(&reference);
  assert_int_equal(
      gradient_compute(&f->gradient, &f->data.problem, &f->data.args, &f->data.grads, &request), 0);
}

/* Weights 1/4 and 3/4: ds = p (dP - 3/4 + dlse). */
static void test_by_hand(void **state) {
  (void)state;
  struct fixture f;
  const double log3 = log(3.0), values[] = {0.0, 1.0};
  again(&f, "f64:q1:k2:d1:scale=1:bias:sink:bwd");
  set(&f, PROBLEM_QUERY, (const double[]){1.0}, 1);
  set(&f, PROBLEM_KEY, (const double[]){0.0, log3}, 2);
  set(&f, PROBLEM_VALUE, values, 2);
  set(&f, PROBLEM_BIAS, (const double[]){0.0, 0.0}, 2);
  set(&f, PROBLEM_GRAD_OUTPUT, (const double[]){1.0}, 1);
  set(&f, PROBLEM_GRAD_LSE, (const double[]){2.0}, 1);
  *(double *)(void *)f.data.block[BLOCK_SINKS].origin = -(double)INFINITY;
  recompute(&f, 0);
  const double expected[GRADIENT_KINDS][2] = {
      {1.6875 * log3, 0.0}, {0.3125, 1.6875}, {0.25, 0.75}, {0.3125, 1.6875}, {0.0, 0.0}};
  for (int kind = 0; kind < GRADIENT_SLOPES; kind++)
    for (int64_t n = 0; n < gradient_count(&f.gradient.kind[kind]); n++)
      assert_near(&f, kind, f.gradient.kind[kind].value[n], (long double)expected[kind][n], 1e-15L);
  /* A sink of log 4 takes half: weights 1/8 and 3/8, D = 3/8. */
  *(double *)(void *)f.data.block[BLOCK_SINKS].origin = log(4.0);
  recompute(&f, 0);
  assert_near(&f, GRADIENT_SINKS, f.gradient.kind[GRADIENT_SINKS].value[0], 0.5L * (2.0L - 0.375L),
              1e-15L);
  assert_near(&f, GRADIENT_KEY, f.gradient.kind[GRADIENT_KEY].value[1],
              0.375L * (1.0L - 0.375L + 2.0L), 1e-15L);
  f.data.grads.grad_lse = NULL;
  recompute(&f, 0);
  assert_near(&f, GRADIENT_SINKS, f.gradient.kind[GRADIENT_SINKS].value[0], -0.1875L, 1e-15L);
  end(&f);
}

/* Rule 26: row 1 is NaN, key 2 is not among its keys; and rule 24 for a row without keys. */
static void test_nan_and_zero(void **state) {
  (void)state;
  struct fixture f;
  const double nan_value = NAN;
  again(&f, "f64:q3:k4:d2:causal-at=0:qlens=[2]:bwd:seed=3");
  set(&f, PROBLEM_QUERY, (const double[]){1.0, 1.0, nan_value, 1.0}, 4);
  recompute(&f, 0);
  const struct gradient_values *kind = f.gradient.kind;
  for (int64_t n = 0; n < 6; n++) {
    const long double value = kind[GRADIENT_QUERY].value[n], bound = kind[GRADIENT_QUERY].bound[n];
    if (n / 2 == 0) assert_true(isfinite(value) && isfinite(bound) && bound > 0.0L);
    if (n / 2 == 1) assert_true(isnan(value) && bound == 0.0L);
    if (n / 2 == 2) assert_true(value == 0.0L && bound == 0.0L);
  }
  for (int64_t n = 0; n < 8; n++) {
    for (int k = GRADIENT_KEY; k <= GRADIENT_VALUE; k++) {
      if (n / 2 < 2) assert_true(isnan(kind[k].value[n]) && kind[k].bound[n] == 0.0L);
      if (n / 2 >= 2) assert_true(kind[k].value[n] == 0.0L && kind[k].bound[n] == 0.0L);
    }
  }
  end(&f);
}

/* A sample holds the numbers of the whole, within what lse and output are rounded. */
static void test_sample(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    struct fixture f;
    struct gradient_reference whole;
    begin(&f, seed);
    whole = f.gradient;
    memset(&f.gradient, 0, sizeof f.gradient);
    recompute(&f, 2);
    for (int kind = 0; kind < GRADIENT_KINDS; kind++) {
      const struct gradient_values *some = &f.gradient.kind[kind], *all = &whole.kind[kind];
      for (int64_t n = 0; n < gradient_count(some); n++) {
        const int64_t d = n % some->shape[3], r = n / some->shape[3] % some->shape[2];
        const int64_t outer = n / some->shape[3] / some->shape[2];
        const int64_t i = gradient_row_number(some, r);
        const int64_t at = (outer * all->shape[2] + i) * all->shape[3] + d;
        if (some->bound[n] < 0.0L) continue;
        assert_near(&f, kind, some->value[n], all->value[at], some->bound[n]);
      }
    }
    gradient_free(&whole);
    end(&f);
  }
}

/* What lies in the tensors passes where it is the reference's, rounded, and fails where it is not. */
static void test_compare(void **state) {
  (void)state;
  struct fixture f;
  struct gradient_result result;
  again(&f, "q=f32,kv=bf16,o=f32:b2:h4/2:q5:k7:d3/2:bias:bias@hsd:alibi:align-tl:sink:bwd:"
            "grad_key@sbhd:grad_query@120,-30,6,2:seed=5");
  recompute(&f, 0);
  gradient_compare(&f.gradient, &f.data.problem, &f.data.grads, 1, &result);
  assert_true(result.failed); /* nothing has been written */
  for (int kind = 0; kind < GRADIENT_KINDS; kind++) {
    static const int block[GRADIENT_KINDS] = {PROBLEM_GRAD_QUERY, PROBLEM_GRAD_KEY,
                                              PROBLEM_GRAD_VALUE, PROBLEM_GRAD_BIAS,
                                              BLOCK_GRAD_SINKS,   BLOCK_GRAD_SLOPES};
    const struct gradient_values *v = &f.gradient.kind[kind];
    const int is_array = kind > GRADIENT_BIAS;
    const uint32_t type =
        is_array ? SDPA_F32 : problem_type(&f.data.problem, (enum problem_tensor)block[kind]);
    for (int64_t n = 0; n < gradient_count(v); n++) {
      const int64_t d = n % v->shape[3], i = n / v->shape[3] % v->shape[2],
                    h = n / v->shape[3] / v->shape[2] % v->shape[1],
                    b = n / v->shape[3] / v->shape[2] / v->shape[1];
      void *element = is_array
                          ? (void *)(f.data.block[block[kind]].origin + 4 * h)
                          : problem_data_at(&f.data, (enum problem_tensor)block[kind], b, h, i, d);
      problem_store(type, element, (double)v->value[n]);
    }
    assert_true(gradient_count(v) > 0);
  }
  gradient_compare(&f.gradient, &f.data.problem, &f.data.grads, 1, &result);
  if (result.failed) fail_msg("%s", result.text);
  for (int64_t h = 0; h < 4; h++) {
    float *element = problem_data_at(&f.data, PROBLEM_GRAD_QUERY, 1, h, h, 1);
    const float kept = *element;
    *element += 1e-3f;
    gradient_compare(&f.gradient, &f.data.problem, &f.data.grads, 0, &result);
    assert_true(result.failed && strstr(result.text, "grad_query[batch 1"));
    *element = kept;
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_hand),     cmocka_unit_test(test_nan_and_zero),
      cmocka_unit_test(test_differences), cmocka_unit_test(test_jacobian),
      cmocka_unit_test(test_sample),      cmocka_unit_test(test_compare),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
