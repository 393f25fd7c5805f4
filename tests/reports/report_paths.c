/* report_paths.c - the ways through the library, and one execution
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L
#include "report_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint32_t types[] = {SDPA_F64, SDPA_F32, SDPA_BF16, SDPA_F16};
static const char *const type_names[] = {"f64", "f32", "bf16", "f16"};
static const uint32_t engines[] = {SDPA_ENGINE_AUTO, SDPA_ENGINE_BLAS, SDPA_ENGINE_TILED};
static const uint32_t isas[] = {SDPA_ISA_AUTO, SDPA_ISA_GENERIC, SDPA_ISA_AVX2, SDPA_ISA_AVX512};
enum { TYPES = 4, ENGINES = 3, ISAS = 4, FLAGS = 8 };

static sdpa_options path_options(const struct report_path *path) {
  sdpa_options options = {.size = sizeof options};
  options.engine = path->engine;
  options.isa = path->isa;
  options.threads = path->threads;
  return options;
}

/* Whether this build and machine serve engine, ISA and type at all: asked with a problem of one
 * number. The defaults must be served. */
static int is_offered(const struct report_path *path) {
  sdpa_problem p = {.size = sizeof p, .query_type = path->type};
  p.batch = p.query_heads = p.kv_heads = p.query_len = p.key_len = p.key_dim = p.value_dim = 1;
  const sdpa_options options = path_options(path);
  const sdpa_status status = sdpa_problem_check(&p, &options, NULL, 0);
  if (status != SDPA_ERROR_UNSUPPORTED || (path->engine == 0 && path->isa == 0))
    assert_int_equal(status, SDPA_OK);
  return status == SDPA_OK;
}

static struct report_path number_to_path(int number) {
  const int flags = number % FLAGS, choice = number / FLAGS;
  return (struct report_path){.type = types[choice % TYPES],
                              .engine = engines[choice / TYPES % ENGINES],
                              .isa = isas[choice / TYPES / ENGINES],
                              .threads = flags & 1 ? 2 : 1,
                              .extras = (flags & 2) != 0,
                              .planned = (flags & 4) != 0};
}

int report_path(int i, uint32_t type, struct report_path *path) {
  enum { ALL = TYPES * ENGINES * ISAS * FLAGS };
  static struct report_path offered[ALL];
  static int n; /* 0: not asked yet */
  for (int number = 0, ask = n == 0; ask && number < ALL; number++) {
    offered[n] = number_to_path(number);
    n += is_offered(&offered[n]);
  }
  for (int k = 0; k < n; k++)
    if ((type == 0 || type == offered[k].type) && i-- == 0) {
      *path = offered[k];
      return 1;
    }
  return 0;
}

const char *report_path_text(const struct report_path *path) {
  static char text[120];
  snprintf(text, sizeof text, "%s, engine %u, isa %u, %d threads, %s, %s",
           type_names[path->type - SDPA_F64], (unsigned)path->engine, (unsigned)path->isa,
           (int)path->threads, path->extras ? "with weights and lse" : "output only",
           path->planned ? "plan" : "one call");
  return text;
}

unsigned char report_memory_fill = 0xFF;

static void *filled_alloc(void *ctx, size_t bytes, size_t alignment) {
  (void)ctx;
  void *block = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block) memset(block, report_memory_fill, bytes);
  return block;
}

static void plain_release(void *ctx, void *block, size_t bytes) {
  (void)ctx;
  (void)bytes;
  free(block);
}

static void assert_ok(const struct report_path *path, sdpa_status status) {
  if (status != SDPA_OK)
    fail_msg("status %d (%s) on %s", (int)status, sdpa_status_string(status),
             report_path_text(path));
}

void report_execute_backward(const struct report_path *path, const sdpa_problem *problem,
                             const sdpa_args *args, const sdpa_grads *grads) {
  sdpa_options options = path_options(path);
  options.alloc = filled_alloc;
  options.release = plain_release;
  sdpa_plan *plan;
  size_t bytes, alignment;
  assert_ok(path, sdpa_plan_create_backward(problem, &options, &plan));
  assert_ok(path, sdpa_plan_workspace(plan, &bytes, &alignment));
  void *workspace = path->planned ? filled_alloc(NULL, bytes ? bytes : 1, alignment) : NULL;
  assert_true(workspace || !path->planned);
  assert_ok(path, sdpa_backward(plan, args, grads, workspace, workspace ? bytes : 0));
  free(workspace);
  sdpa_plan_destroy(plan);
}

int report_watch_stderr;

/* stderr goes to a file between the two. */
struct capture {
  int saved;
  FILE *file;
};

static void capture_begin(struct capture *c) {
  fflush(stderr);
  c->file = tmpfile();
  c->saved = dup(STDERR_FILENO);
  assert_true(c->file != NULL && c->saved >= 0);
  assert_true(dup2(fileno(c->file), STDERR_FILENO) >= 0);
}

/* Gives stderr back; returns the bytes that came. */
static long capture_end(struct capture *c) {
  fflush(stderr);
  dup2(c->saved, STDERR_FILENO);
  close(c->saved);
  fseek(c->file, 0, SEEK_END);
  const long bytes = ftell(c->file);
  fclose(c->file);
  return bytes;
}

static sdpa_status execute_plan(const struct report_path *path, const sdpa_problem *problem,
                                const sdpa_options *options, const sdpa_args *args) {
  sdpa_plan *plan;
  size_t bytes, alignment;
  assert_ok(path, sdpa_plan_create(problem, options, &plan));
  assert_ok(path, sdpa_plan_workspace(plan, &bytes, &alignment));
  void *workspace = filled_alloc(NULL, bytes ? bytes : 1, alignment);
  assert_non_null(workspace);
  const sdpa_status status = sdpa_execute(plan, args, workspace, bytes);
  free(workspace);
  sdpa_plan_destroy(plan);
  return status;
}

void report_execute(const struct report_path *path, const sdpa_problem *problem,
                    const sdpa_args *args) {
  sdpa_options options = path_options(path);
  struct capture capture = {-1, NULL};
  options.alloc = filled_alloc;
  options.release = plain_release;
  if (report_watch_stderr) capture_begin(&capture);
  const sdpa_status status = path->planned ? execute_plan(path, problem, &options, args)
                                           : sdpa_attention(problem, &options, args);
  const long bytes = report_watch_stderr ? capture_end(&capture) : 0;
  assert_ok(path, status);
  if (bytes != 0) fail_msg("%ld bytes on stderr, on %s", bytes, report_path_text(path));
}
