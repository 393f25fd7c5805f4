/* option_counts.c - how often each pair of options really occurred in the random problems
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "option_counts.h"

#include <stdio.h>

/* What a problem is without the option; 0: the option counts as it stands. */
enum removal {
  REMOVE_NOTHING,
  REMOVE_FEATURE,
  REMOVE_SOFTCAP,
  REMOVE_ALIGNMENT, /* top-left becomes bottom-right, all else top-left */
  REMOVE_GROUPS     /* every query head reads the first key head */
};

static int64_t elements(const sdpa_problem *p, enum problem_tensor tensor) {
  return problem_declares(p, tensor) ? problem_positions(p, tensor) : 0;
}

/* The tensors that have a type of their own, the bias only where there is one. */
static const enum problem_tensor typed[] = {PROBLEM_QUERY, PROBLEM_KEY, PROBLEM_VALUE,
                                            PROBLEM_OUTPUT, PROBLEM_BIAS};
enum { TYPED = sizeof typed / sizeof typed[0] };

static int has_type(const sdpa_problem *p, uint32_t type) {
  for (int i = 0; i < TYPED; i++)
    if (problem_declares(p, typed[i]) && problem_type(p, typed[i]) == type) return 1;
  return 0;
}
static int has_f32(const sdpa_problem *p) {
  return has_type(p, SDPA_F32);
}
static int has_f64(const sdpa_problem *p) {
  return has_type(p, SDPA_F64);
}
static int has_bf16(const sdpa_problem *p) {
  return has_type(p, SDPA_BF16);
}
static int has_f16(const sdpa_problem *p) {
  return has_type(p, SDPA_F16);
}
static int has_mixture(const sdpa_problem *p) {
  return has_f32(p) + has_f64(p) + has_bf16(p) + has_f16(p) > 1;
}
static int has_softcap(const sdpa_problem *p) {
  return p->softcap > 0.0;
}
static int has_top_left(const sdpa_problem *p) {
  return p->alignment == SDPA_ALIGN_TOP_LEFT;
}
static int has_bottom_right(const sdpa_problem *p) {
  return p->alignment == SDPA_ALIGN_BOTTOM_RIGHT;
}
static int has_offset(const sdpa_problem *p) {
  return p->alignment == SDPA_ALIGN_OFFSET && !(p->features & SDPA_OFFSETS);
}
static int has_groups(const sdpa_problem *p) {
  return p->kv_heads < p->query_heads;
}
static int has_value_dim(const sdpa_problem *p) {
  return p->value_dim != p->key_dim && elements(p, PROBLEM_OUTPUT) > 0;
}
static int has_weights(const sdpa_problem *p) {
  return elements(p, PROBLEM_WEIGHTS) > 0;
}
static int has_lse(const sdpa_problem *p) {
  return elements(p, PROBLEM_LSE) > 0;
}
static int has_stage(const sdpa_problem *p, uint32_t stage) {
  return elements(p, PROBLEM_SCORES) > 0 && p->score_stage == stage;
}
static int has_scores_1(const sdpa_problem *p) {
  return has_stage(p, SDPA_STAGE_SCALED);
}
static int has_scores_2(const sdpa_problem *p) {
  return has_stage(p, SDPA_STAGE_SOFTCAPPED);
}
static int has_scores_4(const sdpa_problem *p) {
  return has_stage(p, SDPA_STAGE_BIASED);
}
static int has_no_output(const sdpa_problem *p) {
  return (p->features & SDPA_NO_OUTPUT) != 0 && problem_positions(p, PROBLEM_OUTPUT) > 0;
}

static int has_strides(const sdpa_problem *p) {
  for (int t = 0; t < PROBLEM_TENSORS; t++)
    if (elements(p, (enum problem_tensor)t) > 1 &&
        !problem_is_contiguous(p, (enum problem_tensor)t))
      return 1;
  return 0;
}

static int has_broadcast(const sdpa_problem *p) {
  for (int t = 0; t < PROBLEM_TENSORS; t++) {
    enum problem_tensor tensor = (enum problem_tensor)t;
    sdpa_strides s = problem_get_strides(p, tensor);
    int64_t shape[4];
    problem_shape(p, tensor, shape);
    if (problem_tensor_is_output(tensor) || elements(p, tensor) < 2) continue;
    if ((s.batch == 0 && shape[0] > 1) || (s.head == 0 && shape[1] > 1) ||
        (s.row == 0 && shape[2] > 1) || (s.col == 0 && shape[3] > 1))
      return 1;
  }
  return 0;
}

/* Options whose groups have a bit in common exclude each other. */
enum {
  GROUP_ALIGNMENT = 1 << 0,
  GROUP_STAGE = 1 << 1,
  GROUP_OUTPUT = 1 << 2,
  GROUP_F32 = 1 << 3,
  GROUP_BF16 = 1 << 4,
  GROUP_F16 = 1 << 5,
  GROUP_MIXTURE = 1 << 6,
  GROUP_F64 = GROUP_F32 | GROUP_BF16 | GROUP_F16 | GROUP_MIXTURE
};

