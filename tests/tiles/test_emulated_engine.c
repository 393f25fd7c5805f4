/* test_emulated_engine.c - engine tiled with its products in the matrix unit: when, and how right
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The unit is emulated and always chosen (emulated_choice.c). Skipped without AVX-512.
 */
#define _GNU_SOURCE /* setenv, fork */
#include "property_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulated_tiles.h"
#include "numpy_random.h"

static const struct property_way amx = {SDPA_ENGINE_TILED, SDPA_ISA_AMX, 1, "amx", 0};
static const struct property_way avx512 = {SDPA_ENGINE_TILED, SDPA_ISA_AVX512, 1, "avx512", 0};

static void parse(const char *text, struct problem_spec *spec) {
  char message[PROBLEM_MESSAGE_MAX];
  if (problem_parse(text, spec, message, sizeof message) != 0) fail_msg("%s: %s", text, message);
}

static void make(const char *text, struct problem_spec *spec, struct problem_data *data) {
  parse(text, spec);
  property_make(data, spec);
}

static struct property_way with_precision(struct property_way way, uint32_t precision) {
  way.precision = precision;
  return way;
}

/* Runs, and returns how many tile multiplications that took. No thread keeps its tiles. */
static long run(const struct problem_data *data, const struct problem_spec *spec,
                struct property_way way) {
  const long before = emulated_multiplications();
  property_run(data, spec, way);
  assert_int_equal(emulated_configured(), 0);
  return emulated_multiplications() - before;
}

/* Of the output against the exact one: the largest error, and the root of the mean square. */
struct errors {
  double largest, mean;
};

static struct errors output_errors(const struct reference *reference,
                                   const struct problem_data *data) {
  const uint32_t type = problem_type(&data->problem, PROBLEM_OUTPUT);
  long double worst = 0, squares = 0, count = 0;
  for (int64_t r = 0; r < reference->rows; r++) {
    const struct reference_row *row = &reference->row[r];
    const struct reference_values *values = &row->kind[REFERENCE_OUTPUT];
    for (int64_t d = 0; d < values->count; d++, count++) {
      const void *at = problem_data_at(data, PROBLEM_OUTPUT, row->batch, row->head, row->row, d);
      const long double error = fabsl((long double)problem_load(type, at) - values->value[d]);
      worst = fmaxl(worst, error);
      squares += error * error;
    }
  }
  return (struct errors){(double)worst, (double)sqrtl(squares / count)};
}

static struct errors errors_of(const struct problem_data *data, const struct problem_spec *spec,
                               struct property_way way) {
  const struct reference_request request = {0, 0, SDPA_PRECISION_FMA};
  struct reference reference;
  assert_int_equal(reference_compute(&reference, &data->problem, &data->args, &request), 0);
  property_run(data, spec, way);
  const struct errors errors = output_errors(&reference, data);
  reference_free(&reference);
  return errors;
}

/* Tile multiplications of one head: 16 keys by 16 queries by 32 dimensions each. */
static void test_multiplications(void **state) {
  (void)state;
  static const struct {
    const char *problem;
    uint32_t precision;
    long scores, values; /* products of parts */
  } cases[] = {
      {"f32:q64:k256:d64", SDPA_PRECISION_FULL, 6, 6},
      {"f32:q64:k256:d64", SDPA_PRECISION_REDUCED, 3, 3},
      {"f32:q64:k256:d64", SDPA_PRECISION_FMA, 0, 0},
      {"bf16:q64:k256:d64", SDPA_PRECISION_FULL, 1, 1},
      {"bf16:q64:k256:d64", SDPA_PRECISION_REDUCED, 1, 1},
      {"bf16:q64:k256:d64", SDPA_PRECISION_FMA, 0, 0},
      {"f16:q64:k256:d64", SDPA_PRECISION_FULL, 4, 3},
      {"f16:q64:k256:d64", SDPA_PRECISION_REDUCED, 4, 3},
      {"q=f32,kv=bf16,o=f32,bias=f32:q64:k256:d64", SDPA_PRECISION_FULL, 3, 3},
      {"q=f32,kv=bf16,o=f32,bias=f32:q64:k256:d64", SDPA_PRECISION_REDUCED, 2, 2},
      {"q=f32,kv=f16,o=f32,bias=f32:q64:k256:d64", SDPA_PRECISION_FULL, 5, 5},
      {"f64:q64:k256:d64", SDPA_PRECISION_FULL, 0, 0},
      {"f32:q12:k256:d64", SDPA_PRECISION_FULL, 0, 0}, /* by rows */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct problem_spec spec;
    struct problem_data data;
    make(cases[i].problem, &spec, &data);
    const long tiles = run(&data, &spec, with_precision(amx, cases[i].precision));
    if (tiles != (4 * 16 * 2) * (cases[i].scores + cases[i].values))
      property_fail(&spec, "amx", "precision %u: %ld multiplications", cases[i].precision, tiles);
    problem_data_free(&data);
  }
}

