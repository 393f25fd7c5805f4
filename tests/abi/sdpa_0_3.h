/* sdpa_0_3.h - the public header of 0.3, without its comments
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What programs of that version were compiled against. Written by keep_header.sh, never edited.
 */
#ifndef SDPA_SDPA_H
#define SDPA_SDPA_H
#include <stddef.h>
#include <stdint.h>
#define SDPA_VERSION_MAJOR 0
#define SDPA_VERSION_MINOR 3
#define SDPA_VERSION_PATCH 0
#define SDPA_VERSION       (SDPA_VERSION_MAJOR * 10000 + SDPA_VERSION_MINOR * 100 + SDPA_VERSION_PATCH)
#if defined(__GNUC__)
#define SDPA_API __attribute__((visibility("default")))
#else
#define SDPA_API
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef int32_t sdpa_status;
enum {
  SDPA_OK = 0,
  SDPA_ERROR_STRUCT_SIZE = 10,
  SDPA_ERROR_NULL = 11,
  SDPA_ERROR_UNDECLARED = 12,
  SDPA_ERROR_VALUE = 13,
  SDPA_ERROR_SHAPE = 14,
  SDPA_ERROR_STRIDE = 15,
  SDPA_ERROR_ALIGNMENT = 16,
  SDPA_ERROR_OVERFLOW = 17,
  SDPA_ERROR_WORKSPACE = 18,
  SDPA_ERROR_UNSUPPORTED = 20,
  SDPA_ERROR_MEMORY = 30,
  SDPA_ERROR_CALLBACK = 31
};
SDPA_API const char *sdpa_status_string(sdpa_status status);
enum { SDPA_F64 = 1, SDPA_F32 = 2, SDPA_BF16 = 3, SDPA_F16 = 4 };
enum { SDPA_LAYOUT_BHSD = 1, SDPA_LAYOUT_BSHD = 2 };
enum {
  SDPA_ALIGN_NONE = 0,
  SDPA_ALIGN_TOP_LEFT = 1,
  SDPA_ALIGN_BOTTOM_RIGHT = 2,
  SDPA_ALIGN_OFFSET = 3
};
enum { SDPA_STAGE_SCALED = 1, SDPA_STAGE_SOFTCAPPED = 2, SDPA_STAGE_BIASED = 3 };
enum { SDPA_ENGINE_AUTO = 0, SDPA_ENGINE_BLAS = 1, SDPA_ENGINE_TILED = 2 };
enum {
  SDPA_ISA_AUTO = 0,
  SDPA_ISA_GENERIC = 1,
  SDPA_ISA_AVX2 = 20,
  SDPA_ISA_AVX512 = 30,
  SDPA_ISA_AMX = 40,
  SDPA_ISA_NEON = 120
};
enum { SDPA_PRECISION_FULL = 0, SDPA_PRECISION_FMA = 1, SDPA_PRECISION_REDUCED = 2 };
enum {
  SDPA_CAUSAL = 1 << 0,
  SDPA_WINDOW = 1 << 1,
  SDPA_SCALE = 1 << 2,
  SDPA_MASK = 1 << 3,
  SDPA_BIAS = 1 << 4,
  SDPA_ALIBI = 1 << 5,
  SDPA_SINKS = 1 << 6,
  SDPA_KEY_LENS = 1 << 7,
  SDPA_QUERY_LENS = 1 << 8,
  SDPA_OFFSETS = 1 << 9,
  SDPA_WEIGHTS = 1 << 16,
  SDPA_LSE = 1 << 17,
  SDPA_SCORES = 1 << 18,
  SDPA_NO_OUTPUT = 1 << 19
};
typedef struct sdpa_strides {
  int64_t batch, head, row, col;
} sdpa_strides;
typedef struct sdpa_problem {
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
  sdpa_strides query;
  sdpa_strides key;
  sdpa_strides value;
  sdpa_strides output;
  sdpa_strides mask, bias;
  sdpa_strides weights, scores;
  sdpa_strides lse;
} sdpa_problem;
SDPA_API sdpa_status sdpa_problem_init(sdpa_problem *problem, size_t size);
SDPA_API sdpa_status sdpa_problem_layout(sdpa_problem *problem, uint32_t layout);
SDPA_API sdpa_status sdpa_problem_broadcast(const sdpa_problem *problem, int32_t rank,
                                            const int64_t *shape, sdpa_strides *strides);
