/* test_plan.c - plans: workspace, allocators
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L

#include "api_support.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Large enough that the workspace is not empty, whatever the engine keeps on its stack. */
static const struct api_sizes large = {2, 4, 2, 70, 130, 24, 40};
enum { FEATURES = SDPA_CAUSAL | SDPA_MASK | SDPA_LSE | SDPA_WEIGHTS };

static void init_large(struct api_call *call, uint32_t type) {
  api_call_init(call, type, large, FEATURES, SDPA_ALIGN_BOTTOM_RIGHT);
  memset(api_mask(call) + 1000, 0, 500);
}

/* In front of every block of the counting allocator; its size is the largest alignment it serves.
 */
enum { HEADER = 4096 };
struct block_header {
  size_t bytes;
};

/* A counting allocator that checks what comes back, and can fail the n-th time. */
struct counter {
  atomic_int allocations, live, fail_at; /* fail_at counts down; below 0: never */
};
static void *counted_alloc(void *ctx, size_t bytes, size_t alignment) {
  struct counter *counter = ctx;
  assert_true(bytes > 0);
  assert_true(alignment != 0 && (alignment & (alignment - 1)) == 0);
  if (atomic_fetch_sub(&counter->fail_at, 1) == 0) return NULL;
  atomic_fetch_add(&counter->allocations, 1);
  atomic_fetch_add(&counter->live, 1);
  assert_in_range(alignment, 1, HEADER);
  void *block = NULL;
  if (posix_memalign(&block, HEADER, HEADER + bytes)) return NULL;
  ((struct block_header *)block)->bytes = bytes;
  return (char *)block + HEADER;
}
static void counted_free(void *ctx, void *block, size_t bytes) {
  struct counter *counter = ctx;
  struct block_header *header = (void *)((char *)block - HEADER);
  assert_int_equal(header->bytes, bytes);
  atomic_fetch_sub(&counter->live, 1);
  free(header);
}

static void init_counted(sdpa_options *options, struct counter *counter) {
  assert_int_equal(sdpa_options_init(options, sizeof *options), SDPA_OK);
  options->alloc = counted_alloc;
  options->release = counted_free;
  options->alloc_ctx = counter;
  atomic_init(&counter->allocations, 0);
  atomic_init(&counter->live, 0);
  atomic_init(&counter->fail_at, -1);
}

static void *aligned_workspace(size_t bytes, size_t alignment) {
  void *block = NULL;
  assert_int_equal(posix_memalign(&block, alignment, bytes ? bytes : 1), 0);
  return block;
}

/* The workspace is exact: with the plan's bytes in a block of that very size it works (and a
 * sanitizer sees every byte beyond), with one less it is refused. */
static void test_workspace(void **state) {
  (void)state;
  for (uint32_t type = SDPA_F64; type <= SDPA_F16; type++) {
    struct api_call call, reference;
    init_large(&call, type);
    init_large(&reference, type);
    assert_int_equal(sdpa_attention(&reference.problem, NULL, &reference.args), SDPA_OK);
    sdpa_plan *plan;
    size_t bytes = 0, alignment = 0;
    char text[256];
    assert_int_equal(sdpa_plan_create(&call.problem, NULL, &plan), SDPA_OK);
    assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
    assert_true(bytes > 0);
    assert_true(alignment >= 1 && (alignment & (alignment - 1)) == 0);
    char *workspace = aligned_workspace(bytes, alignment);
    memset(workspace, 0xFF, bytes); /* NaN, if it were read */

    assert_int_equal(sdpa_execute(plan, &call.args, workspace, bytes - 1), SDPA_ERROR_WORKSPACE);
    assert_int_equal(sdpa_args_check(plan, &call.args, workspace, bytes - 1, text, sizeof text),
                     SDPA_ERROR_WORKSPACE);
    char number[32];
    snprintf(number, sizeof number, "%zu", bytes - 1);
    api_assert_says(text, "bytes", number);
    snprintf(number, sizeof number, "%zu", bytes);
    api_assert_says(text, number, NULL);
    assert_int_equal(sdpa_execute(plan, &call.args, workspace, 0), SDPA_ERROR_WORKSPACE);
    api_assert_untouched(&call);

    assert_int_equal(sdpa_args_check(plan, &call.args, workspace, bytes, text, sizeof text),
                     SDPA_OK);
    assert_string_equal(text, "");
    assert_int_equal(sdpa_execute(plan, &call.args, workspace, bytes), SDPA_OK);
    assert_memory_equal(call.args.output, reference.args.output, call.bytes[API_OUTPUT]);
    assert_memory_equal(call.args.weights, reference.args.weights, call.bytes[API_WEIGHTS]);
    free(workspace);
    sdpa_plan_destroy(plan);
    api_call_free(&reference);
    api_call_free(&call);
  }
}

