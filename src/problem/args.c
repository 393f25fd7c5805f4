/* args.c - the public args struct: which pointers must be there, and the numbers in the small
 * arrays
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "problem/problem.h"

#include <math.h>
#include <string.h>

/* What makes a tensor empty, so that its pointer may be NULL, as bits. */
enum {
  NO_BATCH = 1,
  NO_HEADS = 2,
  NO_KV_HEADS = 4,
  NO_ROWS = 8,
  NO_KEYS = 16,
  NO_KEY_DIM = 32,
  NO_VALUE_DIM = 64,
  NO_OUTPUT = 128 /* V is not read then */
};

/* Stands for a feature that a forward pass lacks and a backward one has, beside those of the public
 * header. */
#define SDPAI_IS_BACKWARD (UINT32_C(1) << 31)

struct pointer_rule {
  const char *field;
  size_t pointer;    /* offset in the struct */
  uint32_t declared; /* by this feature; 0: always, unless `absent` */
  uint32_t absent;
  uint8_t optional; /* may be NULL if one of these holds */
  uint8_t element;  /* enum sdpai_element: what the pointer is aligned to */
};

#define SDPAI_AT(field) #field, offsetof(sdpa_args, field)
#define SDPAI_PAIRS     (NO_BATCH | NO_HEADS | NO_ROWS | NO_KEYS)
static const struct pointer_rule pointer_rules[] = {
    {SDPAI_AT(query), 0, 0, NO_BATCH | NO_HEADS | NO_ROWS | NO_KEY_DIM, SDPAI_ELEMENT_QUERY},
    {SDPAI_AT(key), 0, 0, NO_BATCH | NO_KV_HEADS | NO_KEYS | NO_KEY_DIM, SDPAI_ELEMENT_KEY},
    {SDPAI_AT(value), 0, 0, NO_BATCH | NO_KV_HEADS | NO_KEYS | NO_VALUE_DIM | NO_OUTPUT,
     SDPAI_ELEMENT_VALUE},
    {SDPAI_AT(output), 0, SDPA_NO_OUTPUT | SDPAI_IS_BACKWARD,
     NO_BATCH | NO_HEADS | NO_ROWS | NO_VALUE_DIM, SDPAI_ELEMENT_OUTPUT},
    {SDPAI_AT(mask), SDPA_MASK, 0, SDPAI_PAIRS, SDPAI_ELEMENT_BYTE},
    {SDPAI_AT(bias), SDPA_BIAS, 0, SDPAI_PAIRS, SDPAI_ELEMENT_BIAS},
    {SDPAI_AT(alibi_slopes), SDPA_ALIBI, 0, NO_HEADS, SDPAI_ELEMENT_COMPUTE},
    {SDPAI_AT(sinks), SDPA_SINKS, 0, NO_HEADS, SDPAI_ELEMENT_COMPUTE},
    {SDPAI_AT(key_lens), SDPA_KEY_LENS, 0, NO_BATCH, SDPAI_ELEMENT_INT64},
    {SDPAI_AT(query_lens), SDPA_QUERY_LENS, 0, NO_BATCH, SDPAI_ELEMENT_INT64},
    {SDPAI_AT(offsets), SDPA_OFFSETS, 0, NO_BATCH, SDPAI_ELEMENT_INT64},
    {SDPAI_AT(weights), SDPA_WEIGHTS, 0, SDPAI_PAIRS, SDPAI_ELEMENT_COMPUTE},
    {SDPAI_AT(scores), SDPA_SCORES, 0, SDPAI_PAIRS, SDPAI_ELEMENT_COMPUTE},
    {SDPAI_AT(lse), SDPA_LSE, 0, NO_BATCH | NO_HEADS | NO_ROWS, SDPAI_ELEMENT_COMPUTE},
};
#undef SDPAI_AT

/* What may be NULL whatever the sizes: not given, or not wanted. */
enum { NOT_WANTED = 255 };

#define SDPAI_AT(field) #field, offsetof(sdpa_grads, field)
static const struct pointer_rule grad_rules[] = {
    {SDPAI_AT(output), 0, 0, NO_BATCH | NO_HEADS | NO_ROWS | NO_VALUE_DIM, SDPAI_ELEMENT_OUTPUT},
    {SDPAI_AT(lse), 0, 0, NO_BATCH | NO_HEADS | NO_ROWS, SDPAI_ELEMENT_COMPUTE},
    {SDPAI_AT(grad_output), 0, 0, NO_BATCH | NO_HEADS | NO_ROWS | NO_VALUE_DIM,
     SDPAI_ELEMENT_OUTPUT},
    {SDPAI_AT(grad_lse), 0, 0, NOT_WANTED, SDPAI_ELEMENT_COMPUTE},
    {SDPAI_AT(grad_query), 0, 0, NOT_WANTED, SDPAI_ELEMENT_QUERY},
    {SDPAI_AT(grad_key), 0, 0, NOT_WANTED, SDPAI_ELEMENT_KEY},
    {SDPAI_AT(grad_value), 0, 0, NOT_WANTED, SDPAI_ELEMENT_VALUE},
    {SDPAI_AT(grad_bias), SDPA_BIAS, 0, NOT_WANTED, SDPAI_ELEMENT_BIAS},
    {SDPAI_AT(grad_sinks), SDPA_SINKS, 0, NOT_WANTED, SDPAI_ELEMENT_COMPUTE},
    {SDPAI_AT(grad_alibi_slopes), SDPA_ALIBI, 0, NOT_WANTED, SDPAI_ELEMENT_COMPUTE},
};

