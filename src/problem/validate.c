/* validate.c - every check of a problem, one topic a function (semantics rule 15)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "problem/problem.h"

#include <math.h>

#include "runtime/checked_math.h"

#define SDPAI_KNOWN_FEATURES                                                                       \
  (SDPA_CAUSAL | SDPA_WINDOW | SDPA_SCALE | SDPA_MASK | SDPA_BIAS | SDPA_ALIBI | SDPA_SINKS |      \
   SDPA_KEY_LENS | SDPA_QUERY_LENS | SDPA_OFFSETS | SDPA_DROPOUT | SDPA_WEIGHTS | SDPA_LSE |       \
   SDPA_SCORES | SDPA_NO_OUTPUT)

static sdpa_status check_features(const sdpa_problem *p, struct sdpai_report *report) {
  uint32_t unknown = p->features & ~(uint32_t)SDPAI_KNOWN_FEATURES;
  if (unknown)
    return sdpai_fail(
        report, SDPA_ERROR_VALUE,
        "features is 0x%x, of which 0x%x is unknown; expected an or of SDPA_CAUSAL .. "
        "SDPA_NO_OUTPUT",
        (unsigned)p->features, (unsigned)unknown);
  if (p->reserved0 != 0)
    return sdpai_fail(report, SDPA_ERROR_VALUE, "problem.reserved0 is %u; expected 0",
                      (unsigned)p->reserved0);
  if ((p->features & SDPA_NO_OUTPUT) && !(p->features & (SDPA_WEIGHTS | SDPA_LSE | SDPA_SCORES)))
    return sdpai_fail(
        report, SDPA_ERROR_VALUE,
        "features is 0x%x: SDPA_NO_OUTPUT leaves nothing to compute; expected SDPA_WEIGHTS, "
        "SDPA_LSE or SDPA_SCORES beside it",
        (unsigned)p->features);
  return SDPA_OK;
}

/* All other types left to follow the query's, as they mostly are. */
static int types_follow(const sdpa_problem *p) {
  return (p->key_type | p->value_type | p->output_type | p->bias_type) == 0;
}

/* f64 does not mix with the others: no tensor is rounded on its way to the arithmetic. A bias comes
 * from where the queries do, or from arithmetic. */
static sdpa_status check_types(const sdpa_problem *p, struct sdpai_report *report) {
  const struct sdpai_dtype *type = sdpai_dtype(p->query_type);
  if (type && type->offered && types_follow(p)) return SDPA_OK;
  const struct sdpai_types types = sdpai_problem_types(p);
  const struct {
    const char *field;
    uint32_t given, id;
  } fields[] = {{"query_type", p->query_type, types.query},
                {"key_type", p->key_type, types.key},
                {"value_type", p->value_type, types.value},
                {"output_type", p->output_type, types.output},
                {"bias_type", p->bias_type, types.bias}};
  enum { FIELDS = sizeof fields / sizeof *fields, BIAS = FIELDS - 1 };
  for (int i = 0; i < FIELDS; i++)
    if (!sdpai_dtype(fields[i].id))
      return sdpai_fail(
          report, SDPA_ERROR_VALUE,
          "%s is %u; expected %sSDPA_F64 (1), SDPA_F32 (2), SDPA_BF16 (3) or SDPA_F16 (4)",
          fields[i].field, (unsigned)fields[i].given, i > 0 ? "0, " : "");
  for (int i = 0; i < FIELDS; i++) {
    type = sdpai_dtype(fields[i].id);
    const int is_other_bias = i == BIAS && type->id != types.query && type->id != types.compute;
    if (!type->offered || type->compute != types.compute || is_other_bias)
      return sdpai_fail(report, SDPA_ERROR_UNSUPPORTED,
                        "%s is %s with query_type %s; this version offers all tensors f64, or each "
                        "f32, bf16 or f16, but a bias f32 or query_type",
                        fields[i].field, type->name, sdpai_dtype(types.query)->name);
  }
  return SDPA_OK;
}

