/* report_threads.c - reported failures with threads and processes around a BLAS
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "report_case.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "problem_data.h"
#include "problem_shape.h"
#include "report_list.h"
#include "sanitizers.h"
#include "seconds.h"

/* A problem of `heads` heads with data of its own. */
struct job {
  sdpa_problem problem;
  sdpa_args args;
  sdpa_options options;
  void *tensors[4]; /* Q, K, V, O */
  size_t output_bytes;
};

static void *random_tensor(uint32_t type, int64_t n, int salt) {
  double *numbers = report_numbers(n, salt);
  const size_t width = problem_type_bytes(type);
  char *data = malloc((size_t)n * width);
  assert_non_null(data);
  for (int64_t i = 0; i < n; i++) problem_store(type, data + (size_t)i * width, numbers[i]);
  free(numbers);
  return data;
}

static void job_init(struct job *job, uint32_t type, int heads, int64_t rows, int causal,
                     int salt) {
  enum { DIM = 64 };
  struct report_case c;
  report_case_init(&c, (struct report_sizes){1, heads, heads, rows, rows, DIM, DIM}, 0);
  job->problem = c.problem;
  job->problem.query_type = type;
  if (causal) job->problem.features |= SDPA_CAUSAL;
  job->options = (sdpa_options){.size = sizeof job->options};
  const int64_t n = heads * rows * DIM;
  for (int t = 0; t < 4; t++) job->tensors[t] = random_tensor(type, n, salt + t);
  job->output_bytes = (size_t)n * problem_type_bytes(type);
  job->args = (sdpa_args){.size = sizeof job->args,
                          .query = job->tensors[0],
                          .key = job->tensors[1],
                          .value = job->tensors[2],
                          .output = job->tensors[3]};
}

static void job_free(struct job *job) {
  for (int t = 0; t < 4; t++) free(job->tensors[t]);
}

static void *job_result(struct job *job) {
  assert_int_equal(sdpa_attention(&job->problem, &job->options, &job->args), SDPA_OK);
  void *result = malloc(job->output_bytes);
  assert_non_null(result);
  memcpy(result, job->args.output, job->output_bytes);
  return result;
}

static int is_offered(uint32_t engine) {
  struct report_case c;
  report_case_init(&c, report_one_head(1, 1, 1, 1), 0);
  c.problem.query_type = SDPA_F32;
  const sdpa_options options = {.size = sizeof options, .engine = engine};
  return sdpa_problem_check(&c.problem, &options, NULL, 0) == SDPA_OK;
}

/* ---- C1 ---- */

enum { CALLERS = 8, CALLS = 500 };

struct caller {
  struct job job;
  void *expected;
  const sdpa_plan *plan; /* shared with the callers of the same problem */
  int failures, differences;
};

/* One call and one execution of the shared plan by turns. */
static void *call_often(void *argument) {
  struct caller *caller = argument;
  struct job *job = &caller->job;
  for (int i = 0; i < CALLS; i++) {
    memset(job->args.output, 0xFF, job->output_bytes);
    const sdpa_status status = i % 2 ? sdpa_execute(caller->plan, &job->args, NULL, 0)
                                     : sdpa_attention(&job->problem, &job->options, &job->args);
    caller->failures += status != SDPA_OK;
    caller->differences += memcmp(job->args.output, caller->expected, job->output_bytes) != 0;
  }
  return NULL;
}

static void check_callers(uint32_t engine) {
  static struct caller callers[CALLERS];
  pthread_t threads[CALLERS];
  sdpa_plan *plans[4];
  memset(callers, 0, sizeof callers);
  for (int t = 0; t < CALLERS; t++) {
    struct job *job = &callers[t].job;
    const int kind = t % 4; /* causal on odd ones, f64 on half */
    job_init(job, kind / 2 ? SDPA_F64 : SDPA_F32, 2, 128, kind % 2, 10 * t);
    job->options.engine = engine;
    if (t < 4) assert_int_equal(sdpa_plan_create(&job->problem, &job->options, &plans[t]), SDPA_OK);
    callers[t].plan = plans[kind];
    callers[t].expected = job_result(job);
  }
  for (int t = 0; t < CALLERS; t++)
    assert_int_equal(pthread_create(&threads[t], NULL, call_often, &callers[t]), 0);
  for (int t = 0; t < CALLERS; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
  for (int t = 0; t < CALLERS; t++) {
    if (callers[t].failures || callers[t].differences)
      fail_msg("thread %d: %d failures and %d other results on engine %u", t, callers[t].failures,
               callers[t].differences, (unsigned)engine);
    job_free(&callers[t].job);
    free(callers[t].expected);
  }
  for (int k = 0; k < 4; k++) sdpa_plan_destroy(plans[k]);
}

/* OpenMathLib/OpenBLAS#2126, OpenMathLib/OpenBLAS#1755: products from several application threads
 * were grossly wrong at times. The numbers of threads are fixed, so every bit must be right.
 * ThreadSanitizer does not see the locks of a BLAS, so under it engine blas is left out. */
void test_C1_calls_from_many_threads(void **state) {
  (void)state;
  for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    if (THREAD_SANITIZER && engine == SDPA_ENGINE_BLAS) continue;
    if (is_offered(engine)) check_callers(engine);
  }
}

