/* problem_fill.c - the numbers in the tensors and arrays of a problem
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each tensor has a random stream of its own. Query, key, value, bias and sinks are normal, so that
 * scores at the default scale are about normal too: softmax weights neither all alike nor all 0.
 */
#include "problem_fill.h"
#include "numpy_random.h"
#include "reference.h"

#include <math.h>

static void stream(struct numpy_rng *rng, const struct problem_spec *spec, int block) {
  numpy_rng_seed(rng, spec->seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)block);
}

/* A length from 0 to n: often one of the two ends. */
static int64_t random_length(struct numpy_rng *rng, int64_t n) {
  uint64_t kind = numpy_rng_below(rng, 8);
  if (kind == 0) return 0;
  if (kind == 1) return n;
  return (int64_t)numpy_rng_below(rng, (uint64_t)n + 1);
}

static void fill_lengths(const struct problem_spec *spec, int block, int64_t *lens,
                         const struct problem_list *list, int64_t n) {
  struct numpy_rng rng;
  stream(&rng, spec, block);
  for (int64_t b = 0; b < spec->problem.batch; b++)
    lens[b] = list->given ? list->item[b] : random_length(&rng, n);
}

static void fill_offsets(const struct problem_spec *spec, int64_t *offsets) {
  const sdpa_problem *problem = &spec->problem;
  struct numpy_rng rng;
  stream(&rng, spec, BLOCK_OFFSETS);
  for (int64_t b = 0; b < problem->batch; b++) {
    uint64_t span = (uint64_t)problem->query_len + (uint64_t)problem->key_len + 1;
    int64_t drawn = (int64_t)numpy_rng_below(&rng, span) - problem->query_len;
    offsets[b] = spec->offsets.given ? spec->offsets.item[b] : drawn;
  }
}

static void fill_slopes(struct problem_data *data, const struct problem_spec *spec) {
  uint32_t type = problem_compute_type(&data->problem);
  struct numpy_rng rng;
  stream(&rng, spec, BLOCK_SLOPES);
  for (int64_t h = 0; h < data->problem.query_heads; h++) {
    double geometric = exp2(-8.0 * (double)(h + 1) / (double)data->problem.query_heads);
    double slope = numpy_rng_below(&rng, 2) ? geometric : 0.3 * numpy_rng_normal(&rng);
    if (numpy_rng_below(&rng, 16) == 0) slope = 0.0;
    problem_store(type, data->block[BLOCK_SLOPES].origin + (size_t)h * problem_type_bytes(type),
                  slope);
  }
}

static void fill_sinks(struct problem_data *data, const struct problem_spec *spec, int special) {
  uint32_t type = problem_compute_type(&data->problem);
  struct numpy_rng rng;
  stream(&rng, spec, BLOCK_SINKS);
  for (int64_t h = 0; h < data->problem.query_heads; h++) {
    double sink = numpy_rng_normal(&rng);
    uint64_t kind = special ? numpy_rng_below(&rng, 6) : 6;
    if (kind == 0) sink = -INFINITY;
    if (kind == 1) sink *= 20.0; /* far above the scores, or below */
    problem_store(type, data->block[BLOCK_SINKS].origin + (size_t)h * problem_type_bytes(type),
                  sink);
  }
}

/* Where the dropout mask is cut out: anywhere, mostly not at a multiple of four keys. */
static void fill_dropout(struct problem_data *data, const struct problem_spec *spec) {
  sdpa_args *args = &data->args;
  struct numpy_rng rng;
  stream(&rng, spec, PROBLEM_BLOCKS);
  args->dropout_seed = numpy_rng_u64(&rng);
  args->dropout_offset = numpy_rng_below(&rng, 2) ? numpy_rng_u64(&rng) : spec->seed;
  args->dropout_batch = (int64_t)numpy_rng_below(&rng, 5);
  args->dropout_head = (int64_t)numpy_rng_below(&rng, 100);
  args->dropout_query = (int64_t)numpy_rng_below(&rng, UINT64_C(1) << 20);
  args->dropout_key = (int64_t)numpy_rng_below(&rng, UINT64_C(1) << 20);
}

void problem_fill_arrays(struct problem_data *data, const struct problem_spec *spec,
                         const struct problem_data_options *options) {
  const sdpa_problem *problem = &data->problem;
  if (problem->features & SDPA_DROPOUT) fill_dropout(data, spec);
  if (problem->features & SDPA_KEY_LENS)
    fill_lengths(spec, BLOCK_KEY_LENS, (int64_t *)(void *)data->block[BLOCK_KEY_LENS].origin,
                 &spec->key_lens, problem->key_len);
  if (problem->features & SDPA_QUERY_LENS)
    fill_lengths(spec, BLOCK_QUERY_LENS, (int64_t *)(void *)data->block[BLOCK_QUERY_LENS].origin,
                 &spec->query_lens, problem->query_len);
  if (problem->features & SDPA_OFFSETS)
    fill_offsets(spec, (int64_t *)(void *)data->block[BLOCK_OFFSETS].origin);
  if (problem->features & SDPA_ALIBI) fill_slopes(data, spec);
  if (problem->features & SDPA_SINKS) fill_sinks(data, spec, options->special);
}