typedef void (*sdpa_task)(void *arg, int64_t task);
typedef void (*sdpa_parallel_for)(void *ctx, int64_t n_tasks, sdpa_task task, void *arg);
typedef void *(*sdpa_alloc)(void *ctx, size_t bytes, size_t alignment);
typedef void (*sdpa_free)(void *ctx, void *block, size_t bytes);
typedef struct sdpa_options {
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
} sdpa_options;
SDPA_API sdpa_status sdpa_options_init(sdpa_options *options, size_t size);
typedef struct sdpa_args {
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
} sdpa_args;
SDPA_API sdpa_status sdpa_args_init(sdpa_args *args, size_t size);
SDPA_API sdpa_status sdpa_attention(const sdpa_problem *problem, const sdpa_options *options,
                                    const sdpa_args *args);
SDPA_API sdpa_status sdpa_attention_f32(int64_t n_q, int64_t n_k, int64_t d_k, int64_t d_v,
                                        const float *query, const float *key, const float *value,
                                        float *output, float *weights);
SDPA_API sdpa_status sdpa_attention_f64(int64_t n_q, int64_t n_k, int64_t d_k, int64_t d_v,
                                        const double *query, const double *key, const double *value,
                                        double *output, double *weights);
typedef struct sdpa_plan sdpa_plan;
SDPA_API sdpa_status sdpa_plan_create(const sdpa_problem *problem, const sdpa_options *options,
                                      sdpa_plan **plan);
SDPA_API void sdpa_plan_destroy(sdpa_plan *plan);
SDPA_API sdpa_status sdpa_plan_workspace(const sdpa_plan *plan, size_t *bytes, size_t *alignment);
SDPA_API sdpa_status sdpa_execute(const sdpa_plan *plan, const sdpa_args *args, void *workspace,
                                  size_t bytes);
typedef struct sdpa_plan_info {
  uint32_t size;
  uint32_t engine;
  uint32_t isa;
  uint32_t precision;
  int32_t threads;
  int32_t key_splits;
  int64_t flops;
  int64_t bytes;
} sdpa_plan_info;
SDPA_API sdpa_status sdpa_plan_query(const sdpa_plan *plan, sdpa_plan_info *info);
SDPA_API size_t sdpa_plan_describe(const sdpa_plan *plan, char *text, size_t text_bytes);
SDPA_API sdpa_status sdpa_problem_check(const sdpa_problem *problem, const sdpa_options *options,
                                        char *text, size_t text_bytes);
SDPA_API sdpa_status sdpa_args_check(const sdpa_plan *plan, const sdpa_args *args,
                                     const void *workspace, size_t bytes, char *text,
                                     size_t text_bytes);
SDPA_API sdpa_status sdpa_merge(const sdpa_problem *problem, const sdpa_options *options,
                                void *output, void *lse, const void *part_output,
                                const void *part_lse);
SDPA_API sdpa_status sdpa_softmax_f32(int64_t rows, int64_t cols, float scale, const float *scores,
                                      int64_t scores_ld, const uint8_t *mask, int64_t mask_ld,
                                      float *weights, int64_t weights_ld);
SDPA_API sdpa_status sdpa_softmax_f64(int64_t rows, int64_t cols, double scale,
                                      const double *scores, int64_t scores_ld, const uint8_t *mask,
                                      int64_t mask_ld, double *weights, int64_t weights_ld);
SDPA_API sdpa_status sdpa_softmax_jacobian_f32(int64_t n, const float *weights, float *jacobian,
                                               int64_t ld);
SDPA_API sdpa_status sdpa_softmax_jacobian_f64(int64_t n, const double *weights, double *jacobian,
                                               int64_t ld);
SDPA_API sdpa_status sdpa_softmax_backward_f32(int64_t rows, int64_t cols, const float *weights,
                                               int64_t weights_ld, const float *grad,
                                               int64_t grad_ld, float *out, int64_t out_ld);
SDPA_API sdpa_status sdpa_softmax_backward_f64(int64_t rows, int64_t cols, const double *weights,
                                               int64_t weights_ld, const double *grad,
                                               int64_t grad_ld, double *out, int64_t out_ld);
SDPA_API int32_t sdpa_version(void);
SDPA_API const char *sdpa_version_string(void);
SDPA_API size_t sdpa_build_info(char *text, size_t text_bytes);
#ifdef __cplusplus
}
#endif
#endif