/* On any threads, with splits and masks: no tile is left configured, and threads change no bit. */
static void test_threads(void **state) {
  (void)state;
  static const char *const problems[] = {"f32:b2:h8/2:q200:k300:d64:causal-br",
                                         "bf16:h4:q40:k5000:d64:mask", "f32:h2:q700:k100:d33/70"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    struct problem_spec spec;
    struct problem_data data;
    struct property_way way = amx;
    unsigned char *one, *more;
    make(problems[i], &spec, &data);
    assert_true(run(&data, &spec, way) > 0);
    property_output_bits(&data, &one);
    way.threads = 3;
    problem_data_restore(&data, 1);
    assert_true(run(&data, &spec, way) > 0);
    property_output_bits(&data, &more);
    property_same_bits(&data, &spec, "amx", one, more, "the number of threads");
    free(one);
    free(more);
    problem_data_free(&data);
  }
}

/* SDPA_PRECISION_FMA is the arithmetic of the next lower table, bit by bit. */
static void test_fma_precision(void **state) {
  (void)state;
  for (int64_t i = 0; i < property_count(300); i++) {
    struct problem_spec spec;
    struct problem_data data;
    unsigned char *one, *other;
    property_problem(i, &spec);
    property_make(&data, &spec);
    assert_int_equal(run(&data, &spec, with_precision(amx, SDPA_PRECISION_FMA)), 0);
    property_output_bits(&data, &one);
    problem_data_restore(&data, 1);
    property_run(&data, &spec, avx512);
    property_output_bits(&data, &other);
    property_same_bits(&data, &spec, "amx", one, other, "precision fma on amx");
    free(one);
    free(other);
    problem_data_free(&data);
  }
}

/* Random problems keep the bound of reduced precision, and go beyond that of full. */
static void test_reduced_bound(void **state) {
  (void)state;
  const struct property_way way = with_precision(amx, SDPA_PRECISION_REDUCED);
  long double worst[REFERENCE_KINDS] = {0};
  int64_t coarser = 0, problems = property_count(1500);
  for (int64_t i = 0; i < problems; i++) {
    const struct reference_request strict = {0, 0, SDPA_PRECISION_FULL};
    struct compare_result result, full;
    struct reference reference;
    struct problem_spec spec;
    struct problem_data data;
    property_problem(i, &spec);
    property_make(&data, &spec);
    property_run(&data, &spec, way);
    property_compare(NULL, &data, &spec, way, 0, &result);
    if (result.failed) property_fail(&spec, "amx, reduced", "%s", result.text);
    for (int kind = 0; kind < REFERENCE_KINDS; kind++)
      worst[kind] = fmaxl(worst[kind], result.worst[kind]);
    assert_int_equal(reference_compute(&reference, &data.problem, &data.args, &strict), 0);
    compare_with_reference(&reference, &data.problem, &data.args, 0, &full);
    coarser += full.failed;
    reference_free(&reference);
    problem_data_free(&data);
  }
  printf("reduced: %lld problems, %lld beyond the bound of full; worst error / bound:",
         (long long)problems, (long long)coarser);
  for (int kind = 0; kind < REFERENCE_KINDS; kind++)
    printf(" %s %.2Lf", compare_kind_name(kind), worst[kind]);
  printf("\n");
  if (problems >= 1500) assert_true(coarser > problems / 20);
}

/* Full precision is at most as wrong as the FMA kernels for scores of size 1, 10 and 100: in the mean
 * square on each tensor, in the largest error on some of them together. (On a single one that is
 * often the rounding of one large score to f32, which both have.) */
static void test_full_against_fma(void **state) {
  (void)state;
  static const char *const problems[] = {"f32:h2:q96:k512:d64", "f32:h2:q96:k512:d128",
                                         "f32:h2:q96:k1500:d32"};
  static const char *const scales[] = {"0.125", "1.25", "12.5"};
  for (int i = 0; i < 9; i++) {
    struct errors most_full = {0, 0}, most_fma = {0, 0};
    char text[128];
    for (int seed = 1; seed <= 3; seed++) {
      struct problem_spec spec;
      struct problem_data data;
      snprintf(text, sizeof text, "%s:scale=%s:seed=%d", problems[i / 3], scales[i % 3], seed);
      make(text, &spec, &data);
      const struct errors full = errors_of(&data, &spec, amx);
      problem_data_restore(&data, 1);
      const struct errors fma = errors_of(&data, &spec, avx512);
      if (!(full.mean <= fma.mean))
        property_fail(&spec, "amx", "mean error %g, of fma %g", full.mean, fma.mean);
      most_full.largest = fmax(most_full.largest, full.largest);
      most_fma.largest = fmax(most_fma.largest, fma.largest);
      most_full.mean = fmax(most_full.mean, full.mean);
      most_fma.mean = fmax(most_fma.mean, fma.mean);
      problem_data_free(&data);
    }
    printf("%s and before: error of full as a share of that of fma: largest %.2f, mean %.2f\n",
           text, most_full.largest / most_fma.largest, most_full.mean / most_fma.mean);
    assert_true(most_full.largest <= most_fma.largest);
  }
}

