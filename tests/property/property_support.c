/* property_support.c - what the property tests share: ISAs, counts, one call of the library
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "property_support.h"
#include "random_problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void property_options(sdpa_options *options, struct property_way way) {
  sdpa_options_init(options, sizeof *options);
  options->engine = way.engine;
  options->isa = way.isa;
  options->threads = way.threads;
  options->precision = way.precision;
}

int property_ways(struct property_way ways[PROPERTY_WAYS_MAX]) {
  static const struct property_way all[PROPERTY_WAYS_MAX] = {
      {SDPA_ENGINE_BLAS, SDPA_ISA_GENERIC, 1, "generic, engine blas", 0},
      {SDPA_ENGINE_BLAS, SDPA_ISA_AVX2, 1, "avx2, engine blas", 0},
      {SDPA_ENGINE_BLAS, SDPA_ISA_AVX512, 1, "avx512, engine blas", 0},
      {SDPA_ENGINE_TILED, SDPA_ISA_GENERIC, 1, "generic, engine tiled", 0},
      {SDPA_ENGINE_TILED, SDPA_ISA_AVX2, 2, "avx2, engine tiled", 0},
      {SDPA_ENGINE_TILED, SDPA_ISA_AVX512, 3, "avx512, engine tiled", 0},
      {SDPA_ENGINE_TILED, SDPA_ISA_AMX, 2, "amx, engine tiled", 0},
      {SDPA_ENGINE_BLAS, SDPA_ISA_NEON, 1, "neon, engine blas", 0},
      {SDPA_ENGINE_TILED, SDPA_ISA_NEON, 2, "neon, engine tiled", 0}};
  struct problem_spec spec;
  char message[PROBLEM_MESSAGE_MAX];
  int n = 0;
  assert_int_equal(problem_parse("f32:q8:k8:d8", &spec, message, sizeof message), 0);
  for (int i = 0; i < PROPERTY_WAYS_MAX; i++) {
    sdpa_options options;
    sdpa_plan_info info = {.size = sizeof info};
    sdpa_plan *plan;
    property_options(&options, all[i]);
    sdpa_status status = sdpa_plan_create(&spec.problem, &options, &plan);
    if (status == SDPA_ERROR_UNSUPPORTED)
      continue; /* another architecture's ISA, or an engine left out */
    assert_int_equal(status, SDPA_OK);
    assert_int_equal(sdpa_plan_query(plan, &info), SDPA_OK);
    if (info.isa == all[i].isa) ways[n++] = all[i];
    sdpa_plan_destroy(plan);
  }
  assert_true(n > 0);
  return n;
}

static int64_t number_of(const char *name, int64_t otherwise) {
  const char *text = getenv(name);
  char *end;
  if (!text || !*text) return otherwise;
  long long number = strtoll(text, &end, 10);
  if (*end || number < 0) fail_msg("%s=%s is not a number from 0", name, text);
  return number;
}

int64_t property_count(int64_t count) {
  return getenv("SDPA_PROPERTY_PROBLEM") ? 1 : number_of("SDPA_PROPERTY_COUNT", count);
}

void property_problem(int64_t i, struct problem_spec *spec) {
  const char *text = getenv("SDPA_PROPERTY_PROBLEM");
  char message[PROBLEM_MESSAGE_MAX];
  if (!text) {
    random_problem((uint64_t)(number_of("SDPA_PROPERTY_FIRST", 0) + i), NULL, spec);
  } else if (problem_parse(text, spec, message, sizeof message) != 0) {
    fail_msg("SDPA_PROPERTY_PROBLEM: %s", message);
  }
}

struct problem_data_options property_data_options(const struct problem_spec *spec) {
  static const enum problem_placement placements[8] = {
      PLACE_PLAIN,  PLACE_SKEWED, PLACE_GUARD_END, PLACE_SKEWED,
      PLACE_SKEWED, PLACE_SKEWED, PLACE_SKEWED,    PLACE_GUARD_BEGIN};
  return (struct problem_data_options){.placement = placements[spec->seed % 8],
                                       .output_fill = spec->seed / 8 % 2 ? 0xFF : 0xC3,
                                       .special = spec->seed / 16 % 2 == 0};
}

