/* kv_cache.c - generating token by token with a cache of keys and values that grows
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A language model that writes keeps the keys and values of all tokens so far. Each step appends
 * one row to both and attends the new token's query to all of them. The cache is allocated once,
 * for the longest text; key_lens says how much of it is filled, so one plan serves every step.
 *
 * The point to see: a step costs what is filled, not what is allocated. That nothing beyond the
 * length is read is shown by the memory itself. The cache is address space without access rights,
 * which are given page by page as it grows, so a read beyond the last page would end the program;
 * what is left of the last page holds NaN, which would show in the output.
 */
#define _GNU_SOURCE
#include <sdpa/sdpa.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { HEADS = 8, KV_HEADS = 2, DIM = 64, CAPACITY = 1 << 16, STEPS = 1024, SHOW_FROM = 16 };
enum { REPEATS = 20 };               /* of a step that is timed */
enum { CACHE_ROW = KV_HEADS * DIM }; /* one token: [head][dim] */

/* [token][head][dim]: growing is appending at the end. */
struct cache {
  float *rows;
  size_t usable; /* bytes that may be touched */
};

static const size_t cache_bytes = sizeof(float) * CAPACITY * CACHE_ROW;

static int cache_reserve(struct cache *cache) {
  cache->usable = 0;
  cache->rows =
      mmap(NULL, cache_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return cache->rows == MAP_FAILED ? -1 : 0;
}

/* Stores row number `length`. */
static int cache_append(struct cache *cache, int64_t length, const float row[CACHE_ROW]) {
  const size_t needed = sizeof(float) * (size_t)(length + 1) * CACHE_ROW;
  if (needed > cache->usable) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), end = (needed + page - 1) / page * page;
    char *bytes = (char *)cache->rows;
    if (mprotect(bytes, end, PROT_READ | PROT_WRITE) != 0) return -1;
    memset(bytes + cache->usable, 0xFF, end - cache->usable); /* NaN */
    cache->usable = end;
  }
  memcpy(cache->rows + length * CACHE_ROW, row, sizeof(float) * CACHE_ROW);
  return 0;
}

/* A plan for one query against up to `capacity` tokens. */
static sdpa_status make_plan(int64_t capacity, sdpa_plan **plan) {
  sdpa_problem p;
  sdpa_problem_init(&p, sizeof p);
  p.query_type = SDPA_F32;
  p.batch = 1;
  p.query_heads = HEADS;
  p.kv_heads = KV_HEADS;
  p.query_len = 1;
  p.key_len = capacity;
  p.key_dim = p.value_dim = DIM;
  p.features = SDPA_KEY_LENS;
  sdpa_problem_layout(&p, SDPA_LAYOUT_BSHD);
  return sdpa_plan_create(&p, NULL, plan);
}

/* Largest error of one step's output against the formula. */
static double step_error(float query[HEADS][DIM], const struct cache *keys,
                         const struct cache *values, int64_t length, float output[HEADS][DIM]) {
  double largest = 0;
  for (int h = 0; h < HEADS; h++) {
    const int kv = h / (HEADS / KV_HEADS);
    double sum = 0, out[DIM] = {0};
    for (int64_t j = 0; j < length; j++) {
      const float *k = keys->rows + j * CACHE_ROW + kv * DIM;
      const float *v = values->rows + j * CACHE_ROW + kv * DIM;
      double score = 0;
      for (int d = 0; d < DIM; d++) score += (double)query[h][d] * (double)k[d];
      const double weight = exp(score / sqrt(DIM));
      sum += weight;
      for (int d = 0; d < DIM; d++) out[d] += weight * (double)v[d];
    }
    for (int d = 0; d < DIM; d++) {
      const double error = fabs((double)output[h][d] - out[d] / sum);
      if (!(error <= largest)) largest = error; /* NaN counts, too */
    }
  }
  return largest;
}

