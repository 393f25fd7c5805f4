/* threaded_call.c - two attention calls that engine tiled gives to several threads, and their bits
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "threaded_call.h"

#include <string.h>

enum { HEADS = 8, KV_HEADS = 2, KEYS = 112, DIM = 24, VALUE_DIM = 16, QUERIES = 96 };
enum { FEW_HEADS = 2, FEW_QUERIES = 2, FEW_KEYS = 9000, FEW_DIM = 32, FEW_VALUE_DIM = 16 };

static float many_query[HEADS * QUERIES * DIM], many_key[KV_HEADS * KEYS * DIM];
static float many_value[KV_HEADS * KEYS * VALUE_DIM], many_bias[QUERIES * KEYS];
static float few_query[FEW_HEADS * FEW_QUERIES * FEW_DIM], few_key[FEW_HEADS * FEW_KEYS * FEW_DIM];
static float few_value[FEW_HEADS * FEW_KEYS * FEW_VALUE_DIM];
static struct threaded_output expected[THREADED_CALLS];

/* Numbers between -1 and 1 by a linear congruence (Knuth's MMIX). */
static void fill(float *numbers, size_t n, uint64_t seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    numbers[i] = (float)(seed >> 40) * 0x1p-23f - 1;
  }
}

sdpa_problem threaded_problem(enum threaded_which which) {
  sdpa_problem p;
  const int few = which == THREADED_FEW;
  sdpa_problem_init(&p, sizeof p);
  p.query_type = SDPA_F32;
  p.features = few ? SDPA_LSE : SDPA_LSE | SDPA_CAUSAL | SDPA_BIAS;
  p.alignment = few ? SDPA_ALIGN_NONE : SDPA_ALIGN_BOTTOM_RIGHT;
  p.batch = 1;
  p.query_heads = few ? FEW_HEADS : HEADS;
  p.kv_heads = few ? FEW_HEADS : KV_HEADS;
  p.query_len = few ? FEW_QUERIES : QUERIES;
  p.key_len = few ? FEW_KEYS : KEYS;
  p.key_dim = few ? FEW_DIM : DIM;
  p.value_dim = few ? FEW_VALUE_DIM : VALUE_DIM;
  sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD);
  p.bias.head = 0;
  return p;
}

sdpa_args threaded_args(enum threaded_which which, struct threaded_output *out) {
  sdpa_args a;
  sdpa_args_init(&a, sizeof a);
  a.query = which == THREADED_FEW ? few_query : many_query;
  a.key = which == THREADED_FEW ? few_key : many_key;
  a.value = which == THREADED_FEW ? few_value : many_value;
  a.bias = which == THREADED_FEW ? NULL : many_bias;
  if (out) {
    a.output = out->output;
    a.lse = out->lse;
  }
  return a;
}

sdpa_options threaded_options(int32_t threads) {
  sdpa_options o;
  sdpa_options_init(&o, sizeof o);
  o.engine = SDPA_ENGINE_TILED;
  o.threads = threads;
  return o;
}

int threaded_is_right(enum threaded_which which, const struct threaded_output *out) {
  return memcmp(out, &expected[which], sizeof *out) == 0;
}

int threaded_run_with(const sdpa_options *options, struct threaded_output *out) {
  int right = 1;
  for (int which = 0; which < THREADED_CALLS; which++) {
    const sdpa_problem problem = threaded_problem((enum threaded_which)which);
    const sdpa_args args = threaded_args((enum threaded_which)which, out);
    memset(out, 0, sizeof *out); /* what the smaller of the two leaves is 0 there, too */
    right &= sdpa_attention(&problem, options, &args) == SDPA_OK;
    right &= threaded_is_right((enum threaded_which)which, out);
  }
  return right;
}

int threaded_run(int32_t threads, struct threaded_output *out) {
  const sdpa_options options = threaded_options(threads);
  return threaded_run_with(&options, out);
}

/* Whether a plan for two threads uses them, and the calls are what their names say. */
static int is_threaded(enum threaded_which which) {
  const sdpa_problem problem = threaded_problem(which);
  const sdpa_options options = threaded_options(2);
  sdpa_plan_info info = {.size = sizeof info};
  sdpa_plan *plan;
  if (sdpa_plan_create(&problem, &options, &plan) != SDPA_OK) return 0;
  sdpa_plan_query(plan, &info);
  sdpa_plan_destroy(plan);
  return info.threads == 2 && (info.key_splits > 1) == (which == THREADED_FEW);
}

void threaded_fill(void) {
  fill(many_query, sizeof many_query / sizeof *many_query, 1);
  fill(many_key, sizeof many_key / sizeof *many_key, 2);
  fill(many_value, sizeof many_value / sizeof *many_value, 3);
  fill(many_bias, sizeof many_bias / sizeof *many_bias, 4);
  fill(few_query, sizeof few_query / sizeof *few_query, 5);
  fill(few_key, sizeof few_key / sizeof *few_key, 6);
  fill(few_value, sizeof few_value / sizeof *few_value, 7);
}

int threaded_init(void) {
  const sdpa_options options = threaded_options(1);
  int right = 1;
  threaded_fill();
  for (int which = 0; which < THREADED_CALLS; which++) {
    const sdpa_problem problem = threaded_problem((enum threaded_which)which);
    const sdpa_args args = threaded_args((enum threaded_which)which, &expected[which]);
    right &= is_threaded((enum threaded_which)which);
    right &= sdpa_attention(&problem, &options, &args) == SDPA_OK;
  }
  return right;
}
