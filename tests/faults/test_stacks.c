/* test_stacks.c - how much stack the library uses, on callers' threads and on its own
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * docs/threading.md promises that 128 KiB are enough, and that a call on engine tiled takes no more
 * than 32 of them: the rest is for the thread-local data of the program, which lies there too, for
 * a BLAS's own frames, and for a handler's. Here stacks are painted, used and looked at. And with
 * workers of 128 KiB, where the library gives them 512, calls are right: the program is linked with
 * --wrap=pthread_create.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_STACK */
#include "entry_calls.h"
#include "parallel_support.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sanitizers.h"

enum { STACK = 128 * 1024, SHARE = 32 * 1024, PAINT = 0x5C, MOST_WORKERS = 8, THREADS = 3 };

static const uint32_t isas[] = {SDPA_ISA_GENERIC, SDPA_ISA_AVX2, SDPA_ISA_AVX512, SDPA_ISA_AUTO};
static const uint32_t engines[] = {SDPA_ENGINE_TILED, SDPA_ENGINE_BLAS};

struct painted {
  unsigned char *bottom; /* above a page that cannot be touched */
  pthread_attr_t attributes;
};

static int paint_stack(struct painted *stack) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *memory = mmap(NULL, STACK + page, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) return 0;
  stack->bottom = memory + page;
  memset(stack->bottom, PAINT, STACK);
  return pthread_attr_init(&stack->attributes) == 0 &&
         pthread_attr_setstack(&stack->attributes, stack->bottom, STACK) == 0;
}

static size_t used(const struct painted *stack) {
  size_t clean = 0;
  while (clean < STACK && stack->bottom[clean] == PAINT) clean++;
  return STACK - clean;
}

/* ---- the library's own threads ---- */

static struct painted workers[MOST_WORKERS];
static _Atomic int32_t n_workers;
static _Atomic int shrinks; /* threads with attributes get a painted stack of 128 KiB */

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg) {
  if (!atomic_load(&shrinks) || atomic_load(&n_workers) >= MOST_WORKERS)
    return __real_pthread_create(thread, attributes, start, arg);
  struct painted *stack = &workers[atomic_fetch_add(&n_workers, 1)];
  if (!paint_stack(stack)) return -1;
  return __real_pthread_create(thread, &stack->attributes, start, arg);
}

/* ---- callers ---- */

struct use {
  enum entry_call call;
  uint32_t type; /* 0: entry_run(); else a plan in that type, whatever the numbers are */
  sdpa_options options;
  int is_idle; /* does nothing: what a thread takes by itself */
  int wrong;
  struct entry_output out;
};

/* Inputs and outputs have room for half the heads in f64; the bias has not. */
static sdpa_status run_type(struct use *use) {
  sdpa_problem problem = entry_problem(use->call);
  sdpa_plan *plan = NULL;
  problem.query_type = use->type;
  problem.query_heads /= 2;
  problem.kv_heads /= 2;
  problem.features &= ~(uint32_t)SDPA_BIAS;
  sdpa_status status = sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD);
  if (status == SDPA_OK)
    status = use->call == ENTRY_BACKWARD ? sdpa_plan_create_backward(&problem, &use->options, &plan)
                                         : sdpa_plan_create(&problem, &use->options, &plan);
  if (status == SDPA_OK) status = entry_execute_as(use->call, &problem, plan, &use->out);
  sdpa_plan_destroy(plan);
  return status;
}

static void *use_stack(void *arg) {
  struct use *use = arg;
  if (use->is_idle) return NULL;
  if (use->type) {
    use->wrong = run_type(use) != SDPA_OK;
    return NULL;
  }
  use->wrong = entry_run(use->call, &use->options, &use->out) != SDPA_OK;
  return NULL;
}