static sdpa_status check_sizes(const sdpa_problem *p, struct sdpai_report *report) {
  const struct {
    const char *field;
    int64_t size;
  } sizes[] = {{"batch", p->batch},        {"query_heads", p->query_heads},
               {"kv_heads", p->kv_heads},  {"query_len", p->query_len},
               {"key_len", p->key_len},    {"key_dim", p->key_dim},
               {"value_dim", p->value_dim}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i].size < 0)
      return sdpai_fail(report, SDPA_ERROR_SHAPE, "%s is %lld; expected a number from 0",
                        sizes[i].field, (long long)sizes[i].size);
  if (p->query_heads > 0 && (p->kv_heads == 0 || p->query_heads % p->kv_heads != 0))
    return sdpai_fail(report, SDPA_ERROR_SHAPE,
                      "kv_heads is %lld; expected a divisor of query_heads, which is %lld",
                      (long long)p->kv_heads, (long long)p->query_heads);
  return SDPA_OK;
}

/* Scalars are judged as the arithmetic sees them: rounded to the compute type. */
static sdpa_status check_scalars(const sdpa_problem *p, struct sdpai_report *report) {
  uint32_t compute = sdpai_dtype(p->query_type)->compute;
  const char *name = sdpai_dtype(compute)->name;
  if (p->features & SDPA_SCALE) {
    if (!isfinite(sdpai_dtype_round(compute, p->scale)))
      return sdpai_fail(report, SDPA_ERROR_VALUE,
                        "scale is %g; expected a number that is finite in %s", p->scale, name);
  } else if (p->scale != 0) {
    return sdpai_fail(report, SDPA_ERROR_VALUE, "scale is %g; expected 0 without SDPA_SCALE",
                      p->scale);
  }
  double softcap = sdpai_dtype_round(compute, p->softcap);
  if (!isfinite(softcap) || softcap < 0)
    return sdpai_fail(report, SDPA_ERROR_VALUE,
                      "softcap is %g; expected 0 (off) or a positive number that is finite in %s",
                      p->softcap, name);
  const double dropout = sdpai_dtype_round(compute, p->dropout);
  if (!(p->features & SDPA_DROPOUT) && p->dropout != 0)
    return sdpai_fail(report, SDPA_ERROR_VALUE, "dropout is %g; expected 0 without SDPA_DROPOUT",
                      p->dropout);
  if (!(p->dropout >= 0 && dropout < 1)) /* what is below 0 may be rounded to it */
    return sdpai_fail(report, SDPA_ERROR_VALUE,
                      "dropout is %.17g; expected a probability from 0 and, in %s, below 1",
                      p->dropout, name);
  return SDPA_OK;
}

static sdpa_status check_window(const char *field, int64_t value, int declared,
                                struct sdpai_report *report) {
  if (!declared && value != 0)
    return sdpai_fail(report, SDPA_ERROR_VALUE, "%s is %lld; expected 0 without SDPA_WINDOW", field,
                      (long long)value);
  if (value < -1)
    return sdpai_fail(report, SDPA_ERROR_VALUE,
                      "%s is %lld; expected -1 (unbounded) or a number from 0", field,
                      (long long)value);
  return SDPA_OK;
}

