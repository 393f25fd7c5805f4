/* random_problem.c - random problem specs over the whole option space
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "random_problem.h"
#include "numpy_random.h"

#include <string.h>

/* Blocks of the engines: query rows whose scores `blas` holds at once; keys of a tile of `tiled`,
 * and keys of the parts into which it cuts those of few queries. */
enum { ROW_BLOCK = 256, KEY_TILE = 128, KEY_SPLIT = 2048 };

/* Vector lengths of f64 and f32 from SSE to AVX-512, twice and three times those (the query panels
 * of `tiled`, which takes less than a vector of queries by rows), and a tile of keys. */
static const int64_t library_edges[] = {4, 6, 8, 12, 16, 24, 32, 48, 64, KEY_TILE};

/* Where the numbers come from: a tape of bytes as far as it reaches, then a seed. */
struct draws {
  struct numpy_rng rng;
  const uint8_t *tape, *end;
};

static void draws_begin(struct draws *draws, uint64_t seed) {
  numpy_rng_seed(&draws->rng, seed);
  draws->tape = draws->end = NULL;
}

static int on_tape(const struct draws *draws) {
  return draws->tape < draws->end;
}

/* The next `bytes` bytes, 0 beyond the end. */
static uint64_t read_tape(struct draws *draws, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes && on_tape(draws); i++) value |= (uint64_t)*draws->tape++ << 8 * i;
  return value;
}

static uint64_t draw_below(struct draws *draws, uint64_t n) {
  if (!on_tape(draws) || n < 2) return numpy_rng_below(&draws->rng, n);
  return read_tape(draws, n <= 256 ? 1 : n <= 65536 ? 2 : 8) % n;
}

static double draw_double(struct draws *draws) {
  return on_tape(draws) ? (double)read_tape(draws, 2) * 0x1p-16 : numpy_rng_double(&draws->rng);
}

static double draw_normal(struct draws *draws) {
  return on_tape(draws) ? ((double)read_tape(draws, 2) - 32768.0) * 0x1p-13
                        : numpy_rng_normal(&draws->rng);
}

static int one_in(struct draws *draws, uint64_t n) {
  return draw_below(draws, n) == 0;
}

static int percent(struct draws *draws, uint64_t share) {
  return draw_below(draws, 100) < share;
}

static int64_t between(struct draws *draws, int64_t low, int64_t high) {
  return low + (int64_t)draw_below(draws, (uint64_t)(high - low) + 1);
}

static int64_t draw_size(struct draws *draws, const struct random_problem_options *options) {
  if (one_in(draws, 60)) return 0;
  if (one_in(draws, 5))
    return options->edges[draw_below(draws, (uint64_t)options->n_edges)] + between(draws, -1, 1);
  return one_in(draws, 4) ? between(draws, 1, 40) : between(draws, 1, 16);
}

static int64_t work_of(const sdpa_problem *p) {
  return p->batch * p->query_heads * p->query_len * p->key_len * (p->key_dim + p->value_dim);
}

/* Sizes at a block's edge that the bound of the work would hardly leave: small in all else. */
static void draw_long(struct draws *draws, sdpa_problem *problem) {
  const int rows = one_in(draws, 2), split = !rows && one_in(draws, 8);
  const int64_t most = split ? 3 : 6;
  problem->batch = problem->kv_heads = 1;
  problem->query_heads = between(draws, 1, 2);
  problem->key_dim = between(draws, 1, most);
  problem->value_dim = between(draws, 1, most);
  if (rows) {
    problem->query_len = ROW_BLOCK * between(draws, 1, 2) + between(draws, -1, 1);
    problem->key_len = between(draws, 1, 12);
  } else if (split) {
    problem->query_len = between(draws, 1, 10);
    problem->key_len = KEY_SPLIT * between(draws, 1, 2) + between(draws, -1, 1);
  } else {
    problem->query_len = between(draws, 1, 10);
    problem->key_len = KEY_TILE * between(draws, 1, 2) + between(draws, -1, 1);
  }
}

