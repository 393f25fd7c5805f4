/* layout_0_1.c - the structs of 0.1 as programs of 0.1 were compiled, against today's header and
 * library
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A frozen copy of every public struct. The assertions fail to compile where a field has moved,
 * changed its size or gone; the call at the end hands the frozen structs to the library. Never
 * edited: a field added later does not belong here.
 */
#include <sdpa/sdpa.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct strides_0_1 {
  int64_t batch, head, row, col;
};

struct problem_0_1 {
  uint32_t size;
  uint32_t features;
  uint32_t query_type;
  uint32_t key_type;
  uint32_t value_type;
  uint32_t output_type;
  uint32_t bias_type;
  uint32_t alignment;
  uint32_t score_stage;
  uint32_t reserved0;
  int64_t batch;
  int64_t query_heads;
  int64_t kv_heads;
  int64_t query_len;
  int64_t key_len;
  int64_t key_dim;
  int64_t value_dim;
  double scale;
  double softcap;
  int64_t window_left;
  int64_t window_right;
  int64_t offset;
  struct strides_0_1 query;
  struct strides_0_1 key;
  struct strides_0_1 value;
  struct strides_0_1 output;
  struct strides_0_1 mask, bias;
  struct strides_0_1 weights, scores;
  struct strides_0_1 lse;
};

struct options_0_1 {
  uint32_t size;
  uint32_t engine;
  uint32_t isa;
  uint32_t precision;
  int32_t threads;
  uint32_t reserved0;
  sdpa_parallel_for parallel_for;
  void *parallel_ctx;
  sdpa_alloc alloc;
  sdpa_free release;
  void *alloc_ctx;
};

struct args_0_1 {
  uint32_t size;
  uint32_t reserved0;
  const void *query, *key, *value;
  void *output;
  const uint8_t *mask;
  const void *bias;
  const void *alibi_slopes;
  const void *sinks;
  const int64_t *key_lens;
  const int64_t *query_lens;
  const int64_t *offsets;
  void *weights, *scores;
  void *lse;
};

struct plan_info_0_1 {
  uint32_t size;
  uint32_t engine;
  uint32_t isa;
  uint32_t precision;
  int32_t threads;
  int32_t key_splits;
  int64_t flops;
  int64_t bytes;
};