static sdpa_status check_alignment(const sdpa_problem *p, struct sdpai_report *report) {
  int aligned = (p->features & (SDPA_CAUSAL | SDPA_WINDOW | SDPA_ALIBI)) != 0;
  int has_lens = (p->features & (SDPA_KEY_LENS | SDPA_QUERY_LENS)) != 0;
  if (p->alignment > SDPA_ALIGN_OFFSET)
    return sdpai_fail(
        report, SDPA_ERROR_VALUE,
        "alignment is %u; expected SDPA_ALIGN_NONE (0), _TOP_LEFT (1), _BOTTOM_RIGHT (2) or "
        "_OFFSET (3)",
        (unsigned)p->alignment);
  if (p->alignment == SDPA_ALIGN_NONE && aligned && (p->query_len != p->key_len || has_lens))
    return sdpai_fail(
        report, SDPA_ERROR_VALUE,
        "alignment is 0 (SDPA_ALIGN_NONE) with SDPA_CAUSAL, SDPA_WINDOW or SDPA_ALIBI, "
        "query_len %lld, key_len %lld%s; expected a choice of SDPA_ALIGN_TOP_LEFT, "
        "_BOTTOM_RIGHT or _OFFSET",
        (long long)p->query_len, (long long)p->key_len, has_lens ? " and lengths" : "");
  if ((p->features & SDPA_OFFSETS) && p->alignment != SDPA_ALIGN_OFFSET)
    return sdpai_fail(report, SDPA_ERROR_VALUE,
                      "alignment is %u with SDPA_OFFSETS; expected SDPA_ALIGN_OFFSET (3)",
                      (unsigned)p->alignment);
  if (p->offset != 0 && (p->alignment != SDPA_ALIGN_OFFSET || (p->features & SDPA_OFFSETS)))
    return sdpai_fail(
        report, SDPA_ERROR_VALUE,
        "offset is %lld; expected 0 unless alignment is SDPA_ALIGN_OFFSET without SDPA_OFFSETS",
        (long long)p->offset);
  return SDPA_OK;
}

static sdpa_status check_rules(const sdpa_problem *p, struct sdpai_report *report) {
  int window = (p->features & SDPA_WINDOW) != 0;
  sdpa_status status = check_window("window_left", p->window_left, window, report);
  if (status == SDPA_OK) status = check_window("window_right", p->window_right, window, report);
  if (status == SDPA_OK) status = check_alignment(p, report);
  if (status != SDPA_OK) return status;
  if (p->features & SDPA_SCORES) {
    if (p->score_stage < SDPA_STAGE_SCALED || p->score_stage > SDPA_STAGE_BIASED)
      return sdpai_fail(
          report, SDPA_ERROR_VALUE,
          "score_stage is %u; expected SDPA_STAGE_SCALED (1), _SOFTCAPPED (2) or _BIASED (3)",
          (unsigned)p->score_stage);
  } else if (p->score_stage != 0) {
    return sdpai_fail(report, SDPA_ERROR_VALUE, "score_stage is %u; expected 0 without SDPA_SCORES",
                      (unsigned)p->score_stage);
  }
  return SDPA_OK;
}

/* Indices into the sizes of a problem. */
enum {
  DIM_BATCH,
  DIM_HEADS,
  DIM_KV_HEADS,
  DIM_ROWS,
  DIM_KEYS,
  DIM_KEY_DIM,
  DIM_VALUE_DIM,
  DIM_ONE,
  DIMS
};

/* Passes, as bits. */
enum { FORWARD = 1, BACKWARD = 2, BOTH = 3 };

struct tensor_rule {
  const char *field;
  size_t strides;    /* offset in sdpa_problem */
  uint32_t declared; /* by this feature; 0: unless `absent` */
  uint32_t absent;
  uint8_t passes, output; /* that have it, that write it */
  uint8_t element;        /* enum sdpai_element */
  uint8_t dims[4];
};

#define SDPAI_AT(field) #field, offsetof(sdpa_problem, field)
#define SDPAI_DIMS(heads, rows, cols)                                                              \
  { DIM_BATCH, heads, rows, cols }