static void test_workspace_alignment(void **state) {
  (void)state;
  struct api_call call;
  init_large(&call, SDPA_F32);
  sdpa_plan *plan;
  size_t bytes, alignment;
  assert_int_equal(sdpa_plan_create(&call.problem, NULL, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  char *block = aligned_workspace(bytes + alignment, alignment);
  for (size_t shift = 1; shift < alignment; shift++) {
    char text[256], address[32];
    assert_int_equal(sdpa_args_check(plan, &call.args, block + shift, bytes, text, sizeof text),
                     SDPA_ERROR_ALIGNMENT);
    snprintf(address, sizeof address, "%p", (const void *)(block + shift));
    api_assert_says(text, "workspace", address);
    assert_int_equal(sdpa_execute(plan, &call.args, block + shift, bytes), SDPA_ERROR_ALIGNMENT);
  }
  api_assert_untouched(&call);
  free(block);
  sdpa_plan_destroy(plan);
  api_call_free(&call);
}

static void test_workspace_null(void **state) {
  (void)state;
  struct api_call call;
  init_large(&call, SDPA_F32);
  sdpa_plan *plan;
  size_t bytes = 11, alignment = 12;
  assert_int_equal(sdpa_plan_create(&call.problem, NULL, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(NULL, &bytes, &alignment), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_plan_workspace(plan, NULL, &alignment), SDPA_ERROR_NULL);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, NULL), SDPA_ERROR_NULL);
  assert_int_equal(bytes, 11);
  assert_int_equal(alignment, 12);
  /* Without a workspace the byte count means nothing. */
  assert_int_equal(sdpa_execute(plan, &call.args, NULL, 3), SDPA_OK);
  sdpa_plan_destroy(plan);
  sdpa_plan_destroy(NULL);
  api_call_free(&call);
}

/* The scores of a block of rows, never of all: four times the rows need the same workspace. */
static void test_workspace_grows_with_keys_only(void **state) {
  (void)state;
  size_t sizes[2];
  for (int i = 0; i < 2; i++) {
    sdpa_problem problem;
    assert_int_equal(sdpa_problem_init(&problem, sizeof problem), SDPA_OK);
    problem.query_type = SDPA_F32;
    problem.batch = 1;
    problem.query_heads = problem.kv_heads = 8;
    problem.query_len = i ? 65536 : 16384;
    problem.key_len = 16384;
    problem.key_dim = problem.value_dim = 64;
    assert_int_equal(sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD), SDPA_OK);
    sdpa_plan *plan;
    size_t alignment;
    assert_int_equal(sdpa_plan_create(&problem, NULL, &plan), SDPA_OK);
    assert_int_equal(sdpa_plan_workspace(plan, &sizes[i], &alignment), SDPA_OK);
    sdpa_plan_destroy(plan);
  }
  assert_int_equal(sizes[0], sizes[1]);
}

/* With a workspace nothing is allocated; all that is allocated comes from the options and goes
 * back. */
static void test_allocator(void **state) {
  (void)state;
  struct counter counter;
  sdpa_options options;
  struct api_call call;
  init_counted(&options, &counter);
  init_large(&call, SDPA_F64);
  sdpa_plan *plan;
  size_t bytes, alignment;
  assert_int_equal(sdpa_plan_create(&call.problem, &options, &plan), SDPA_OK);
  int for_plan = atomic_load(&counter.allocations);
  assert_true(for_plan > 0);
  memset(&options, 0, sizeof options); /* the plan keeps what it needs */
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  void *workspace = aligned_workspace(bytes, alignment);
  for (int i = 0; i < 3; i++)
    assert_int_equal(sdpa_execute(plan, &call.args, workspace, bytes), SDPA_OK);
  assert_int_equal(atomic_load(&counter.allocations), for_plan);
  assert_int_equal(sdpa_execute(plan, &call.args, NULL, 0), SDPA_OK);
  assert_int_equal(atomic_load(&counter.allocations), for_plan + 1);
  assert_int_equal(atomic_load(&counter.live), for_plan);
  sdpa_plan_destroy(plan);
  assert_int_equal(atomic_load(&counter.live), 0);
  free(workspace);
  api_call_free(&call);
}

/* One execution in exactly the plan's bytes writes none behind them, and one without a workspace
 * takes it from the allocator where the bytes are more than `stack`. Returns the bytes. */