#define SAME(name, field)                                                                          \
  _Static_assert(offsetof(sdpa_##name, field) == offsetof(struct name##_0_1, field) &&             \
                     sizeof(((sdpa_##name *)0)->field) == sizeof(((struct name##_0_1 *)0)->field), \
                 #name "." #field " is where it was in 0.1")

SAME(strides, batch);
SAME(strides, head);
SAME(strides, row);
SAME(strides, col);

SAME(problem, size);
SAME(problem, features);
SAME(problem, query_type);
SAME(problem, key_type);
SAME(problem, value_type);
SAME(problem, output_type);
SAME(problem, bias_type);
SAME(problem, alignment);
SAME(problem, score_stage);
SAME(problem, reserved0);
SAME(problem, batch);
SAME(problem, query_heads);
SAME(problem, kv_heads);
SAME(problem, query_len);
SAME(problem, key_len);
SAME(problem, key_dim);
SAME(problem, value_dim);
SAME(problem, scale);
SAME(problem, softcap);
SAME(problem, window_left);
SAME(problem, window_right);
SAME(problem, offset);
SAME(problem, query);
SAME(problem, key);
SAME(problem, value);
SAME(problem, output);
SAME(problem, mask);
SAME(problem, bias);
SAME(problem, weights);
SAME(problem, scores);
SAME(problem, lse);

SAME(options, size);
SAME(options, engine);
SAME(options, isa);
SAME(options, precision);
SAME(options, threads);
SAME(options, reserved0);
SAME(options, parallel_for);
SAME(options, parallel_ctx);
SAME(options, alloc);
SAME(options, release);
SAME(options, alloc_ctx);

SAME(args, size);
SAME(args, reserved0);
SAME(args, query);
SAME(args, key);
SAME(args, value);
SAME(args, output);
SAME(args, mask);
SAME(args, bias);
SAME(args, alibi_slopes);
SAME(args, sinks);
SAME(args, key_lens);
SAME(args, query_lens);
SAME(args, offsets);
SAME(args, weights);
SAME(args, scores);
SAME(args, lse);

SAME(plan_info, size);
SAME(plan_info, engine);
SAME(plan_info, isa);
SAME(plan_info, precision);
SAME(plan_info, threads);
SAME(plan_info, key_splits);
SAME(plan_info, flops);
SAME(plan_info, bytes);

/* A frozen struct is never larger than today's; sdpa_strides has no size field and never grows. */
_Static_assert(sizeof(sdpa_strides) == sizeof(struct strides_0_1), "sdpa_strides is frozen");
#define NOT_SHRUNK(name)                                                                           \
  _Static_assert(sizeof(sdpa_##name) >= sizeof(struct name##_0_1), #name " has not shrunk")
NOT_SHRUNK(problem);
NOT_SHRUNK(options);
NOT_SHRUNK(args);
NOT_SHRUNK(plan_info);

/* Constants keep their values. */
#define PINNED(name, value) _Static_assert(SDPA_##name == (value), #name " has its value of 0.1")
PINNED(OK, 0);
PINNED(ERROR_STRUCT_SIZE, 10);
PINNED(ERROR_NULL, 11);
PINNED(ERROR_UNDECLARED, 12);
PINNED(ERROR_VALUE, 13);
PINNED(ERROR_SHAPE, 14);
PINNED(ERROR_STRIDE, 15);
PINNED(ERROR_ALIGNMENT, 16);
PINNED(ERROR_OVERFLOW, 17);
PINNED(ERROR_WORKSPACE, 18);
PINNED(ERROR_UNSUPPORTED, 20);
PINNED(ERROR_MEMORY, 30);
PINNED(ERROR_CALLBACK, 31);

PINNED(F64, 1);
PINNED(F32, 2);
PINNED(BF16, 3);
PINNED(F16, 4);

PINNED(LAYOUT_BHSD, 1);
PINNED(LAYOUT_BSHD, 2);

PINNED(ALIGN_NONE, 0);
PINNED(ALIGN_TOP_LEFT, 1);
PINNED(ALIGN_BOTTOM_RIGHT, 2);
PINNED(ALIGN_OFFSET, 3);

PINNED(STAGE_SCALED, 1);
PINNED(STAGE_SOFTCAPPED, 2);
PINNED(STAGE_BIASED, 3);

PINNED(ENGINE_AUTO, 0);
PINNED(ENGINE_BLAS, 1);
PINNED(ENGINE_TILED, 2);

PINNED(ISA_AUTO, 0);
PINNED(ISA_GENERIC, 1);
PINNED(ISA_AVX2, 20);
PINNED(ISA_AVX512, 30);
PINNED(ISA_AMX, 40);
PINNED(ISA_NEON, 120);

PINNED(PRECISION_FULL, 0);
PINNED(PRECISION_FMA, 1);
PINNED(PRECISION_REDUCED, 2);

PINNED(CAUSAL, 1 << 0);
PINNED(WINDOW, 1 << 1);
PINNED(SCALE, 1 << 2);
PINNED(MASK, 1 << 3);
PINNED(BIAS, 1 << 4);
PINNED(ALIBI, 1 << 5);
PINNED(SINKS, 1 << 6);
PINNED(KEY_LENS, 1 << 7);
PINNED(QUERY_LENS, 1 << 8);
PINNED(OFFSETS, 1 << 9);
PINNED(WEIGHTS, 1 << 16);
PINNED(LSE, 1 << 17);
PINNED(SCORES, 1 << 18);
PINNED(NO_OUTPUT, 1 << 19);

/* The same bits in the library's eyes: the frozen structs go in as they lie. */
int main(void) {
  const double query[1] = {1.0986122886681098}, key[2] = {1, 0}, value[2] = {4, 8};
  double output[1] = {0}, lse[1] = {0};
  struct problem_0_1 problem = {
      .size = sizeof problem,
      .features = 1 << 17,
      .query_type = 1,
      .batch = 1,
      .query_heads = 1,
      .kv_heads = 1,
      .query_len = 1,
      .key_len = 2,
      .key_dim = 1,
      .value_dim = 1,
      .query = {1, 1, 1, 1},
      .key = {2, 2, 1, 1},
      .value = {2, 2, 1, 1},
      .output = {1, 1, 1, 1},
      .lse = {1, 1, 1, 0},
  };
  struct options_0_1 options = {.size = sizeof options, .engine = 1, .isa = 1};
  struct args_0_1 args = {
      .size = sizeof args,
      .query = query,
      .key = key,
      .value = value,
      .output = output,
      .lse = lse,
  };
  sdpa_status status =
      sdpa_attention((const void *)&problem, (const void *)&options, (const void *)&args);
  if (status == 20) { /* a library that was built without engine 1, which 0.1 always had */
    options.engine = 0;
    status = sdpa_attention((const void *)&problem, (const void *)&options, (const void *)&args);
  }
  if (status != 0) return printf("status %d\n", (int)status), 1;
  /* Scores ln 3 and 0: weights 3/4 and 1/4, log-sum-exp ln 4. */
  if (!(fabs(output[0] - 5) < 1e-13) || !(fabs(lse[0] - 1.3862943611198906) < 1e-13))
    return printf("output %g, lse %g\n", output[0], lse[0]), 1;
  return 0;
}