static uint8_t empty_dimensions(const struct sdpai_problem *p) {
  return (uint8_t)((p->batch == 0 ? NO_BATCH : 0) | (p->query_heads == 0 ? NO_HEADS : 0) |
                   (p->kv_heads == 0 ? NO_KV_HEADS : 0) | (p->query_len == 0 ? NO_ROWS : 0) |
                   (p->key_len == 0 ? NO_KEYS : 0) | (p->key_dim == 0 ? NO_KEY_DIM : 0) |
                   (p->value_dim == 0 ? NO_VALUE_DIM : 0) |
                   (p->features & SDPA_NO_OUTPUT ? NO_OUTPUT : 0));
}

/* Whether the tensor is an output of the forward pass. */
static int writes_output(const struct pointer_rule *rule) {
  return (rule->absent & SDPAI_IS_BACKWARD) || (rule->declared & SDPAI_OUTPUT_FEATURES);
}

/* The pointers in `object`, a public struct called `name`. */
static sdpa_status check_pointers(const struct sdpai_problem *p, uint32_t features,
                                  const char *name, const void *object,
                                  const struct pointer_rule *rules, size_t count,
                                  struct sdpai_report *report) {
  const uint8_t empty = empty_dimensions(p);
  for (const struct pointer_rule *rule = rules; rule < rules + count; rule++) {
    const void *pointer;
    memcpy(&pointer, (const char *)object + rule->pointer, sizeof pointer);
    const int declared =
        rule->declared ? (features & rule->declared) != 0 : !(features & rule->absent);
    const int optional = rule->optional == NOT_WANTED || (rule->optional & empty);
    if (!pointer && declared && !optional)
      return sdpai_fail(report, SDPA_ERROR_NULL,
                        "%s%s is NULL; expected the tensor that the problem declares", name,
                        rule->field);
    if (pointer && !declared)
      return sdpai_fail(report, SDPA_ERROR_UNDECLARED, "%s%s is %p; expected NULL, since %s", name,
                        rule->field, pointer,
                        writes_output(rule) && (features & SDPAI_IS_BACKWARD)
                            ? "the backward pass writes no output"
                            : "the problem does not declare it");
    const size_t bytes = p->bytes[rule->element];
    if (!sdpai_is_aligned(pointer, bytes))
      return sdpai_fail(report, SDPA_ERROR_ALIGNMENT,
                        "%s%s is %p; expected its element's alignment, a multiple of %d bytes",
                        name, rule->field, pointer, (int)sdpai_element_alignment(bytes));
  }
  return SDPA_OK;
}

static sdpa_status check_lens(const char *field, const int64_t *lens, int64_t batch,
                              int64_t capacity, struct sdpai_report *report) {
  for (int64_t b = 0; lens && b < batch; b++)
    if (lens[b] < 0 || lens[b] > capacity)
      return sdpai_fail(report, SDPA_ERROR_VALUE, "%s[%lld] is %lld; expected 0 to %lld", field,
                        (long long)b, (long long)lens[b], (long long)capacity);
  return SDPA_OK;
}

static sdpa_status check_slopes(const struct sdpai_problem *p, const void *slopes,
                                struct sdpai_report *report) {
  for (int64_t h = 0; slopes && h < p->query_heads; h++) {
    double slope = p->types.compute == SDPA_F32 ? (double)((const float *)slopes)[h]
                                                : ((const double *)slopes)[h];
    if (!isfinite(slope))
      return sdpai_fail(report, SDPA_ERROR_VALUE,
                        "alibi_slopes[%lld] is %g; expected a finite number", (long long)h, slope);
  }
  return SDPA_OK;
}