/* Doubles sizes until the work is at least `least`. */
static void grow_sizes(struct draws *draws, int64_t least, sdpa_problem *problem) {
  const int few = one_in(draws, 3); /* queries: then the keys grow */
  int64_t *const sizes[] = {&problem->key_len, &problem->key_dim, &problem->value_dim,
                            &problem->query_len, &problem->batch};
  if (problem->kv_heads == 0) problem->kv_heads = problem->query_heads = 1;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (*sizes[i] == 0) *sizes[i] = 1;
  if (few) problem->key_len += KEY_SPLIT * between(draws, 1, 2) - 1;
  while (work_of(problem) < least) {
    int64_t *size = sizes[draw_below(draws, few ? 3 : 4)];
    *size += *size + (int64_t)draw_below(draws, 2);
  }
}

static void draw_sizes(struct draws *draws, const struct random_problem_options *options,
                       sdpa_problem *problem) {
  int64_t groups = between(draws, 1, 3);
  problem->query_len = draw_size(draws, options);
  problem->key_len = percent(draws, 20) ? problem->query_len : draw_size(draws, options);
  problem->key_dim = draw_size(draws, options);
  problem->value_dim = percent(draws, 50) ? problem->key_dim : draw_size(draws, options);
  problem->batch = one_in(draws, 100) ? 0 : between(draws, 1, 3);
  problem->kv_heads = one_in(draws, 100) ? 0 : between(draws, 1, 3);
  problem->query_heads = problem->kv_heads * groups;
  if (options->least_work > 0) {
    grow_sizes(draws, options->least_work, problem);
    return;
  }
  if (one_in(draws, 12)) {
    draw_long(draws, problem);
    return;
  }
  while (work_of(problem) > options->most_work &&
         (problem->query_len > 1 || problem->key_len > 1)) {
    if (problem->batch > 1)
      problem->batch--;
    else if (problem->query_heads > 1)
      problem->query_heads = problem->kv_heads = problem->query_heads - 1;
    else if (problem->query_len >= problem->key_len)
      problem->query_len = between(draws, 1, problem->query_len / 2);
    else
      problem->key_len = between(draws, 1, problem->key_len / 2);
  }
}

static void draw_numbers(struct draws *draws, sdpa_problem *problem) {
  static const double scales[] = {0.0, -0.5, 0.3, 1.0, 0.70710678118654757, 0.1};
  if (percent(draws, 30)) {
    problem->features |= SDPA_SCALE;
    problem->scale = percent(draws, 70) ? draw_normal(draws) * 0.5 : scales[draw_below(draws, 6)];
  }
  if (percent(draws, 30))
    problem->softcap = one_in(draws, 8) ? 30.0 : 0.25 + 4.0 * draw_double(draws);
}

static void draw_options(struct draws *draws, sdpa_problem *problem) {
  static const struct {
    uint32_t feature;
    uint64_t share;
  } shares[] = {{SDPA_CAUSAL, 35},  {SDPA_WINDOW, 30}, {SDPA_MASK, 30},     {SDPA_BIAS, 35},
                {SDPA_ALIBI, 30},   {SDPA_SINKS, 30},  {SDPA_KEY_LENS, 30}, {SDPA_QUERY_LENS, 30},
                {SDPA_WEIGHTS, 35}, {SDPA_LSE, 40},    {SDPA_SCORES, 40},   {SDPA_NO_OUTPUT, 15}};
  for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
    if (percent(draws, shares[i].share)) problem->features |= shares[i].feature;
  if (!(problem->features & (SDPA_WEIGHTS | SDPA_LSE | SDPA_SCORES)))
    problem->features &= ~(uint32_t)SDPA_NO_OUTPUT; /* nothing would be left to ask for */
  if (problem->features & SDPA_WINDOW) {
    problem->window_left = between(draws, -1, problem->key_len / 2 + 1);
    problem->window_right = between(draws, -1, problem->key_len / 2 + 1);
  }
  if (problem->features & SDPA_SCORES) problem->score_stage = (uint32_t)between(draws, 1, 3);
}

