/* onnx_case.c - reads a conformance case's folder
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L

#include "onnx_case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const input_names[ONNX_INPUTS] = {
    "Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};
static const char *const output_names[ONNX_OUTPUTS] = {"Y", "present_key", "present_value",
                                                       "qk_matmul_output"};

/* Names and the operator's defaults. Any value of softmax_precision is right for this library: it
 * computes in the compute type, which is never narrower than the data's. */
static const struct {
  const char *name;
  int64_t fallback, lowest, highest;
} attributes[ONNX_ATTRIBUTES] = {
    [ONNX_Q_NUM_HEADS] = {"q_num_heads", 0, 1, INT32_MAX},
    [ONNX_KV_NUM_HEADS] = {"kv_num_heads", 0, 1, INT32_MAX},
    [ONNX_IS_CAUSAL] = {"is_causal", 0, 0, 1},
    [ONNX_LEFT_WINDOW] = {"left_window_size", -1, -1, INT64_MAX},
    [ONNX_RIGHT_WINDOW] = {"right_window_size", -1, -1, INT64_MAX},
    [ONNX_SCORE_MODE] = {"qk_matmul_output_mode", 0, 0, 3},
    [ONNX_SOFTMAX_PRECISION] = {"softmax_precision", 0, 0, INT32_MAX},
};

const char *onnx_output_name(enum onnx_output output) {
  return output_names[output];
}

static int find_name(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; i++) {
    if (strcmp(names[i], name) == 0) return i;
  }
  return -1;
}

static int parse_integer(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  long long parsed = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0) return -1;
  *value = parsed;
  return 0;
}

static int parse_decimal(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end == text || *end != '\0' ? -1 : 0;
}

/* "2x3x4" -> {2, 3, 4}. Returns the rank, or -1. */
static int parse_dims(const char *text, int64_t *dims) {
  int rank = 0;
  for (;;) {
    char *end;
    errno = 0;
    long long dim = strtoll(text, &end, 10);
    if (end == text || errno != 0 || dim < 0 || dim > INT32_MAX || rank == ONNX_MAX_RANK) return -1;
    dims[rank++] = dim;
    if (*end == '\0') return rank;
    if (*end != 'x') return -1;
    text = end + 1;
  }
}

/* An attribute line; 0, or -1 if the name or the value is not one of the operator's. */
static int read_attribute(struct onnx_case *one, const char *name, const char *text) {
  if (strcmp(name, "scale") == 0) {
    one->scale_given = 1;
    return parse_decimal(text, &one->scale);
  }
  if (strcmp(name, "softcap") == 0) return parse_decimal(text, &one->softcap);
  for (int i = 0; i < ONNX_ATTRIBUTES; i++) {
    if (strcmp(attributes[i].name, name) != 0) continue;
    one->given[i] = 1;
    if (parse_integer(text, &one->value[i]) != 0) return -1;
    return one->value[i] < attributes[i].lowest || one->value[i] > attributes[i].highest ? -1 : 0;
  }
  return -1;
}

static int read_tensor(struct onnx_case *one, const char *folder, char *const *word, char *error,
                       size_t error_bytes) {
  struct npy_array *tensor;
  enum npy_type type;
  int64_t dims[ONNX_MAX_RANK];
  int is_input = strcmp(word[0], "input") == 0;
  int index = is_input ? find_name(input_names, ONNX_INPUTS, word[1])
                       : find_name(output_names, ONNX_OUTPUTS, word[1]);
  int rank = parse_dims(word[3], dims);
  if (index < 0 || rank < 0 || onnx_type_find(word[2], &type) != 0) {
    snprintf(error, error_bytes, "case.txt: cannot use '%s %s %s %s'", word[0], word[1], word[2],
             word[3]);
    return -1;
  }
  tensor = is_input ? &one->input[index] : &one->output[index];
  if (tensor->data) {
    snprintf(error, error_bytes, "case.txt: %s stands there twice", word[1]);
    return -1;
  }
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s.npy", folder, word[1]) >= (int)sizeof path) {
    snprintf(error, error_bytes, "the path of %s.npy is too long", word[1]);
    return -1;
  }
  return onnx_tensor_read(tensor, path, type, rank, dims, error, error_bytes);
}

static int read_line(struct onnx_case *one, const char *folder, char *line, char *error,
                     size_t error_bytes) {
  enum { MAX_WORDS = 5 };
  char *word[MAX_WORDS] = {NULL};
  int words = 0;
  char *rest = NULL;
  for (char *next = strtok_r(line, " \r\n", &rest); next && words < MAX_WORDS;
       next = strtok_r(NULL, " \r\n", &rest)) {
    word[words++] = next;
  }
  if (words == 0) return 0;
  if (words == 2 && strcmp(word[0], "op") == 0 && strcmp(word[1], "Attention") == 0) return 0;
  /* The three operator sets of the cases mean the same; a later one may not. */
  int64_t opset;
  if (words == 2 && strcmp(word[0], "opset") == 0 && parse_integer(word[1], &opset) == 0 &&
      opset >= 23 && opset <= 25) {
    return 0;
  }
  if (words == 3 && strcmp(word[0], "attr") == 0 && read_attribute(one, word[1], word[2]) == 0) {
    return 0;
  }
  if (words == 4 && (strcmp(word[0], "input") == 0 || strcmp(word[0], "output") == 0)) {
    return read_tensor(one, folder, word, error, error_bytes);
  }
  snprintf(error, error_bytes, "case.txt: cannot use '%s %s %s'", word[0], words > 1 ? word[1] : "",
           words > 2 ? word[2] : "");
  return -1;
}

int onnx_case_read(struct onnx_case *one, const char *folder, char *error, size_t error_bytes) {
  memset(one, 0, sizeof *one);
  for (int i = 0; i < ONNX_ATTRIBUTES; i++) one->value[i] = attributes[i].fallback;

  char path[4096];
  FILE *file = NULL;
  if (snprintf(path, sizeof path, "%s/case.txt", folder) < (int)sizeof path) {
    file = fopen(path, "r");
  }
  if (!file) {
    snprintf(error, error_bytes, "cannot open case.txt in %s", folder);
    return -1;
  }
  char line[512];
  int status = 0;
  while (status == 0 && fgets(line, sizeof line, file)) {
    status = read_line(one, folder, line, error, error_bytes);
  }
  fclose(file);
  if (status != 0) return -1;
  if (!one->input[ONNX_QUERY].data || !one->input[ONNX_KEY].data || !one->input[ONNX_VALUE].data ||
      !one->output[ONNX_Y].data) {
    snprintf(error, error_bytes, "case.txt lacks one of Q, K, V, Y");
    return -1;
  }
  return 0;
}

void onnx_case_free(struct onnx_case *one) {
  for (int i = 0; i < ONNX_INPUTS; i++) npy_free(&one->input[i]);
  for (int i = 0; i < ONNX_OUTPUTS; i++) npy_free(&one->output[i]);
}
