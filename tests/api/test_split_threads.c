/* test_split_threads.c - few rows over long keys: the same bits on one thread and on several
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where rows are few and keys long, several threads share the keys of each head. Entries of the
 * batch have keys of different lengths, the last one the fewest.
 */
#include "api_support.h"

#include <string.h>

static const struct api_sizes sizes = {3, 4, 2, 60, 5000, 8, 8};
static const int64_t lens[] = {5000, 2100, 10};

static void attend(struct api_call *call, uint32_t type, int32_t threads) {
  sdpa_options options;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.engine = SDPA_ENGINE_TILED;
  options.threads = threads;
  api_call_init(call, type, sizes, SDPA_KEY_LENS | SDPA_LSE, 0);
  memcpy(api_key_lens(call), lens, sizeof lens);
  const int64_t elements = (int64_t)(call->bytes[API_KEY] / api_element_size(type));
  for (int64_t i = 0; i < elements; i++) {
    api_put(type, api_key(call), i, (double)(i * 7919 % 1009 - 504) / 252);
    api_put(type, api_value(call), i, (double)(i * 6151 % 1013 - 506) / 253);
  }
  assert_int_equal(sdpa_attention(&call->problem, &options, &call->args), SDPA_OK);
}

static void test_threads(void **state) {
  (void)state;
  for (uint32_t type = SDPA_F64; type <= SDPA_F16; type++) {
    struct api_call one, some;
    attend(&one, type, 1);
    for (int32_t threads = 2; threads <= 5; threads++) {
      attend(&some, type, threads);
      assert_memory_equal(some.args.output, one.args.output, one.bytes[API_OUTPUT]);
      assert_memory_equal(some.args.lse, one.args.lse, one.bytes[API_LSE]);
      api_call_free(&some);
    }
    api_call_free(&one);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