static size_t run_on_painted_stack(struct use *use) {
  struct painted stack;
  pthread_t thread;
  assert_true(paint_stack(&stack));
  assert_int_equal(__real_pthread_create(&thread, &stack.attributes, use_stack, use), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  const size_t bytes = used(&stack);
  pthread_attr_destroy(&stack.attributes);
  munmap(stack.bottom, STACK);
  assert_int_equal(use->wrong, 0);
  return bytes;
}

static int is_offered(uint32_t isa) {
  const sdpa_problem problem = entry_problem(ENTRY_PLAN);
  sdpa_options options = entry_options(SDPA_ENGINE_TILED, 1);
  options.isa = isa;
  return sdpa_problem_check(&problem, &options, NULL, 0) == SDPA_OK;
}

/* Sanitizers, and compilers that do not optimise, make other frames: those must only fit. */
static int is_measured(void) {
#if SANITIZED || !defined(__OPTIMIZE__)
  return 0;
#else
  return 1;
#endif
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

/* Every call in f32, and both passes in the other types. */
static size_t most_of_engine(uint32_t engine, uint32_t isa) {
  static const uint32_t types[] = {SDPA_F64, SDPA_BF16, SDPA_F16};
  static const enum entry_call typed[] = {ENTRY_PLAN, ENTRY_PLAN_FEW, ENTRY_BACKWARD};
  static struct use use;
  size_t most = 0;
  for (int call = 0; call < ENTRY_CALLS; call++) {
    use = (struct use){.call = (enum entry_call)call,
                       .options = entry_options(engine, 1 + call % THREADS)};
    use.options.isa = isa;
    most = larger(most, run_on_painted_stack(&use));
  }
  for (size_t i = 0; i < 9; i++) {
    use = (struct use){
        .call = typed[i / 3], .type = types[i % 3], .options = entry_options(engine, 2)};
    use.options.isa = isa;
    most = larger(most, run_on_painted_stack(&use));
  }
  return most;
}

/* ThreadSanitizer keeps more than 128 KiB of thread-local data for each thread. */
static void skip_if_threads_need_more(void) {
  if (THREAD_SANITIZER) skip();
}

static size_t idle_bytes;

static void test_callers(void **state) {
  (void)state;
  skip_if_threads_need_more();
  static struct use idle = {.is_idle = 1};
  idle_bytes = run_on_painted_stack(&idle);
  print_message("a thread by itself, with the program's thread-local data: %zu bytes\n",
                idle_bytes);
  for (int e = 0; e < 2; e++) {
    if (!entry_offers(engines[e])) continue;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
      if (!is_offered(isas[i])) continue;
      const size_t bytes = most_of_engine(engines[e], isas[i]) - idle_bytes;
      print_message("calls, engine %s, isa %u: at most %zu bytes\n", e ? "blas" : "tiled",
                    (unsigned)isas[i], bytes);
      if (is_measured() && engines[e] == SDPA_ENGINE_TILED) assert_true(bytes <= SHARE);
    }
  }
}

static void test_workers(void **state) {
  (void)state;
  skip_if_threads_need_more();
  static struct entry_output out;
  const sdpa_options options = entry_options(SDPA_ENGINE_TILED, THREADS);
  assert_true(entry_expect(SDPA_ENGINE_TILED));
  for (int i = 0; i < 20; i++) assert_int_equal(entry_run_all(&options, &out), 0);
  const int32_t count = atomic_load(&n_workers);
  size_t most = idle_bytes;
  assert_true(count > 0);
  for (int32_t i = 0; i < count; i++) most = larger(most, used(&workers[i]));
  print_message("%d workers: at most %zu bytes\n", (int)count, most - idle_bytes);
  if (is_measured()) assert_true(most - idle_bytes <= SHARE);
}

static int init(void **state) {
  (void)state;
  entry_init();
  atomic_store(&shrinks, 1);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_callers),
      cmocka_unit_test(test_workers),
  };
  return cmocka_run_group_tests_name("stacks", tests, init, NULL);
}