/* Numbers of a draw that is not declared are 0; base indices leave room for the problem's own. */
static sdpa_status check_dropout(const struct sdpai_problem *p, const sdpa_args *a,
                                 struct sdpai_report *report) {
  const struct {
    const char *field;
    int64_t first, count;
  } bases[] = {{"dropout_batch", a->dropout_batch, p->batch},
               {"dropout_head", a->dropout_head, p->query_heads},
               {"dropout_query", a->dropout_query, p->query_len},
               {"dropout_key", a->dropout_key, p->key_len}};
  const int declared = (p->features & SDPA_DROPOUT) != 0;
  if (!declared && (a->dropout_seed | a->dropout_offset) != 0)
    return sdpai_fail(report, SDPA_ERROR_VALUE,
                      "dropout_seed is %llu and dropout_offset %llu; expected 0 without "
                      "SDPA_DROPOUT",
                      (unsigned long long)a->dropout_seed, (unsigned long long)a->dropout_offset);
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
    if (!declared && bases[i].first != 0)
      return sdpai_fail(report, SDPA_ERROR_VALUE, "%s is %lld; expected 0 without SDPA_DROPOUT",
                        bases[i].field, (long long)bases[i].first);
    if (bases[i].first < 0 || bases[i].first > INT64_MAX - bases[i].count)
      return sdpai_fail(report, SDPA_ERROR_VALUE,
                        "%s is %lld; expected a number from 0 to 2^63 - 1 less this call's size",
                        bases[i].field, (long long)bases[i].first);
  }
  return SDPA_OK;
}

static sdpa_status check_args(const struct sdpai_problem *problem, int backward, const sdpa_args *a,
                              struct sdpai_report *report) {
  if (a->reserved0 != 0)
    return sdpai_fail(report, SDPA_ERROR_VALUE, "args.reserved0 is %u; expected 0",
                      (unsigned)a->reserved0);
  const uint32_t features = problem->features | (backward ? SDPAI_IS_BACKWARD : 0);
  sdpa_status status = check_pointers(problem, features, "", a, pointer_rules,
                                      sizeof pointer_rules / sizeof *pointer_rules, report);
  if (status == SDPA_OK)
    status = check_lens("key_lens", a->key_lens, problem->batch, problem->key_len, report);
  if (status == SDPA_OK)
    status = check_lens("query_lens", a->query_lens, problem->batch, problem->query_len, report);
  if (status == SDPA_OK) status = check_slopes(problem, a->alibi_slopes, report);
  if (status == SDPA_OK) status = check_dropout(problem, a, report);
  return status;
}

sdpa_status sdpai_args_read(const struct sdpai_problem *problem, int backward,
                            const sdpa_args *args, struct sdpai_args *result,
                            struct sdpai_report *report) {
  if (!args)
    return sdpai_fail(report, SDPA_ERROR_NULL, "args is NULL; expected a pointer to an sdpa_args");
  sdpa_args copy;
  const void *view = args;
  sdpa_status status = sdpai_struct_read("sdpa_args", args, args->size, SDPAI_ARGS_BASELINE,
                                         sizeof copy, &copy, &view, report);
  if (status == SDPA_OK) status = check_args(problem, backward, view, report);
  if (status != SDPA_OK) return status;
  const sdpa_args *a = view;
  *result = (struct sdpai_args){.query = a->query,
                                .key = a->key,
                                .value = a->value,
                                .output = a->output,
                                .mask = a->mask,
                                .bias = a->bias,
                                .alibi_slopes = a->alibi_slopes,
                                .sinks = a->sinks,
                                .key_lens = a->key_lens,
                                .query_lens = a->query_lens,
                                .offsets = a->offsets,
                                .weights = a->weights,
                                .scores = a->scores,
                                .lse = a->lse,
                                .dropout_seed = a->dropout_seed,
                                .dropout_offset = a->dropout_offset,
                                .dropout_batch = a->dropout_batch,
                                .dropout_head = a->dropout_head,
                                .dropout_query = a->dropout_query,
                                .dropout_key = a->dropout_key};
  return SDPA_OK;
}

sdpa_status sdpai_grads_read(const struct sdpai_problem *problem, const sdpa_grads *grads,
                             struct sdpai_grads *result, struct sdpai_report *report) {
  if (!grads)
    return sdpai_fail(report, SDPA_ERROR_NULL,
                      "grads is NULL; expected a pointer to an sdpa_grads");
  sdpa_grads copy;
  const void *view = grads;
  sdpa_status status = sdpai_struct_read("sdpa_grads", grads, grads->size, SDPAI_GRADS_BASELINE,
                                         sizeof copy, &copy, &view, report);
  if (status != SDPA_OK) return status;
  const sdpa_grads *g = view;
  if (g->reserved0 != 0)
    return sdpai_fail(report, SDPA_ERROR_VALUE, "grads.reserved0 is %u; expected 0",
                      (unsigned)g->reserved0);
  status = check_pointers(problem, problem->features, "grads.", g, grad_rules,
                          sizeof grad_rules / sizeof *grad_rules, report);
  if (status != SDPA_OK) return status;
  *result = (struct sdpai_grads){.output = g->output,
                                 .lse = g->lse,
                                 .grad_output = g->grad_output,
                                 .grad_lse = g->grad_lse,
                                 .grad_query = g->grad_query,
                                 .grad_key = g->grad_key,
                                 .grad_value = g->grad_value,
                                 .grad_bias = g->grad_bias,
                                 .grad_sinks = g->grad_sinks,
                                 .grad_slopes = g->grad_alibi_slopes};
  return SDPA_OK;
}