static void draw(float *numbers, int n) {
  for (int i = 0; i < n; i++) numbers[i] = 2 * (float)rand() / (float)RAND_MAX - 1;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What one capacity needs for its steps. */
struct engine {
  sdpa_plan *plan;
  void *workspace;
  size_t bytes;
};

static int engine_init(struct engine *e, int64_t capacity) {
  size_t alignment;
  e->plan = NULL;
  e->workspace = NULL;
  if (make_plan(capacity, &e->plan) != SDPA_OK) return -1;
  if (sdpa_plan_workspace(e->plan, &e->bytes, &alignment) != SDPA_OK) return -1;
  e->workspace = aligned_alloc(alignment, (e->bytes + alignment - 1) / alignment * alignment);
  return e->workspace == NULL ? -1 : 0;
}

static void engine_free(struct engine *e) {
  free(e->workspace);
  sdpa_plan_destroy(e->plan);
}

/* The least time of one step in microseconds, negative after a failure. */
static double time_step(const struct engine *e, const sdpa_args *args) {
  double least = INFINITY;
  for (int i = 0; i < REPEATS; i++) {
    const double start = now();
    if (sdpa_execute(e->plan, args, e->workspace, e->bytes) != SDPA_OK) return -1;
    least = fmin(least, now() - start);
  }
  return 1e6 * least;
}

/* Writes STEPS tokens. At lengths that are powers of two the step is compared with the formula and
 * timed, also by a plan whose capacity is just STEPS. Returns the largest error, negative after a
 * failure. */
static double generate(const struct engine *large, const struct engine *small, struct cache *keys,
                       struct cache *values) {
  float query[HEADS][DIM], row[CACHE_ROW], output[HEADS][DIM];
  double largest = 0;
  for (int64_t length = 1; length <= STEPS; length++) {
    draw(row, CACHE_ROW);
    if (cache_append(keys, length - 1, row) != 0) return -1;
    draw(row, CACHE_ROW);
    if (cache_append(values, length - 1, row) != 0) return -1;
    draw(query[0], HEADS * DIM);
    sdpa_args a;
    sdpa_args_init(&a, sizeof a);
    a.query = query;
    a.key = keys->rows;
    a.value = values->rows;
    a.output = output;
    a.key_lens = &length;
    if (sdpa_execute(large->plan, &a, large->workspace, large->bytes) != SDPA_OK) return -1;
    if ((length & (length - 1)) != 0) continue;
    const double error = step_error(query, keys, values, length, output);
    if (!(error <= largest)) largest = error;
    if (length >= SHOW_FROM)
      printf("%8lld %13zu %15.1f %15.1f\n", (long long)length, keys->usable, time_step(large, &a),
             time_step(small, &a));
  }
  return largest;
}

static int run(const struct engine *large, const struct engine *small) {
  struct cache keys, values;
  if (cache_reserve(&keys) != 0 || cache_reserve(&values) != 0) return -1;
  printf("KV cache of %d tokens (%zu bytes for K alone), filled one by one\n", CAPACITY,
         cache_bytes);
  printf("  length  bytes usable  us a step with  us a step with\n");
  printf("                of K  capacity %5d  capacity %5d\n", CAPACITY, STEPS);
  const double error = generate(large, small, &keys, &values);
  printf("time follows the length; nothing beyond it can be read\n");
  printf("largest difference from the plain loop: %.1e\n", error);
  munmap(keys.rows, cache_bytes);
  munmap(values.rows, cache_bytes);
  return error >= 0 && error <= 1e-6 ? 0 : -1;
}

int main(void) {
  struct engine large, small;
  int result = engine_init(&large, CAPACITY);
  if (engine_init(&small, STEPS) != 0) result = -1;
  if (result == 0) result = run(&large, &small);
  if (result != 0) fputs("kv_cache failed\n", stderr);
  engine_free(&large);
  engine_free(&small);
  return result == 0 ? 0 : 1;
}