/* ---- what the process's BLAS and OpenMP say of themselves ---- */

/* Sets *function, a pointer to a function, to the one of that name in the process; 0 if there is
 * none. */
static int find_function(const char *name, void *function) {
  void *symbol = dlsym(RTLD_DEFAULT, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

static void set_blas_threads(int threads) {
  void (*set)(int);
  if (find_function("openblas_set_num_threads", &set)) set(threads);
}

static int blas_threads(void) {
  int (*get)(void);
  return find_function("openblas_get_num_threads", &get) ? get() : -1;
}

static int openmp_threads(void) {
  int (*get)(void);
  return find_function("omp_get_max_threads", &get) ? get() : -1;
}

/* ---- C2 ---- */

/* A child that computes into *shared within 20 seconds. */
static pid_t fork_child(struct job *job, void *shared) {
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child > 0) return child;
  alarm(20);
  job->args.output = shared;
  _exit(sdpa_attention(&job->problem, &job->options, &job->args) == SDPA_OK ? 0 : 1);
}

static void assert_child(pid_t child, const void *shared, const void *expected, size_t bytes) {
  int status = -1;
  assert_true(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) fail_msg("the child died of signal %d (14: it hung)", WTERMSIG(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_memory_equal(shared, expected, bytes);
}

static void check_fork(uint32_t type, uint32_t engine) {
  struct job job;
  job_init(&job, type, 1, 256, 0, 3);
  job.options.engine = engine;
  job.options.threads = 2;
  char *shared =
      mmap(NULL, 3 * job.output_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(shared != MAP_FAILED);
  const pid_t early = fork_child(&job, shared); /* before this process's first call */
  void *expected = job_result(&job);
  assert_child(early, shared, expected, job.output_bytes);
  const pid_t one = fork_child(&job, shared + job.output_bytes);
  const pid_t two = fork_child(&job, shared + 2 * job.output_bytes);
  assert_child(one, shared + job.output_bytes, expected, job.output_bytes);
  assert_child(two, shared + 2 * job.output_bytes, expected, job.output_bytes);
  void *again = job_result(&job);
  assert_memory_equal(again, expected, job.output_bytes);
  free(again);
  free(expected);
  munmap(shared, 3 * job.output_bytes);
  job_free(&job);
}

/* OpenMathLib/OpenBLAS#294: after a product in the parent, the same product in a forked child spun
 * forever once the size was large enough to use threads. */
void test_C2_calls_after_fork(void **state) {
  (void)state;
  if (ADDRESS_SANITIZER) {
    print_message("skipped: AddressSanitizer's allocator has no fork handlers\n");
    skip();
  }
  char info[512];
  set_blas_threads(2);
  sdpa_build_info(info, sizeof info);
  const int openmp = strstr(info, "USE_OPENMP") != NULL;
  int checked = 0;
  for (uint32_t engine = SDPA_ENGINE_BLAS; engine <= SDPA_ENGINE_TILED; engine++) {
    if (!is_offered(engine) || (engine == SDPA_ENGINE_BLAS && openmp)) continue;
    check_fork(SDPA_F32, engine);
    check_fork(SDPA_F64, engine);
    checked++;
  }
  if (checked == 0) {
    print_message("skipped: a BLAS built with OpenMP hangs in a forked child by itself\n");
    skip();
  }
}

/* ---- C3 ---- */

static int count_tasks(void) {
  DIR *folder = opendir("/proc/self/task");
  int n = 0;
  if (!folder) return -1;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) n += entry->d_name[0] != '.';
  closedir(folder);
  return n;
}

struct sampler {
  atomic_int stop;
  int most; /* tasks seen at once */
};

static void *sample_tasks(void *argument) {
  struct sampler *sampler = argument;
  while (!atomic_load(&sampler->stop)) {
    const int n = count_tasks();
    if (n > sampler->most) sampler->most = n;
  }
  return NULL;
}

/* Calls of all kinds, one of them refused. Returns how many did not answer as they should. */
static int call_all(struct job *job) {
  static const int32_t threads[] = {1, 2, 0};
  int wrong = 0;
  for (int k = 0; k < 3; k++) {
    job->options.threads = threads[k];
    for (uint32_t engine = SDPA_ENGINE_AUTO; engine <= SDPA_ENGINE_TILED; engine++) {
      if (!is_offered(engine)) continue;
      job->options.engine = engine;
      wrong += sdpa_attention(&job->problem, &job->options, &job->args) != SDPA_OK;
    }
  }
  job->options.engine = SDPA_ENGINE_AUTO;
  job->options.threads = -1;
  wrong += sdpa_attention(&job->problem, &job->options, &job->args) != SDPA_ERROR_VALUE;
  job->options.threads = 0;
  sdpa_args missing = job->args;
  missing.key = NULL;
  wrong += sdpa_attention(&job->problem, &job->options, &missing) != SDPA_ERROR_NULL;
  return wrong;
}

/* OpenBLAS on OpenMP takes the number of threads of the thread that calls it. */
static int caller_threads;

static void *call_all_often(void *argument) {
  void (*set)(int);
  if (find_function("omp_set_num_threads", &set)) set(caller_threads);
  for (int i = 0; i < 20; i++)
    if (call_all(argument) != 0) return argument;
  return NULL;
}

/* With threads 1 no thread comes to those that were there, the BLAS's among them. */
static void check_no_new_thread(struct job *job) {
  struct sampler sampler = {.most = 0};
  pthread_t thread;
  job->options.threads = 1;
  const int before = count_tasks();
  if (before < 0) {
    print_message("/proc/self/task cannot be read: threads were not counted\n");
    return;
  }
  assert_int_equal(pthread_create(&thread, NULL, sample_tasks, &sampler), 0);
  int failures = 0;
  for (int i = 0; i < 50; i++)
    failures += sdpa_attention(&job->problem, &job->options, &job->args) != SDPA_OK;
  atomic_store(&sampler.stop, 1);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(failures, 0);
  assert_true(sampler.most > 0 && sampler.most <= before + 1); /* the sampler itself */
}

/* On auto, without weights or scores, engine tiled runs where the library has SIMD kernels, and on
 * one thread nothing but the caller gets CPU time, the BLAS's threads neither. */
static void check_stays_off_blas(struct job *job) {
  sdpa_plan *plan;
  sdpa_plan_info info = {.size = sizeof info};
  job->options.engine = SDPA_ENGINE_AUTO;
  job->options.threads = 1;
  assert_int_equal(sdpa_plan_create(&job->problem, &job->options, &plan), SDPA_OK);
  assert_int_equal(sdpa_plan_query(plan, &info), SDPA_OK);
  sdpa_plan_destroy(plan);
  if (info.isa == SDPA_ISA_GENERIC) return;
  assert_int_equal(info.engine, SDPA_ENGINE_TILED);
  /* What ran before may still spin in wait of more work. */
  nanosleep(&(struct timespec){.tv_nsec = 300 * 1000 * 1000}, NULL);
  double own = -thread_seconds(), all = -process_seconds();
  for (int i = 0; i < 200; i++)
    assert_int_equal(sdpa_attention(&job->problem, &job->options, &job->args), SDPA_OK);
  own += thread_seconds(), all += process_seconds();
  if (all - own > 0.1 * own)
    fail_msg("%.3g s of the caller's thread, %.3g s of others", own, all - own);
}

/* OpenMathLib/OpenBLAS#3940, OpenMathLib/OpenBLAS#5806: a call changed the process's number of BLAS
 * or OpenMP threads for the program around it. */
void test_C3_thread_counts_unchanged(void **state) {
  (void)state;
  struct job jobs[2];
  for (int t = 0; t < 2; t++) job_init(&jobs[t], t ? SDPA_F64 : SDPA_F32, 2, 256, t, 7 * t);
  if (blas_threads() < 0) print_message("this BLAS does not tell its number of threads\n");
  for (int count = 2; count >= 1; count--) {
    set_blas_threads(count);
    const int blas = blas_threads(), openmp = openmp_threads();
    pthread_t threads[2];
    caller_threads = count;
    assert_int_equal(call_all(&jobs[0]), 0);
    assert_int_equal(blas_threads(), blas);
    for (int t = 0; t < 2; t++)
      assert_int_equal(pthread_create(&threads[t], NULL, call_all_often, &jobs[t]), 0);
    for (int t = 0; t < 2; t++) {
      void *wrong;
      assert_int_equal(pthread_join(threads[t], &wrong), 0);
      assert_null(wrong);
    }
    assert_int_equal(blas_threads(), blas);
    assert_int_equal(openmp_threads(), openmp);
    check_no_new_thread(&jobs[0]);
    check_stays_off_blas(&jobs[0]);
    assert_int_equal(blas_threads(), blas);
  }
  for (int t = 0; t < 2; t++) job_free(&jobs[t]);
}
