/* test_backward_long.c - gradients over many rows and keys: engine tiled against engine blas
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lengths at which engine tiled cuts rows into chunks and keys into tiles and groups: more than
 * random problems have. Engine blas knows nothing of these.
 */
#include "api_support.h"

#include <math.h>
#include <stdlib.h>

enum { GRADIENTS = 5 };

static const struct {
  uint32_t type, features;
  int64_t rows, keys;
} cases[] = {
    {SDPA_F64, SDPA_ALIBI | SDPA_BIAS, 70, 1500},
    {SDPA_F32, SDPA_ALIBI | SDPA_BIAS, 70, 1500},
    {SDPA_F64, SDPA_WINDOW | SDPA_ALIBI, 1200, 1200},
    {SDPA_BF16, SDPA_WINDOW, 2000, 2000}, /* keys that the last chunk of rows does not attend */
    {SDPA_F16, SDPA_WINDOW, 2000, 2000},
};

static uint32_t compute_type(uint32_t type) {
  return type == SDPA_F64 ? SDPA_F64 : SDPA_F32;
}

static void spread(uint32_t type, void *data, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; i++) api_put(type, data, i, (double)(i * step % 509 - 254) / 256);
}

/* Gradients of query, key, value, bias and slopes. */
static void differentiate(const struct api_call *call, uint32_t engine, int32_t threads,
                          const void *grad_output, void *gradients[GRADIENTS]) {
  sdpa_options options;
  sdpa_args args = call->args;
  args.output = args.lse = NULL;
  const sdpa_grads grads = {.size = sizeof grads,
                            .output = call->args.output,
                            .lse = call->args.lse,
                            .grad_output = grad_output,
                            .grad_query = gradients[0],
                            .grad_key = gradients[1],
                            .grad_value = gradients[2],
                            .grad_bias = args.bias ? gradients[3] : NULL,
                            .grad_alibi_slopes = args.alibi_slopes ? gradients[4] : NULL};
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = engine;
  options.threads = threads;
  api_backward(&call->problem, &options, &args, &grads);
}

/* By how much an element may differ, relative to its size and 0.1: 256 roundoffs of sums of up to
 * 2000 terms whose errors mostly cancel; 8 of a 16-bit type, in which the results are stored and
 * from whose output engine blas takes dO . O. */
static double tolerance(uint32_t type) {
  switch (type) {
  case SDPA_F64:
    return 256 * 0x1p-53;
  case SDPA_F32:
    return 256 * 0x1p-24;
  case SDPA_F16:
    return 8 * 0x1p-12;
  default:
    return 8 * 0x1p-9;
  }
}

static void check_case(uint32_t type, uint32_t features, int64_t rows, int64_t keys) {
  enum { DIM = 8 };
  const uint32_t compute = compute_type(type);
  const int64_t counts[GRADIENTS] = {rows * DIM, keys * DIM, keys * DIM, rows * keys, 1};
  const double unit = tolerance(type);
  void *blas[GRADIENTS], *tiled[GRADIENTS];
  struct api_call call;
  api_call_init(&call, type, api_one_head(rows, keys, DIM, DIM), features | SDPA_LSE,
                SDPA_ALIGN_BOTTOM_RIGHT);
  call.problem.window_left = features & SDPA_WINDOW ? 10 : 0;
  spread(type, api_query(&call), rows * DIM, 7919);
  spread(type, api_key(&call), keys * DIM, 6151);
  spread(type, api_value(&call), keys * DIM, 4099);
  if (features & SDPA_BIAS) spread(type, api_bias(&call), rows * keys, 2063);
  if (features & SDPA_ALIBI) api_put(compute, api_slopes(&call), 0, 0.01);
  assert_int_equal(sdpa_attention(&call.problem, NULL, &call.args), SDPA_OK);
  for (int g = 0; g < GRADIENTS; g++) {
    blas[g] = calloc((size_t)counts[g], sizeof(double));
    tiled[g] = calloc((size_t)counts[g], sizeof(double));
    assert_non_null(blas[g]);
    assert_non_null(tiled[g]);
  }
  differentiate(&call, SDPA_ENGINE_BLAS, 1, call.args.query, blas);
  for (int32_t threads = 1; threads <= 4; threads += 3) {
    for (int g = 0; g < GRADIENTS; g++)
      for (int64_t i = 0; i < counts[g]; i++) api_put(g < 4 ? type : compute, tiled[g], i, 9999);
    differentiate(&call, SDPA_ENGINE_TILED, threads, call.args.query, tiled);
    for (int g = 0; g < GRADIENTS; g++) {
      if ((g == 3 && !call.args.bias) || (g == 4 && !call.args.alibi_slopes)) continue;
      for (int64_t i = 0; i < counts[g]; i++) {
        const double x = api_get(g < 4 ? type : compute, tiled[g], i);
        const double y = api_get(g < 4 ? type : compute, blas[g], i);
        if (!(fabs(x - y) <= unit * (fabs(y) + 0.1)))
          fail_msg("gradient %d, element %lld, %d threads: %g on engine tiled, %g on blas", g,
                   (long long)i, (int)threads, x, y);
      }
    }
  }
  for (int g = 0; g < GRADIENTS; g++) {
    free(blas[g]);
    free(tiled[g]);
  }
  api_call_free(&call);
}

static void test_engines_agree(void **state) {
  (void)state;
  api_needs(SDPA_ENGINE_BLAS);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_case(cases[i].type, cases[i].features, cases[i].rows, cases[i].keys);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_engines_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
