/* adapter_check.c - what both adapters of docs/threading.md must pass
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adapter_check.h"

#include <string.h>

#include "parallel_support.h"

static void check_counts(const sdpa_options *options) {
  static struct counts counts;
  for (int32_t threads = 1; threads <= SDPAI_MAX_THREADS; threads += threads < 8 ? 1 : 31) {
    const struct sdpai_parallel parallel = {threads, options->parallel_for, options->parallel_ctx};
    counts_init(&counts, 1000, threads);
    assert_int_equal(sdpai_parallel_run(&parallel, 1000, count_item, &counts), 0);
    assert_true(counts_are_right(&counts));
  }
}

static void check_meeting(const sdpa_options *options, int threads) {
  const struct sdpai_parallel parallel = {threads, options->parallel_for, options->parallel_ctx};
  assert_true(items_meet(&parallel, threads));
}

enum { HEADS = 4, ROWS = 100, DIM = 16, VALUES = HEADS * ROWS * DIM };

static void attend(const sdpa_options *options, const float *input, float *output) {
  sdpa_problem problem;
  sdpa_args args;
  assert_int_equal(sdpa_problem_init(&problem, sizeof problem), SDPA_OK);
  assert_int_equal(sdpa_args_init(&args, sizeof args), SDPA_OK);
  problem.query_type = SDPA_F32;
  problem.batch = 1;
  problem.query_heads = problem.kv_heads = HEADS;
  problem.query_len = problem.key_len = ROWS;
  problem.key_dim = problem.value_dim = DIM;
  assert_int_equal(sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD), SDPA_OK);
  args.query = args.key = args.value = input;
  args.output = output;
  assert_int_equal(sdpa_attention(&problem, options, &args), SDPA_OK);
}

static void check_attention(const sdpa_options *options) {
  static float input[VALUES], expected[VALUES], output[VALUES];
  sdpa_options serial;
  assert_int_equal(sdpa_options_init(&serial, sizeof serial), SDPA_OK);
  serial.threads = 1;
  for (int i = 0; i < VALUES; i++) input[i] = (float)(i * 37 % 101) / 101;
  attend(&serial, input, expected);
  attend(options, input, output);
  assert_memory_equal(output, expected, sizeof output);
}

void adapter_check(const sdpa_options *options, int threads) {
  int named;
  check_counts(options);
  check_meeting(options, threads);
  check_attention(options);
  count_threads(&named);
  assert_int_equal(named, 0); /* the library's own pool was not needed */
}