void property_make(struct problem_data *data, const struct problem_spec *spec) {
  char message[PROBLEM_MESSAGE_MAX];
  struct problem_data_options options = property_data_options(spec);
  if (problem_data_make(data, spec, &options, message, sizeof message) != 0)
    property_fail(spec, "", "%s", message);
  if (problem_data_snapshot(data) != 0) property_fail(spec, "", "no memory for a snapshot");
}

void property_run_with(const struct problem_data *data, const struct problem_spec *spec,
                       const sdpa_options *options, const char *name) {
  char text[512];
  sdpa_plan *plan = NULL;
  sdpa_status status = sdpa_attention(&data->problem, options, &data->args);
  if (status == SDPA_OK) return;
  if (sdpa_problem_check(&data->problem, options, text, sizeof text) == SDPA_OK &&
      sdpa_plan_create(&data->problem, options, &plan) == SDPA_OK)
    sdpa_args_check(plan, &data->args, NULL, 0, text, sizeof text);
  sdpa_plan_destroy(plan);
  property_fail(spec, name, "%s: %s", sdpa_status_string(status), text);
}

void property_run(const struct problem_data *data, const struct problem_spec *spec,
                  struct property_way way) {
  sdpa_options options;
  property_options(&options, way);
  property_run_with(data, spec, &options, way.name);
}

static sdpa_plan *plan_of(const struct problem_spec *spec, const sdpa_options *options) {
  sdpa_plan *plan;
  const sdpa_status status = spec->backward
                                 ? sdpa_plan_create_backward(&spec->problem, options, &plan)
                                 : sdpa_plan_create(&spec->problem, options, &plan);
  assert_int_equal(status, SDPA_OK);
  return plan;
}

sdpa_plan_info property_plan_info(const struct problem_spec *spec, const sdpa_options *options) {
  sdpa_plan_info info = {.size = sizeof info};
  sdpa_plan *plan = plan_of(spec, options);
  assert_int_equal(sdpa_plan_query(plan, &info), SDPA_OK);
  sdpa_plan_destroy(plan);
  return info;
}

int property_plan_says(const struct problem_spec *spec, const sdpa_options *options,
                       const char *words) {
  char text[512];
  sdpa_plan *plan = plan_of(spec, options);
  assert_true(sdpa_plan_describe(plan, text, sizeof text) < sizeof text);
  sdpa_plan_destroy(plan);
  return strstr(text, words) != NULL;
}

uint32_t property_precision(struct property_way way) {
  const int unit = way.engine == SDPA_ENGINE_TILED && way.isa == SDPA_ISA_AMX;
  return unit ? way.precision : SDPA_PRECISION_FMA;
}

void property_compare(const struct reference *strict, const struct problem_data *data,
                      const struct problem_spec *spec, struct property_way way, int with_plain,
                      struct compare_result *result) {
  const struct reference_request request = {0, with_plain, property_precision(way)};
  struct reference own;
  if (request.precision == SDPA_PRECISION_FMA) {
    compare_with_reference(strict, &data->problem, &data->args, with_plain, result);
    return;
  }
  if (reference_compute(&own, &data->problem, &data->args, &request) != 0)
    property_fail(spec, way.name, "no memory for the reference");
  compare_with_reference(&own, &data->problem, &data->args, with_plain, result);
  reference_free(&own);
}

void property_narrow(const struct problem_data *data, int64_t b, int64_t h,
                     struct problem_data *one) {
  const int64_t group = data->problem.query_heads / data->problem.kv_heads;
  const int64_t kv_head = group > 0 ? h / group : 0;
  const size_t scalars = (size_t)h * problem_type_bytes(problem_compute_type(&data->problem));
  void *at[PROBLEM_TENSORS] = {NULL};
  sdpa_args *args = &one->args;
  *one = *data;
  one->problem.batch = one->problem.query_heads = one->problem.kv_heads = 1;
  for (int t = 0; t < PROBLEM_TENSORS; t++) {
    const int64_t head = t == PROBLEM_KEY || t == PROBLEM_VALUE ? kv_head : h;
    if (!problem_declares(&data->problem, (enum problem_tensor)t)) continue;
    at[t] = problem_data_at(data, (enum problem_tensor)t, b, head, 0, 0);
    one->block[t].origin = at[t];
  }
  args->query = at[PROBLEM_QUERY], args->key = at[PROBLEM_KEY], args->value = at[PROBLEM_VALUE];
  args->mask = at[PROBLEM_MASK], args->bias = at[PROBLEM_BIAS];
  args->output = at[PROBLEM_OUTPUT], args->weights = at[PROBLEM_WEIGHTS];
  args->scores = at[PROBLEM_SCORES], args->lse = at[PROBLEM_LSE];
  if (args->alibi_slopes) args->alibi_slopes = (const char *)args->alibi_slopes + scalars;
  if (args->sinks) args->sinks = (const char *)args->sinks + scalars;
  if (data->problem.features & SDPA_DROPOUT) {
    args->dropout_batch += b;
    args->dropout_head += h;
  }
  if (args->key_lens) args->key_lens += b;
  if (args->query_lens) args->query_lens += b;
  if (args->offsets) args->offsets += b;
}

