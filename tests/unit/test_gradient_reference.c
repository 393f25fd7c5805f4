/* test_gradient_reference.c - the reference of the backward pass against two other ways to it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random problems of the whole option space in f64. First, differences of the forward reference: of
 * the number sum dO O + sum dlse lse, each input element moved by a step both ways, with the error of
 * the step's square taken out. Second, the Jacobian of the materialised softmax, diag(p) - p pT.
 */
#include "gradient_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dropout_mask.h"

enum { PROBLEMS = 400, MOST_COST = 100000 };

/* Elements of the inputs times steps of a forward pass: differences take about that long. */
static int64_t cost_of(const sdpa_problem *p) {
  int64_t elements = 0;
  for (enum problem_tensor t = PROBLEM_GRAD_QUERY; t < PROBLEM_TENSORS_END; t++)
    if (problem_declares(p, t)) elements += problem_positions(p, t);
  return elements * p->batch * p->query_heads * p->query_len * p->key_len *
         (p->key_dim + p->value_dim);
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

/* Sum of the gradients of all positions that lie at one address, and of their magnitudes. */
static long double sum_at(const struct gradient_fixture *f, int kind, enum problem_tensor input,
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

static int64_t check_tensor(struct gradient_fixture *f, int kind, enum problem_tensor input) {
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
    gradient_assert_near(f, kind, sum, derivative(&f->data, element, 0x1p-9), 1e-7L * magnitude);
    checked++;
  }
  return checked;
}

static int64_t check_array(struct gradient_fixture *f, int kind, enum problem_block block) {
  int64_t checked = 0;
  for (int64_t h = 0; h < gradient_count(&f->gradient.kind[kind]); h++) {
    double *element = (double *)(void *)f->data.block[block].origin + h;
    const long double value = f->gradient.kind[kind].value[h];
    /* A slope is multiplied with a distance. */
    gradient_assert_near(f, kind, value, derivative(&f->data, element, 0x1p-18),
                         1e-7L * (1.0L + fabsl(value)));
    checked++;
  }
  return checked;
}

static void test_differences(void **state) {
  (void)state;
  int64_t checked[GRADIENT_KINDS] = {0};
  for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
    struct gradient_fixture f;
    gradient_begin(&f, seed);
    if (cost_of(&f.data.problem) > MOST_COST) {
      gradient_end(&f);
      continue;
    }
    checked[GRADIENT_QUERY] += check_tensor(&f, GRADIENT_QUERY, PROBLEM_QUERY);
    checked[GRADIENT_KEY] += check_tensor(&f, GRADIENT_KEY, PROBLEM_KEY);
    checked[GRADIENT_VALUE] += check_tensor(&f, GRADIENT_VALUE, PROBLEM_VALUE);
    checked[GRADIENT_BIAS] += check_tensor(&f, GRADIENT_BIAS, PROBLEM_BIAS);
    checked[GRADIENT_SINKS] += check_array(&f, GRADIENT_SINKS, BLOCK_SINKS);
    checked[GRADIENT_SLOPES] += check_array(&f, GRADIENT_SLOPES, BLOCK_SLOPES);
    gradient_end(&f);
  }
  for (int kind = 0; kind < GRADIENT_KINDS; kind++) assert_true(checked[kind] > 100);
}

/* The gradients of one row by the Jacobian, added to sums of the reference's shapes. */
struct sums {
  long double *value[GRADIENT_KINDS];
};

/* Weights before dropout. */
static void weights_of(const struct gradient_fixture *f, struct reference *reference) {
  const struct reference_request request = {0, 0, SDPA_PRECISION_FMA};
  sdpa_problem problem = f->data.problem;
  problem.features &= ~(uint32_t)(SDPA_DROPOUT | SDPA_SCORES);
  problem.features |= SDPA_WEIGHTS | SDPA_SCORES;
  problem.score_stage = SDPA_STAGE_SCALED;
  assert_int_equal(reference_compute(reference, &problem, &f->data.args, &request), 0);
}

static void add_row(const struct gradient_fixture *f, const struct reference_row *row,
                    const uint8_t *kept, const struct sums *sums) {
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
    struct gradient_fixture f;
    struct reference reference;
    struct sums sums;
    gradient_begin(&f, seed);
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
        gradient_assert_near(&f, kind, f.gradient.kind[kind].value[n], sums.value[kind][n],
                             0.01L * f.gradient.kind[kind].bound[n]);
      free(sums.value[kind]);
    }
    free(kept);
    reference_free(&reference);
    gradient_end(&f);
  }
  assert_true(checked > 10000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_differences),
                                     cmocka_unit_test(test_jacobian)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