/* Multiplies some elements of an input by powers of two, far out of what fits the unit: one in
 * `one_in`, by up to 2^`power`. */
static void scatter_magnitudes(const struct problem_data *data, enum problem_tensor tensor,
                               int one_in, int power, struct numpy_rng *rng) {
  int64_t shape[4];
  const uint32_t type = problem_type(&data->problem, tensor);
  problem_shape(&data->problem, tensor, shape);
  for (int64_t b = 0; b < shape[0]; b++)
    for (int64_t h = 0; h < shape[1]; h++)
      for (int64_t i = 0; i < shape[2]; i++)
        for (int64_t d = 0; d < shape[3]; d++) {
          if (numpy_rng_below(rng, (uint64_t)one_in) != 0) continue;
          if (!problem_data_is_read(data, tensor, b, i, i)) continue;
          void *at = problem_data_at(data, tensor, b, h, i, d);
          const int by = (int)numpy_rng_below(rng, (uint64_t)(power < 0 ? -power : power)) + 1;
          problem_store(type, at, ldexp(problem_load(type, at), power < 0 ? -by : by));
        }
}

/* Inputs with numbers that the unit would flush or that it could not scale, alone and among others:
 * still within the bounds. Queries and keys grow by turns, so that no score overflows. */
static void test_magnitudes(void **state) {
  (void)state;
  static const enum problem_tensor inputs[] = {PROBLEM_QUERY, PROBLEM_KEY, PROBLEM_VALUE};
  static const int powers[] = {-40, -90, -140, 60};
  static const int rarity[] = {1, 2, 40, 2000};
  struct numpy_rng rng;
  numpy_rng_seed(&rng, 1);
  for (int i = 0; i < 3 * 4 * 4; i++) {
    const struct reference_request strict = {0, 1, SDPA_PRECISION_FMA};
    struct problem_spec spec;
    struct problem_data data;
    struct reference reference;
    struct compare_result result;
    make(i % 2 ? "f32:h2:q60:k300:d40/50:mask:lse" : "f32:h2:q60:k300:d40/50:causal-br:lse", &spec,
         &data);
    scatter_magnitudes(&data, inputs[i % 3], rarity[i / 3 % 4], powers[i / 12], &rng);
    assert_int_equal(reference_compute(&reference, &data.problem, &data.args, &strict), 0);
    run(&data, &spec, amx);
    property_compare(&reference, &data, &spec, amx, 1, &result);
    if (result.failed)
      property_fail(&spec, "amx", "tensor %d, one in %d by 2^%d: %s", (int)inputs[i % 3],
                    rarity[i / 3 % 4], powers[i / 12], result.text);
    reference_free(&reference);
    problem_data_free(&data);
  }
}

/* Weights between 2^-126 and 1 with V alone where they are small: no part of them is lost. */
static void test_small_weights(void **state) {
  (void)state;
  struct problem_spec spec;
  struct problem_data data;
  make("f32:q32:k128:d32:scale=1", &spec, &data);
  for (int64_t i = 0; i < 32; i++)
    for (int64_t d = 0; d < 32; d++)
      problem_store(SDPA_F32, problem_data_at(&data, PROBLEM_QUERY, 0, 0, i, d), d == 0);
  for (int64_t j = 0; j < 128; j++)
    for (int64_t d = 0; d < 32; d++) {
      /* score -j / 2, until the weights are near 2^-92; column d has key 4 d alone */
      problem_store(SDPA_F32, problem_data_at(&data, PROBLEM_KEY, 0, 0, j, d),
                    d == 0 ? -0.5 * (double)j : 0);
      problem_store(SDPA_F32, problem_data_at(&data, PROBLEM_VALUE, 0, 0, j, d),
                    j == 4 * d ? ldexp(1.25, -30) : 0);
    }
  assert_true(run(&data, &spec, amx) > 0);
  const double sum = (1 - exp(-64)) / (1 - exp(-0.5));
  for (int64_t d = 0; d < 32; d++) {
    const double want = exp(-2.0 * (double)d) * ldexp(1.25, -30) / sum;
    const double got = problem_load(SDPA_F32, problem_data_at(&data, PROBLEM_OUTPUT, 0, 0, 7, d));
    assert_true(fabs(got - want) <= 1e-6 * want);
  }
  problem_data_free(&data);
}