void property_fail(const struct problem_spec *spec, const char *isa, const char *format, ...) {
  static char text[PROBLEM_STRING_MAX];
  char sentence[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  problem_print(spec, text, sizeof text);
  print_error("%s\n  seed %llu, isa %s: %s\n", text, (unsigned long long)spec->seed, isa, sentence);
  fail();
  abort(); /* fail() does not return */
}

/* Whether the call to be tested writes the block; shape and bytes of an element. */
static int written_block(const struct problem_data *data, int block, size_t *bytes,
                         int64_t shape[4]) {
  const uint32_t compute = problem_compute_type(&data->problem);
  *bytes = problem_type_bytes(compute);
  if (!problem_data_is_written(data, block) || data->block[block].bytes == 0) return 0;
  if (block == BLOCK_GRAD_SINKS || block == BLOCK_GRAD_SLOPES) {
    memcpy(shape, (const int64_t[4]){1, data->problem.query_heads, 1, 1}, 4 * sizeof *shape);
    return 1;
  }
  *bytes = problem_type_bytes(problem_type(&data->problem, (enum problem_tensor)block));
  problem_shape(&data->problem, (enum problem_tensor)block, shape);
  return 1;
}

static const void *element_of(const struct problem_data *data, int block, const int64_t at[4],
                              size_t bytes) {
  if (block == BLOCK_GRAD_SINKS || block == BLOCK_GRAD_SLOPES)
    return data->block[block].origin + (size_t)at[1] * bytes;
  return problem_data_at(data, (enum problem_tensor)block, at[0], at[1], at[2], at[3]);
}

static size_t output_bits(const struct problem_data *data, unsigned char *bits) {
  size_t n = 0;
  for (int t = 0; t < PROBLEM_BLOCKS; t++) {
    size_t bytes;
    int64_t shape[4];
    if (!written_block(data, t, &bytes, shape)) continue;
    for (int64_t b = 0; b < shape[0]; b++) {
      for (int64_t h = 0; h < shape[1]; h++) {
        for (int64_t i = 0; i < shape[2]; i++) {
          for (int64_t j = 0; j < shape[3]; j++, n += bytes)
            if (bits)
              memcpy(bits + n, element_of(data, t, (const int64_t[4]){b, h, i, j}, bytes), bytes);
        }
      }
    }
  }
  return n;
}

size_t property_output_bits(const struct problem_data *data, unsigned char **bits) {
  size_t bytes = output_bits(data, NULL);
  *bits = malloc(bytes + 1);
  assert_non_null(*bits);
  return output_bits(data, *bits);
}

void property_same_bits(const struct problem_data *data, const struct problem_spec *spec,
                        const char *isa, const unsigned char *before, const unsigned char *after,
                        const char *what) {
  size_t bytes = output_bits(data, NULL), first = 0;
  if (memcmp(before, after, bytes) == 0) return;
  while (before[first] == after[first]) first++;
  for (int t = 0; t < PROBLEM_BLOCKS; t++) {
    size_t size;
    int64_t shape[4];
    if (!written_block(data, t, &size, shape)) continue;
    const size_t all = (size_t)(shape[0] * shape[1] * shape[2] * shape[3]) * size;
    if (first < all)
      property_fail(spec, isa, "%s changes element %zu (row-major) of '%s'", what, first / size,
                    t == BLOCK_GRAD_SINKS    ? "grad_sinks"
                    : t == BLOCK_GRAD_SLOPES ? "grad_alibi_slopes"
                                             : problem_tensor_name((enum problem_tensor)t));
    first -= all;
  }
  property_fail(spec, isa, "%s changes a byte", what);
}