/* How the elements of one tensor are drawn. */
struct drawing {
  struct numpy_rng rng;
  enum problem_tensor tensor;
  uint32_t type;
  int special;
  double attend;  /* share of the mask that attends */
  int masked_row; /* this row of the mask does not attend at all */
  double unit;    /* of normal numbers, see value_unit() */
  double largest; /* number of the type: what is drawn beyond it becomes it */
};

static void begin_row(struct drawing *drawing) {
  if (drawing->tensor == PROBLEM_MASK)
    drawing->masked_row = numpy_rng_below(&drawing->rng, 12) == 0;
}

static double draw(struct drawing *drawing) {
  double value;
  if (drawing->tensor == PROBLEM_MASK) {
    uint64_t bits = numpy_rng_u64(&drawing->rng);
    int attends = (double)(bits >> 11) * 0x1p-53 < drawing->attend && !drawing->masked_row;
    return attends ? (double)(1 + (bits & 0x7FF) % 255) : 0.0;
  }
  value = numpy_rng_normal(&drawing->rng) * drawing->unit;
  if (drawing->tensor == PROBLEM_BIAS && drawing->special) {
    uint64_t kind = numpy_rng_below(&drawing->rng, 24);
    if (kind < 3) return -INFINITY;
    if (kind == 3) return -drawing->largest;
  }
  return fmax(-drawing->largest, fmin(value, drawing->largest));
}

/* What V's normal numbers are multiplied with where the data are to be special: mostly nothing, now
 * and then so little that the products with the weights underflow, or that V itself is subnormal;
 * and where the output is f16, a little, so that it is subnormal, or so much that it overflows. */
static double value_unit(struct drawing *drawing, uint32_t output_type) {
  const uint64_t kind = numpy_rng_below(&drawing->rng, 8);
  if (kind == 0)
    return drawing->type == SDPA_F64    ? 0x1p-1060
           : drawing->type == SDPA_F32  ? 0x1p-140
           : drawing->type == SDPA_BF16 ? 0x1p-130
                                        : 0x1p-20;
  if (output_type == SDPA_F16 && kind < 4) return kind == 1 ? 0x1p-20 : 0x1p16;
  return 1.0;
}

/* The positions worth writing: one only along a dimension with stride 0, but every batch entry
 * where the lengths make a difference. */
static void distinct_shape(const struct problem_data *data, enum problem_tensor tensor,
                           int64_t shape[4]) {
  sdpa_strides strides = problem_get_strides(&data->problem, tensor);
  int lengths = (data->problem.features & (SDPA_KEY_LENS | SDPA_QUERY_LENS)) != 0;
  problem_shape(&data->problem, tensor, shape);
  if (strides.batch == 0 && !lengths && shape[0] > 1) shape[0] = 1;
  if (strides.head == 0 && shape[1] > 1) shape[1] = 1;
  if (strides.row == 0 && shape[2] > 1) shape[2] = 1;
  if (strides.col == 0 && shape[3] > 1) shape[3] = 1;
}

static void fill_row(struct problem_data *data, struct drawing *drawing, const int64_t at[3],
                     int64_t cols) {
  sdpa_strides strides = problem_get_strides(&data->problem, drawing->tensor);
  /* unsigned: along one column a stride means nothing, and may be any number */
  const uintptr_t step = (uintptr_t)strides.col * problem_type_bytes(drawing->type);
  uintptr_t place = (uintptr_t)problem_data_at(data, drawing->tensor, at[0], at[1], at[2], 0);
  begin_row(drawing);
  for (int64_t j = 0; j < cols; j++, place += step) {
    if (!problem_data_is_read(data, drawing->tensor, at[0], at[2], j)) break;
    problem_store(drawing->type, (void *)place, draw(drawing));
  }
}

void problem_fill_tensor(struct problem_data *data, const struct problem_spec *spec,
                         enum problem_tensor tensor, const struct problem_data_options *options) {
  static const double shares[] = {0.25, 0.5, 0.9, 0.97};
  struct drawing drawing = {.tensor = tensor, .type = problem_type(&data->problem, tensor)};
  int64_t shape[4];
  stream(&drawing.rng, spec, (int)tensor);
  drawing.special = options->special && numpy_rng_below(&drawing.rng, 2);
  drawing.attend = shares[numpy_rng_below(&drawing.rng, 4)];
  drawing.unit = 1.0;
  drawing.largest = tensor == PROBLEM_MASK ? 0 : (double)reference_limits_of(drawing.type).largest;
  if (tensor == PROBLEM_VALUE && drawing.special)
    drawing.unit = value_unit(&drawing, problem_type(&data->problem, PROBLEM_OUTPUT));
  distinct_shape(data, tensor, shape);
  for (int64_t b = 0; b < shape[0]; b++) {
    for (int64_t h = 0; h < shape[1]; h++) {
      for (int64_t i = 0; i < shape[2]; i++)
        fill_row(data, &drawing, (const int64_t[3]){b, h, i}, shape[3]);
    }
  }
}