static const struct option {
  const char *name;
  uint32_t feature;
  int (*has)(const sdpa_problem *p); /* NULL: the feature bit says it */
  enum removal removal;
  int group;
} options[] = {
    {"f32", 0, has_f32, REMOVE_NOTHING, GROUP_F32},
    {"f64", 0, has_f64, REMOVE_NOTHING, GROUP_F64},
    {"bf16", 0, has_bf16, REMOVE_NOTHING, GROUP_BF16},
    {"f16", 0, has_f16, REMOVE_NOTHING, GROUP_F16},
    {"mixed types", 0, has_mixture, REMOVE_NOTHING, GROUP_MIXTURE},
    {"scale", SDPA_SCALE, NULL, REMOVE_FEATURE, 0},
    {"softcap", 0, has_softcap, REMOVE_SOFTCAP, 0},
    {"causal", SDPA_CAUSAL, NULL, REMOVE_FEATURE, 0},
    {"window", SDPA_WINDOW, NULL, REMOVE_FEATURE, 0},
    {"mask", SDPA_MASK, NULL, REMOVE_FEATURE, 0},
    {"bias", SDPA_BIAS, NULL, REMOVE_FEATURE, 0},
    {"alibi", SDPA_ALIBI, NULL, REMOVE_FEATURE, 0},
    {"sink", SDPA_SINKS, NULL, REMOVE_FEATURE, 0},
    {"dropout", SDPA_DROPOUT, NULL, REMOVE_FEATURE, 0},
    {"lens", SDPA_KEY_LENS, NULL, REMOVE_FEATURE, 0},
    {"qlens", SDPA_QUERY_LENS, NULL, REMOVE_FEATURE, 0},
    {"top-left", 0, has_top_left, REMOVE_ALIGNMENT, GROUP_ALIGNMENT},
    {"bottom-right", 0, has_bottom_right, REMOVE_ALIGNMENT, GROUP_ALIGNMENT},
    {"offset", 0, has_offset, REMOVE_ALIGNMENT, GROUP_ALIGNMENT},
    {"offsets", SDPA_OFFSETS, NULL, REMOVE_ALIGNMENT, GROUP_ALIGNMENT},
    {"groups", 0, has_groups, REMOVE_GROUPS, 0},
    {"value size", 0, has_value_dim, REMOVE_NOTHING, GROUP_OUTPUT},
    {"weights", 0, has_weights, REMOVE_NOTHING, 0},
    {"lse", 0, has_lse, REMOVE_NOTHING, 0},
    {"scores=1", 0, has_scores_1, REMOVE_NOTHING, GROUP_STAGE},
    {"scores=2", 0, has_scores_2, REMOVE_NOTHING, GROUP_STAGE},
    {"scores=4", 0, has_scores_4, REMOVE_NOTHING, GROUP_STAGE},
    {"no output", 0, has_no_output, REMOVE_NOTHING, GROUP_OUTPUT},
    {"strides", 0, has_strides, REMOVE_NOTHING, 0},
    {"broadcast", 0, has_broadcast, REMOVE_NOTHING, 0},
};
enum { N_OPTIONS = sizeof options / sizeof options[0] };
_Static_assert((int)N_OPTIONS <= (int)OPTIONS_MAX, "option_counts has too few rows");

static int counts_here(const struct option *option, const struct problem_data *data,
                       const struct reference *reference) {
  sdpa_problem other = data->problem;
  if (option->has ? !option->has(&other) : (other.features & option->feature) == 0) return 0;
  switch (option->removal) {
  case REMOVE_NOTHING:
    return 1;
  case REMOVE_FEATURE:
    other.features &= ~option->feature;
    break;
  case REMOVE_SOFTCAP:
    other.softcap = 0.0;
    break;
  case REMOVE_ALIGNMENT:
    other.features &= ~(uint32_t)SDPA_OFFSETS;
    other.alignment =
        other.alignment == SDPA_ALIGN_TOP_LEFT ? SDPA_ALIGN_BOTTOM_RIGHT : SDPA_ALIGN_TOP_LEFT;
    break;
  case REMOVE_GROUPS:
    other.key.head = other.value.head = 0;
    break;
  }
  return reference_differs(reference, &other, &data->args);
}

void option_counts_add(struct option_counts *counts, const struct problem_data *data,
                       const struct reference *reference) {
  int counted[N_OPTIONS];
  counts->problems++;
  for (int i = 0; i < N_OPTIONS; i++) {
    counted[i] = counts_here(&options[i], data, reference);
    for (int j = 0; j <= i; j++) counts->pair[i][j] += counted[i] && counted[j];
  }
  for (int t = 0; t < PROBLEM_TENSORS; t++) {
    enum problem_tensor tensor = (enum problem_tensor)t;
    if (elements(&data->problem, tensor) < 2) continue;
    counts->tensors++;
    counts->not_contiguous += !problem_is_contiguous(&data->problem, tensor);
  }
}

void option_counts_print(const struct option_counts *counts) {
  printf("pairs of options that changed the result, in %lld problems (columns as rows):\n",
         (long long)counts->problems);
  for (int i = 0; i < N_OPTIONS; i++) {
    printf("%-13s", options[i].name);
    for (int j = 0; j <= i; j++) printf(" %5lld", (long long)counts->pair[i][j]);
    printf("\n");
  }
  printf("%lld of %lld tensors are not contiguous\n", (long long)counts->not_contiguous,
         (long long)counts->tensors);
}

int64_t option_counts_least(const struct option_counts *counts, const char **first,
                            const char **second) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < N_OPTIONS; i++) {
    for (int j = 0; j < i; j++) {
      if (options[i].group & options[j].group) continue;
      if (counts->pair[i][j] >= least) continue;
      least = counts->pair[i][j];
      *first = options[i].name;
      *second = options[j].name;
    }
  }
  return least;
}