#define SDPAI_QUERY_DIMS  SDPAI_DIMS(DIM_HEADS, DIM_ROWS, DIM_KEY_DIM)
#define SDPAI_KEY_DIMS    SDPAI_DIMS(DIM_KV_HEADS, DIM_KEYS, DIM_KEY_DIM)
#define SDPAI_VALUE_DIMS  SDPAI_DIMS(DIM_KV_HEADS, DIM_KEYS, DIM_VALUE_DIM)
#define SDPAI_OUTPUT_DIMS SDPAI_DIMS(DIM_HEADS, DIM_ROWS, DIM_VALUE_DIM)
#define SDPAI_PAIRS_DIMS  SDPAI_DIMS(DIM_HEADS, DIM_ROWS, DIM_KEYS)
#define SDPAI_LSE_DIMS    SDPAI_DIMS(DIM_HEADS, DIM_ROWS, DIM_ONE)
static const struct tensor_rule tensor_rules[] = {
    {SDPAI_AT(query), 0, 0, BOTH, 0, SDPAI_ELEMENT_QUERY, SDPAI_QUERY_DIMS},
    {SDPAI_AT(key), 0, 0, BOTH, 0, SDPAI_ELEMENT_KEY, SDPAI_KEY_DIMS},
    {SDPAI_AT(value), 0, SDPA_NO_OUTPUT, BOTH, 0, SDPAI_ELEMENT_VALUE, SDPAI_VALUE_DIMS},
    {SDPAI_AT(output), 0, SDPA_NO_OUTPUT, BOTH, FORWARD, SDPAI_ELEMENT_OUTPUT, SDPAI_OUTPUT_DIMS},
    {SDPAI_AT(mask), SDPA_MASK, 0, BOTH, 0, SDPAI_ELEMENT_BYTE, SDPAI_PAIRS_DIMS},
    {SDPAI_AT(bias), SDPA_BIAS, 0, BOTH, 0, SDPAI_ELEMENT_BIAS, SDPAI_PAIRS_DIMS},
    {SDPAI_AT(weights), SDPA_WEIGHTS, 0, FORWARD, FORWARD, SDPAI_ELEMENT_COMPUTE, SDPAI_PAIRS_DIMS},
    {SDPAI_AT(scores), SDPA_SCORES, 0, FORWARD, FORWARD, SDPAI_ELEMENT_COMPUTE, SDPAI_PAIRS_DIMS},
    {SDPAI_AT(lse), SDPA_LSE, 0, BOTH, FORWARD, SDPAI_ELEMENT_COMPUTE, SDPAI_LSE_DIMS},
    {SDPAI_AT(grad_query), 0, 0, BACKWARD, BACKWARD, SDPAI_ELEMENT_QUERY, SDPAI_QUERY_DIMS},
    {SDPAI_AT(grad_key), 0, 0, BACKWARD, BACKWARD, SDPAI_ELEMENT_KEY, SDPAI_KEY_DIMS},
    {SDPAI_AT(grad_value), 0, 0, BACKWARD, BACKWARD, SDPAI_ELEMENT_VALUE, SDPAI_VALUE_DIMS},
    {SDPAI_AT(grad_output), 0, 0, BACKWARD, 0, SDPAI_ELEMENT_OUTPUT, SDPAI_OUTPUT_DIMS},
    {SDPAI_AT(grad_bias), SDPA_BIAS, 0, BACKWARD, BACKWARD, SDPAI_ELEMENT_BIAS, SDPAI_PAIRS_DIMS},
};

/* Sizes up to 2^20 and strides up to 2^36 reach at most 4 * 2^56 elements: nothing to check. */
static int is_small(const int64_t size[4], const int64_t stride[4]) {
  int64_t sizes = 0, strides = 0;
  for (int i = 0; i < 4; i++) {
    sizes |= size[i];
    strides |= stride[i] < 0 ? ~stride[i] : stride[i];
  }
  return sizes <= INT64_C(1) << 20 && strides < INT64_C(1) << 36;
}

/* That the byte offset of every element can be computed. The sentence names the stride that reaches
 * farthest. */
static sdpa_status check_span(const char *field, const int64_t size[4], const int64_t stride[4],
                              size_t element, struct sdpai_report *report) {
  static const char *const names[4] = {"batch", "head", "row", "col"};
  int64_t span = 1; /* elements from the first in memory to the last */
  int64_t farthest = -1;
  int fits = 1, blamed = 0;
  for (int i = 0; i < 4; i++) {
    int64_t reach = 0;
    const int known = sdpai_checked_mul(size[i] - 1, stride[i], &reach) && reach > INT64_MIN;
    const int64_t length = !known ? INT64_MAX : reach < 0 ? -reach : reach;
    if (length > farthest) {
      farthest = length;
      blamed = i;
    }
    fits = fits && known && sdpai_checked_add(span, length, &span);
  }
  if (!fits || !sdpai_checked_mul(span, (int64_t)element, &span) || span > PTRDIFF_MAX)
    return sdpai_fail(
        report, SDPA_ERROR_OVERFLOW,
        "%s.%s is %lld along a dimension of %lld; expected bytes that fit in ptrdiff_t", field,
        names[blamed], (long long)stride[blamed], (long long)size[blamed]);
  return SDPA_OK;
}