static void check_plan(const char *problem, uint32_t precision, uint32_t expected,
                       const char *holds) {
  struct problem_spec spec;
  sdpa_options options;
  sdpa_plan_info info = {.size = sizeof info};
  sdpa_plan *plan;
  char text[512];
  parse(problem, &spec);
  property_options(&options, with_precision(amx, precision));
  assert_int_equal(sdpa_plan_create(&spec.problem, &options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_query(plan, &info), SDPA_OK);
  assert_int_equal(info.isa, SDPA_ISA_AMX);
  assert_int_equal(info.precision, expected);
  sdpa_plan_describe(plan, text, sizeof text);
  if (!strstr(text, holds)) fail_msg("\"%s\" does not hold \"%s\"", text, holds);
  sdpa_plan_destroy(plan);
}

static void test_descriptions(void **state) {
  (void)state;
  enum { FULL = SDPA_PRECISION_FULL, FMA = SDPA_PRECISION_FMA, REDUCED = SDPA_PRECISION_REDUCED };
  check_plan("f32:q64:k64:d64", FULL, FULL,
             "products on amx by bf16 parts: K 3, Q 3, 6 products; V 3, weights 3, 6 products");
  check_plan("f32:q64:k64:d64", REDUCED, REDUCED,
             "K 2, Q 2, 3 products; V 2, weights 2, 3 products");
  check_plan("f32:q64:k64:d64", FMA, FMA, "products by multiply-adds");
  check_plan("bf16:q64:k64:d64", FULL, FULL, "K 1, Q 1, 1 products; V 1, weights 1, 1 products");
  check_plan("f16:q64:k64:d64", FULL, FULL, "K 2, Q 2, 4 products; V 2, weights 2, 3 products");
  check_plan("f32:q64:k64:d64:lse:no-output", FULL, FULL, "K 3, Q 3, 6 products; up to");
  check_plan("bf16:q64:k64:d64", REDUCED, FULL, "precision full: reduced would not be faster");
  check_plan("q=bf16,kv=f16,o=f32:q64:k64:d64", REDUCED, REDUCED, "K 2, Q 1, 2 products");
  check_plan("f64:q64:k64:d64", REDUCED, FULL, "precision full: reduced would not be faster");
  check_plan("f32:q3:k64:d64", REDUCED, FULL, "precision full: reduced would not be faster");
}

/* Dimensions that only strides of 0 allow: packed operands of that size do not fit anywhere. */
static void test_huge_dimensions(void **state) {
  (void)state;
  static const int64_t dims[] = {INT64_MAX, INT64_MAX / 3, INT64_C(1) << 60, INT64_C(1) << 40};
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
    struct problem_spec spec;
    sdpa_options options;
    sdpa_plan *plan;
    parse("f32:q64:k64:d8", &spec);
    property_options(&options, amx);
    spec.problem.key_dim = dims[i];
    spec.problem.query.col = spec.problem.key.col = 0;
    sdpa_status status = sdpa_plan_create(&spec.problem, &options, &plan);
    if (i < 3) assert_int_equal(status, SDPA_ERROR_OVERFLOW);
    if (i == 3) assert_int_equal(status, SDPA_OK);
    sdpa_plan_destroy(plan);
  }
}

/* In a child: exit status 0 if a plan without a ceiling of its own gets `isa`. */
static void check_choice(const char *variable, const char *value, uint32_t isa) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct problem_spec spec;
    sdpa_plan_info info = {.size = sizeof info};
    sdpa_plan *plan;
    setenv(variable, value, 1);
    parse("f32:q64:k64:d64", &spec);
    if (sdpa_plan_create(&spec.problem, NULL, &plan) != SDPA_OK) _exit(2);
    sdpa_plan_query(plan, &info);
    _exit(info.isa != isa);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* First, before this process has read its environment. */
static void test_choice(void **state) {
  (void)state;
  check_choice("SDPA_MAX_ISA", "amx", SDPA_ISA_AMX);
  check_choice("SDPA_MAX_ISA", "avx512", SDPA_ISA_AVX512);
  check_choice("SDPA_MAX_ISA", "avx2", SDPA_ISA_AVX2);
  check_choice("SDPA_TEST_REFUSE_TILES", "1", SDPA_ISA_AVX512);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choice),        cmocka_unit_test(test_multiplications),
      cmocka_unit_test(test_threads),       cmocka_unit_test(test_fma_precision),
      cmocka_unit_test(test_reduced_bound), cmocka_unit_test(test_full_against_fma),
      cmocka_unit_test(test_magnitudes),    cmocka_unit_test(test_small_weights),
      cmocka_unit_test(test_descriptions),  cmocka_unit_test(test_huge_dimensions),
  };
  if (!__builtin_cpu_supports("avx512f")) return 77; /* ctest: skipped */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