static void draw_alignment(struct draws *draws, sdpa_problem *problem) {
  const uint32_t uses = SDPA_CAUSAL | SDPA_WINDOW | SDPA_ALIBI;
  const uint32_t lengths = SDPA_KEY_LENS | SDPA_QUERY_LENS;
  int needed = (problem->features & uses) != 0 &&
               (problem->query_len != problem->key_len || (problem->features & lengths) != 0);
  if (!needed && percent(draws, 50)) return;
  switch (draw_below(draws, 4)) {
  case 0:
    problem->alignment = SDPA_ALIGN_TOP_LEFT;
    break;
  case 1:
    problem->alignment = SDPA_ALIGN_BOTTOM_RIGHT;
    break;
  case 2:
    problem->alignment = SDPA_ALIGN_OFFSET;
    problem->offset = between(draws, -problem->query_len, problem->key_len);
    break;
  default:
    problem->alignment = SDPA_ALIGN_OFFSET;
    problem->features |= SDPA_OFFSETS;
  }
}

/* A random order of the dimensions with gaps after each of them, some of them run backwards. */
static sdpa_strides draw_order(struct draws *draws, const int64_t shape[4]) {
  int dimension[4] = {0, 1, 2, 3};
  int64_t stride[4], step = percent(draws, 40) ? between(draws, 2, 3) : 1;
  if (percent(draws, 50)) {
    for (int i = 3; i > 0; i--) {
      int other = (int)draw_below(draws, (uint64_t)i + 1), kept = dimension[i];
      dimension[i] = dimension[other];
      dimension[other] = kept;
    }
  }
  for (int i = 3; i >= 0; i--) {
    stride[dimension[i]] = step;
    step *= shape[dimension[i]] > 0 ? shape[dimension[i]] : 1;
    if (percent(draws, 50)) step += between(draws, 1, 5);
  }
  for (int i = 0; i < 4; i++)
    if (one_in(draws, 5)) stride[i] = -stride[i];
  return (sdpa_strides){stride[0], stride[1], stride[2], stride[3]};
}

/* Strides of an input: dimensions broadcast, or rows that share elements with the next row. */
static void share_elements(struct draws *draws, enum problem_tensor tensor, sdpa_strides *strides) {
  uint64_t often = tensor == PROBLEM_MASK || tensor == PROBLEM_BIAS ? 3 : 12;
  if (one_in(draws, often)) strides->batch = 0;
  if (one_in(draws, often)) strides->head = 0;
  if (one_in(draws, 2 * often)) strides->row = 0;
  if (one_in(draws, 2 * often)) strides->col = 0;
  if (one_in(draws, 16)) strides->row = strides->col;
}

static void draw_strides_of(struct draws *draws, sdpa_problem *problem, enum problem_tensor tensor,
                            int bshd) {
  sdpa_strides strides = problem_default_strides(problem, tensor, bshd ? "bshd" : "bhsd");
  if (percent(draws, 70)) {
    int64_t shape[4];
    problem_shape(problem, tensor, shape);
    strides = draw_order(draws, shape);
    if (!problem_tensor_is_output(tensor) && !problem_tensor_is_gradient(tensor))
      share_elements(draws, tensor, &strides);
    if (tensor == PROBLEM_LSE) strides.col = 0;
  }
  problem_set_strides(problem, tensor, strides);
  if (tensor == PROBLEM_GRAD_BIAS) /* nothing is said where it is summed */
    problem_set_strides(problem, tensor, problem_get_strides(problem, tensor));
}

static void draw_strides(struct draws *draws, sdpa_problem *problem) {
  int bshd = percent(draws, 30);
  for (int t = 0; t < PROBLEM_TENSORS; t++)
    if (problem_declares(problem, (enum problem_tensor)t))
      draw_strides_of(draws, problem, (enum problem_tensor)t, bshd);
}

