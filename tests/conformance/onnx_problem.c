/* onnx_problem.c - translates an ONNX Attention case into an sdpa_problem
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "onnx_problem.h"

#include <stdio.h>

/* Sizes of one of Q, K, V, Y, whatever its rank. */
struct tensor_sizes {
  int64_t batch, heads, rows, columns;
};

static int fail(char *error, size_t error_bytes, const char *sentence) {
  snprintf(error, error_bytes, "%s", sentence);
  return -1;
}

static int read_sizes(const struct npy_array *tensor, int64_t heads, struct tensor_sizes *sizes) {
  if (tensor->rank == 4 && (heads == 0 || heads == tensor->shape[1])) {
    *sizes = (struct tensor_sizes){tensor->shape[0], tensor->shape[1], tensor->shape[2],
                                   tensor->shape[3]};
    return 0;
  }
  if (tensor->rank == 3 && heads > 0 && tensor->shape[2] % heads == 0) {
    *sizes =
        (struct tensor_sizes){tensor->shape[0], heads, tensor->shape[1], tensor->shape[2] / heads};
    return 0;
  }
  return -1;
}

sdpa_strides onnx_tensor_strides(const struct npy_array *tensor, int64_t heads) {
  if (tensor->rank == 4) {
    int64_t row = tensor->shape[3], head = tensor->shape[2] * row;
    return (sdpa_strides){.batch = tensor->shape[1] * head, .head = head, .row = row, .col = 1};
  }
  return (sdpa_strides){.batch = tensor->shape[1] * tensor->shape[2],
                        .head = tensor->shape[2] / heads,
                        .row = tensor->shape[2],
                        .col = 1};
}

int onnx_problem_joins(const struct onnx_case *one) {
  return one->input[ONNX_PAST_KEY].data || one->input[ONNX_PAST_VALUE].data ||
         one->output[ONNX_PRESENT_KEY].data || one->output[ONNX_PRESENT_VALUE].data;
}

static int64_t past_len(const struct onnx_case *one) {
  const struct npy_array *past = &one->input[ONNX_PAST_KEY];
  return past->data ? past->shape[2] : 0;
}

/* The past must be (batch, kv heads, past length, head size) for both K and V, or absent for both.
 */
static int check_past(const struct onnx_case *one, const sdpa_problem *problem, char *error,
                      size_t error_bytes) {
  const struct npy_array *past[2] = {&one->input[ONNX_PAST_KEY], &one->input[ONNX_PAST_VALUE]};
  const int64_t columns[2] = {problem->key_dim, problem->value_dim};
  if (!past[0]->data != !past[1]->data) {
    return fail(error, error_bytes, "only one of past_key and past_value is given");
  }
  for (int i = 0; i < 2 && past[i]->data; i++) {
    const enum onnx_input fresh = i == 0 ? ONNX_KEY : ONNX_VALUE;
    if (past[i]->rank != 4 || past[i]->shape[0] != problem->batch ||
        past[i]->shape[1] != problem->kv_heads || past[i]->shape[2] != past_len(one) ||
        past[i]->shape[3] != columns[i] || past[i]->type != one->input[fresh].type) {
      return fail(error, error_bytes, "past_key or past_value does not fit K or V");
    }
  }
  return 0;
}

static int set_sizes(sdpa_problem *problem, const struct onnx_case *one, char *error,
                     size_t error_bytes) {
  const struct npy_array *input = one->input;
  struct tensor_sizes query, key, value, output;
  const int64_t q_heads = one->value[ONNX_Q_NUM_HEADS], kv_heads = one->value[ONNX_KV_NUM_HEADS];
  if (read_sizes(&input[ONNX_QUERY], q_heads, &query) != 0 ||
      read_sizes(&input[ONNX_KEY], kv_heads, &key) != 0 ||
      read_sizes(&input[ONNX_VALUE], kv_heads, &value) != 0 ||
      read_sizes(&one->output[ONNX_Y], q_heads, &output) != 0) {
    return fail(error, error_bytes, "the rank of Q, K, V or Y does not fit the number of heads");
  }
  if (key.batch != query.batch || value.batch != query.batch || output.batch != query.batch ||
      value.heads != key.heads || value.rows != key.rows || key.columns != query.columns ||
      output.heads != query.heads || output.rows != query.rows || output.columns != value.columns) {
    return fail(error, error_bytes, "the shapes of Q, K, V and Y do not fit together");
  }
  problem->batch = query.batch;
  problem->query_heads = query.heads;
  problem->kv_heads = key.heads;
  problem->query_len = query.rows;
  problem->key_len = key.rows + past_len(one);
  problem->key_dim = query.columns;
  problem->value_dim = value.columns;
  return check_past(one, problem, error, error_bytes);
}