static size_t run_in_exact_workspace(const struct api_call *call, uint32_t engine, size_t stack) {
  enum { BEHIND = 4096, FILLER = 0xA5 };
  struct counter counter;
  sdpa_options options;
  sdpa_plan *plan;
  size_t bytes, alignment;
  init_counted(&options, &counter);
  options.engine = engine;
  options.threads = 1;
  assert_int_equal(sdpa_plan_create(&call->problem, &options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_workspace(plan, &bytes, &alignment), SDPA_OK);
  char *workspace = aligned_workspace(bytes + BEHIND, alignment);
  memset(workspace + bytes, FILLER, BEHIND);
  assert_int_equal(sdpa_execute(plan, &call->args, workspace, bytes), SDPA_OK);
  for (int i = 0; i < BEHIND; i++) assert_int_equal((uint8_t)workspace[bytes + (size_t)i], FILLER);
  const int before = atomic_load(&counter.allocations);
  assert_int_equal(sdpa_execute(plan, &call->args, NULL, 0), SDPA_OK);
  assert_int_equal(atomic_load(&counter.allocations) - before, bytes > stack);
  free(workspace);
  sdpa_plan_destroy(plan);
  assert_int_equal(atomic_load(&counter.live), 0);
  return bytes;
}

/* 8 KiB of workspace lie on the stack, so that small problems need no heap; no more do. */
static void test_small_workspaces(void **state) {
  (void)state;
  enum { STACK = 8192 };
  int small = 0, next = 0;
  for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    if (!api_offers(engine)) continue;
    for (int64_t n = 1; n <= 400; n += 3) {
      struct api_call call;
      api_call_init(&call, SDPA_F32, api_one_head(n % 40 + 1, n, n, n), 0, 0);
      const size_t bytes = run_in_exact_workspace(&call, engine, STACK);
      small += bytes > 0 && bytes <= STACK;
      next += bytes > STACK && bytes <= 2 * STACK;
      api_call_free(&call);
    }
  }
  assert_true(small > 0 && next > 0);
}

/* Each allocation fails once: SDPA_ERROR_MEMORY, nothing written, nothing leaked; then it works. */
static void test_failing_allocations(void **state) {
  (void)state;
  int failures = 0;
  for (int n = 0;; n++) {
    struct counter counter;
    sdpa_options options;
    struct api_call call;
    init_counted(&options, &counter);
    init_large(&call, SDPA_F32);
    atomic_store(&counter.fail_at, n);
    sdpa_plan *plan = NULL;
    sdpa_status status = sdpa_plan_create(&call.problem, &options, &plan);
    assert_true((status == SDPA_OK) == (plan != NULL));
    if (status == SDPA_OK) status = sdpa_execute(plan, &call.args, NULL, 0);
    sdpa_plan_destroy(plan);
    assert_int_equal(atomic_load(&counter.live), 0);
    if (status != SDPA_OK) {
      failures++;
      assert_int_equal(status, SDPA_ERROR_MEMORY);
      api_assert_untouched(&call);
    }
    int reached = atomic_load(&counter.fail_at) < 0;
    api_call_free(&call);
    if (!reached) break;
    assert_int_equal(failures, n + 1);
  }
  assert_true(failures >= 2); /* the plan, and the workspace of the call */
}

/* An allocator that ignores the alignment counts as one that fails. */
struct crooked {
  size_t shift; /* of a block from where it should begin */
  int released;
  char memory[1 << 15];
};
static void *crooked_alloc(void *ctx, size_t bytes, size_t alignment) {
  struct crooked *crooked = ctx;
  char *memory = crooked->memory;
  if (crooked->shift >= alignment || bytes + 2 * alignment > sizeof crooked->memory) return NULL;
  return memory + (alignment - (uintptr_t)memory % alignment) % alignment + crooked->shift;
}
static void crooked_free(void *ctx, void *block, size_t bytes) {
  (void)block, (void)bytes;
  ((struct crooked *)ctx)->released++;
}
static void test_misaligned_allocator(void **state) {
  (void)state;
  static struct crooked crooked;
  sdpa_options options;
  struct api_call call;
  assert_int_equal(sdpa_options_init(&options, sizeof options), SDPA_OK);
  options.alloc = crooked_alloc;
  options.release = crooked_free;
  options.alloc_ctx = &crooked;
  init_large(&call, SDPA_F32);
  for (crooked.shift = 1; crooked.shift <= 32; crooked.shift *= 2) {
    sdpa_plan *plan;
    crooked.released = 0;
    assert_int_equal(sdpa_plan_create(&call.problem, &options, &plan), SDPA_ERROR_MEMORY);
    assert_int_equal(crooked.released, 1);
  }
  api_call_free(&call);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_workspace),
      cmocka_unit_test(test_workspace_alignment),
      cmocka_unit_test(test_workspace_null),
      cmocka_unit_test(test_workspace_grows_with_keys_only),
      cmocka_unit_test(test_allocator),
      cmocka_unit_test(test_small_workspaces),
      cmocka_unit_test(test_failing_allocations),
      cmocka_unit_test(test_misaligned_allocator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