/* Elements of an output must not fall on each other by a stride of 0. */
static sdpa_status check_output_strides(const char *field, const int64_t size[4],
                                        const int64_t stride[4], struct sdpai_report *report) {
  static const char *const names[4] = {"batch", "head", "row", "col"};
  for (int i = 0; i < 4; i++)
    if (size[i] > 1 && stride[i] == 0)
      return sdpai_fail(
          report, SDPA_ERROR_STRIDE,
          "%s.%s is 0 along a dimension of %lld; expected a stride that is not 0 in an output",
          field, names[i], (long long)size[i]);
  return SDPA_OK;
}

static sdpa_status check_tensor(const sdpa_problem *p, const struct tensor_rule *rule, int output,
                                const int64_t dims[DIMS], size_t element,
                                struct sdpai_report *report) {
  const sdpa_strides *strides = (const sdpa_strides *)((const char *)p + rule->strides);
  const int64_t stride[4] = {strides->batch, strides->head, strides->row, strides->col};
  const int64_t bias[4] = {p->bias.batch, p->bias.head, p->bias.row, p->bias.col};
  int64_t size[4];
  for (int i = 0; i < 4; i++) {
    size[i] = dims[rule->dims[i]];
    if (size[i] == 0) return SDPA_OK;
    /* Where the bias repeats its gradient is one sum, and its stride not used. */
    if (rule->strides == offsetof(sdpa_problem, grad_bias) && bias[i] == 0) size[i] = 1;
  }
  sdpa_status status = SDPA_OK;
  if (output) status = check_output_strides(rule->field, size, stride, report);
  if (status == SDPA_OK && !is_small(size, stride))
    status = check_span(rule->field, size, stride, element, report);
  return status;
}

static sdpa_status check_tensors(const sdpa_problem *p, int backward, struct sdpai_report *report) {
  const uint32_t features =
      backward ? (p->features & ~SDPAI_OUTPUT_FEATURES) | SDPA_LSE : p->features;
  const int pass = backward ? BACKWARD : FORWARD;
  const struct sdpai_types types = sdpai_problem_types(p);
  uint8_t elements[SDPAI_ELEMENTS];
  sdpai_types_bytes(&types, elements);
  const int64_t dims[DIMS] = {p->batch,   p->query_heads, p->kv_heads,  p->query_len,
                              p->key_len, p->key_dim,     p->value_dim, 1};
  for (size_t i = 0; i < sizeof tensor_rules / sizeof *tensor_rules; i++) {
    const struct tensor_rule *rule = &tensor_rules[i];
    const int declared =
        rule->declared ? (features & rule->declared) != 0 : !(features & rule->absent);
    if (!(rule->passes & pass) || !declared) continue;
    sdpa_status status =
        check_tensor(p, rule, (rule->output & pass) != 0, dims, elements[rule->element], report);
    if (status != SDPA_OK) return status;
  }
  if ((features & SDPA_LSE) && p->lse.col != 0)
    return sdpai_fail(report, SDPA_ERROR_STRIDE, "lse.col is %lld; expected 0",
                      (long long)p->lse.col);
  return SDPA_OK;
}

sdpa_status sdpai_validate_problem(const sdpa_problem *problem, int backward,
                                   struct sdpai_report *report) {
  sdpa_status status = check_features(problem, report);
  if (status == SDPA_OK) status = check_types(problem, report);
  if (status == SDPA_OK) status = check_sizes(problem, report);
  if (status == SDPA_OK) status = check_scalars(problem, report);
  if (status == SDPA_OK) status = check_rules(problem, report);
  if (status == SDPA_OK) status = check_tensors(problem, backward, report);
  return status;
}