static int set_types_and_strides(sdpa_problem *problem, const struct onnx_case *one, char *error,
                                 size_t error_bytes) {
  problem->query_type = onnx_type_sdpa(one->input[ONNX_QUERY].type);
  problem->key_type = onnx_type_sdpa(one->input[ONNX_KEY].type);
  problem->value_type = onnx_type_sdpa(one->input[ONNX_VALUE].type);
  problem->output_type = onnx_type_sdpa(one->output[ONNX_Y].type);
  if (!problem->query_type || !problem->key_type || !problem->value_type || !problem->output_type) {
    return fail(error, error_bytes, "Q, K, V and Y must be of floating-point types");
  }

  /* (batch, heads, sequence, size) is the layout of the present and of the scores; with contiguous
   * inputs the other tensors say their own. */
  sdpa_problem_layout(problem, SDPA_LAYOUT_BHSD);
  problem->query = onnx_tensor_strides(&one->input[ONNX_QUERY], problem->query_heads);
  problem->output = onnx_tensor_strides(&one->output[ONNX_Y], problem->query_heads);
  if (!onnx_problem_joins(one)) {
    problem->key = onnx_tensor_strides(&one->input[ONNX_KEY], problem->kv_heads);
    problem->value = onnx_tensor_strides(&one->input[ONNX_VALUE], problem->kv_heads);
  }
  return 0;
}

static int set_mask(sdpa_problem *problem, const struct onnx_case *one, char *error,
                    size_t error_bytes) {
  const struct npy_array *mask = &one->input[ONNX_MASK];
  if (!mask->data) return 0;
  if (mask->type != NPY_BOOL && !onnx_type_sdpa(mask->type)) {
    return fail(error, error_bytes, "attn_mask is neither bool nor of a floating-point type");
  }
  if (mask->rank < 1 || mask->shape[mask->rank - 1] > problem->key_len) {
    return fail(error, error_bytes, "attn_mask has more columns than there are keys");
  }
  int64_t dims[ONNX_MAX_RANK];
  for (int i = 0; i < mask->rank; i++) dims[i] = mask->shape[i];
  dims[mask->rank - 1] = problem->key_len;

  const int is_bool = mask->type == NPY_BOOL;
  problem->features |= is_bool ? SDPA_MASK : SDPA_BIAS;
  if (!is_bool) problem->bias_type = onnx_type_sdpa(mask->type);
  if (sdpa_problem_broadcast(problem, mask->rank, dims,
                             is_bool ? &problem->mask : &problem->bias) != SDPA_OK) {
    return fail(error, error_bytes, "attn_mask does not broadcast to (batch, heads, q, k)");
  }
  return 0;
}

/* Causal and windows, and which key is a query's own: the past's length where there is a past, else
 * lengths are bottom-right, else top-left. */
static void set_alignment(sdpa_problem *problem, const struct onnx_case *one) {
  if (one->value[ONNX_IS_CAUSAL]) problem->features |= SDPA_CAUSAL;
  if (one->given[ONNX_LEFT_WINDOW] || one->given[ONNX_RIGHT_WINDOW]) {
    problem->features |= SDPA_WINDOW;
    problem->window_left = one->value[ONNX_LEFT_WINDOW];
    problem->window_right = one->value[ONNX_RIGHT_WINDOW];
  }
  if (!(problem->features & (SDPA_CAUSAL | SDPA_WINDOW))) return;
  if (one->input[ONNX_PAST_KEY].data) {
    problem->alignment = SDPA_ALIGN_OFFSET;
    problem->offset = past_len(one);
  } else if (one->input[ONNX_KEY_LENS].data) {
    problem->alignment = SDPA_ALIGN_BOTTOM_RIGHT;
  } else {
    problem->alignment = SDPA_ALIGN_TOP_LEFT;
  }
}

static int set_scores(sdpa_problem *problem, const struct onnx_case *one, char *error,
                      size_t error_bytes) {
  static const uint32_t stages[] = {SDPA_STAGE_SCALED, SDPA_STAGE_SOFTCAPPED, SDPA_STAGE_BIASED};
  const struct npy_array *scores = &one->output[ONNX_SCORES];
  if (!scores->data) return 0;
  if (scores->rank != 4 || scores->shape[0] != problem->batch ||
      scores->shape[1] != problem->query_heads || scores->shape[2] != problem->query_len ||
      scores->shape[3] != problem->key_len) {
    return fail(error, error_bytes, "qk_matmul_output is not (batch, heads, q, k)");
  }
  const int64_t mode = one->value[ONNX_SCORE_MODE];
  if (mode == 3) {
    problem->features |= SDPA_WEIGHTS;
  } else {
    problem->features |= SDPA_SCORES;
    problem->score_stage = stages[mode];
  }
  return 0;
}

int onnx_problem_set(sdpa_problem *problem, const struct onnx_case *one, char *error,
                     size_t error_bytes) {
  sdpa_problem_init(problem, sizeof *problem);
  if (set_sizes(problem, one, error, error_bytes) != 0) return -1;
  if (set_types_and_strides(problem, one, error, error_bytes) != 0) return -1;

  const struct npy_array *lens = &one->input[ONNX_KEY_LENS];
  if (lens->data) {
    if (lens->type != NPY_I64 || lens->rank != 1 || lens->shape[0] != problem->batch) {
      return fail(error, error_bytes, "nonpad_kv_seqlen is not one int64 a batch entry");
    }
    problem->features |= SDPA_KEY_LENS;
  }
  if (one->scale_given) {
    problem->features |= SDPA_SCALE;
    problem->scale = one->scale;
  }
  problem->softcap = one->softcap;
  set_alignment(problem, one);
  if (set_mask(problem, one, error, error_bytes) != 0) return -1;
  return set_scores(problem, one, error, error_bytes);
}