static uint32_t draw_narrow(struct draws *draws) {
  return one_in(draws, 2) ? SDPA_BF16 : SDPA_F16;
}

static uint32_t draw_type(struct draws *draws) {
  return one_in(draws, 3) ? SDPA_F32 : draw_narrow(draws);
}

/* Makes an f32 problem one with tensors of 16 bits, four times in ten: all of one type; a cache of
 * one type with the rest in f32; 16-bit inputs with an output in f32; or each as it comes. Drawn
 * last, so that all else of a problem does not depend on it. */
static void draw_types(struct draws *draws, sdpa_problem *problem) {
  if (problem->query_type != SDPA_F32 || !percent(draws, 40)) return;
  const uint64_t kind = draw_below(draws, 10);
  const uint32_t type = draw_narrow(draws);
  if (kind < 3) {
    problem->query_type = type;
  } else if (kind < 6) {
    problem->key_type = problem->value_type = type;
  } else if (kind < 7) {
    problem->query_type = type;
    problem->output_type = SDPA_F32;
  } else {
    problem->query_type = draw_type(draws);
    problem->key_type = draw_type(draws);
    problem->value_type = draw_type(draws);
    problem->output_type = draw_type(draws);
  }
  if (problem->features & SDPA_BIAS && one_in(draws, 2)) problem->bias_type = SDPA_F32;
}

/* Drawn after all else, likewise. */
static void draw_dropout(struct draws *draws, sdpa_problem *problem, uint64_t one_of) {
  static const double odd[] = {0.0, 1e-12, 0.999};
  if (problem->features & SDPA_DROPOUT || !one_in(draws, one_of)) return;
  problem->features |= SDPA_DROPOUT;
  problem->dropout = one_in(draws, 8) ? odd[draw_below(draws, 3)] : 0.9 * draw_double(draws);
}

static void draw_problem(struct draws *draws, const struct random_problem_options *options,
                         uint64_t seed, struct problem_spec *spec) {
  struct random_problem_options used = {library_edges,
                                        sizeof library_edges / sizeof library_edges[0], 150000, 0};
  sdpa_problem *problem = &spec->problem;
  if (options && options->edges) used.edges = options->edges, used.n_edges = options->n_edges;
  if (options && options->most_work > 0) used.most_work = options->most_work;
  if (options && options->least_work > 0) used.least_work = options->least_work;
  memset(spec, 0, sizeof *spec);
  spec->seed = seed;
  problem->size = sizeof *problem;
  problem->query_type = percent(draws, 50) ? SDPA_F32 : SDPA_F64;
  draw_sizes(draws, &used, problem);
  draw_numbers(draws, problem);
  draw_options(draws, problem);
  draw_alignment(draws, problem);
  draw_strides(draws, problem);
  draw_types(draws, problem);
  draw_dropout(draws, problem, 8);
  if (used.least_work == 0 && one_in(draws, 200))
    problem->query_heads = 0; /* of kv heads all the same */
}

/* What the backward pass adds to a problem. */
static void draw_backward(struct draws *draws, struct problem_spec *spec) {
  sdpa_problem *problem = &spec->problem;
  spec->backward = 1;
  if (!(problem->features & SDPA_LSE)) draw_strides_of(draws, problem, PROBLEM_LSE, 0);
  if (problem->features & SDPA_NO_OUTPUT) draw_strides_of(draws, problem, PROBLEM_OUTPUT, 0);
  problem->features |= SDPA_LSE;
  problem->features &= ~(uint32_t)SDPA_NO_OUTPUT;
  for (enum problem_tensor t = PROBLEM_GRAD_OUTPUT; t < PROBLEM_TENSORS_END; t++)
    if (problem_spec_places(spec, t)) draw_strides_of(draws, problem, t, one_in(draws, 3));
  draw_dropout(draws, problem, 6);
}

void random_problem(uint64_t seed, const struct random_problem_options *options,
                    struct problem_spec *spec) {
  struct draws draws;
  draws_begin(&draws, seed);
  draw_problem(&draws, options, seed, spec);
}

