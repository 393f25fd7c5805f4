/* test_recall_layer.c - the training against plain loops, and what comes out of it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops below draw the same numbers and follow the same descent from the formulas in long
 * double, weights kept whole, without the library.
 */
#include "lesson_training.h"
#include "numpy_random.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  symbols = 6,
  sequences = 32,
  width = 4,
  questions = sequences * symbols,
  table_max = symbols * recall_dims_max
};

typedef long double wide;

struct model {
  int d_k;
  wide scale, rate;
  wide query[table_max], key[table_max], grad_query[table_max], grad_key[table_max];
  int symbol[sequences][symbols];
  double value[sequences][symbols][width];
};

static void draw_table(struct numpy_rng *rng, int n, wide *table) {
  for (int i = 0; i < n; i++) table[i] = (wide)numpy_rng_normal(rng);
}

/* Each sequence: the symbols shuffled from the end on, then its vectors in that order. */
static void draw(struct model *m, uint64_t seed) {
  struct numpy_rng rng;
  numpy_rng_seed(&rng, seed);
  draw_table(&rng, symbols * m->d_k, m->query);
  draw_table(&rng, symbols * m->d_k, m->key);
  for (int s = 0; s < sequences; s++) {
    for (int i = 0; i < symbols; i++) m->symbol[s][i] = i;
    for (int i = symbols - 1; i > 0; i--) {
      const int other = (int)numpy_rng_below(&rng, (uint64_t)i + 1), kept = m->symbol[s][i];
      m->symbol[s][i] = m->symbol[s][other];
      m->symbol[s][other] = kept;
    }
    numpy_rng_fill_normal(&rng, m->value[s][0], (size_t)symbols * width);
  }
}

static void weigh(const struct model *m, int s, int asked, wide p[symbols]) {
  wide sum = 0;
  for (int j = 0; j < symbols; j++) {
    wide score = 0;
    for (int d = 0; d < m->d_k; d++)
      score += m->query[asked * m->d_k + d] * m->key[m->symbol[s][j] * m->d_k + d];
    sum += p[j] = expl(m->scale * score);
  }
  for (int j = 0; j < symbols; j++) p[j] /= sum;
}

/* Adds the question's gradients; its part of the loss. */
static wide ask(struct model *m, int s, int asked) {
  wide p[symbols], by_weight[symbols] = {0}, loss = 0, mean = 0;
  weigh(m, s, asked, p);
  for (int c = 0; c < width; c++) {
    wide error = 0;
    for (int j = 0; j < symbols; j++)
      error += (p[j] - (m->symbol[s][j] == asked)) * (wide)m->value[s][j][c];
    loss += error * error / (questions * width);
    for (int j = 0; j < symbols; j++)
      by_weight[j] += 2 * error / (questions * width) * (wide)m->value[s][j][c];
  }
  for (int j = 0; j < symbols; j++) mean += p[j] * by_weight[j];
  for (int j = 0; j < symbols; j++) {
    const wide by_score = m->scale * p[j] * (by_weight[j] - mean);
    const int of_query = asked * m->d_k, of_key = m->symbol[s][j] * m->d_k;
    for (int d = 0; d < m->d_k; d++) {
      m->grad_query[of_query + d] += by_score * m->key[of_key + d];
      m->grad_key[of_key + d] += by_score * m->query[of_query + d];
    }
  }
  return loss;
}

static wide step(struct model *m) {
  wide loss = 0;
  memset(m->grad_query, 0, sizeof m->grad_query);
  memset(m->grad_key, 0, sizeof m->grad_key);
  for (int s = 0; s < sequences; s++)
    for (int i = 0; i < symbols; i++) loss += ask(m, s, i);
  for (int i = 0; i < symbols * m->d_k; i++) {
    m->query[i] -= m->rate * m->grad_query[i];
    m->key[i] -= m->rate * m->grad_key[i];
  }
  return loss;
}

/* A step multiplies what rounding did before it; 1e-9 is far above that after so few. */
static void follows_plain_loops(void **state) {
  static const struct {
    int d_k, scaled;
    double rate;
  } cases[] = {{4, 1, 10}, {4, 0, 1}, {64, 1, 10}, {64, 0, 0.1}, {1, 1, 1}, {7, 0, 1}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct recall_run *run = calloc(1, sizeof *run);
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(run);
    assert_non_null(m);
    *run = (struct recall_run){
        .seed = 11 + i, .d_k = cases[i].d_k, .scaled = cases[i].scaled, .rate = cases[i].rate};
    m->d_k = cases[i].d_k;
    m->rate = (wide)cases[i].rate;
    m->scale = cases[i].scaled ? 1 / sqrtl((wide)m->d_k) : 1;
    assert_int_equal(recall_train(run), SDPA_OK);
    draw(m, run->seed);
    for (int n = 0; n < 20; n++) {
      const wide loss = step(m);
      if (!(fabsl(loss - (wide)run->loss[n]) <= 1e-9L * loss))
        fail_msg("case %zu, step %d: loss %.17g, expected %.17Lg", i, n, run->loss[n], loss);
    }
    free(m);
    free(run);
  }
}

static void the_same_again(void **state) {
  struct recall_run runs[2] = {{.seed = 3, .d_k = 64, .rate = 10}};
  (void)state;
  runs[1] = runs[0];
  for (int i = 0; i < 2; i++) assert_int_equal(recall_train(&runs[i]), SDPA_OK);
  assert_memory_equal(runs[0].loss, runs[1].loss, sizeof runs[0].loss);
  assert_int_equal(runs[0].recalled, runs[1].recalled);
}

static void sizes_beyond_it(void **state) {
  static const int64_t sizes[] = {0, -1, recall_dims_max + 1};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct recall_run run = {.d_k = sizes[i], .rate = 1};
    assert_int_equal(recall_train(&run), SDPA_ERROR_SHAPE);
  }
}

static struct lesson_training train(uint64_t seed, int64_t d_k, int scaled) {
  struct lesson_training training;
  assert_int_equal(lesson_train(seed, d_k, scaled, &training), 0);
  for (int i = 0; i < lesson_layers; i++) {
    assert_int_equal(training.runs[i].seed, seed + (uint64_t)i);
    assert_true(training.runs[i].rate == training.runs[0].rate);
  }
  return training;
}

/* With the scale every layer learns, at 4 and at 64. Without it that is so at 4 alone. */
static void the_scale_matters(void **state) {
  static const uint64_t seeds[] = {42, 7};
  (void)state;
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    for (int64_t d_k = 4; d_k <= 64; d_k += 60) {
      const struct lesson_training with_scale = train(seeds[i], d_k, 1);
      assert_int_equal(with_scale.learned, lesson_layers);
      assert_true(with_scale.loss[recall_steps] < 0.001 * with_scale.loss[0]);
      for (int n = 10; n < recall_steps; n++)
        assert_true(with_scale.loss[n + 1] < with_scale.loss[n]);
    }
    const struct lesson_training small = train(seeds[i], 4, 0), large = train(seeds[i], 64, 0);
    assert_true(small.loss[recall_steps] < 0.01 * small.loss[0]);
    assert_true(large.loss[recall_steps] < large.loss[0]);
    assert_true(large.loss[recall_steps] > 0.1 * large.loss[0]);
    assert_in_range(large.learned, 0, lesson_layers / 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_plain_loops),
      cmocka_unit_test(the_same_again),
      cmocka_unit_test(sizes_beyond_it),
      cmocka_unit_test(the_scale_matters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