void random_problem_backward(uint64_t seed, const struct random_problem_options *options,
                             struct problem_spec *spec) {
  struct draws draws;
  random_problem(seed, options, spec);
  draws_begin(&draws, seed ^ UINT64_C(0x5851F42D4C957F2D));
  draw_backward(&draws, spec);
}

void random_problem_tape(const uint8_t *tape, size_t bytes, uint64_t seed, int backward,
                         const struct random_problem_options *options, struct problem_spec *spec) {
  struct draws draws;
  draws_begin(&draws, seed);
  draws.tape = tape;
  draws.end = bytes > 0 ? tape + bytes : tape;
  draw_problem(&draws, options, seed, spec);
  if (backward) draw_backward(&draws, spec);
}

static void draw_list(struct draws *draws, const sdpa_problem *problem, struct problem_list *list,
                      int64_t low, int64_t high) {
  if (problem->batch > PROBLEM_LIST_MAX || percent(draws, 40)) return;
  list->given = 1;
  list->count = (int32_t)problem->batch;
  for (int i = 0; i < list->count; i++) list->item[i] = between(draws, low, high);
}

static sdpa_strides wild_strides(struct draws *draws) {
  int64_t s[4];
  for (int i = 0; i < 4; i++)
    s[i] = one_in(draws, 10) ? (int64_t)numpy_rng_u64(&draws->rng) : between(draws, -1000, 1000);
  return (sdpa_strides){s[0], s[1], s[2], s[3]};
}

void random_problem_wild(uint64_t seed, struct problem_spec *spec) {
  static const struct random_problem_options any = {NULL, 0, INT64_C(1) << 40, 0};
  struct draws draws;
  sdpa_problem *problem = &spec->problem;
  draws_begin(&draws, ~seed);
  if (one_in(&draws, 3))
    random_problem_backward(seed, &any, spec);
  else
    random_problem(seed, &any, spec);
  problem->query_type = (uint32_t)between(&draws, 1, 4);
  if (one_in(&draws, 3)) problem->key_type = (uint32_t)between(&draws, 0, 4);
  if (one_in(&draws, 3)) problem->value_type = (uint32_t)between(&draws, 0, 4);
  if (one_in(&draws, 3)) problem->output_type = (uint32_t)between(&draws, 0, 4);
  if (one_in(&draws, 3)) problem->bias_type = (uint32_t)between(&draws, 0, 4);
  spec->seed = one_in(&draws, 4) ? 0 : numpy_rng_u64(&draws.rng);
  spec->precision = (uint32_t)between(&draws, 0, 2);
  if (problem->features & SDPA_SCALE && one_in(&draws, 3))
    problem->scale = -1e-300 * draw_double(&draws);
  if (problem->softcap != 0.0 && one_in(&draws, 3)) problem->softcap = 1e300 * draw_double(&draws);
  if (problem->features & SDPA_WINDOW && one_in(&draws, 4)) problem->window_left = INT64_MAX;
  if (problem->alignment == SDPA_ALIGN_OFFSET && !(problem->features & SDPA_OFFSETS) &&
      one_in(&draws, 3))
    problem->offset = (int64_t)numpy_rng_u64(&draws.rng);
  if (problem->features & SDPA_KEY_LENS)
    draw_list(&draws, problem, &spec->key_lens, 0, problem->key_len);
  if (problem->features & SDPA_QUERY_LENS)
    draw_list(&draws, problem, &spec->query_lens, 0, problem->query_len);
  if (problem->features & SDPA_OFFSETS)
    draw_list(&draws, problem, &spec->offsets, -1000000, 1000000);
  for (enum problem_tensor t = 0; t < PROBLEM_TENSORS_END; t = problem_next_tensor(t)) {
    if (!problem_spec_places(spec, t)) continue;
    if (one_in(&draws, 4)) problem_set_strides(problem, t, wild_strides(&draws));
    problem_set_strides(problem, t, problem_get_strides(problem, t));
  }
}
